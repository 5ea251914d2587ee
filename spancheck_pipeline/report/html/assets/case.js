// One case: question, answer and passages with their marks, what every grader said, its epochs, and a baseline's answer.

const caseNode = document.getElementById("case");
const OUTCOME_WORDS = { pass: "pass", fail: "fail", unmeasured: "unmeasured", not_applicable: "n/a" };

const showCase = async (parameters) => {
  const id = parameters.get("case");
  const at = state.byId.get(id);
  if (at === undefined) {
    caseNode.replaceChildren(make("h2", { tabindex: -1 }, "No such case"), make("p", {}, "This report has no case ", inline(id), "."), backLink());
    return;
  }
  const item = await caseOf(state.rows[at]);
  const asked = parameters.has("epoch") ? Number(parameters.get("epoch")) : null;
  const epoch = item.epochs.find((one) => one.epoch === asked) || tellingEpoch(item, state.rows[at]);
  const parts = [caseHead(item, at), questionOf(item)];
  if (item.epochs.length > 1) parts.push(epochsOf(item, epoch));
  parts.push(epochPart(item, epoch));
  for (const part of await beforeParts(item, epoch)) parts.push(part);
  parts.push(labelsOf(item));
  refill(caseNode, parts);
};

// The epoch that a case opens at: of a flaky one the first that failed, so that one sees what is wrong with it.
const flakyIn = (row) => state.about.graders.map((name, at) => at).filter((at) => row[OUTCOMES][at] === "k");
const tellingEpoch = (item, row) => {
  const flaky = flakyIn(row);
  const chosen = state.about.graders.indexOf(filters.grader);
  const looked = flaky.includes(chosen) ? [chosen] : flaky;
  const failed = (epoch) => epoch.scores.some((score) => looked.includes(score.grader) && score.outcome === "fail");
  const missing = (epoch) => epoch.scores.some((score) => looked.includes(score.grader) && score.outcome === "unmeasured");
  return item.epochs.find(failed) || item.epochs.find(missing) || item.epochs[0];
};

const backLink = () => make("a", { href: address({ view: "cases", ...filters }) }, "All cases");

const caseHead = (item, at) => {
  const place = view.found.indexOf(at);
  const step = (to, label) => (place < 0 || view.found[to] === undefined ? null : make("a", { href: address({ case: state.rows[view.found[to]][ID] }) }, label));
  const against = new Map();
  for (const [grader, how, baseline] of flipsOf(item.id)) {
    const what = `${FLIPS[how]}: ${grader}`;
    against.set(what, [...(against.get(what) || [how === "passing" ? "pass" : "fail"]), state.about.baselines[baseline].label]);
  }
  const flips = [...against].map(([what, [kind, ...labels]]) => chip(kind, `${what} (against ${labels.join(" and ")})`));
  flips.unshift(...flakyIn(state.rows[at]).map((grader) => chip("flaky", `flaky: ${state.about.graders[grader]}`)));
  return make("div", {},
    make("div", { class: "case-head" },
      make("h2", { tabindex: -1 }, inline(item.id)),
      make("div", { class: "way" }, backLink(), step(place - 1, "Previous"), step(place + 1, "Next"))),
    make("p", { class: "faint" }, "Category ", inline(item.category), item.cluster === null ? null : make("span", {}, ", cluster ", inline(item.cluster)),
      item.answerable === null ? null : item.answerable ? "; the corpus holds an answer" : "; the corpus holds no answer"),
    flips.length > 0 ? make("p", {}, flips) : null);
};

const questionOf = (item) => make("div", { class: "question" },
  firstOf(item.history, ([role, text]) => make("div", { class: "turn" }, make("span", { class: "role" }, inline(role)), textBlock(text)), "earlier turn"),
  make("span", { class: "label" }, "Question"), textBlock(item.input));

