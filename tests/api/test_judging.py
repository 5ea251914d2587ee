"""Judges are asked once: over nights, suites, kills and thresholds; what fails is unmeasured and never kept."""

from __future__ import annotations

import json
import shutil
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest
from scenario import Project, cases_of

from spancheck_pipeline.api.baselines import compare_place
from spancheck_pipeline.api.capturing import capture_place
from spancheck_pipeline.api.deciding import decide_place, summarize_place
from spancheck_pipeline.api.facts import open_evidence
from spancheck_pipeline.api.judging import judge_place, verdicts_at
from spancheck_pipeline.api.promoting import promote_place
from spancheck_pipeline.api.scoring import score_place
from spancheck_pipeline.api.snapshot import snapshot_cases
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.errors import BudgetError, MissingDataError
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import JUDGE_VERDICTS, SCORES

# Every judge of these tests writes down that it was asked, by how much text it got.
JUDGE = """
    import pathlib

    HERE = pathlib.Path(__file__).parent


    def ask(system, user):
        with (HERE / "judged.log").open("a") as log:
            log.write(f"{len(user)}\\n")
        if (HERE / "silent").exists():
            return "I would rather not say."
        return {"label": "supported", "reason": "It says so."}
"""

# Each answer is its own claim, so that every case is another packet.
ANSWERS = """
    VERSION = "1"


    def answer(question):
        number = question.split()[-1].rstrip("?")
        text = f"The notice of lease {number} is given in writing by either party."
        return {
            "answer": text,
            "contexts": [{"source_id": "lease", "text": text}],
            "citations": [{"quote": text, "source_id": "lease", "claim": text}],
        }
"""


class Judged:
    """A project with judges, and the steps of its nights."""

    def __init__(self, folder: Path, *, n: int = 6) -> None:
        self.project = Project(folder, n=n, target=ANSWERS)
        self.datasets = folder / "datasets"
        (self.datasets / "judge.py").write_text(textwrap.dedent(JUDGE), encoding="utf-8")
        self.project.write_cases([c for c in cases_of(3 * n) if c["answerable"]][:n])
        self.store = Store(self.project.storage)
        self.judges()
        self.graders()

    def judges(self, keys: str = "", more: str = "") -> None:
        text = f'contract: 1\njudges:\n  one: {{callable: "judge.py:ask", retries: 0, backoff_s: 0{keys}}}\n{more}'
        (self.datasets / "judges.yaml").write_text(text, encoding="utf-8")

    def graders(self, judged: str = 'judged: {use: citation_accuracy, support: "judge:one"}') -> None:
        self.project.write_suite(graders=f", {judged}")

    @property
    def loaded(self):
        return load_suite(self.datasets, self.project.name, load_attribute)

    def capture(self, date: str) -> Night:
        loaded, place = self.loaded, Night(self.project.name, date)
        snapshot_cases(self.store, place, load_cases(loaded.folder, loaded.suite.cases))
        capture_place(
            self.store, place, loaded.suite, lambda: load_target(loaded.suite.target, suite_folder=loaded.folder)
        )
        return place

    def judge(self, place: Night, **options):
        return judge_place(self.store, place, self.loaded.graders, self.loaded.judges, **options).judged

    def score(self, place: Night, grader: str = "judged"):
        return score_place(self.store, place, next(g for g in self.loaded.graders if g.name == grader))

    def decide(self, place: Night):
        loaded = self.loaded
        for grader in loaded.graders:
            score_place(self.store, place, grader)
        summarize_place(self.store, place, loaded.suite, [g.name for g in loaded.graders], judging=loaded.graders)
        return decide_place(
            self.store, place, loaded.suite, loaded.graders, decided_at=datetime.now(UTC), decided_by="somebody"
        )

    def outcomes(self, place: Night, grader: str = "judged") -> list[str]:
        return [row["outcome"] for row in self.store.open(place, SCORES, grader).rows(["outcome"])]

    @property
    def n_asked(self) -> int:
        log = self.datasets / "judged.log"
        return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture
def judged(tmp_path) -> Judged:
    return Judged(tmp_path)


def test_every_packet_is_asked_about_once_and_the_score_rests_on_the_verdict(judged):
    place = judged.capture("2026-03-14")

    made = judged.judge(place)

    assert (made.n_wanted, made.n_kept, made.n_calls, made.n_failed) == (6, 0, 6, 0)
    assert judged.n_asked == 6
    rows = list(judged.store.open(place, JUDGE_VERDICTS).rows())
    assert {(row["judge"], row["label"], row["score"], row["prompt"]) for row in rows} == {
        ("one", "supported", 1.0, "entailment_v1")
    }
    assert sorted(use["case_id"] for row in rows for use in row["uses"]) == [f"q{i:02d}" for i in (0, 1, 3, 4, 6, 7)]
    judged.score(place)
    assert judged.outcomes(place) == ["pass"] * 6


