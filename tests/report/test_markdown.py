"""Decisions and comparisons as Markdown, rendered by an independent CommonMark library with GitHub's tables."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from spancheck_pipeline.decision.comparison import ComparedCase, ComparedRun, compare
from spancheck_pipeline.decision.difference import difference_of
from spancheck_pipeline.decision.facts import ScoreFacts
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.gate_settings import GateSettings
from spancheck_pipeline.decision.rule import Answer, RuleResult
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.report.markdown import decision_markdown, difference_markdown


class Page(HTMLParser):
    """What a reader sees: the cells of each row, the items of lists, and which tags there are."""

    def __init__(self, markdown):
        super().__init__()
        self.tags, self.rows, self.items, self.headings = set(), [], [], []
        self._into = None
        self.feed(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - html.parser's signature
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        into = {"td": self.rows and self.rows[-1], "th": self.rows and self.rows[-1], "li": self.items}
        into |= {"h2": self.headings, "h3": self.headings}
        if into.get(tag) is not None and tag in into:
            self._into = into[tag]
            self._into.append("")

    def handle_endtag(self, tag):
        if tag in {"td", "th", "li", "h2", "h3"}:
            self._into = None

    def handle_data(self, data):
        if self._into is not None:
            self._into[-1] += data


PLAIN_TAGS = {"h2", "h3", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "p", "code", "strong"}


def decided(reason, answer=Answer.FAIL, **changes):
    rule = RuleResult(rule="min_pass_rate_cites", kind="threshold", subject="cites", answer=answer, reason=reason)
    facts = {"suite": "leases", "run_id": "r", "date": "2026-11-30", "answer": answer, "rules": [rule]}
    return GateDecision(**{**facts, "settings": GateSettings(), "scorecard_digest": "d", **changes})


def compared(old, new, **changes):
    def run(outcomes, run_id):
        scores = [ScoreFacts(grader="cites", case_id=c, outcome=Outcome(word)) for c, word in outcomes.items()]
        return ComparedRun(run_id=run_id, cases={c: ComparedCase(question_digest=c) for c in outcomes}, scores=scores)

    return compare(run(new, "new"), run(old, "old"), suite="leases", graders=["cites"], min_overlap=0.1, **changes)


def test_a_decision_is_a_table_of_rules_and_a_table_for_each_baseline():
    comparison = compared(
        {"a": "pass", "b": "pass", "c": "fail", "gone": "pass"}, {"a": "pass", "b": "fail", "c": "pass", "new": "pass"}
    )

    page = Page(decision_markdown(decided("cites: 1 of 2 passed, below 0.9"), [comparison]))

    assert page.headings == ["❌ FAIL — leases · 2026-11-30", "Against the baseline old"]
    assert page.rows[1] == ["min_pass_rate_cites", "❌ FAIL", "–", "–", "cites: 1 of 2 passed, below 0.9"]
    row = dict(zip(page.rows[2], page.rows[3], strict=True))
    assert (row["grader"], row["baseline"], row["run"], row["newly failing"]) == ("cites", "66.7%", "66.7%", "1")
    assert page.items == ["newly failing (cites): b", "newly passing (cites): c", "added: new", "removed: gone"]
    assert page.tags <= PLAIN_TAGS


def test_a_comparison_that_is_impossible_gives_its_reasons_and_no_table():
    page = Page(difference_markdown(difference_of(compared({"a": "pass"}, {"b": "pass"}))))

    assert page.rows == []
    assert "only 0 of 1 questions are shared" in page.items[0]


HOSTILE = [
    "<script>alert(1)</script>",
    "a | b | c",
    "`code` *bold* _it_ ~~gone~~ **x**",
    "[click](https://evil.example) ![i](x)",
    "https://evil.example www.evil.example a@evil.example",
    "</code></td></tr><h1>x",
    "&lt;b&gt; &amp;",
    "\\",
    "a\nb\r\n\n# heading\n- item",
    "\u202ereversed \x1b[2J \x00",
    "1. one",
    "- dash",
    "    indented",
    "@team please #12 org/repo#3",
    "<!--",
]


def seen(text):
    """What a reader must see of a text: controls as escapes, one line, joiners away."""
    controls = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
    return controls.sub(lambda m: m.group().encode("unicode_escape").decode(), text).strip()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_id_or_reason_is_shown_as_it_is_and_does_nothing(text):
    comparison = compared({text: "pass", "b": "pass"}, {text: "fail", "b": "pass"})

    markdown = decision_markdown(decided(text), [comparison])
    page = Page(markdown)

    assert page.tags <= PLAIN_TAGS, page.tags
    assert len(page.headings) == 2
    assert [len(row) for row in page.rows] == [5, 5, 9, 9]
    assert page.rows[1][4].replace("\u2060", "") == seen(text)
    assert page.items[0].replace("\u2060", "") == f"newly failing (cites): {seen(text)}"
    assert not re.search(r"https?://|www\.evil", markdown), "no link that GitHub makes of a bare address"
    assert not re.search(r"[@#]\w", page.rows[1][4] + page.items[0]), "no mention, no reference to an issue"


@given(st.text(min_size=1, max_size=40))
def test_any_id_keeps_the_shape_of_the_page(text):
    other = f"{text}b"
    comparison = compared({text: "pass", other: "pass"}, {text: "fail", other: "pass"})
    page = Page(decision_markdown(decided(text), [comparison]))

    assert page.tags <= PLAIN_TAGS
    assert [len(row) for row in page.rows] == [5, 5, 9, 9]
    assert len(page.items) == 1
