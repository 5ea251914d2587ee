"""Findings out to people, dispositions back in: appended, never over scores, gating only where the suite says."""

import csv
import datetime as dt
import io
import json
import shutil

import pytest
from recorded_place import GRADERS, NAMES, PLACE, recorded, suite
from scenario import AT

from spancheck_pipeline.api.adjudicating import check_not_expired
from spancheck_pipeline.api.deciding import decide_place, read_scorecard, summarize_place
from spancheck_pipeline.api.review_subjects import subjects
from spancheck_pipeline.api.reviewing import export_review, import_review, listed, signed_in_order
from spancheck_pipeline.api.stored import grade_place
from spancheck_pipeline.errors import ConfigError, MissingDataError
from spancheck_pipeline.grading.graders import build_graders
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.storage.adjudications import read_adjudications
from spancheck_pipeline.storage.store import Store
from spancheck_pipeline.storage.tables import SCORES

NOW = dt.datetime.now(dt.UTC)
SOON = (NOW + dt.timedelta(days=40)).date().isoformat()


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Store:
    return recorded(tmp_path_factory.mktemp("whole"), min_pass_rate={"citation_accuracy": 1.0}, min_measured=1)


@pytest.fixture
def store(whole, tmp_path) -> Store:
    shutil.copytree(whole.root, tmp_path / "storage")
    return Store(tmp_path / "storage")


def filled(store, path, *, grader="citation_accuracy", **cells):
    """Export, fill in one grader's failing findings, and save as a spreadsheet does: semicolons, other columns."""
    export_review(store, PLACE, path)
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))
    for row in rows:
        if row["grader"] == grader and row["outcome"] == "fail":
            row |= {"disposition": "passes", "why": "It was changed in the lease.", **cells}
    columns = ["notes", *reversed(rows[0])]
    with path.open("w", encoding="cp1252", newline="") as handle:
        sheet = csv.DictWriter(handle, columns, delimiter=";", lineterminator="\r\n")
        sheet.writeheader()
        for row in rows:
            sheet.writerow(row)
            sheet.writerow({})
    return path


def read_in(store, path, author="R. Viewer", at=NOW):
    return import_review(store, PLACE, path, author=author, signed_at=at)


def test_dispositions_are_appended_and_stand_beside_the_raw_rate(store, tmp_path):
    before = store.open(PLACE, SCORES, "citation_accuracy").content_digest

    signed = read_in(store, filled(store, tmp_path / "r.csv"))
    made = summarize_place(store, PLACE, suite(), NAMES).scorecard

    assert (signed.n_new, signed.n_same) == (2, 0), "one finding in each of two epochs"
    people = made.adjudicated.graders["citation_accuracy"]
    raw = made.graders["citation_accuracy"]
    # 3 of 4 cases are measured; q1 fails in both epochs.
    assert (raw.counts.n_pass, raw.counts.n_fail) == (2, 1)
    assert (people.counts.n_pass, people.counts.n_fail, people.n_passes) == (3, 0, 2)
    assert people.pass_rate.value == 1.0
    assert store.open(PLACE, SCORES, "citation_accuracy").content_digest == before
    item = listed(store, PLACE)[0]
    assert (item.author, item.reason, item.outcome) == ("R. Viewer", "It was changed in the lease.", Outcome.FAIL)


def test_the_same_file_read_twice_adds_nothing_and_a_changed_mind_adds_a_batch(store, tmp_path):
    path = filled(store, tmp_path / "r.csv")
    read_in(store, path)

    again = read_in(store, path)
    other = read_in(store, filled(store, tmp_path / "s.csv", disposition="confirmed"), at=NOW + dt.timedelta(hours=1))

    assert (again.n_new, again.n_same, again.path) == (0, 2, None)
    assert other.n_new == 2
    assert len(read_adjudications(store, PLACE)) == 4, "what was signed first is kept"
    assert {item.disposition for item in listed(store, PLACE)} == {"confirmed"}