def test_what_was_judged_is_not_asked_again_on_the_same_night_on_another_or_in_another_suite(judged):
    judged.judge(judged.capture("2026-03-14"))
    assert judged.judge(Night("small", "2026-03-14")).n_calls == 0

    made = judged.judge(judged.capture("2026-03-15"))

    assert (made.n_wanted, made.n_kept, made.n_calls) == (6, 6, 0)
    shutil.copytree(judged.project.suite_folder, judged.datasets / "other")
    suite = judged.datasets / "other" / "suite.yaml"
    suite.write_text(suite.read_text().replace("name: small", "name: other"))
    judged.project.name = "other"
    assert judged.judge(judged.capture("2026-03-14")).n_calls == 0
    assert judged.n_asked == 6


def test_verdicts_published_again_are_the_same_file(judged):
    place = judged.capture("2026-03-14")
    judged.judge(place)
    before = judged.store.open(place, JUDGE_VERDICTS)

    judged.judge(place)

    assert judged.store.open(place, JUDGE_VERDICTS).content_digest == before.content_digest
    assert len(judged.store.revisions(place, JUDGE_VERDICTS)) == 1


def test_another_threshold_scores_again_from_the_verdicts_with_a_judge_that_would_fail_when_asked(judged):
    (judged.datasets / "judge.py").write_text(
        textwrap.dedent(JUDGE).replace('"supported"', '"partially_supported"'), encoding="utf-8"
    )
    judged.judges(", threshold: 0.5")
    place = judged.capture("2026-03-14")
    judged.judge(place)
    judged.score(place)
    assert judged.outcomes(place) == ["pass"] * 6  # partially is 0.5

    (judged.datasets / "silent").touch()
    judged.judges(", threshold: 0.8")
    assert judged.judge(place).n_calls == 0
    judged.score(place)

    assert judged.outcomes(place) == ["fail"] * 6


@pytest.mark.parametrize("change", [", model: another", ", temperature: 0.5"])
def test_another_model_or_sampling_is_another_judge_and_is_asked(judged, change):
    place = judged.capture("2026-03-14")
    judged.judge(place)

    judged.judges(change)

    assert judged.judge(place).n_calls == 6


def test_more_repeats_ask_only_for_the_new_ones(judged):
    place = judged.capture("2026-03-14")
    judged.judge(place)

    judged.judges(", runs: 3")
    made = judged.judge(place)

    assert (made.n_wanted, made.n_kept, made.n_calls) == (18, 6, 12)


def test_a_reply_without_a_verdict_is_unmeasured_counted_and_asked_for_again(judged):
    (judged.datasets / "silent").touch()
    place = judged.capture("2026-03-14")

    made = judged.judge(place)

    assert (made.n_wanted, made.n_failed) == (6, 6)
    assert sum(made.failures.values()) == 6
    judged.score(place)
    assert judged.outcomes(place) == ["unmeasured"] * 6
    rows = list(judged.store.open(place, JUDGE_VERDICTS).rows())
    assert {(row["label"], row["score"], row["error_class"]) for row in rows} == {
        (None, None, "UnreadableVerdictError.no_json")
    }
    (judged.datasets / "silent").unlink()
    again = judged.judge(place)
    assert (again.n_kept, again.n_failed) == (0, 0)
    judged.score(place)
    assert judged.outcomes(place) == ["pass"] * 6


class _KilledError(BaseException):
    pass


def test_a_session_that_was_killed_goes_on_with_every_finished_call(judged):
    judged.judges(", concurrency: 1")
    place = judged.capture("2026-03-14")

    def kill(progress):
        if progress.done == 4:
            raise _KilledError

    with pytest.raises(_KilledError):
        judged.judge(place, on_progress=kill)
    assert not judged.store.exists(place, JUDGE_VERDICTS)
    before = judged.n_asked

    made = judged.judge(place)

    assert before in {4, 5}  # a call that had begun may have ended
    assert judged.n_asked == 6
    assert (made.n_wanted, made.n_kept) == (6, before)


def test_a_killed_session_about_other_packets_is_not_lost_either(judged):
    judged.judges(", concurrency: 1")
    first = judged.capture("2026-03-14")

    def kill(progress):
        if progress.done == 3:
            raise _KilledError

    with pytest.raises(_KilledError):
        judged.judge(first, on_progress=kill)
    kept = judged.n_asked
    judged.project.write_target(ANSWERS.replace("by either party", "by the tenant"))
    assert judged.judge(judged.capture("2026-03-15")).n_calls == 6

    assert judged.judge(first).n_kept == kept


