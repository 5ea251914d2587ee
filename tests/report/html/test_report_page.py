"""The page as a file: what stands in it, what its policy lets it do, how large it is, and what writing it needs."""

import base64
import gzip
import hashlib
import html
import json
import random
import re
import tracemalloc
from collections import Counter
from datetime import datetime, timedelta
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_scenario import GRADERS, STAMPS, answered, blocks_of, head_of, page_of, record, renamed
from scenario import PASSAGE, QUOTE, case, row

from spancheck_pipeline.decision.adjudication import Adjudication, finding_digest
from spancheck_pipeline.decision.audit import AuditRecord, AuditScore, AuditVerdict
from spancheck_pipeline.decision.comparison import ComparisonDocument, RunIdentity
from spancheck_pipeline.decision.figures import (
    Adjudicated,
    AdjudicatedFigures,
    CorrectedRate,
    Counts,
    JudgeFigures,
    Rate,
)
from spancheck_pipeline.decision.paired_figures import Difference
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.decision.standing import Standing
from spancheck_pipeline.report.html.beside import beside
from spancheck_pipeline.report.html.overview import ReportFacts
from spancheck_pipeline.report.html.page import write_page
from spancheck_pipeline.report.html.provenance import Sealing
from spancheck_pipeline.report.html.records import LETTERS, table_row
from spancheck_pipeline.report.summary import summary_markdown

GOOD = "Either party may end the lease with 30 days written notice."
ALTERED = "Either party may end the lease with 60 days written notice."


def two_cases():
    return [
        answered("holds", GOOD, passages=[("lease", PASSAGE)], quotes=[("lease", QUOTE)], answerable=True),
        answered("altered", ALTERED, passages=[("lease", PASSAGE)], quotes=[("lease", ALTERED)], answerable=True),
    ]


def lines_of(page: str) -> tuple[dict, list[list]]:
    about, *rows = (json.loads(line) for line in blocks_of(page)["table-of-cases"].decode().splitlines())
    return about, rows


def packed(page: str, at: list) -> dict:
    return json.loads(blocks_of(page)[f"pack-{at[1]}"])["cases"][at[2]]


def test_a_page_says_the_decision_and_holds_every_case_with_its_findings_as_they_were_recorded():
    records = two_cases()

    page = page_of(records)

    assert "The gate lets this run pass: all 2 rules hold." in page
    about, rows = lines_of(page)
    assert about["graders"] == [grader.name for grader in GRADERS]
    assert [line[0] for line in rows] == ["holds", "altered"]
    for line, kept in zip(rows, records, strict=True):
        shown = packed(page, line)["epochs"][0]
        for score, recorded in zip(shown["scores"], kept.scores, strict=True):
            assert (score["outcome"], score["value"], score["reason"]) == (
                recorded.outcome,
                recorded.value,
                recorded.reason,
            )
            assert [
                (f["item"], f["grade"], f["reason"], f["source"], f["from"], f["to"], f["start"], f["end"])
                for f in score["findings"]
            ] == [
                (
                    *(f.item, f.grade, f.reason, f.source_id),
                    *(f.source_start, f.source_end, f.answer_start, f.answer_end),
                )
                for f in recorded.findings
            ]


def test_a_failing_decision_names_its_rules_with_their_reasons_before_anything_else():
    head = head_of(two_cases(), gate={"min_pass_rate": {"citation_accuracy": 0.95, "no_pii": 0.5}})

    page = page_of(two_cases(), head)

    assert "The gate does not let this run pass: 1 of 3 rules fails." in page
    reason = next(rule.reason for rule in head.decision.rules if rule.answer == "FAIL")
    assert page.index("Rules that did not pass") < page.index(reason) < page.index("Headline figures")


def test_a_first_night_is_not_said_to_have_been_unable_to_see_a_regression():
    head = head_of(two_cases(), gate={"min_pass_rate": {"no_pii": 0.50000001}, "regression": {}})

    page = page_of(two_cases(), head)

    assert "1 of 3 rules decided nothing" in page
    assert "could not have seen" not in page
    assert "0.50000001" in page


