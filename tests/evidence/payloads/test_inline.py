"""Inline markers as citations: which passage each names, which words it is for, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from spancheck_pipeline.evidence.legend import legend_of
from spancheck_pipeline.evidence.payloads import PayloadError, read_payload
from spancheck_pipeline.evidence.run import Output

CONTEXTS = [
    {"source_id": "lease", "text": "Notice is 30 days."},
    {"source_id": "annex", "text": "Rent is due monthly."},
]


def read(answer: str, contexts: Any = CONTEXTS, producer: str = "markers") -> Output:
    output = read_payload({"answer": answer, "contexts": contexts}, producer)
    assert output is not None
    return output


def pairs(output: Output) -> list[tuple[str, str | None]]:
    return [(output.answer[c.answer_start : c.answer_end], c.source_id) for c in output.citations]


def test_each_marker_ties_the_sentence_before_it_to_a_passage() -> None:
    output = read("Notice is 30 days [1]. Rent is due monthly [2].")
    assert pairs(output) == [("Notice is 30 days [1].", "lease"), ("Rent is due monthly [2].", "annex")]
    assert output.versions == {"citation_payload": "markers"}


STYLES = [
    "[1][2]",
    "[1, 2]",
    "[1-2]",
    "[1–2]",
    "[^1][^2]",
    "[doc1][doc2]",
    "(doc1)(doc2)",
    "【1†source】【2†source】",
    "¹,²",
    "<sup>1</sup><sup>2</sup>",
    "[Source: lease; annex]",
    "[lease][annex]",
]


@pytest.mark.parametrize("marks", STYLES)
def test_every_style_of_marker_names_the_same_two_passages(marks: str) -> None:
    space = "" if marks[0] == "¹" else " "
    assert [source for _, source in pairs(read(f"Rent and notice are regulated{space}{marks}."))] == ["lease", "annex"]


def test_an_id_beyond_the_passages_stays_as_written_and_dangles() -> None:
    assert pairs(read("Notice is 30 days [1]. Pets are allowed [7]."))[1] == ("Pets are allowed [7].", "7")


def test_zero_based_markers_are_read_so_where_that_is_declared() -> None:
    answer = "Notice is 30 days [0]. Rent is due monthly [1]."
    assert [source for _, source in pairs(read(answer, producer="markers_from_zero"))] == ["lease", "annex"]
    assert [source for _, source in pairs(read(answer))] == ["0", "lease"]


@pytest.mark.parametrize(
    "answer",
    [
        "Take `row[1]` of the table.",
        "```python\nx = rows[1]\n```\nThat is all.",
        "It was built in [2019] and sold.",
        "The set (1) is small, and f(2) is larger.",
        "See [the lease](https://ex.org/1) for more.",
        "The area is 10 m² and a[1] is an index.",
        "No sources were found.",
        "",
    ],
)
def test_code_links_years_powers_and_indices_are_no_markers(answer: str) -> None:
    assert read(answer).citations == ()


def test_a_bracket_counts_only_where_some_marker_names_a_source() -> None:
    assert read("The third [3] of the values.", contexts=[]).citations == ()
    assert read("The third [3] of the values.").citations == ()


def test_numbers_of_passages_that_were_not_captured_are_unmeasured_and_not_missing() -> None:
    output = read("Notice is 30 days [1]. Rent is due monthly [4].", contexts=[])
    assert [source for _, source in pairs(output)] == ["1", "4"]
    assert [(context.source_id, context.text) for context in output.contexts] == [("1", None), ("4", None)]


def test_round_numbers_are_markers_where_a_legend_says_what_they_are() -> None:
    answer = (
        "Notice is 30 days (1). Rent is due monthly (2).\n\nSources:\n(1) The lease, https://ex.org/l.\n(2) The annex"
    )
    output = read(answer, contexts=[])
    assert pairs(output) == [("Notice is 30 days (1).", "1"), ("Rent is due monthly (2).", "2")]
    assert [(c.source_id, c.uri, c.title, c.text) for c in output.contexts] == [
        ("1", "https://ex.org/l", "The lease, https://ex.org/l.", None),
        ("2", None, "The annex", None),
    ]
    assert read(answer.partition("\n\n")[0], contexts=[]).citations == ()


def test_footnote_definitions_are_a_legend_and_no_claims() -> None:
    answer = "Notice is 30 days [^1].\n\n[^1]: https://ex.org/lease"
    assert pairs(read(answer, contexts=[])) == [("Notice is 30 days [^1].", "1")]
    legend = legend_of(answer)
    assert legend is not None
    assert legend.entries == {"1": "https://ex.org/lease"}
    assert legend_of("1. First do this.\n2. Then do that.") is None


def test_citations_that_the_output_states_itself_are_kept() -> None:
    stated = {"answer": "Notice is 30 days [1].", "contexts": CONTEXTS, "citations": [{"source_id": "annex"}]}
    output = read_payload(stated, "markers")
    assert output is not None
    assert [c.source_id for c in output.citations] == ["annex"]


def test_a_bare_text_has_no_passages_to_name_and_a_payload_is_refused() -> None:
    output = read_payload("Notice is 30 days [2].", "markers")
    assert output is not None
    assert output.citations == ()
    with pytest.raises(PayloadError, match="answer"):
        read_payload({"choices": []}, "markers")