PRICED = """
    import pathlib

    HERE = pathlib.Path(__file__).parent


    def ask(system, user):
        with (HERE / "judged.log").open("a") as log:
            log.write("x\\n")
        return {"label": "supported", "reason": "It says so.", "usage": {"cost_usd": 0.25}}
"""


def test_verdicts_and_answers_share_the_budget_of_a_run_and_a_higher_one_goes_on(judged):
    (judged.datasets / "judge.py").write_text(textwrap.dedent(PRICED), encoding="utf-8")
    judged.judges(", concurrency: 1")
    place = judged.capture("2026-03-14")

    # The fifth verdict makes it 1.25 USD.
    with pytest.raises(BudgetError, match=r"5 answers have cost 1\.25 USD, and budget\.max_run_cost_usd is 1\.1"):
        judged.judge(place, limit_usd=1.1)
    assert judged.n_asked == 5

    made = judged.judge(place, limit_usd=1.6)
    assert (judged.n_asked, made.n_kept) == (6, 5)
    assert made.cost_usd == pytest.approx(0.25)


def test_scoring_without_verdicts_names_how_many_are_missing_and_asks_nobody(judged):
    place = judged.capture("2026-03-14")

    scored = judged.score(place)

    assert scored.n_missing_verdicts == 6
    assert judged.outcomes(place) == ["unmeasured"] * 6
    assert judged.n_asked == 0


def test_scores_that_were_made_without_the_verdicts_are_not_up_to_date(judged):
    place = judged.capture("2026-03-14")
    judged.score(place)
    judged.judge(place)

    with pytest.raises(MissingDataError, match=r"judged \(scored with other verdicts of its judges\)"):
        open_evidence(judged.store, place, ["judged"])


def test_two_graders_that_ask_the_same_ask_once(judged):
    judged.graders(
        'judged: {use: citation_accuracy, support: "judge:one"}, '
        'strict: {use: citation_accuracy, support: "judge:one", pass_threshold: 1.0, require_citation: false}'
    )
    place = judged.capture("2026-03-14")

    assert judged.judge(place).n_calls == 6
    row = next(iter(judged.store.open(place, JUDGE_VERDICTS).rows()))
    assert [use["grader"] for use in row["uses"]] == ["judged", "strict"]


def test_a_panel_asks_each_of_its_members(judged):
    judged.judges(more='  two: {callable: "judge.py:ask", retries: 0}\n  both: {panel: [one, two]}\n')
    judged.graders('judged: {use: citation_accuracy, support: "judge:both"}')
    place = judged.capture("2026-03-14")

    made = judged.judge(place)

    assert (made.n_wanted, made.n_calls) == (12, 12)
    judged.score(place)
    assert judged.outcomes(place) == ["pass"] * 6


def test_a_comparison_that_would_need_verdicts_that_nobody_recorded_is_refused(judged):
    first = judged.capture("2026-03-13")
    judged.judge(first)
    judged.decide(first)
    promote_place(judged.store, first, at=datetime.now(UTC), by="somebody")
    judged.judges(", model: another")
    second = judged.capture("2026-03-14")
    judged.project.write_target(ANSWERS.replace("by either party", "by the tenant"))
    judged.judge(second)

    judged.decide(second)

    loaded = judged.loaded
    evidence = open_evidence(judged.store, second, [grader.name for grader in loaded.graders])
    documents = compare_place(judged.store, second, loaded.suite, loaded.graders, evidence)
    assert {reason for document in documents for reason in document.not_comparable} == {
        (
            "re-grading judged needs 6 judge verdicts that are not recorded; "
            "have them asked first (a nightly of the baseline's date asks judges and no target), or compare without it"
        )
    }
    judged.judge(first)
    evidence = open_evidence(judged.store, second, [grader.name for grader in loaded.graders])
    documents = compare_place(judged.store, second, loaded.suite, loaded.graders, evidence)
    assert {reason for document in documents for reason in document.not_comparable} == set()


def test_no_packet_names_what_the_system_was_asked(judged):
    marker = "zyzzyva"
    judged.project.write_cases(
        [{"id": "q1", "input": f"{marker} 7", "history": [{"role": "user", "text": marker}], "answerable": True}]
    )
    (judged.datasets / "judge.py").write_text(
        textwrap.dedent(JUDGE).replace('log.write(f"{len(user)}\\n")', "log.write(system + user)"), encoding="utf-8"
    )

    judged.judge(judged.capture("2026-03-14"))

    asked = (judged.datasets / "judged.log").read_text()
    assert "lease 7" in asked
    assert marker not in asked


def test_verdicts_are_read_back_as_they_were(judged):
    place = judged.capture("2026-03-14")
    made = judged.judge(place)

    read = verdicts_at(judged.store, place, judged.loaded.graders)

    assert {v.key: json.loads(v.model_dump_json()) for v in read} == {
        v.key: json.loads(v.model_dump_json()) for v in made.book
    }
