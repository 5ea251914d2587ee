// The packed texts: a block is unpacked when one of its cases is looked at, and some are kept for the next look.

const KEPT = 8;
const packs = new Map();

const bytesOf = (id) => {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`the file has no block ${id}; it is not complete`);
  const binary = atob(node.textContent);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
};

const unpacked = (id) =>
  new Response(new Blob([bytesOf(id)]).stream().pipeThrough(new DecompressionStream("gzip"))).text();

const linesOf = async (id) => (await unpacked(id)).split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));

const packOf = (id) => {
  if (!packs.has(id)) {
    packs.set(id, unpacked(id).then((text) => JSON.parse(text)));
    if (packs.size > KEPT) packs.delete(packs.keys().next().value);
  }
  return packs.get(id);
};

// A row of the table: what stands where, as `records.py` writes it.
const [ID, PACK, PLACE, CATEGORY, QUESTION, OUTCOMES, VALUES, CODES, LATENCY, COST, ERRORS] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

const state = { about: null, rows: [], byId: new Map(), earlier: new Map(), flips: [], haystacks: [] };

const caseOf = async (row) => {
  const pack = await packOf(`pack-${row[PACK]}`);
  return { ...pack.cases[row[PLACE]], texts: pack.texts };
};

const earlierOf = async (kind, id) => {
  const found = state.earlier.get(kind + " " + id);
  if (found === undefined) return null;
  const pack = await packOf(`before-${kind}-${found[0]}`);
  return { ...pack.cases[found[1]], texts: pack.texts };
};

const FLIPS = { failing: "newly failing", passing: "newly passing", unmeasured: "no longer measured" };

// A text as the search sees it.
const searched = (text) => text.toLowerCase().replace(/[-_\s]+/g, " ");

const load = async () => {
  const [about, ...rows] = await linesOf("table-of-cases");
  state.about = about;
  state.rows = rows;
  rows.forEach((row, at) => state.byId.set(row[ID], at));
  state.haystacks = rows.map((row) => searched(`${row[ID]}\n${row[CATEGORY]}\n${row[QUESTION]}`));
  for (const [kind, id, pack, place] of await linesOf("table-of-earlier")) state.earlier.set(kind + " " + id, [pack, place]);
  state.flips = about.baselines.map((baseline) =>
    Object.fromEntries(Object.keys(FLIPS).map((how) =>
      [how, new Map(Object.entries(baseline.flips).map(([grader, ids]) => [grader, new Set(ids[how])]))])));
};

// How a case came out otherwise than in a baseline: [grader, how, baseline's place], of one grader or of all.
const flipsOf = (id, grader = "") => {
  const found = [];
  state.flips.forEach((flips, baseline) => {
    for (const [how, graders] of Object.entries(flips))
      for (const [name, ids] of graders) if ((grader === "" || grader === name) && ids.has(id)) found.push([name, how, baseline]);
  });
  return found;
};
