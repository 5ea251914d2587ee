"""The chain of an audit log: an untouched log is whole, any edit breaks it, and the right record is named."""

import copy
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenario import QUOTE, case, cited, output

import spancheck_pipeline as sc
from spancheck_pipeline.decision.audit_chain import Chain
from spancheck_pipeline.decision.audit_check import ChainCheck, Checked
from spancheck_pipeline.decision.audit_faults import What
from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.evidence.canonical import canonical_json

CASES = [case(f"q{i}", f"How long is notice number {i}?", meta={"n": i}, contexts=["known"]) for i in range(6)]


def answered(question):
    if question.endswith("4?"):
        raise TimeoutError("too slow")
    return cited() if question.endswith(("0?", "2?")) else output(f"Answer to {question}", contexts=["p", "q"])


RUN = sc.evaluate(CASES, answered)
LOG = json.loads(json.dumps(RUN.audit_log(decision=sc.gate(RUN, {"no_pii": 0.5}))))
HEAD = LOG["records"][-1]["chain"]["digest"]


def log() -> dict:
    return copy.deepcopy(LOG)


def seal(**changes) -> Seal:
    facts = {
        "schema_version": "2.0", "suite": LOG["suite"], "run_id": LOG["run_id"], "header": LOG["chain"]["digest"],
        "head": HEAD, "n_records": 6, "sealed_at": datetime(2026, 3, 14, tzinfo=UTC), "package_version": "1",
    }  # fmt: skip
    return Seal(**(facts | changes))


def check(document: dict, **known) -> Checked:
    following = ChainCheck(document["chain"])
    for name, entry in document["texts"].items():
        following.text(name, entry)
    for entry in document["records"]:
        following.record(entry)
    fields = {name: item for name, item in document.items() if name not in {"records", "texts"}}
    return following.finish(fields, **known)


def rehashed(document: dict, *places: int) -> dict:
    """Make the digests of some records again, as a forger with the log's key can, and leave the others as they are."""
    key = bytes.fromhex(document["chain"]["key"])
    for place in places:
        entry = document["records"][place]
        chain = Chain(key)
        chain.n_records, chain.head = entry["chain"]["index"], entry["chain"]["previous"]
        bare = {name: item for name, item in entry.items() if name != "chain"}
        entry["chain"] = chain.link(bare).model_dump(mode="json")
    return document


def named(checked: Checked) -> tuple:
    assert checked.fault is not None
    return checked.fault.what, checked.fault.number, checked.fault.case_id


def test_a_log_that_nobody_touched_is_as_it_was_written():
    found = check(log(), seal=seal(), head=HEAD)

    assert found.ok, found.fault
    assert (found.n_records, found.head, found.n_withheld) == (6, HEAD, 0)


def test_the_same_record_has_the_same_digest_under_one_key_and_another_under_another():
    again = json.loads(json.dumps(RUN.audit_log()))

    assert again["records"][0]["case"] | {"contexts": []} == LOG["records"][0]["case"] | {"contexts": []}
    assert again["records"][0]["chain"]["digest"] != LOG["records"][0]["chain"]["digest"]


def test_a_changed_record_is_named():
    document = log()
    document["records"][3]["scores"][0]["outcome"] = "fail"

    assert named(check(document)) == (What.CHANGED, 4, "q3")


def test_a_changed_record_with_a_digest_of_its_own_is_named_by_the_one_after_it():
    document = log()
    document["records"][3]["scores"][0]["reason"] = "All is well."

    assert named(check(rehashed(document, 3))) == (What.CHANGED, 4, "q3")


def test_a_last_record_with_a_digest_of_its_own_is_found_out_by_the_head():
    document = log()
    document["records"][5]["scores"][0]["reason"] = "All is well."
    document = rehashed(document, 5)

    assert check(document).ok, "without a head from elsewhere nobody can know"
    assert check(document, head=HEAD).fault.what is What.REWRITTEN
    assert check(document, seal=seal()).fault.what is What.REWRITTEN


def test_a_removed_record_is_named_by_its_number_and_its_neighbours():
    document = log()
    del document["records"][2]

    found = check(document)

    assert named(found) == (What.REMOVED, 3, None)
    assert "after case 'q1' and before case 'q3'" in found.fault.text()


def test_two_removed_records_are_counted_and_the_first_record_can_be_one():
    document = log()
    del document["records"][0:2]

    found = check(document)

    assert named(found) == (What.REMOVED, 1, None)
    assert "and 1 more were removed, at the beginning" in found.fault.text()


def test_a_copy_of_another_record_that_was_put_in_is_named():
    document = log()
    document["records"].insert(4, copy.deepcopy(document["records"][1]))

    assert named(check(document)) == (What.ADDED, 5, "q1")


def test_a_record_made_up_for_its_place_is_named():
    document = log()
    forged = copy.deepcopy(document["records"][2])
    forged["case"]["id"] = "forged"
    document["records"].insert(2, forged)

    assert named(check(rehashed(document, 2))) == (What.ADDED, 3, "forged")


def test_swapped_records_are_named_at_the_first_of_the_two():
    document = log()
    records = document["records"]
    records[1], records[4] = records[4], records[1]

    found = check(document)

    assert named(found) == (What.MOVED, 2, "q1")
    assert "it stands at number 5, and case 'q4' in its place" in found.fault.text()


