"""Claims out to people, labels back in as a gold set."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_place import PLACE, recorded

from spancheck_pipeline.api.gold_sampling import _quotas, items_path_of, read_labels, sample_gold
from spancheck_pipeline.decision.calibration import calibrate
from spancheck_pipeline.decision.judged_figures import Subject
from spancheck_pipeline.errors import ConfigError, MissingDataError, StorageError, UsageError
from spancheck_pipeline.storage.gold_files import read_gold
from spancheck_pipeline.storage.store import Store

SUBJECT = Subject(name="j", kind="judge", identity="i", threshold=0.5)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return recorded(tmp_path_factory.mktemp("whole"))


def sheet(path):
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))


def labelled(path, labels, name, separator=";"):
    """Fill in labels by the claim's words, and save as a spreadsheet does."""
    rows = sheet(path)
    for row in rows:
        row["label"] = next((label for words, label in labels.items() if words in row["claim"]), "")
        row["claim"] = row["claim"].replace("30", "31")  # a spreadsheet's or a person's slip
    back = path.with_name(name)
    with back.open("w", encoding="utf-8", newline="") as handle:
        out = csv.DictWriter(handle, rows[0], delimiter=separator, lineterminator="\r\n")
        out.writeheader()
        out.writerows(rows)
    return back


def test_claims_are_drawn_labelled_and_read_back_as_a_gold_set(store, tmp_path):
    drawn = sample_gold(store, PLACE, tmp_path / "s.csv", n=10, seed=1)

    assert drawn.by_stratum == {"fail": (1, 1), "pass": (1, 1)}, "the same claim of two epochs is one"
    filled = labelled(tmp_path / "s.csv", {"90 days": "not_supported", "30 days": "Supported"}, "filled.csv")
    done = read_labels([filled], tmp_path / "g.jsonl", items=drawn.items_path, domain="leases", policy="By the text.")

    gold = read_gold(tmp_path / "g.jsonl")
    assert (done.n_items, done.n_unlabelled, done.tied_ids) == (2, 0, ())
    assert (gold.domain, gold.sampling, gold.policy) == ("leases", "stress", "By the text.")
    assert {("90 days" in item.claim, item.label, item.stratum) for item in gold.items} == {
        (True, False, "fail"), (False, True, "pass"),
    }  # fmt: skip
    assert "31" not in gold.items[0].claim + gold.items[1].claim, "texts come from the sample, not from the sheet"


def test_the_same_seed_draws_the_same_and_another_one_another_order(store, tmp_path):
    def rows(seed, name):
        sample_gold(store, PLACE, tmp_path / name, n=10, seed=seed, kind="sentence")
        return [row["row"] for row in sheet(tmp_path / name)]

    assert rows(1, "a.csv") == rows(1, "b.csv")
    assert len({tuple(rows(seed, "c.csv")) for seed in range(8)}) > 1


def test_a_slice_says_that_it_is_one(store, tmp_path):
    sample_gold(store, PLACE, tmp_path / "s.jsonl", n=10, seed=1, strata=())
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    lines = [json.dumps(row | {"label": "supported"}) for row in rows]
    (tmp_path / "s.jsonl").write_text("\n".join(lines))

    read_labels([tmp_path / "s.jsonl"], tmp_path / "g.jsonl", domain="leases")

    gold = read_gold(tmp_path / "g.jsonl")
    assert gold.sampling == "slice"
    assert {item.stratum for item in gold.items} == {None}


def test_several_people_are_counted_and_a_tie_is_left_out(store, tmp_path):
    sample_gold(store, PLACE, tmp_path / "s.csv", n=10, seed=1)
    items = items_path_of(tmp_path / "s.csv")
    ann = labelled(tmp_path / "s.csv", {"90 days": "no", "30 days": "yes"}, "ann.csv")
    bob = labelled(tmp_path / "s.csv", {"90 days": "yes", "30 days": "yes"}, "bob.csv", separator=",")
    cem = labelled(tmp_path / "s.csv", {"90 days": "no"}, "cem.csv")

    two = read_labels([ann, bob], tmp_path / "two.jsonl", items=items, domain="x")
    three = read_labels([ann, bob, cem], tmp_path / "three.jsonl", items=items, domain="x")

    assert (two.n_items, len(two.tied_ids)) == (1, 1)
    assert (three.n_items, three.n_disagreed, three.tied_ids) == (2, 1, ())
    gold = {"90 days" in item.claim: item for item in read_gold(tmp_path / "three.jsonl").items}
    assert (gold[True].label, gold[True].labellers) == (False, (False, True, False))
    assert gold[False].labellers == (True, True)


