// What the filters leave, as CSV and as Parquet, made here and handed to the browser.

const columnsOf = (places) => {
  const rows = places.map((at) => state.rows[at]);
  const column = (name, kind, of) => ({ name, kind, values: rows.map(of) });
  return [
    column("case_id", "string", (row) => row[ID]),
    column("category", "string", (row) => row[CATEGORY]),
    column("question", "string", (row) => row[QUESTION]),
    ...state.about.graders.flatMap((name, at) => [
      column(name, "string", (row) => LETTERS[row[OUTCOMES][at]].replaceAll(" ", "_")),
      column(`${name}_value`, "double", (row) => row[VALUES][at]),
      column(`${name}_reason_code`, "string", (row) => row[CODES][at]),
    ]),
    column("newly_failing", "string", (row) => flippedTo(row, "failing")),
    column("newly_passing", "string", (row) => flippedTo(row, "passing")),
    column("latency_ms", "double", (row) => row[LATENCY]),
    column("cost_usd", "double", (row) => row[COST]),
    column("failed_calls", "int", (row) => row[ERRORS]),
  ];
};

const flippedTo = (row, how) => [...new Set(flipsOf(row[ID]).filter((flip) => flip[1] === how).map((flip) => flip[0]))].join(" ");

// A spreadsheet must not read a text as a formula: what may begin one gets an apostrophe before it. Other spreadsheets
// split at semicolons or tabs, so each cell is quoted; signs that move a cursor are taken out.
// And it must not read an id as a number or a date (007, 1E5, 3-4), as in the sheets of a review.
const NUMBER = /^[\s\p{Nd}.,:/%$€£()eE+-]+$/u;
const isNumberLike = (text) => NUMBER.test(text) && /\p{Nd}/u.test(text);
const FORMULA = /^[\s\u0000-\u001f]*[=+\-@\t\r＝＋－＠|%]/u;
const cell = (value) => {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const plain = value.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, "");
  return `"${(FORMULA.test(plain) || isNumberLike(plain) ? "'" + plain : plain).replaceAll('"', '""')}"`;
};

const csvOf = (columns) => {
  const lines = [columns.map((column) => cell(column.name)).join(",")];
  const n = columns[0].values.length;
  for (let at = 0; at < n; at += 1) lines.push(columns.map((column) => cell(column.values[at])).join(","));
  return "\ufeff" + lines.join("\r\n") + "\r\n";
};

const hand = (content, type, ending) => {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const name = `${state.about.suite}-${state.about.where}-cases`.replace(/[^A-Za-z0-9_.-]+/g, "_").slice(0, 120);
  make("a", { href: url, download: `${name}.${ending}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
};

const setUpDownloads = () => {
  document.getElementById("csv").addEventListener("click", () => hand(csvOf(columnsOf(view.found)), "text/csv", "csv"));
  document.getElementById("parquet").addEventListener("click", () =>
    hand(parquetOf(columnsOf(view.found), { contract: "1", contains_text: "true" }), "application/vnd.apache.parquet", "parquet"));
};
