"""A small suite that is captured, graded, decided and recorded without Dagster, for tests of what comes after."""

from pathlib import Path

from scenario import DATE, PASSAGE, case, cited

from spancheck_pipeline.api.stored import run_place
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.decision.gate_settings import GateSettings
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.decision.suite_target import Target
from spancheck_pipeline.grading.graders import build_graders
from spancheck_pipeline.storage.store import Night, Store

PLACE = Night("small", DATE)
CASES = [case(f"q{i}", f"question {i}?", contexts=["known"], meta={"n": 0.5}) for i in range(4)]
GRADERS = {"citation_accuracy": {}, "no_pii": {}, "groundedness": {}}
NAMES = [grader.name for grader in build_graders(GRADERS)]

# The second question is answered with a number that its passage does not have; the fourth call fails.
TARGET = f"""
PASSAGE = {PASSAGE!r}


def answer(question):
    if "3" in question:
        raise ValueError(question)
    text = {cited().answer!r}
    quote = "end the lease with 30 days written notice"
    if "1" in question:
        text, quote = text.replace("30", "90"), quote.replace("30", "90")
    return {{
        "answer": text,
        "contexts": [{{"source_id": "lease", "text": PASSAGE}}],
        "citations": [{{"quote": quote, "source_id": "lease"}}],
        "versions": {{"b": "1", "a": "2"}},
        "raw": {{"x": [1.5, None]}},
    }}
"""


def suite(**gate) -> Suite:
    target = Target(callable="target.py:answer", retries=0)
    return Suite(contract=1, name="small", target=target, graders=GRADERS, gate=GateSettings(**gate), epochs=2)


def recorded(folder: Path, **gate) -> Store:
    (folder / "target.py").write_text(TARGET)
    store = Store(folder / "storage")
    run_place(
        store, PLACE, suite(**gate), CASES, graders=build_graders(GRADERS), decided_by="me",
        load_target=lambda: load_target(suite().target, suite_folder=folder),
    )  # fmt: skip
    return store
