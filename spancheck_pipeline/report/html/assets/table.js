// The table of cases: filters, search, order, and only as many rows in the page as can be seen.

const NARROW = matchMedia("(max-width: 46rem)"); // a phone, as in the style sheet
const rowHeight = () => (NARROW.matches ? 68 : 36); // pixels, as in the style sheet
const MARGIN = 12; // rows above and below those that are seen
const LABEL = 60; // characters of an option that are shown
const PRINTED = 500; // rows that are printed at most
const LETTERS = { f: "fail", k: "flaky", u: "unmeasured", p: "pass", n: "not applicable" };
const filters = { q: "", deep: false, grader: "", outcome: "", category: "", flag: "", why: "", sort: "", down: false };
const view = { found: [], active: 0, deep: null, search: 0 };

const rowsNode = document.getElementById("rows");
const tableNode = document.getElementById("table");
const body = tableNode.tBodies[0];

const COLUMNS = [
  { key: "id", title: "Case", width: "id", of: (row) => row[ID] },
  { key: "category", title: "Category", width: "category", of: (row) => row[CATEGORY] },
  { key: "says", title: "What the graders say", width: "says", of: (row) => says(row) },
  { key: "question", title: "Question", width: "question", of: (row) => row[QUESTION] },
  { key: "latency", title: "Latency, ms", width: "num", number: true, of: (row) => row[LATENCY] },
  { key: "cost", title: "Cost, USD", width: "num", number: true, of: (row) => row[COST] },
];

const says = (row) => {
  const at = state.about.graders.indexOf(filters.grader);
  if (at >= 0) return row[VALUES][at] === null ? -1 : row[VALUES][at];
  return -[...row[OUTCOMES]].filter((letter) => letter === "f").length;
};