def test_the_page_may_run_its_own_script_and_nothing_else():
    page = page_of(two_cases())

    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page).group(1)
    rules = dict(rule.split(" ", 1) for rule in policy.replace("&#39;", "'").split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    for directive, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[directive] == f"'sha256-{digest}'"
    assert page.index("Content-Security-Policy") < page.index("<style>")


class Elements(HTMLParser):
    """Every element with its attributes, as a parser that is not ours sees them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def elements(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Elements()
    parser.feed(page)
    parser.close()
    return parser.found


def test_no_element_of_the_page_loads_anything_or_carries_a_style_or_a_handler():
    for tag, attributes in elements(page_of(two_cases())):
        assert tag not in {"iframe", "object", "embed", "base", "img", "audio", "video"}
        assert not {"src", "style", "srcdoc", "action"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
        if tag in {"a", "link"}:
            assert attributes["href"].startswith(("#", "data:,"))


def test_the_same_records_make_the_same_page():
    assert page_of(two_cases()) == page_of(two_cases())


def varied(n: int, seed: int = 3):
    draw = random.Random(seed)
    words = ("lease", "tenant", "rent", "notice", "month", "deposit", "keys", "repair", "floor", "clause", "term")
    passages = [
        (f"doc{i}", " ".join(f"{draw.choice(words)}{draw.randint(0, 99)}" for _ in range(120))) for i in range(200)
    ]
    for i in range(n):
        shown = draw.sample(passages, 4)
        answer = " ".join(f"{draw.choice(words)}{draw.randint(0, 99)}" for _ in range(40))
        yield answered(f"case-{i}", answer, passages=shown, quotes=[(shown[0][0], shown[0][1][:60])], answerable=True)


def test_packed_texts_take_at_most_one_and_a_half_times_the_gzipped_records():
    records = list(varied(150))
    gzipped = len(gzip.compress("\n".join(item.model_dump_json() for item in records).encode()))
    assert gzipped > 100_000

    page = page_of(records)

    blocks = sum(map(len, re.findall(r'<script type="application/gzip"[^>]*>[^<]*</script>', page)))
    assert blocks <= 1.5 * gzipped
    assert len(page.encode()) <= 1.5 * gzipped + 1_000_000


def test_writing_a_page_holds_one_pack_and_not_the_run():
    """Five times the records may take half as much again, for what the table keeps of each, and not five times."""
    few = list(varied(60))
    head = head_of(few[:20])

    def peak(n: int) -> int:
        cases = (renamed(few[i % 60], f"c{i}") for i in range(n))
        tracemalloc.start()
        for _ in write_page(ReportFacts(head=head), cases, [], STAMPS):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(60)
    assert peak(1500) < 1.5 * peak(300)


outcomes = st.sampled_from(["pass", "fail", "not_applicable", "unmeasured"])


@settings(max_examples=40)
@given(st.lists(st.lists(outcomes, min_size=1, max_size=3), min_size=1, max_size=8))
def test_outcomes_in_the_table_are_those_that_the_scorecard_counts(cases):
    grader = GRADERS[:1]
    records = [
        failed(f"c{i}", epoch, grader).model_copy(update={"scores": (score_of(outcome),)})
        for i, epochs in enumerate(cases)
        for epoch, outcome in enumerate(epochs)
    ]
    card = head_of(records, graders=grader, epochs=3).summary
    counts = card.graders["citation_accuracy"].counts
    groups = [[item for item in records if item.case.id == f"c{i}"] for i in range(len(cases))]

    letters = Counter(table_row(group, ["citation_accuracy"], card.epochs).outcomes for group in groups)

    assert letters == Counter(
        {letter: n for outcome, letter in LETTERS.items() if (n := getattr(counts, f"n_{outcome.value}"))}
    )


def failed(case_id: str, epoch: int, graders) -> AuditRecord:
    of = case(case_id)
    return record(of, row(of, epoch=epoch), graders)


def score_of(outcome: str) -> AuditScore:
    value = {"pass": 1.0, "fail": 0.0}.get(outcome)
    return AuditScore(
        grader="citation_accuracy",
        grader_version="1",
        spec_digest="0",
        outcome=outcome,
        value=value,
        reason_code="x",
        reason="",
    )


def test_an_unknown_cost_or_time_of_one_epoch_leaves_the_case_without_a_figure():
    of = case("c1")
    kept = [
        answered("c1", GOOD, passages=[("lease", PASSAGE)]),
        answered("c1", GOOD, passages=[("lease", PASSAGE)], epoch=1).model_copy(update={"cost_usd": None}),
        record(of, row(of, epoch=2)),
    ]

    shown = table_row(kept, [grader.name for grader in GRADERS], 3)

    assert shown.cost_usd is None
    assert shown.latency_ms == 12.5  # of the two that answered
    assert shown.n_errors == 1


def test_passages_that_epochs_share_are_packed_once():
    epochs = [answered("c1", GOOD, passages=[("lease", PASSAGE)], epoch=n) for n in range(5)]

    page = page_of(epochs, epochs=5)

    assert json.loads(blocks_of(page)["pack-0"])["texts"] == [PASSAGE]


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "<!--", "]]>", "\u2028", "&lt;", "\x00"])
def test_no_text_of_a_case_stands_in_the_file_as_it_is(text):
    page = page_of([answered("c1", GOOD + text * 3, passages=[(f"s{text}", PASSAGE + text)], question=text)])

    outside = re.sub(r'<script type="application/gzip".*?</script>', "", page, flags=re.DOTALL)
    assert GOOD not in outside
    assert len(re.findall(r"</script>", page)) == len(re.findall(r"<script", page))


@pytest.mark.parametrize(
    ("sealing", "date", "said"),
    [
        (Sealing(content_digest="c" * 64, head="a" * 64, n_records=2), "2026-03-14", "leases 2026-03-14"),
        (Sealing(content_digest="c" * 64, head="a" * 64, n_records=2), None, "run:leases-1"),
        (Sealing(content_digest="c" * 64), "2026-03-14", None),
        (None, "2026-03-14", None),
    ],
)
def test_the_head_of_the_chain_stands_there_with_the_command_that_checks_it(sealing, date, said):
    head = head_of(two_cases()).model_copy(update={"date": date})

    text = visible_text("".join(write_page(ReportFacts(head=head, sealing=sealing), two_cases(), [], STAMPS)))

    assert (f"spancheck audit verify {said} --head {'a' * 64}" in text) == (said is not None)
    assert ("a chain of 2 records" in text) == (said is not None)
    assert ("has no seal" in text) == (sealing is not None and sealing.head is None)
    assert "report: " not in text  # what the file says of itself to machines stays in its head
    assert "00000" not in text


def test_every_decision_about_a_date_stands_there_and_whether_this_is_the_first_or_the_last():
    head = head_of(two_cases())
    first = head.decision.model_copy(update={"run_id": "leases-0", "decided_by": "eve", "note": "by hand"})
    second, third = (head.decision.model_copy(update={"revision": number}) for number in (2, 3))

    def shown(decision, *known) -> str:
        facts = ReportFacts(head=head.model_copy(update={"decision": decision}), decisions=known)
        return visible_text("".join(write_page(facts, two_cases(), [], STAMPS)))

    assert "decision was made before" not in shown(first, first)
    assert "Decisions about this date" not in shown(first, first)
    text = shown(second, first, second)
    said = "This is not the first decision: 1 decision was made before it; it said PASS."
    assert text.index(said) < text.index("Headline figures")
    assert f"1 PASS {first.decided_at:%Y-%m-%d %H:%M} UTC eve by hand about another capture, leases-0" in text
    assert f"2 PASS {first.decided_at:%Y-%m-%d %H:%M} UTC ada the one of this page" in text
    assert "2 decisions were made before it; the last of them said PASS." in shown(third, first, second, third)
    assert "It is not the latest either: decision 3 says PASS." in shown(second, first, second, third)
    assert "This is not the latest decision: decision 2 says PASS." in shown(first, first, second)


def compared(kind: str, run_id: str) -> ComparisonDocument:
    return ComparisonDocument(
        suite="leases",
        baseline_kind=kind,
        candidate=RunIdentity(run_id="leases-1", date="2026-03-14"),
        baseline=RunIdentity(run_id=run_id, date="2026-03-13"),
        n_shared=2,
    )


def test_a_run_that_is_both_the_release_and_the_last_good_run_stands_there_once():
    one, same, other = compared("release", "a"), compared("last_good", "a"), compared("last_good", "b")

    assert [item.label for item in beside([one, same])] == ["the release and the last good run"]
    assert [item.label for item in beside([one, other])] == ["the release", "the last good run"]
    page = page_of(two_cases(), comparisons=[one, same])
    assert page.count('class="flips"') == 1
    assert len(lines_of(page)[0]["baselines"]) == 1
    assert "Against the release and the last good run 2026-03-13" in visible_text(page)


def test_one_of_a_thing_is_said_as_one_and_what_is_not_known_is_not_zero():
    head = head_of(two_cases()[:1])
    (rule, *_) = head.decision.rules
    alone = head.decision.model_copy(update={"rules": (rule,)})

    text = visible_text(page_of(two_cases()[:1], head.model_copy(update={"decision": alone})))

    assert "its one rule holds" in text
    assert "The one rule of the gate" in text
    assert "Cost and latency unknown cost of an answer 1 answer without a known price; no cost is known" in text
    assert "1 answer without a known cost; model: not reported." in text
    assert not re.search(r"\b1 (answers|cases|calls|rules|rows|epochs|decisions)\b", text)
    assert "0 USD" not in text
    broken = rule.model_copy(update={"answer": Answer.FAIL})
    failing = alone.model_copy(update={"rules": (broken,), "answer": Answer.FAIL})
    assert "pass: its one rule fails." in visible_text(page_of([], head.model_copy(update={"decision": failing})))


def signed(of: AuditRecord, at: datetime, **fields) -> Adjudication:
    score = of.scores[0]
    finding = score.findings[0]
    given = {
        "run_id": "leases-1",
        "grader": score.grader,
        "case_id": of.case.id,
        "epoch": of.call.epoch,
        "item": finding.item,
        "finding_digest": finding_digest(finding.model_dump()),
        "outcome": finding.outcome,
        "disposition": "passes",
        "reason": "The amendment says 60.",
        "author": "ada",
        "signed_at": at,
    }
    return Adjudication(**{**given, **fields})


def test_what_people_signed_before_the_decision_stands_beside_the_finding_that_it_is_of():
    kept = two_cases()[1]
    head = head_of([kept])
    before, after = head.decision.decided_at - timedelta(days=1), head.decision.decided_at + timedelta(days=1)
    score = kept.scores[0]
    whole = finding_digest(score.model_dump(include={"outcome", "value", "reason_code", "reason"}))
    people = (
        signed(kept, before),
        signed(kept, before, item="", finding_digest=whole, disposition="waived", expires_at=after),
        signed(kept, before - timedelta(days=1), grader="no_pii", item="pii[0]", expires_at=before),
        signed(kept, after, grader="groundedness"),
        signed(kept, before, run_id="another run", grader="groundedness"),
    )

    page = "".join(write_page(ReportFacts(head=head, adjudications=people), [kept], [], STAMPS))

    (case_,) = json.loads(blocks_of(page)["pack-0"])["cases"]
    shown = {
        (item["grader"], item["item"]): (item["disposition"], item["expired"], item["stale"])
        for item in case_["epochs"][0]["signed"]
    }
    assert shown == {
        (0, "citation[0]"): ("passes", False, False),
        (0, ""): ("waived", False, False),
        (3, "pii[0]"): ("passes", True, True),  # it has expired, and there is no such finding any more
    }


def test_rates_as_graded_and_as_adjudicated_stand_side_by_side():
    head = head_of(two_cases())
    people = AdjudicatedFigures(
        counts=Counts(n_cases=2, n_pass=2), pass_rate=Rate(value=1.0, low=0.34, high=1.0, n=2), n_passes=1, n_stale=2
    )
    adjudicated = Adjudicated(graders={"citation_accuracy": people})
    head = head.model_copy(update={"summary": head.summary.model_copy(update={"adjudicated": adjudicated})})

    text = visible_text(page_of(two_cases(), head))

    # One of two passed: Wilson's interval is 0.0945 to 0.9055.
    assert (
        "citation_accuracy 50.0 % [9.5 – 90.5 %] 100.0 % [34.0 – 100.0 %] 1 should pass, 2 of what has changed" in text
    )


def test_a_decision_that_rests_on_waivers_says_so_beside_it_with_the_count_and_both_rates():
    people = AdjudicatedFigures(
        counts=Counts(n_cases=2, n_pass=2), pass_rate=Rate(value=1.0, low=0.34, high=1.0, n=2), n_waived=1
    )
    adjudicated = Adjudicated(graders={"citation_accuracy": people})
    sentence = "It rests on what people signed about findings: citation_accuracy 100.0% with 1 waived, 50.0% as graded."

    def first_screen(is_asked: bool) -> str:
        head = head_of(two_cases(), gate={"min_pass_rate": {"citation_accuracy": 0.5}, "adjudicated": is_asked})
        head = head.model_copy(update={"summary": head.summary.model_copy(update={"adjudicated": adjudicated})})
        assert (sentence in summary_markdown(head)) == is_asked
        return visible_text(page_of(two_cases(), head)).partition("Headline figures")[0]

    assert sentence in first_screen(is_asked=True)
    assert "rests on" not in first_screen(is_asked=False)  # signed, and not asked for by the suite's gate


def test_every_headline_card_holds_its_difference_from_each_baseline():
    change = Difference(value=0.125, low=-0.1, high=0.3, n=8)
    found = compared("release", "r1").model_copy(
        update={
            "hallucination": change,
            "cost_usd": Difference(value=-0.0002, low=-0.0003, high=-0.0001, n=8),
            "latency_ms": Difference(value=12.0, n=8),
        }
    )

    text = visible_text(page_of(two_cases(), comparisons=[found]))

    assert "+12.5 points against the release" in text
    assert "−0.0002 USD and +12 ms an answer against the release" in text


def test_the_number_of_clusters_stands_beside_every_rate_and_few_are_marked():
    clustered = [
        record.model_copy(update={"case": record.case.model_copy(update={"cluster": record.case.id})})
        for record in two_cases()
    ]

    assert "clusters: 2 (few)" in visible_text(page_of(clustered))
    assert "clusters" not in visible_text(page_of(two_cases()))


def test_a_judges_standing_is_on_the_first_screen_and_its_verdicts_are_with_the_case():
    kept = two_cases()[0].model_copy(update={"verdicts": (VERDICT,)})
    head = head_of([kept])
    judge = JudgeFigures(
        name="entailment",
        kind="judge",
        client="openai",
        model="gpt-9",
        prompt="entailment_v1",
        prompt_digest="ab" * 32,
        threshold=0.5,
        graders=("groundedness",),
        served_models={"entailment": ("gpt-9-0301",)},
        n_packets=12,
        failures={"timeout": 2},
        raw=Rate(value=0.5, low=0.25, high=0.75, n=12),
        corrected=CorrectedRate(method="rogan_gladen", value=0.4, low=0.1, high=0.7),
        standing=Standing(trust="untrusted", gates=False, reason="its sensitivity is too low: 0.61"),
    )
    head = head.model_copy(update={"summary": head.summary.model_copy(update={"judges": {"entailment": judge}})})

    page = page_of([kept], head)

    text = visible_text(page)
    assert "entailment untrusted: does not gate its sensitivity is too low: 0.61" in text
    assert "asked for gpt-9 , answered by gpt-9-0301" in text
    assert (
        "Supported: 50.0 % [25.0 – 75.0 %] of 12 questions as it says; 40.0 % [10.0 – 70.0 %] without the errors"
        in text
    )
    assert "2 without an opinion." in text
    (case_,) = json.loads(blocks_of(page)["pack-0"])["cases"]
    (verdict,) = case_["epochs"][0]["verdicts"]
    assert (verdict["judge"], verdict["prompt"], verdict["label"]) == ("entailment", "entailment_v1", "supported")


VERDICT = AuditVerdict(
    judge="entailment",
    graders=("groundedness",),
    served_model="gpt-9-0301",
    prompt="entailment_v1",
    prompt_digest="ab" * 32,
    packet_digest="cd" * 32,
    label="supported",
    score=1.0,
    reason="It says so.",
)


def visible_text(page: str) -> str:
    """Return the texts of the page's body, a blank between elements."""
    body = page[page.index("<body>") : page.index('<script type="application/gzip"')]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())
