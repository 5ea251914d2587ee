"""Redacted copies: what is left out, that the copy ends in the same head, and that nothing in it can be guessed."""

import hashlib
import hmac
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenario import QUOTE, case, cited, output

import spancheck_pipeline as sc
from spancheck_pipeline.decision.audit_chain import record_leaves
from spancheck_pipeline.decision.audit_check import ChainCheck
from spancheck_pipeline.decision.audit_redaction import GROUPS, Redactor, check_groups
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.canonical import canonical_json, digest

MAIL = "jane.roe@example.org"
NOTICE = {"id": "c", "type": "presence", "target": {"text": "30 days"}}
CASES = [
    case("q0", "What is the notice period?", expected="30 days", criteria=[NOTICE]),
    case("q1", f"Who is {MAIL}?", history=[{"role": "user", "text": f"I am {MAIL}."}]),
    case("q2", "Who wrote?", meta={"by": "us"}),
]
ANSWERS = {
    CASES[0].input: cited(),
    CASES[1].input: output("I cannot say.", contexts=[f"Write to {MAIL}.", "A harmless passage."]),
    CASES[2].input: output(f"It was {MAIL}.", contexts=["A harmless passage."], raw={"from": MAIL}),
}
RUN = sc.evaluate(CASES, ANSWERS.get)
LOG = json.loads(json.dumps(RUN.audit_log(decision=sc.gate(RUN, {"no_pii": 0.5}))))


def redacted(*groups: str) -> dict:
    redactor = Redactor(check_groups(groups), bytes.fromhex(LOG["chain"]["key"]))
    fields = {name: item for name, item in LOG.items() if name not in {"records", "texts"}}
    texts = {name: item["text"] for name, item in LOG["texts"].items()}
    entries = []
    for entry in LOG["records"]:
        used = [context["text_digest"] for context in (entry["call"]["output"] or {"contexts": []})["contexts"]]
        entries.append(redactor.entry(entry, {name: texts[name] for name in used}))
    kept = {
        name: item if redactor.shows(name, item["text"]) else {"salt": None, "text": None}
        for name, item in LOG["texts"].items()
    }
    return {**redactor.header(fields), "records": entries, "texts": kept}


def check(document: dict):
    following = ChainCheck(document["chain"])
    for name, entry in document["texts"].items():
        following.text(name, entry)
    for entry in document["records"]:
        following.record(entry)
    return following.finish({name: item for name, item in document.items() if name not in {"records", "texts"}})


def test_a_redacted_copy_is_marked_and_ends_in_the_same_head():
    copy = redacted("pii", "contexts", "answers")

    found = check(copy)

    assert found.ok, found.fault
    assert found.head == LOG["records"][-1]["chain"]["digest"]
    assert copy["redacted"] == ["pii", "contexts", "answers"]
    assert copy["chain"]["key"] is None
    assert found.n_withheld > 20


@given(st.sets(st.sampled_from(GROUPS), min_size=1))
@settings(max_examples=15, deadline=None)
def test_every_choice_of_groups_still_verifies(groups):
    assert check(redacted(*groups)).ok


def test_no_passage_and_no_quote_is_left_in_a_copy_without_contexts_and_answers():
    text = canonical_json(redacted("contexts", "answers"))

    assert QUOTE not in text
    assert "harmless" not in text
    assert "I cannot say" not in text
    assert "What is the notice period?" in text, "questions stay"


def test_a_copy_without_personal_data_keeps_every_field_that_has_none():
    copy = redacted("pii")

    assert MAIL not in canonical_json(copy)
    first, second, third = copy["records"]
    assert first["call"]["output"]["answer"] == ANSWERS[CASES[0].input].answer
    assert second["case"]["input"] is None
    assert second["case"]["history"][0] == {"role": "user", "text": ""}
    assert third["call"]["output"]["answer"] == ""
    assert third["call"]["output"]["raw"] is None
    assert sorted(item["text"] is None for item in copy["texts"].values()) == [False, False, True]


def test_questions_go_with_what_quotes_them():
    copy = redacted("questions")

    text = canonical_json(copy)
    assert "notice period?" not in text
    assert '"30 days"' not in text
    assert copy["records"][2]["case"]["meta"] == {}