const setUpTable = () => {
  const option = (value, label) => make("option", { value, title: label.length > LABEL ? coded(label) : null }, coded(label.length > LABEL ? [...label].slice(0, LABEL).join("") + "…" : label));
  const categories = [...new Set(state.rows.map((row) => row[CATEGORY]))].sort();
  const flags = [["", "all"], ["flaky", "flaky"], ["failing", "newly failing"], ["passing", "newly passing"], ["unmeasured", "no longer measured"], ["error", "failed calls"]];
  state.about.baselines.forEach((baseline, at) => flags.push([`failing-${at}`, `newly failing against ${baseline.label}`]));
  const offer = (name, options) => refill(document.getElementById(`filter-${name}`), options.map(([value, label]) => option(value, label)));
  offer("grader", [["", "any"], ...state.about.graders.map((name) => [name, name])]);
  offer("outcome", [["", "any"], ...Object.entries(LETTERS)]);
  offer("category", [["", "any"], ...categories.map((name) => [name, name])]);
  offer("flag", flags);
  offer("why", [["", "any"], ...Object.keys(state.about.why).map((name) => [name, name.replaceAll("_", " ")])]);
  tableNode.tHead.replaceChildren(make("tr", {}, ...COLUMNS.map((column) =>
    make("th", { scope: "col", class: `col-${column.width}${column.number ? " num" : ""}${column.key === "category" ? " wide" : ""}`, "data-key": column.key },
      make("button", { type: "button", on: { click: () => order(column.key) } }, column.title)))));
  const form = document.getElementById("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { readFilters(); later(); });
  form.addEventListener("reset", () => setTimeout(() => { Object.assign(filters, { sort: "", down: false }); readFilters(); apply(); }));
  rowsNode.addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
  addEventListener("resize", () => requestAnimationFrame(drawRows));
  tableNode.addEventListener("keydown", onKey);
  addEventListener("beforeprint", () => drawRows(PRINTED));
  addEventListener("afterprint", () => drawRows());
};

const control = (name) => document.getElementById(`filter-${name}`);
const CONTROLS = ["q", "grader", "outcome", "category", "flag", "why"];

const readFilters = () => {
  for (const name of CONTROLS) filters[name] = control(name).value;
  filters.deep = control("deep").checked;
};

const showFilters = (parameters) => {
  for (const name of CONTROLS) {
    control(name).value = parameters.get(name) || "";
    if (control(name).selectedIndex === -1) control(name).value = "";
  }
  control("deep").checked = parameters.get("deep") === "true";
  readFilters();
  filters.sort = COLUMNS.some((column) => column.key === parameters.get("sort")) ? parameters.get("sort") : "";
  filters.down = parameters.get("down") === "true";
};

const order = (key) => {
  if (filters.sort !== key) Object.assign(filters, { sort: key, down: false });
  else if (!filters.down) filters.down = true;
  else Object.assign(filters, { sort: "", down: false });
  apply();
};

let timer = 0;
const later = () => { clearTimeout(timer); timer = setTimeout(apply, 90); };

const apply = async () => {
  clearTimeout(timer);
  history.replaceState(null, "", address({ view: "cases", ...filters }));
  view.search += 1;
  view.deep = null;
  const mine = view.search;
  find();
  if (filters.deep && wantedWords().length > 0) await searchTexts(mine);
};

const passes = (row, at, wanted, grader) => {
  if (filters.category !== "" && row[CATEGORY] !== filters.category) return false;
  if (filters.outcome !== "" && (grader >= 0 ? row[OUTCOMES][grader] !== filters.outcome : !row[OUTCOMES].includes(filters.outcome))) return false;
  if (filters.flag === "flaky" && (grader >= 0 ? row[OUTCOMES][grader] !== "k" : !row[OUTCOMES].includes("k"))) return false;
  if (filters.flag === "error" && row[ERRORS] === 0) return false;
  if (filters.flag !== "" && filters.flag !== "flaky" && filters.flag !== "error") {
    const [how, baseline] = filters.flag.split("-");
    if (!flipsOf(row[ID], filters.grader).some((flip) => flip[1] === how && (baseline === undefined || flip[2] === Number(baseline)))) return false;
  }
  if (filters.why !== "" && !view.why.has(row[ID])) return false;
  return wanted.every((word) => state.haystacks[at].includes(word)) || (view.deep !== null && view.deep.has(at));
};

// Every word must occur somewhere, in any order; a hyphen or an underline parts words as a blank does.
const wantedWords = () => searched(filters.q).split(" ").filter((word) => word !== "");

const find = () => {
  const wanted = wantedWords();
  const grader = state.about.graders.indexOf(filters.grader);
  view.why = new Set(filters.why === "" ? [] : state.about.why[filters.why]);
  const found = [];
  state.rows.forEach((row, at) => { if (passes(row, at, wanted, grader)) found.push(at); });
  const column = COLUMNS.find((item) => item.key === filters.sort);
  if (column !== undefined) {
    const keys = new Map(found.map((at) => [at, column.of(state.rows[at])]));
    const way = filters.down ? -1 : 1;
    found.sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      if (a === null || b === null) return a === b ? one - other : a === null ? 1 : -1; // unknown stands last
      return a < b ? -way : a > b ? way : one - other;
    });
  }
  view.found = found;
  view.active = 0;
  say();
  rowsNode.scrollTop = 0;
  for (const head of tableNode.tHead.rows[0].cells) {
    if (head.dataset.key === filters.sort) head.setAttribute("aria-sort", filters.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  drawRows();
};

const say = (more = "") => {
  const all = state.rows.length.toLocaleString("en");
  document.getElementById("found").textContent = `${many(view.found.length, "case")} of ${all}${more}`;
};

// Looking into answers and passages unpacks every block, one after the other, and lets the page breathe in between.
const searchTexts = async (mine) => {
  const wanted = wantedWords();
  const byPack = new Map();
  state.rows.forEach((row, at) => { if (!byPack.has(row[PACK])) byPack.set(row[PACK], []); byPack.get(row[PACK]).push(at); });
  view.deep = new Set();
  let done = 0;
  for (const [number, places] of byPack) {
    const pack = JSON.parse(await unpacked(`pack-${number}`));
    if (mine !== view.search) return;
    const texts = pack.texts.map(searched);
    const holds = wanted.map((word) => texts.map((text) => text.includes(word)));
    for (const at of places) {
      const item = pack.cases[state.rows[at][PLACE]];
      const own = [state.haystacks[at], searched(item.input), ...item.epochs.map((epoch) => searched(epoch.answer || ""))];
      const passages = item.epochs.flatMap((epoch) => (epoch.contexts || []).map((context) => context.text)).filter((text) => text !== null);
      if (wanted.every((word, which) => own.some((text) => text.includes(word)) || passages.some((text) => holds[which][text]))) view.deep.add(at);
    }
    done += 1;
    if (done % 8 === 0 || done === byPack.size) {
      find();
      if (done < byPack.size) say(`, still looking: ${Math.round((100 * done) / byPack.size)} %`);
    }
    await new Promise((go) => setTimeout(go));
    if (mine !== view.search) return;
  }
};

const drawRows = (most = 0) => {
  const n = view.found.length;
  const isPrinted = typeof most === "number" && most > 0 && most < 1e5 && most === PRINTED;
  const first = isPrinted ? 0 : Math.max(0, Math.floor(rowsNode.scrollTop / rowHeight()) - MARGIN);
  const last = isPrinted ? Math.min(n, PRINTED) : Math.min(n, first + Math.ceil(rowsNode.clientHeight / rowHeight()) + 2 * MARGIN);
  const had = body.contains(document.activeElement);
  tableNode.setAttribute("aria-rowcount", n + 1);
  const shown = [];
  for (let place = first; place < last; place += 1) shown.push(drawRow(state.rows[view.found[place]], place, isPrinted ? (found) => found : fitting));
  if (isPrinted && n > last) shown.push(make("tr", {}, make("td", { colspan: COLUMNS.length }, `… and ${many(n - last, "case")} more`)));
  body.replaceChildren(...gap(first), ...shown, ...(isPrinted ? [] : gap(n - last)));
  if (had) focusActive();
};

const gap = (n) => {
  if (n <= 0) return [];
  const row = make("tr", { class: "gap", "aria-hidden": "true" }, make("td", { colspan: COLUMNS.length }));
  row.style.height = `${n * rowHeight()}px`;
  return [row];
};

const drawRow = (row, place, cut) => make("tr", { "aria-rowindex": place + 2, "data-place": place },
  make("th", { scope: "row" }, make("a", { href: address({ case: row[ID] }), tabindex: place === view.active ? 0 : -1, title: coded(row[ID]) }, inline(row[ID]))),
  make("td", { class: "wide" }, inline(row[CATEGORY])),
  make("td", { class: "says" }, cut(chips(row))),
  make("td", { title: coded(row[QUESTION]) }, inline(row[QUESTION])),
  make("td", { class: "num" }, short(row[LATENCY])),
  make("td", { class: "num" }, short(row[COST])));

const chip = (kind, text) => make("span", { class: `chip ${kind}` }, text);

const chips = (row) => {
  const found = [];
  if (row[ERRORS] > 0) found.push(chip("fail", row[ERRORS] === 1 ? "call failed" : `${row[ERRORS]} calls failed`));
  const at = state.about.graders.indexOf(filters.grader);
  if (at >= 0) {
    const value = row[VALUES][at];
    found.push(chip(row[OUTCOMES][at], LETTERS[row[OUTCOMES][at]]), value === null ? "" : value.toFixed(2) + " ", inline(row[CODES][at].replaceAll("_", " ")));
  } else {
    state.about.graders.forEach((name, grader) => {
      const letter = row[OUTCOMES][grader];
      if ("fku".includes(letter)) found.push(chip(letter, letter === "f" ? name : `${name} ${LETTERS[letter]}`));
    });
  }
  if (state.flips.length > 0 && flipsOf(row[ID], filters.grader).some((flip) => flip[1] === "failing")) found.unshift(chip("fail", "new"));
  return found;
};

// As many chips as have room, and how many more there are; what they say stands in a tooltip, and in the case.
const ROOM = { narrow: 66, wide: 45 }; // characters
const fitting = (found) => {
  const room = NARROW.matches ? ROOM.narrow : ROOM.wide;
  const length = (part) => (typeof part === "string" ? part : part.textContent).length + 3;
  let used = 0;
  const n = found.findIndex((part, at) => { used += length(part); return at > 0 && used > room; });
  if (n < 0) return found;
  const rest = found.slice(n).map((part) => (typeof part === "string" ? part : part.textContent));
  return [...found.slice(0, n), make("span", { class: "faint", title: rest.join(", ") }, `+${rest.length}`)];
};

const onKey = (event) => {
  const page = Math.max(1, Math.floor(rowsNode.clientHeight / rowHeight()) - 2);
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
  if (!(event.key in steps) || !body.contains(event.target)) return;
  event.preventDefault();
  const from = Number(event.target.closest("tr").dataset.place);
  view.active = Math.min(Math.max(0, from + steps[event.key]), view.found.length - 1);
  const top = view.active * rowHeight();
  const head = tableNode.tHead.offsetHeight;
  if (top < rowsNode.scrollTop) rowsNode.scrollTop = top;
  else if (top + rowHeight() + head > rowsNode.scrollTop + rowsNode.clientHeight) rowsNode.scrollTop = top + rowHeight() + head - rowsNode.clientHeight;
  drawRows();
  focusActive();
};

const focusActive = () => {
  const row = body.querySelector(`tr[data-place="${view.active}"]`);
  if (row !== null) row.querySelector("a").focus({ preventScroll: true });
};