const labelsOf = (item) => {
  const parts = [];
  if (item.expected !== null) parts.push(make("h4", {}, "Expected"), textBlock(item.expected));
  if (item.expectedSources.length > 0) parts.push(make("h4", {}, "Expected sources"), make("p", {}, item.expectedSources.map((name) => [inline(name), " "])));
  parts.push(firstOf(item.criteria, ([id, type, target, comment]) => make("div", {},
    make("h4", {}, "Criterion ", inline(id), make("span", { class: "faint" }, type)), comment === null ? null : textBlock(comment), make("pre", { tabindex: 0 }, appendText(make("span"), target))), "criterion", "criteria"));
  if (item.known.length > 0) parts.push(make("h4", {}, "Known passages (never shown to the system)"), firstOf(item.known, (context) => passagePanel(context, item.texts, [], () => {}), "passage"));
  if (item.meta !== null) parts.push(make("h4", {}, "Further data of the case"), make("pre", { tabindex: 0 }, appendText(make("span"), item.meta)));
  if (parts.every((part) => Array.isArray(part) && part.length === 0)) return make("div");
  return make("details", { class: "labels", open: item.expected !== null }, make("summary", {}, "What is known about a good answer"), parts);
};

// -- one epoch ------------------------------------------------------------------------------------------------------

const epochPart = (item, epoch) => {
  const root = make("div", { class: "epoch", "data-epoch": epoch.epoch });
  const findings = numbered(epoch);
  const located = [...new Set(findings.filter((finding) => finding.start !== null || finding.from !== null).map((finding) => finding.grader))];
  const answer = make("div", { class: "answer" });
  const passages = make("div", { class: "passages" });
  const pick = (number) => light(root, number, ".scores");
  const draw = (grader) => {
    const shown = findings.filter((finding) => grader === "" || String(finding.grader) === grader);
    answer.replaceChildren(answerPanel(epoch, shown, pick));
    refill(passages, passagePanels(epoch, item.texts, shown, pick));
  };
  const chosen = String(preferred(located, findings));
  const choice = make("select", { on: { change: () => draw(choice.value) } }, make("option", { value: "" }, "all graders"),
    located.map((grader) => make("option", { value: grader, selected: String(grader) === chosen }, state.about.graders[grader])));
  draw(chosen);
  root.append(make("div", { class: "split" },
    make("div", {}, located.length > 0 ? make("p", { class: "marks" }, make("label", {}, "Marks of ", choice)) : null, answer, passages),
    make("div", { class: "scores" }, make("h3", {}, "What the graders say"), scoresOf(item, epoch, findings, (number, to) => {
      const grader = String(findings.find((finding) => finding.number === number).grader);
      if (choice.value !== "" && choice.value !== grader) { choice.value = grader; draw(grader); }
      light(root, number, to);
    }), verdictsOf(epoch), callFacts(epoch))));
  return root;
};

// Findings of an epoch, numbered over all graders; those with a place in a text carry the passage that they mean.
const numbered = (epoch) => {
  let number = 0;
  return epoch.scores.flatMap((score) => score.findings.map((finding) => {
    number += 1;
    const title = [state.about.graders[score.grader], finding.kind, finding.grade, finding.outcome].filter((word) => word !== null && word !== "").join(", ").replaceAll("_", " ");
    return { ...finding, grader: score.grader, number, title };
  }));
};

const preferred = (located, findings) => {
  const wished = state.about.graders.indexOf(filters.grader);
  if (located.includes(wished)) return wished;
  const citing = findings.find((finding) => finding.kind === "citation");
  if (citing !== undefined) return citing.grader;
  const failing = findings.find((finding) => finding.outcome === "fail" && located.includes(finding.grader));
  return failing !== undefined ? failing.grader : located.length > 0 ? located[0] : "";
};

const rangesIn = (findings, from, to) => findings.filter((finding) => finding[from] !== null && finding[to] !== null)
  .map((finding) => ({ start: finding[from], end: finding[to], outcome: finding.outcome, number: finding.number, title: finding.title }));

const answerPanel = (epoch, findings, pick) => {
  if (epoch.error !== null) return make("div", { class: "panel" }, make("h4", {}, "The call failed ", chip("fail", "error")), make("p", {}, inline(epoch.error[0] || "")), textBlock(epoch.error[1] || ""));
  const flag = epoch.abstained === true ? chip("n", "the system says that it declined") : null;
  return make("div", { class: "panel" }, make("h4", {}, "Answer", flag), epoch.answer === "" ? make("p", { class: "faint" }, "(empty)") : markedText(epoch.answer, rangesIn(findings, "start", "end"), pick));
};