def test_what_was_signed_stands_in_the_next_export(store, tmp_path):
    read_in(store, filled(store, tmp_path / "r.csv", disposition="waived", expires=SOON, author="Ann"))

    export_review(store, PLACE, tmp_path / "again.jsonl")
    export_review(store, PLACE, tmp_path / "again.csv")

    text = (tmp_path / "again.jsonl").read_text()
    assert text.count(f'"expires": "{SOON}", "author": null, "signed_by": "Ann"') == 2
    assert read_in(store, tmp_path / "again.csv").n_new == 0
    rows = [json.loads(line) for line in text.splitlines()]
    changed = [row | {"disposition": "confirmed"} for row in rows if row["disposition"]]
    (tmp_path / "again.jsonl").write_text("\n".join(map(json.dumps, changed)))
    read_in(store, tmp_path / "again.jsonl", author="Bob", at=NOW + dt.timedelta(hours=1))
    assert {item.author for item in listed(store, PLACE)} == {"Bob"}, "nobody signs under another's name"


def test_dispositions_decide_nothing_unless_the_suite_says_so(store, tmp_path):
    read_in(store, filled(store, tmp_path / "r.csv"))
    gate = {"min_pass_rate": {"citation_accuracy": 1.0, "completion": 0.5}, "min_measured": 1}

    off = grade_place(store, PLACE, suite(**gate), build_graders(GRADERS), decided_by="me").decision
    on = grade_place(store, PLACE, suite(**gate, adjudicated=True), build_graders(GRADERS), decided_by="me").decision

    rule = {r.rule: r for r in on.rules}["min_pass_rate_citation_accuracy"]
    assert [{r.rule: r.answer for r in d.rules}["min_pass_rate_citation_accuracy"] for d in (off, on)] == [
        "FAIL", "NOT_MEASURED",
    ]  # fmt: skip
    # The failed call is still unmeasured: nobody waved it through.
    assert "with people's dispositions, without them 2 of 3 measured passed" in rule.reason


def test_a_waiver_that_has_expired_decides_nothing(store, tmp_path):
    signed_at = NOW - dt.timedelta(days=10)
    yesterday = (NOW - dt.timedelta(days=1)).date().isoformat()
    read_in(store, filled(store, tmp_path / "r.csv", disposition="waived", expires=yesterday), at=signed_at)

    people = summarize_place(store, PLACE, suite(), NAMES).scorecard.adjudicated.graders["citation_accuracy"]

    assert (people.n_expired, people.n_waived, people.counts.n_fail) == (2, 0, 1)


def test_a_scorecard_is_made_again_when_a_waiver_of_it_has_expired_or_something_was_signed(store, tmp_path):
    read_in(store, filled(store, tmp_path / "r.csv", disposition="waived", expires=SOON))
    graders = build_graders(GRADERS)
    with pytest.raises(MissingDataError, match="dispositions; make it again first"):
        decide_place(store, PLACE, suite(), graders, decided_at=NOW, decided_by="me")
    scorecard = summarize_place(store, PLACE, suite(), NAMES).scorecard
    decide_place(store, PLACE, suite(), graders, decided_at=NOW, decided_by="me")

    check_not_expired(PLACE, scorecard, decided_at=NOW)
    with pytest.raises(MissingDataError, match="a disposition has expired"):
        check_not_expired(PLACE, scorecard, decided_at=NOW + dt.timedelta(days=50))


def test_a_place_without_dispositions_has_the_scorecard_that_it_had(whole):
    assert read_scorecard(whole, PLACE).adjudicated is None
    assert "adjudications" not in read_scorecard(whole, PLACE).inputs
    with pytest.raises(MissingDataError, match="nobody signed"):
        listed(whole, PLACE)


@pytest.mark.parametrize(("cells", "said"), [
    ({"disposition": "wavied"}, "did you mean 'waived'"),
    ({"disposition": "waived"}, "a waiver has a date"),
    ({"disposition": "waived", "expires": "2020-01-01"}, "expires after it was signed"),
    ({"disposition": "waived", "expires": "03/04/2027"}, "one reading"),
    ({"why": " "}, "no `why`"),
    ({"row": "f-0000"}, "no finding that stands here now"),
    ({"disposition": ""}, "`why` or `expires` and no disposition"),
    ({"disposition": "", "why": "", "expires": "2027-12-31"}, "`why` or `expires` and no disposition"),
    ({"disposition": "fails"}, "`fails` says nothing new of a finding that failed"),
])  # fmt: skip
def test_one_wrong_row_keeps_everything_out_and_is_named_by_its_line(store, tmp_path, cells, said):
    path = filled(store, tmp_path / "r.csv", **cells)

    with pytest.raises(ConfigError, match=said) as caught:
        read_in(store, path)

    assert "r.csv:" in str(caught.value)
    assert read_adjudications(store, PLACE) == ()