def test_ties_are_in_no_set_and_yet_count_in_how_far_people_agree(store, tmp_path):
    sample_gold(store, PLACE, tmp_path / "s.csv", n=10, seed=1)
    items = items_path_of(tmp_path / "s.csv")
    ann = labelled(tmp_path / "s.csv", {"90 days": "no", "30 days": "yes"}, "ann.csv")
    bob = labelled(tmp_path / "s.csv", {"90 days": "yes", "30 days": "yes"}, "bob.csv")

    read_labels([ann, bob], tmp_path / "g.jsonl", items=items, domain="x")

    gold = read_gold(tmp_path / "g.jsonl")
    people = calibrate(gold, {}, SUBJECT).people
    assert (len(gold.items), gold.tied) == (1, ((False, True),))
    # They agree on one of two items; without the tie it would be one of one.
    assert (people.n_items, people.agreement) == (2, 0.5)
    # Another look: they agree after all, and the file beside the set keeps what somebody wrote there.
    beside = tmp_path / "g.yaml"
    beside.write_text("# ours\n" + beside.read_text())
    read_labels([ann, ann], tmp_path / "g.jsonl", items=items, domain="x", replace=True)
    assert read_gold(tmp_path / "g.jsonl").tied == ()
    assert beside.read_text().startswith("# ours\ncontract: 1\n")


def test_a_sheet_and_its_texts_appear_both_or_not_at_all(store, tmp_path, monkeypatch):
    import spancheck_pipeline.api.gold_sampling as module

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    for name in ("write_rows", "write_text"):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, full)
            with pytest.raises(StorageError, match="No space"):
                sample_gold(store, PLACE, tmp_path / "s.csv", n=10, seed=1)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("labels", "said"), [
    ({"days": "maybe"}, "no label; write supported or not_supported"),
    ({"nothing": "supported"}, "holds no label"),
])  # fmt: skip
def test_what_is_no_label_keeps_everything_out(store, tmp_path, labels, said):
    sample_gold(store, PLACE, tmp_path / "s.csv", n=10, seed=1)
    filled = labelled(tmp_path / "s.csv", labels, "filled.csv")

    with pytest.raises(ConfigError, match=said):
        read_labels([filled], tmp_path / "g.jsonl", items=items_path_of(tmp_path / "s.csv"), domain="x")
    assert not (tmp_path / "g.jsonl").exists()


def test_a_gold_set_that_is_there_is_not_written_over(store, tmp_path):
    sample_gold(store, PLACE, tmp_path / "s.csv", n=10, seed=1)
    filled = labelled(tmp_path / "s.csv", {"days": "supported"}, "filled.csv")
    items = items_path_of(tmp_path / "s.csv")
    read_labels([filled], tmp_path / "g.jsonl", items=items, domain="x")

    with pytest.raises(UsageError, match="is there already"):
        read_labels([filled], tmp_path / "g.jsonl", items=items, domain="x")
    assert read_labels([filled], tmp_path / "g.jsonl", items=items, domain="x", replace=True).n_items == 2


def test_a_wrong_stratum_and_items_that_are_none_are_refused(store, tmp_path):
    with pytest.raises(UsageError, match="outcome, grade, category, grader"):
        sample_gold(store, PLACE, tmp_path / "s.csv", n=1, seed=0, strata=["colour"])
    (tmp_path / "s.csv").write_text("row,label\nx,supported\n")
    (tmp_path / "s.items.jsonl").write_text('{"id": "x"}\n')
    with pytest.raises(ConfigError, match="not the items of a sample"):
        read_labels([tmp_path / "s.csv"], tmp_path / "g.jsonl", domain="x")


def test_a_place_without_such_claims_is_said(store, tmp_path):
    with pytest.raises(MissingDataError, match="no criterion was checked"):
        sample_gold(store, PLACE, tmp_path / "s.csv", n=1, seed=0, kind="criterion")


@given(st.dictionaries(st.text("abc", min_size=1, max_size=2), st.integers(1, 30), min_size=1), st.integers(1, 60))
def test_quotas_use_what_is_there_and_differ_by_one_at_most_among_those_that_have_more(available, n):
    quotas = _quotas(available, n)

    assert sum(quotas.values()) == min(n, sum(available.values()))
    assert all(quotas[name] <= available[name] for name in available)
    not_full = [quotas[name] for name in available if quotas[name] < available[name]]
    assert not not_full or max(quotas.values()) - min(not_full) <= 1
