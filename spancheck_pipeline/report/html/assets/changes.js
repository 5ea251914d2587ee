// The comparison view: the cases that came out otherwise than in a baseline, both answers side by side when opened.

const SHOWN = 100;

const setUpChanges = () => {
  for (const node of document.querySelectorAll(".flips")) {
    const place = Number(node.dataset.baseline);
    const baseline = state.about.baselines[place];
    const graders = Object.keys(baseline.flips).filter((name) => Object.keys(FLIPS).some((how) => baseline.flips[name][how].length > 0));
    if (Object.keys(baseline.flips).length === 0) continue;
    if (graders.length === 0) { node.append(make("p", {}, "No case came out otherwise.")); continue; }
    const list = make("div");
    const draw = () => drawFlips(list, place, grader.value, how.value, SHOWN);
    const grader = make("select", { on: { change: draw } }, make("option", { value: "" }, "any"), ...graders.map((name) => make("option", { value: name }, name)));
    const how = make("select", { on: { change: draw } }, make("option", { value: "" }, "any"), ...Object.entries(FLIPS).map(([value, label]) => make("option", { value }, label)));
    node.append(make("div", { class: "filters" }, make("label", {}, "Grader", grader), make("label", {}, "Change", how)), list);
    draw();
  }
};

const drawFlips = (list, place, grader, how, most) => {
  const changed = [];
  for (const row of state.rows) {
    const flips = flipsOf(row[ID], grader).filter((flip) => flip[2] === place && (how === "" || flip[1] === how));
    if (flips.length > 0) changed.push([row, flips]);
  }
  list.replaceChildren(make("p", { role: "status" }, many(changed.length, "case")), ...changed.slice(0, most).map(([row, flips]) => flipPart(row, flips, place)));
  if (changed.length > most) list.append(make("button", { type: "button", on: { click: () => drawFlips(list, place, grader, how, most + 5 * SHOWN) } }, `Show more of the ${many(changed.length - most, "remaining case")}`));
};

const flipPart = (row, flips, place) => {
  const content = make("div");
  const part = make("details", { class: "flip", "data-case": row[ID] },
    make("summary", {}, inline(row[ID]), " ", ...flips.map(([grader, how]) => chip(how === "passing" ? "pass" : "fail", `${grader}: ${FLIPS[how]}`))), content);
  part.addEventListener("toggle", async () => {
    if (!part.open || content.childNodes.length > 0) return;
    const baseline = state.about.baselines[place];
    const [item, earlier] = await Promise.all([caseOf(row), earlierOf(baseline.kind, row[ID])]);
    if (content.childNodes.length > 0) return;
    content.append(questionOf(item), earlier === null ? make("p", {}, "The baseline's answer is not kept.") : sidesOf(item, tellingEpoch(item, row), earlier, baseline),
      make("p", {}, make("a", { href: address({ case: row[ID] }) }, "Open the case")));
  });
  return part;
};