def test_a_record_that_was_moved_up_is_named_where_it_stands_now():
    document = log()
    document["records"].insert(1, document["records"].pop(4))

    found = check(document)

    assert named(found) == (What.MOVED, 2, "q4")
    assert "it was written as number 5" in found.fault.text()


def test_a_log_that_ends_early_is_named_by_the_first_record_that_is_missing():
    document = log()
    del document["records"][4:]

    found = check(document)

    assert named(found) == (What.TRUNCATED, 5, None)
    assert "ends after 4 of 6 records" in found.fault.text()


def test_a_record_that_was_added_at_the_end_is_named_without_a_seal_too():
    document = log()
    forged = copy.deepcopy(document["records"][0])
    forged["case"]["id"] = "forged"
    forged["chain"] |= {"index": 6, "previous": HEAD}
    document["records"].append(forged)

    found = check(rehashed(document, 6))

    assert named(found) == (What.ADDED, 7, None)


def test_a_changed_header_is_named_whether_its_digest_was_made_again_or_not():
    document = log()
    document["decision"]["answer"] = "INCONCLUSIVE"
    assert check(document).fault.what is What.HEADER

    key = bytes.fromhex(document["chain"]["key"])
    bare = {name: item for name, item in document.items() if name not in {"records", "texts", "chain"}}
    document["chain"] = Chain(key).start(bare).model_dump(mode="json")
    assert check(document).fault.what is What.HEADER


def test_a_changed_passage_is_named_by_the_first_record_that_uses_it():
    document = log()
    name = document["records"][1]["call"]["output"]["contexts"][0]["text_digest"]
    document["texts"][name]["text"] = "Another passage."

    assert named(check(document))[:2] == (What.CHANGED, 2)


@pytest.mark.parametrize("change", [
    lambda texts, name: texts.pop(name),
    lambda texts, name: texts.update({name: {"salt": None, "text": None}}),
    lambda texts, name: texts.update({"f" * 64: texts[name]}),
])  # fmt: skip
def test_a_passage_that_was_taken_out_or_put_in_is_noticed(change):
    document = log()
    change(document["texts"], document["records"][0]["call"]["output"]["contexts"][0]["text_digest"])

    assert not check(document).ok


def test_a_seal_of_another_log_does_not_fit():
    for changes in ({"n_records": 7}, {"run_id": "other"}, {"header": "0" * 64}, {"suite": "other"}):
        assert check(log(), seal=seal(**changes)).fault.what is What.REWRITTEN


def test_a_log_whose_key_was_taken_out_is_no_redacted_copy():
    document = log()
    document["chain"]["key"] = None

    assert not check(document).ok


def test_a_message_quotes_no_text():
    document = log()
    document["records"][0]["call"]["output"]["answer"] = "secret answer"

    assert QUOTE not in check(document).fault.text()
    assert "secret" not in check(document).fault.text()


# -- any edit ---------------------------------------------------------------------------------------------------


def places(value, path=()):
    """Yield the path of everything in a document that may be edited; a copy's mark is the one thing not chained."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if path or key != "redacted":
            yield from places(item, (*path, key))


PLACES = list(places(LOG))


def holder(document, path):
    for key in path[:-1]:
        document = document[key]
    return document


def edited(document, path, how, value):
    there, key = holder(document, path), path[-1]
    if how == "replace":
        there[key] = value
    elif how == "delete":
        del there[key]
    elif how == "add":
        target = there[key]
        if isinstance(target, dict):
            target["added"] = value
        elif isinstance(target, list):
            target.append(value)
        else:
            there[key] = [target, value]
    elif isinstance(there, list):
        there.insert(key, copy.deepcopy(there[(key + 1) % len(there)]))
    else:
        there[f"{key} again"] = copy.deepcopy(there[key])
    return document


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(PLACES),
    st.sampled_from(["replace", "delete", "add", "copy"]),
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(0, 1) | st.text(max_size=4) | st.just({}) | st.just([]),
)
def test_any_edit_breaks_the_chain(path, how, value):
    if path in {("records",), ("texts",)} and how in {"replace", "delete"}:
        return  # then it is no log
    document = edited(log(), path, how, value)
    if canonical_json(document) == canonical_json(LOG) or path == ("chain",):
        return
    records = document["records"]
    if not isinstance(records, list) or not isinstance(document["texts"], dict):
        return

    assert not check(document, seal=seal()).ok


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(6)))
def test_any_other_order_breaks_the_chain_at_the_first_record_that_is_out_of_place(order):
    document = log()
    document["records"] = [document["records"][i] for i in order]

    found = check(document)

    if list(order) == sorted(order):
        assert found.ok
    else:
        first = next(i for i, place in enumerate(order) if i != place)
        assert found.fault.what is What.MOVED
        assert found.fault.number == first + 1


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(0, 5), max_size=5))
def test_any_missing_records_are_named_at_the_first_one(missing):
    document = log()
    document["records"] = [entry for i, entry in enumerate(document["records"]) if i not in missing]

    found = check(document)

    if not missing:
        assert found.ok
        return
    assert found.fault.what in {What.REMOVED, What.TRUNCATED}
    assert found.fault.number == min(missing) + 1