const passagePanels = (epoch, texts, findings, pick) => {
  if (epoch.error !== null) return [];
  if (epoch.contexts.length === 0) return [make("p", { class: "faint" }, "No passage was recorded.")];
  const placed = new Map(epoch.contexts.map((context, at) => [at, []]));
  for (const finding of findings) {
    const at = passageOf(epoch, texts, finding);
    if (at >= 0) placed.get(at).push(finding);
  }
  return firstOf(epoch.contexts.map((context, at) => [context, placed.get(at)]), ([context, findings]) => passagePanel(context, texts, findings, pick), "passage");
};

// A finding names its passage. Where several passages of an answer have that name, it is the one in which the words at
// its offsets are most like the quote.
const passageOf = (epoch, texts, finding) => {
  if (finding.from === null || finding.to === null) return -1;
  const named = epoch.contexts.map((context, at) => at).filter((at) => epoch.contexts[at].name === finding.source && epoch.contexts[at].text !== null);
  if (named.length < 2) return named.length === 1 ? named[0] : -1;
  const quote = new Set(pieces((quoteOf(epoch, finding) || "").toLowerCase()));
  const likeness = named.map((at) => pieces(sliceOf(texts[epoch.contexts[at].text], finding).toLowerCase()).filter((piece) => quote.has(piece)).length);
  return named[likeness.reduce((best, value, at) => (value > likeness[best] ? at : best), 0)];
};

const sliceOf = (text, finding) => {
  const units = unitsOf(text, [finding.from, finding.to]);
  return text.slice(units.get(finding.from), units.get(finding.to));
};

const quoteOf = (epoch, finding) => {
  const match = /^citation\[(\d+)\]$/.exec(finding.item);
  const citation = match === null ? undefined : epoch.citations[Number(match[1])];
  return citation === undefined ? null : citation.quote;
};

const passagePanel = (context, texts, findings, pick) => {
  const place = [context.title, context.page === null ? null : `page ${context.page}`, context.uri].filter((part) => part !== null).join(" · ");
  return make("div", { class: "panel passage" },
    make("h4", {}, inline(context.name), place === "" ? null : make("span", { class: "faint" }, inline(place))),
    context.text === null ? make("p", { class: "faint" }, "(no text was recorded)") : markedText(texts[context.text], rangesIn(findings, "from", "to"), pick));
};

// -- scores ---------------------------------------------------------------------------------------------------------

const scoresOf = (item, epoch, findings, go) => {
  const silent = epoch.scores.filter((score) => score.outcome === "not_applicable");
  const spoken = epoch.scores.filter((score) => score.outcome !== "not_applicable").sort((a, b) => GRAVITY.indexOf(a.outcome) - GRAVITY.indexOf(b.outcome));
  const parts = spoken.map((score) => scorePart(item, epoch, score, findings.filter((finding) => finding.grader === score.grader), go));
  if (silent.length > 0) parts.push(make("details", {}, make("summary", {}, `${many(silent.length, "grader")} had nothing to say`), silent.map((score) => scorePart(item, epoch, score, findings.filter((finding) => finding.grader === score.grader), go))));
  return parts;
};

const scorePart = (item, epoch, score, findings, go) => make("div", { class: "score" },
  make("h4", {}, state.about.graders[score.grader], chip(score.outcome, OUTCOME_WORDS[score.outcome]), score.value === null ? null : make("span", { class: "faint" }, score.value.toFixed(2))),
  make("p", {}, said(score.reason)), signedOf(epoch, score.grader, ""), firstOf(gravestFirst(findings), (finding) => findingPart(item, epoch, finding, go), "finding"));