def test_two_rows_of_one_finding_that_differ_are_refused(store, tmp_path):
    path = filled(store, tmp_path / "r.csv")
    lines = path.read_text("cp1252").splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if ";passes;" in line)
    path.write_text("".join([*lines, lines[at].replace(";passes;", ";confirmed;")]), "cp1252")

    with pytest.raises(ConfigError, match="something else than an earlier row"):
        read_in(store, path)


def test_what_somebody_else_said_before_is_said_with_who_said_it_and_is_kept(store, tmp_path):
    read_in(store, filled(store, tmp_path / "r.csv", disposition="waived", expires=SOON), author="Ann")

    path = filled(store, tmp_path / "s.csv", disposition="passes", expires="", author="")
    second = read_in(store, path, author="Bob", at=NOW + dt.timedelta(hours=1))

    assert [(a.author, a.disposition, b.author, b.disposition) for a, b in second.changed] == [
        ("Ann", "waived", "Bob", "passes"),
    ] * 2  # fmt: skip
    assert [item.author for item in signed_in_order(store, PLACE)] == ["Ann", "Ann", "Bob", "Bob"]


def test_what_could_not_be_measured_stays_so_whatever_is_signed(store, tmp_path):
    before = summarize_place(store, PLACE, suite(), NAMES).scorecard.graders["groundedness"].counts
    export_review(store, PLACE, tmp_path / "r.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    lines = [
        json.dumps(row | {"disposition": "waived", "why": "It was down.", "expires": SOON})
        for row in rows
        if row["outcome"] == "unmeasured"
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(lines))

    signed = read_in(store, tmp_path / "r.jsonl")

    assert signed.n_without_effect == signed.n_new == len(lines) > 0
    after = summarize_place(store, PLACE, suite(), NAMES).scorecard.adjudicated.graders["groundedness"]
    assert (after.counts, after.n_waived) == (before, 2)


def test_nobody_is_asked_about_a_call_that_did_not_answer(whole, tmp_path):
    graders = {s.key.grader for s in subjects(whole, PLACE, outcomes=frozenset(Outcome))}

    assert graders == {"citation_accuracy", "no_pii", "groundedness"}


def test_what_is_exported_shows_the_words_that_a_finding_is_about(whole):
    found = [s for s in subjects(whole, PLACE) if s.key.grader == "citation_accuracy" and s.outcome is Outcome.FAIL]

    assert len(found) == 2
    assert "90 days" in found[0].shown["part_of_answer"]
    assert "30 days" in found[0].shown["part_of_source"]
    assert found[0].row != found[1].row, "each epoch is a finding of its own"


def test_a_finding_of_another_capture_is_another_one(whole, tmp_path):
    other = recorded(tmp_path)

    assert {s.row for s in subjects(whole, PLACE)}.isdisjoint({s.row for s in subjects(other, PLACE)})


def test_hostile_answers_leave_no_formula_in_the_sheet(tmp_path):
    import recorded_place

    evil = recorded_place.TARGET.replace("text = ", "text = '=HYPERLINK(0)' + ")
    folder = tmp_path / "evil"
    folder.mkdir()
    store = _recorded_with(folder, evil)
    export_review(store, PLACE, tmp_path / "r.csv")

    for row in csv.reader(io.StringIO((tmp_path / "r.csv").read_text("utf-8-sig"))):
        assert not [cell for cell in row if cell.lstrip().startswith(("=", "+", "-", "@"))]


def _recorded_with(folder, text):
    from recorded_place import CASES

    from spancheck_pipeline.api.stored import run_place
    from spancheck_pipeline.clients.target import load_target

    (folder / "target.py").write_text(text)
    store = Store(folder / "storage")
    run_place(
        store, PLACE, suite(), CASES, graders=build_graders(GRADERS), decided_by="me",
        load_target=lambda: load_target(suite().target, suite_folder=folder),
    )  # fmt: skip
    return store


def test_reviewers_at_the_same_time_write_beside_one_another(store, tmp_path):
    first = filled(store, tmp_path / "a.csv")
    second = filled(store, tmp_path / "b.csv", grader="groundedness")

    read_in(store, first, author="Ann", at=AT)
    read_in(store, second, author="Bob", at=AT)

    assert {item.author for item in listed(store, PLACE)} == {"Ann", "Bob"}
