// Marks in a text at the offsets of findings, and the words in which two texts differ.

const GRAVITY = ["fail", "unmeasured", "pass", "not_applicable"];

// What failed before what passed; a list that is drawn whole keeps its order.
const gravestFirst = (items, most = MOST) =>
  items.length <= most ? items : [...items].sort((one, other) => GRAVITY.indexOf(one.outcome) - GRAVITY.indexOf(other.outcome));

const MOST_MARKS = 1000; // marks of one text that are drawn

// ranges: [{start, end, outcome, number}] in code points; a text where several lie is marked by the gravest.
const markedText = (text, ranges, pick) => {
  const placed = ranges.filter((range) => range.end > range.start);
  const inside = gravestFirst(placed, MOST_MARKS).slice(0, MOST_MARKS);
  const drawn = drawMarks(text, inside, pick);
  if (placed.length <= MOST_MARKS) return drawn;
  return make("div", {}, make("p", { class: "faint" }, `${MOST_MARKS.toLocaleString("en")} of ${many(placed.length, "mark")} are drawn, what failed first.`), drawn);
};

const drawMarks = (text, inside, pick) =>
  longText(text, (block, shown) => {
    const units = unitsOf(shown, inside.flatMap((range) => [range.start, range.end]));
    const placed = inside.map((range) => ({ ...range, from: units.get(range.start), to: units.get(range.end) })).filter((range) => range.to > range.from);
    const edges = [...new Set([0, shown.length, ...placed.flatMap((range) => [range.from, range.to])])].sort((a, b) => a - b);
    const starting = placed.sort((a, b) => a.from - b.from);
    let open = [], next = 0;
    for (let at = 0; at + 1 < edges.length; at += 1) {
      const [from, to] = [edges[at], edges[at + 1]];
      while (next < starting.length && starting[next].from === from) { open.push(starting[next]); next += 1; }
      open = open.filter((range) => range.to > from);
      const piece = shown.slice(from, to);
      if (open.length === 0) { appendText(block, piece); continue; }
      const ending = open.filter((range) => range.to === to).map((range) => range.number);
      block.append(appendText(markOf(open, ending, pick), piece));
    }
  });

const markOf = (open, ending, pick) => {
  const worst = GRAVITY.find((outcome) => open.some((range) => range.outcome === outcome));
  const numbers = open.map((range) => range.number);
  const mark = make("mark", {
    class: worst, "data-findings": numbers.join(" "), "data-label": ending.length > 0 ? ending.join(",") : null,
    title: open.map((range) => `${range.number}: ${coded(range.title)}`).join("\n"),
  });
  mark.addEventListener("click", () => pick(numbers[numbers.length - 1]));
  return mark;
};

const light = (root, number, to) => {
  for (const node of root.querySelectorAll(".lit")) node.classList.remove("lit");
  let first = null;
  for (const node of root.querySelectorAll(`mark[data-findings~="${number}"], .finding[data-finding="${number}"]`)) {
    node.classList.add("lit");
    if (first === null && node.closest(to) !== null) first = node;
  }
  if (first !== null) first.scrollIntoView({ block: "center", behavior: "auto" });
};

// The words in which two texts differ: longest common subsequence, after what is equal at both ends is set aside.
const MOST_CELLS = 4000000;
const pieces = (text) => text.match(/[\p{L}\p{N}]+(?:[.,'’][\p{L}\p{N}]+)*|\s+|[^\p{L}\p{N}\s]/gu) || [];

const wordsChanged = (before, after) => {
  const [a, b] = [pieces(before), pieces(after)];
  let start = 0, end = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (x.length * y.length > MOST_CELLS) return null;
  const changes = [["same", a.slice(0, start).join("")], ...middle(x, y), ["same", a.slice(a.length - end).join("")]];
  return changes.filter(([, text]) => text !== "");
};

const middle = (x, y) => {
  const width = y.length + 1;
  const longest = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i -= 1)
    for (let j = y.length - 1; j >= 0; j -= 1)
      longest[i * width + j] = x[i] === y[j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
  const changes = [];
  const push = (kind, text) => {
    const last = changes[changes.length - 1];
    if (last !== undefined && last[0] === kind) last[1] += text; else changes.push([kind, text]);
  };
  let i = 0, j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { push("same", x[i]); i += 1; j += 1; }
    else if (j >= y.length || (i < x.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) { push("out", x[i]); i += 1; }
    else { push("in", y[j]); j += 1; }
  }
  return changes;
};

const drawDiff = (before, after, label) => {
  const changes = wordsChanged(before, after);
  if (changes === null) return make("p", { class: "faint" }, "The two are too long to be compared word by word.");
  const line = make("p", { class: "diff text", dir: "auto" }, make("span", { class: "label" }, label));
  for (const [kind, text] of changes) {
    if (kind === "same") appendText(line, text);
    else line.append(appendText(make(kind === "out" ? "del" : "ins"), text));
  }
  return line;
};