const findingPart = (item, epoch, finding, go) => {
  const quote = quoteOf(epoch, finding);
  const at = passageOf(epoch, item.texts, finding);
  const differs = quote !== null && at >= 0 && ["altered", "ellipsis_hides", "typographic"].includes(finding.grade);
  const jump = (to, label) => make("button", { type: "button", on: { click: () => go(finding.number, to) } }, label);
  return make("div", { class: `finding ${finding.outcome}`, "data-finding": finding.number },
    make("div", {}, make("strong", {}, `${finding.number} `), inline(finding.item), " ", chip(finding.outcome, (finding.grade || OUTCOME_WORDS[finding.outcome]).replaceAll("_", " ")), " ",
      finding.start === null || epoch.error !== null ? null : jump(".answer", "in the answer"), " ", at < 0 ? null : jump(".passages", "in the passage")),
    finding.reason === "" ? null : make("div", {}, said(finding.reason)),
    finding.source === null || finding.from !== null ? null : make("div", { class: "faint" }, "Source: ", inline(finding.source)),
    quote !== null && !differs && finding.outcome !== "pass" ? make("div", { class: "diff text" }, make("span", { class: "label" }, "Quoted"), inline(quote)) : null,
    signedOf(epoch, finding.grader, finding.item),
    differs ? drawDiff(sliceOf(item.texts[epoch.contexts[at].text], finding), quote, "The passage, changed as it was quoted") : null);
};

// What a person signed about a finding (or about a score as a whole), beside what the grader said and not in its place.
const DISPOSITIONS = { confirmed: "confirmed", passes: "should pass", fails: "should fail", waived: "waived" };

const signedOf = (epoch, grader, item) => (epoch.signed || []).filter((one) => one.grader === grader && one.item === item).map((one) =>
  make("div", { class: "signed" }, chip("n", DISPOSITIONS[one.disposition]), one.expired ? chip("u", "expired") : null, one.stale ? chip("u", "of what has changed since") : null,
    " ", inline(one.reason), make("span", { class: "faint" }, " ", inline(one.author), `, ${one.at}`, one.until === null ? "" : `, until ${one.until}`)));

// A reason, with the words that it names in bold.
const said = (reason) => {
  const line = make("bdi");
  for (const [at, part] of reason.split(/(“[^”]*”)/).entries()) line.append(at % 2 === 1 ? appendText(make("span", { class: "named" }), part) : appendText(make("span"), part));
  return line;
};

// What judges replied about this answer, one line a reply, with the prompt and the model that it came from.
const verdictsOf = (epoch) => {
  if (epoch.verdicts.length === 0) return null;
  const rows = firstOf(epoch.verdicts, (verdict) => make("div", { class: `finding ${verdict.error === null ? "" : "unmeasured"}` },
    make("div", {}, make("strong", {}, inline(verdict.judge)), " ", verdict.error === null ? chip("n", verdict.label) : chip("unmeasured", verdict.error), " ", verdict.score === null ? "" : verdict.score.toFixed(2),
      verdict.repeat > 0 ? ` repeat ${verdict.repeat + 1}` : ""),
    verdict.reason === null ? null : make("div", {}, inline(verdict.reason)),
    make("div", { class: "faint" }, "prompt ", inline(verdict.prompt), ` (${verdict.promptDigest.slice(0, 12)}…)`, verdict.model === null ? null : make("span", {}, ", model ", inline(verdict.model)),
      verdict.graders.length === 0 ? null : `, for ${verdict.graders.join(", ")}`, `, question ${verdict.packetDigest.slice(0, 12)}…`, verdict.latency === null ? null : `, ${milliseconds(verdict.latency)}`, verdict.cost === null ? null : `, ${usd(verdict.cost)}`)), "reply", "replies");
  return make("div", { class: "verdicts" }, make("h3", {}, "What judges replied"), rows);
};

const callFacts = (epoch) => {
  const tokens = epoch.tokens || [];
  const facts = [["latency", milliseconds(epoch.latency)], ["all attempts", milliseconds(epoch.total)], ["attempts", epoch.attempts], ["cost", usd(epoch.cost)],
    ["tokens in", tokens[0]], ["tokens out", tokens[1]], ["cached", tokens[2]], ["reasoning", tokens[3]], ["model", epoch.model], ["finish", epoch.finish],
    ...(epoch.versions || []), ["asked at", epoch.at]].filter(([, value]) => value !== null && value !== undefined && value !== "–");
  return make("details", {}, make("summary", {}, "The call"), make("table", { class: "facts" }, make("tbody", {},
    facts.map(([label, value]) => make("tr", {}, make("th", { scope: "row" }, inline(String(label))), make("td", {}, inline(String(value))))))));
};

