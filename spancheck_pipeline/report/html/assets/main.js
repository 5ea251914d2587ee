// Which part of the report is shown, by the address after the hash: #view=cases&grader=…, #case=…&epoch=….

const VIEWS = ["overview", "cases", "case", "changes", "provenance"];

const show = (name) => {
  for (const id of VIEWS) document.getElementById(id).hidden = id !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === (name === "case" ? "cases" : name)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
};

let isFirst = true;

const route = async () => {
  const text = location.hash.slice(1);
  const parameters = new URLSearchParams(text);
  if (text !== "" && !text.includes("=")) { document.getElementById("main").focus(); return; }
  if (parameters.has("case")) {
    const raw = /(?:^|&)case=([^&]*)/.exec(text)[1];
    if (!state.byId.has(parameters.get("case")) && raw.includes("+")) parameters.set("case", decodeURIComponent(raw)); // a plus that somebody typed
    await showCase(parameters);
    show("case");
    scrollTo(0, 0);
    if (!isFirst) caseNode.querySelector("h2").focus({ preventScroll: true });
  } else {
    const name = VIEWS.includes(parameters.get("view")) ? parameters.get("view") : "overview";
    show(name === "case" ? "cases" : name);
    if (name === "cases") { showFilters(parameters); await apply(); }
    if (!isFirst) { scrollTo(0, 0); document.getElementById("main").focus({ preventScroll: true }); }
  }
  isFirst = false;
};

// What is folded away on the screen is unfolded on paper.
const unfolded = [];
const unfold = () => {
  for (const part of document.querySelectorAll(".view:not([hidden]) details:not([open], .flip)")) { part.open = true; unfolded.push(part); }
};
const fold = () => { for (const part of unfolded.splice(0)) part.open = false; };

const start = async () => {
  show("overview");
  try {
    await load();
    setUpTable();
    setUpDownloads();
    setUpChanges();
    find();
    addEventListener("hashchange", guarded(route));
    addEventListener("beforeprint", unfold); // a comparison that is folded would have to be loaded first, and stays so
    addEventListener("afterprint", fold);
    await route();
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    complain(error);
  }
};

const complain = (error) => {
  document.getElementById("main").prepend(make("p", { class: "note", role: "alert" }, `The cases cannot be shown: ${error.message}. Open the file in a current browser; is it complete?`));
  throw error;
};

const guarded = (work) => async () => { try { await work(); } catch (error) { complain(error); } };

start();
