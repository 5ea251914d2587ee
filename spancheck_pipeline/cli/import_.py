"""``spancheck import``: another tool's file of answers as the captured run of a suite's date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import click

from spancheck_pipeline.cli.options import date_option, json_option, night, open_project, open_suite

if TYPE_CHECKING:
    from spancheck_pipeline.api.environment import Environment
    from spancheck_pipeline.api.importing import Imported, Source
    from spancheck_pipeline.decision.suite import Suite
    from spancheck_pipeline.decision.suite_target import Citations
    from spancheck_pipeline.evidence.case import Case
    from spancheck_pipeline.storage.datasets import LoadedSuite
    from spancheck_pipeline.storage.store import Night, Store


@click.command("import")
@click.argument("format_", metavar="FORMAT")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--suite", required=True, help="The suite whose partition it becomes; made if it does not exist.")
@date_option
@click.option("--column", "columns", multiple=True, metavar="FIELD=PATH", help="Where a field stands in the file.")
@click.option("--only", metavar="NAME", help="Of a file with several systems' answers: the one to import.")
@click.option("--citations", default="auto", show_default=True, help="Producer of citation payloads, or markers.")
@click.option("--version", "version", help="Version of the system that answered; recorded, and compared.")
@click.option("--replace", is_flag=True, help="Supersede the captured run of this date; it stays in the history.")
@json_option
def import_(
    format_: str,
    file: Path,
    *,
    suite: str,
    date: str | None,
    columns: tuple[str, ...],
    only: str | None,
    citations: str,
    version: str | None,
    replace: bool,
    as_json: bool,
) -> int:
    """Turn FILE of another tool into the captured run of a suite's date, with its cases. Nothing is called.

    FORMAT is one of jsonl, csv, parquet, spancheck, ragas, deepeval, promptfoo, inspect_ai, langfuse, openinference,
    otel_genai. A case whose question the suite asks too takes the suite's labels. Score it with `spancheck nightly`.
    """
    from spancheck_pipeline.api.importing import Source, import_run, read_source
    from spancheck_pipeline.cli import terminal

    environment, store = open_project()
    place = night(environment, suite, date)
    source = Source(
        path=file,
        format=format_,
        columns=_columns(columns),
        only=only,
        citations=_citations(citations),
        version=version,
    )
    loaded, known = _suite(environment, suite)
    with read_source(source, known) as read:
        done = import_run(
            store,
            place,
            loaded.suite if loaded else _new_suite(suite),
            source,
            read,
            graders=loaded.graders if loaded else (),
            replace=replace,
        )
        folder = None if loaded else _write_suite(environment, store, place, source, done)
    if as_json:
        terminal.print_json(_as_json(place, done, folder))
    else:
        _print(place, source, done, folder)
    if not done.manifest.n_answered:
        terminal.say(f"every call in {file} failed; the run is stored, and holds no answer")
        return 1
    return 0


def _columns(items: tuple[str, ...]) -> dict[str, str]:
    from spancheck_pipeline.errors import UsageError

    found: dict[str, str] = {}
    for item in items:
        name, _, path = item.partition("=")
        if not name.strip() or not path.strip():
            raise UsageError(f"--column {item[:80]!r}: write FIELD=PATH, for example answer=response.text")
        if name.strip() in found:
            raise UsageError(f"--column {name.strip()[:80]} is given twice; a field has one place")
        found[name.strip()] = path.strip()
    return found


def _citations(name: str) -> Citations:
    from spancheck_pipeline.decision.suite_target import Citations
    from spancheck_pipeline.errors import UsageError
    from spancheck_pipeline.storage.wording import nearest

    names = get_args(Citations)
    if name not in names:
        raise UsageError(f"--citations {name[:80]}: no such producer; {nearest(name, names)}")
    return cast("Citations", name)


def _suite(environment: Environment, name: str) -> tuple[LoadedSuite | None, tuple[Case, ...]]:
    """Return the suite of a name with its cases, or None where its folder does not exist."""
    from spancheck_pipeline.storage.datasets import load_cases

    if not (environment.datasets / name).exists():
        return None, ()
    loaded = open_suite(environment, name)
    return loaded, load_cases(loaded.folder, loaded.suite.cases)


def _new_suite(name: str) -> Suite:
    from spancheck_pipeline.decision.suite import Suite
    from spancheck_pipeline.decision.suite_target import RecordedTarget, Target
    from spancheck_pipeline.importers.starter import GRADERS

    target = Target(recorded=RecordedTarget(file="answers.jsonl"))
    return Suite(contract=1, name=name, target=target, graders={grader: {} for grader in GRADERS})


def _write_suite(environment: Environment, store: Store, place: Night, source: Source, done: Imported) -> Path:
    from spancheck_pipeline.errors import StorageError
    from spancheck_pipeline.importers.starter import write_suite
    from spancheck_pipeline.storage.rows import captured_from_row
    from spancheck_pipeline.storage.tables import CAPTURED_RUN

    folder = environment.datasets / place.suite
    rows = (captured_from_row(row) for row in store.open(place, CAPTURED_RUN).rows())
    try:
        write_suite(folder, place.suite, done.read.cases(), rows, origin=f"{source.path.name} ({source.format})")
    except OSError as error:
        raise StorageError(
            f"{folder}: the new suite's folder cannot be written ({error.strerror}); the captured run is stored: write "
            "suite.yaml and cases.jsonl yourself, or import again with --replace"
        ) from None
    return folder


def _as_json(place: Night, done: Imported, folder: Path | None) -> dict[str, Any]:
    manifest = done.manifest
    return {
        "suite": place.suite,
        "date": place.date,
        "run_id": manifest.run_id,
        "n_cases": manifest.n_cases,
        "epochs": manifest.epochs,
        "n_rows": manifest.n_rows,
        "n_answered": manifest.n_answered,
        "errors": manifest.errors,
        "carried": dict(done.read.carried),
        "n_labelled_by_the_suite": done.read.n_relabelled,
        "citation_payloads": list(manifest.versions.get("citation_payload", ())),
        "captured_run": done.published.path,
        "new_suite": None if folder is None else str(folder),
    }


def _print(place: Night, source: Source, done: Imported, folder: Path | None) -> None:
    from spancheck_pipeline.report.visible import visible

    manifest = done.manifest
    click.echo(f"{place} · {manifest.n_cases} cases imported from {visible(source.path.name)} · run {manifest.run_id}")
    click.echo(f"  answers: {manifest.n_answered} of {manifest.n_rows}")
    for error, n in manifest.errors.items():
        click.echo(f"  without an answer: {n} ({visible(error)})")
    if done.read.n_relabelled:
        click.echo(f"  labelled by the suite's own cases: {done.read.n_relabelled}")
    if payloads := manifest.versions.get("citation_payload"):
        click.echo(f"  citation payloads read as: {', '.join(payloads)}")
    for line in _missing(source, done):
        click.echo(f"  {line}")
    if folder is not None:
        click.echo(f"new suite: {folder} (cases, answers, four graders)")
    click.echo(f"score it: spancheck nightly {place.suite} --date {place.date}")


def _missing(source: Source, done: Imported) -> list[str]:
    """Say what the file does not carry, what that leaves unmeasured, and what to export."""
    from spancheck_pipeline.importers.formats import FORMATS

    carried, n = done.read.carried, done.manifest.n_answered
    hint = FORMATS[source.format].contexts_hint
    said = (
        ("context texts", f"groundedness and provenance are unmeasured there; {hint}"),
        ("citations", "where an answer marks its sources as [1], import it with --citations markers"),
        ("tokens", "cost is unmeasured there, unless the file says it"),
        ("latency", "latency is unmeasured there"),
        ("answerable", "abstention is judged only where a label says what is right"),
    )
    return [
        f"{name}: in {carried.get(name, 0)} of {n} answers; {what}" for name, what in said if carried.get(name, 0) < n
    ]
