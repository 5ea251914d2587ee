"""Builders of values that tests share: cases, outputs, captured rows, and a whole project in a folder."""

from __future__ import annotations

import json
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spancheck_pipeline.api.environment import Environment
from spancheck_pipeline.cli.main import main
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.evidence.run import CapturedRow, Output, normalize
from spancheck_pipeline.evidence.verdict import Verdict
from spancheck_pipeline.grading.judge import LABEL_SCORES, Judge

AT = datetime(2026, 3, 14, 2, 0, tzinfo=UTC)
DATE = "2026-03-14"

PASSAGE = "Either party may end the lease with 30 days written notice."
QUOTE = "end the lease with 30 days written notice"


def case(case_id: str = "q1", question: Any = "What is the notice period?", **fields: Any) -> Case:
    return Case(id=case_id, input=question, **fields)


def output(answer: str = "The notice period is 30 days.", **fields: Any) -> Output:
    return normalize({"answer": answer, **fields})


def cited(answer: str = "Either party may end the lease with 30 days written notice.", quote: str = QUOTE) -> Output:
    return output(
        answer,
        contexts=[{"source_id": "lease", "text": PASSAGE}],
        citations=[{"quote": quote, "source_id": "lease", "claim": answer}],
    )


def row(of: Case, value: Output | None = None, **fields: Any) -> CapturedRow:
    if value is None:
        fields = {"error_class": "TimeoutError", "error_message": "too slow", **fields}
    return CapturedRow(case_id=of.id, question_digest=of.question_digest, output=value, **fields)


def verdict(judge: Judge, packet: Packet, label: str | None = "supported", **fields: Any) -> Verdict:
    """Return what a judge replied about a packet; without a label the call failed."""
    error = {} if label else {"error_class": "TimeoutError"}
    said = {"score": LABEL_SCORES[packet.kind][label], "reason": "because"} if label else {}
    made = {
        "judge": judge.name,
        "identity": judge.identity,
        "prompt": judge.prompt,
        "prompt_digest": judge.prompt_digest,
        "packet_kind": packet.kind,
        "packet_version": packet.version,
        "packet_digest": packet.digest,
        "label": label,
        "finish_reason": "stop" if label else "timeout",
    }
    return Verdict.model_validate({**made, **said, **error, **fields})


TARGET = """
    import pathlib

    VERSION = "1"
    LOG = pathlib.Path(__file__).with_name("calls.log")


    def answer(question):
        with LOG.open("a") as log:
            log.write(question + "\\n")
        if "president" in question:
            return {"answer": "I don't know; the documents do not say.", "contexts": [PASSAGE]}
        return {
            "answer": "Either party may end the lease with 30 days written notice.",
            "contexts": [{"source_id": "lease", "text": PASSAGE}],
            "citations": [{"quote": "end the lease with 30 days written notice", "source_id": "lease"}],
            "model": "m1",
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }


    PASSAGE = "Either party may end the lease with 30 days written notice."
"""


class Project:
    """A datasets folder with one suite, and the storage beside it."""

    def __init__(self, folder: Path, *, name: str = "small", n: int = 12, target: str = TARGET) -> None:
        self.name = name
        self.folder = folder
        self.suite_folder = folder / "datasets" / name
        self.suite_folder.mkdir(parents=True)
        self.storage = folder / "storage"
        self.write_target(target)
        self.write_cases(cases_of(n))
        self.write_suite()

    @property
    def environ(self) -> dict[str, str]:
        return {
            "SPANCHECK_DATASETS": str(self.folder / "datasets"),
            "SPANCHECK_STORAGE": str(self.storage),
            "DAGSTER_HOME": str(self.folder / "dagster_home"),
        }

    @property
    def environment(self) -> Environment:
        return Environment(
            datasets=self.folder / "datasets",
            storage=str(self.storage),
            namespace=None,
            timezone="UTC",
            start_date="2026-01-01",
            dagster_home=self.folder / "dagster_home",
        )

    def write_target(self, text: str) -> None:
        (self.suite_folder / "target.py").write_text(textwrap.dedent(text), encoding="utf-8")

    def write_cases(self, cases: list[dict[str, Any]]) -> None:
        lines = [json.dumps(item, ensure_ascii=False) for item in cases]
        (self.suite_folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def write_suite(self, graders: str = "", gate: str = "", target: str = "", more: str = "") -> None:
        text = f"""\
            contract: 1
            name: {self.name}
            target: {{callable: "target.py:answer",
                      version_from: "target.py:VERSION", retries: 0, backoff_s: 0{target}}}
            prices: {{m1: {{input_usd_per_mtok: 1, output_usd_per_mtok: 2}}}}
            graders: {{citation_accuracy: {{}}, abstention_correct: {{}}, groundedness: {{}}, no_pii: {{}}{graders}}}
            gate: {{min_pass_rate: {{citation_accuracy: 0.9, abstention_correct: 0.9}}{gate}}}
            """
        (self.suite_folder / "suite.yaml").write_text(textwrap.dedent(text) + more, encoding="utf-8")

    def calls(self) -> list[str]:
        """Return the questions that the target was really asked."""
        log = self.suite_folder / "calls.log"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def cases_of(n: int) -> list[dict[str, Any]]:
    """Return n cases; every third has no answer in the documents."""
    return [
        {
            "id": f"q{i:02d}",
            "input": f"Who is president number {i}?" if i % 3 == 2 else f"How long is notice number {i}?",
            "answerable": i % 3 != 2,
            "category": "unanswerable" if i % 3 == 2 else "answerable",
        }
        for i in range(n)
    ]


def spancheck(*arguments: str) -> int:
    """Call the command line in this process and return its exit code."""
    try:
        main(list(arguments))
    except SystemExit as done:
        return int(done.code or 0)
    raise AssertionError("the command line always exits")