def test_nothing_in_a_copy_lets_anybody_try_out_what_was_left_out():
    """Whoever knows everything but one value would find it by trying, if an unsalted digest of it stood anywhere."""
    copy = canonical_json(redacted("pii"))
    asked = CASES[1]

    assert asked.question_digest not in copy
    assert asked.label_digest not in copy
    assert digest(MAIL) not in copy
    assert hashlib.sha256(canonical_json(f"Write to {MAIL}.").encode()).hexdigest() not in copy
    # The salts of what is shown do not give away those of what is not: each is made from the key, which is not there.
    assert LOG["chain"]["key"] not in copy
    salts = json.loads(copy)["records"][1]["chain"]["salts"]
    commitment = json.loads(copy)["records"][1]["chain"]["withheld"]["case.input"]
    for salt in salts.values():
        tried = hmac.digest(bytes.fromhex(salt), canonical_json(asked.input).encode(), "sha256").hex()
        assert tried != commitment


def test_digests_of_files_that_hold_texts_are_left_out_of_every_copy():
    copy = redacted("questions")

    assert copy["summary"]["inputs"] == {}
    assert copy["decision"]["inputs"] == {}
    assert copy["decision"]["scorecard_digest"] == ""
    assert copy["decision"]["answer"] == LOG["decision"]["answer"]


@pytest.mark.parametrize("what", [
    lambda copy: copy["records"][1]["case"].update(input="Who is somebody else?"),
    lambda copy: copy["records"][1]["chain"]["withheld"].update({"case.input": "0" * 64}),
    lambda copy: copy["records"][0]["chain"]["salts"].update({"case.input": "0" * 64}),
    lambda copy: copy["records"][0]["chain"]["salts"].pop("case.input"),
    lambda copy: copy["records"][0]["chain"]["withheld"].update({"nonsense": "0" * 64}),
    lambda copy: copy["records"][0]["call"]["output"].update(answer="Another answer."),
    lambda copy: copy["chain"]["withheld"].pop("summary.inputs"),
    lambda copy: copy["chain"]["salts"].update(x="0" * 64),
])  # fmt: skip
def test_an_edit_of_a_redacted_copy_breaks_the_chain_too(what):
    copy = redacted("pii")
    what(copy)

    assert not check(copy).ok


def test_a_redacted_copy_is_read_with_its_grades_and_is_not_graded_again():
    run = sc.Run.from_audit_log(redacted("pii", "contexts", "answers", "questions"))

    assert run.scorecard().by_grader()["no_pii"]["n_fail"] == 1
    with pytest.raises(UsageError, match="cannot be graded again"):
        run.rescore(sc.default_graders())


def test_a_copy_that_hides_its_mark_is_known_by_its_missing_key():
    copy = redacted("answers") | {"redacted": []}

    assert check(copy).ok, "the mark is no part of the chain: the copy ends in the log's own head"
    with pytest.raises(UsageError, match="cannot be graded again"):
        sc.Run.from_audit_log(copy).rescore([])


def test_unknown_groups_and_none_are_refused():
    for names in (["answer"], [], [" "]):
        with pytest.raises(UsageError, match="pii, contexts, answers, questions"):
            check_groups(names)


def test_every_text_of_a_record_can_be_left_out():
    """A field that is added to a record and holds text must be added to the leaves, or to the list of those without."""
    shown = set()
    for entry in LOG["records"]:
        blanked = json.loads(canonical_json(entry))
        for leaf in record_leaves(blanked):
            leaf.holder[leaf.name] = None
        shown |= {path for path, value in strings(blanked)}

    assert shown <= {
        "case.id", "case.category", "case.cluster", "case.history[].role", "case.criteria[].id", "case.criteria[].type",
        "case.contexts[].text_digest", "call.case_id", "call.output.contexts[].text_digest",
        "call.output.contexts[].source_id", "call.output.citations[].source_id", "call.started_at", "call.finished_at",
        "scores[].grader", "scores[].grader_version", "scores[].spec_digest", "scores[].outcome",
        "scores[].reason_code", "scores[].findings[].item", "scores[].findings[].kind", "scores[].findings[].outcome",
        "scores[].findings[].grade", "scores[].findings[].source_id", "chain.digest", "chain.previous",
    }  # fmt: skip


def strings(value, path=""):
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item, f"{path}[]")