// -- epochs side by side --------------------------------------------------------------------------------------------

const epochsOf = (item, shown) => {
  const link = (epoch) => make("a", { href: address({ case: item.id, epoch: epoch.epoch }), "aria-current": epoch === shown ? "true" : null }, `epoch ${epoch.epoch + 1}`);
  const outcome = (epoch, grader) => epoch.scores.find((score) => score.grader === grader);
  return make("div", {}, make("h3", {}, `${item.epochs.length} epochs, side by side`),
    make("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Outcomes of every epoch" }, make("table", { class: "matrix" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "grader"), item.epochs.map((epoch) => make("th", { scope: "col" }, link(epoch))))),
      make("tbody", {}, state.about.graders.map((name, grader) => make("tr", {}, make("th", { scope: "row" }, name),
        item.epochs.map((epoch) => { const score = outcome(epoch, grader); return make("td", {}, score === undefined ? "–" : chip(score.outcome, OUTCOME_WORDS[score.outcome])); })))))),
    make("div", { class: "epochs", role: "group", "aria-label": "Answers of every epoch" }, firstOf(item.epochs, (epoch) => make("div", { class: "panel" },
      make("h4", {}, link(epoch)), epoch.error === null ? make("div", { class: "inner", role: "region", tabindex: 0, "aria-label": `Answer of epoch ${epoch.epoch + 1}` }, textBlock(epoch.answer)) : make("p", {}, chip("fail", "error"), inline(epoch.error[0] || ""))), "epoch")));
};

// -- a baseline's answer --------------------------------------------------------------------------------------------

const beforeParts = async (item, epoch) => {
  const parts = [];
  for (const baseline of state.about.baselines) {
    const earlier = await earlierOf(baseline.kind, item.id);
    if (earlier !== null) parts.push(make("h3", {}, `Beside ${baseline.label}, `, inline(baseline.where)), sidesOf(item, epoch, earlier, baseline));
  }
  return parts;
};

const sidesOf = (item, epoch, earlier, baseline) => {
  const other = earlier.epochs.find((one) => one.epoch === epoch.epoch) || earlier.epochs[0];
  if (other === undefined) return make("p", {}, "The baseline has no answer to this case.");
  const side = (title, one, texts) => {
    const findings = numbered(one);
    const citing = preferredCiting(findings);
    return make("div", { class: "panel" }, make("h4", {}, title), answerPanel(one, citing, () => {}),
      one.scores.length === 0 ? null : make("details", {}, make("summary", {}, "Reasons"), one.scores.filter((score) => score.outcome !== "not_applicable").map((score) => make("p", {}, state.about.graders[score.grader], " ", chip(score.outcome, OUTCOME_WORDS[score.outcome]), " ", said(score.reason)))),
      one.contexts === undefined ? null : make("details", {}, make("summary", {}, many(one.contexts.length, "passage")), passagePanels(one, texts, citing, () => {})));
  };
  const flipped = flipsOf(item.id).filter((flip) => state.about.baselines[flip[2]] === baseline);
  return make("div", {},
    make("p", {}, flipped.map(([grader, how]) => [chip(how === "passing" ? "pass" : "fail", `${grader}: ${FLIPS[how]}`)])),
    make("div", { class: "sides" }, side(`Baseline, ${baseline.where}`, other, earlier.texts), side("This run", epoch, item.texts)),
    other.error === null && epoch.error === null ? drawDiff(other.answer, epoch.answer, "The baseline's answer, changed into this run's") : null,
    other.scores.length === 0 ? make("p", { class: "legend" }, "For the comparison the baseline was graded again with this run's graders and labels; only the outcomes were kept, so there are no reasons to show.") : null);
};

const preferredCiting = (findings) => findings.filter((finding) => finding.kind === "citation");
