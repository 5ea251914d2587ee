// Making nodes, and texts inside them. Whatever comes from a record becomes a text node or an attribute's value; nothing
// here, or anywhere in this script, is parsed as HTML.

const make = (tag, properties = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  return fill(node, children);
};

// Children one by one, lists of them too: a call takes some ten thousand arguments at most, and a record may hold more.
const fill = (node, children) => {
  for (const child of children) {
    if (Array.isArray(child)) fill(node, child);
    else if (child !== null && child !== undefined) node.append(child);
  }
  return node;
};
const refill = (node, children) => { node.replaceChildren(); return fill(node, children); };

const MOST = 200; // items of one list that are drawn at once

// The first of a list, and a button that draws more of them.
const firstOf = (items, draw, what, more) => {
  if (items.length <= MOST) return items.map(draw);
  const box = make("div", { class: "first" });
  let drawn = 0;
  const button = make("button", { type: "button", on: { click: () => next() } });
  const said = make("p", { class: "faint", role: "status" });
  const next = () => {
    const upTo = Math.min(items.length, drawn === 0 ? MOST : drawn + 5 * MOST);
    for (const item of items.slice(drawn, upTo)) button.before(draw(item));
    drawn = upTo;
    said.textContent = `${drawn.toLocaleString("en")} of ${many(items.length, what, more)} are shown.`;
    button.textContent = `Show ${Math.min(5 * MOST, items.length - drawn).toLocaleString("en")} more`;
    if (drawn === items.length) button.remove();
  };
  box.append(said, button);
  next();
  return [box];
};

const address = (parameters) =>
  "#" + new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false));

// Characters without a shape of their own, and those that reorder what stands beside them. Each keeps its place in the
// text, alone in a box of its own, so that offsets hold and it reorders nothing; its code is drawn by the style sheet.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

const appendText = (node, text) => {
  let at = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (match.index > at) node.append(text.slice(at, match.index));
    const code = "U+" + match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    node.append(make("span", { class: "hidden-sign", "data-code": code }, match[0]));
    at = match.index + match[0].length;
  }
  if (at < text.length) node.append(text.slice(at));
  return node;
};

// The same for a place that holds plain text alone, as an option or a tooltip does: the code in brackets.
const CODED = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;
const coded = (text) => text.replace(CODED, (sign) => `[U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);

const LONGEST = 200000; // UTF-16 units of one text that are drawn at once

const longText = (text, draw) => {
  const block = make("div", { class: "text", dir: "auto" });
  if (text.length <= LONGEST) {
    draw(block, text);
    return block;
  }
  const cut = text.charCodeAt(LONGEST - 1) >>> 10 === 0x36 ? LONGEST - 1 : LONGEST; // not inside a surrogate pair
  draw(block, text.slice(0, cut));
  const more = make("button", { type: "button", on: { click: () => { block.replaceChildren(); draw(block, text); more.remove(); } } },
    `Show all ${text.length.toLocaleString("en")} characters`);
  return make("div", {}, block, more);
};

const textBlock = (text) => longText(text, appendText);
const inline = (text) => appendText(make("bdi"), text);

// Offsets of findings are code points; a JavaScript string counts UTF-16 units.
const unitsOf = (text, points) => {
  const units = new Map();
  const sorted = [...new Set(points)].sort((a, b) => a - b);
  if (!/[\ud800-\udfff]/.test(text)) {
    for (const point of sorted) units.set(point, Math.min(point, text.length));
    return units;
  }
  let point = 0, unit = 0, next = 0;
  while (next < sorted.length) {
    if (sorted[next] === point || unit >= text.length) { units.set(sorted[next], unit); next += 1; continue; }
    unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
    point += 1;
  }
  return units;
};

const percent = (value) => (value === null || value === undefined ? "–" : (value * 100).toFixed(1) + " %");
const short = (value) => (value === null || value === undefined ? "–" : Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 }));
const milliseconds = (value) => (value === null || value === undefined ? "–" : short(value) + " ms");
const usd = (value) => (value === null || value === undefined ? "–" : short(value) + " USD");
const many = (n, what, more) => `${n.toLocaleString("en")} ${n === 1 ? what : more || what + "s"}`;
