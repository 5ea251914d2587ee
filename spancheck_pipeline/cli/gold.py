"""``spancheck gold``: claims of a recorded date out to people, and their labels back in as a gold set."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from spancheck_pipeline.cli.options import date_option, json_option, open_project


@click.group()
def gold() -> None:
    """Draw claims for labelling, and read the labels back as a gold set."""


@gold.command()
@click.argument("suite", metavar="SUITE|run:ID")
@click.argument("on", metavar="[DATE]", required=False)
@date_option
@click.option("--to", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The sheet: .csv or .jsonl.")
@click.option("--n", default=200, show_default=True, type=click.IntRange(min=1), help="Claims to draw.")
@click.option("--seed", default=0, show_default=True, type=int, help="The same seed draws the same claims.")
@click.option(
    "--kind",
    type=click.Choice(["citation", "sentence"]),
    default="citation",
    show_default=True,
    help="Citations with the evidence around their quotes, or sentences of answers with all passages.",
)
@click.option(
    "--by",
    "strata",
    multiple=True,
    type=click.Choice(["outcome", "grade", "category", "grader"]),
    help="Divide claims by this first and draw the same number of each; may be repeated. Default: outcome.",
)
@click.option("--slice", "is_slice", is_flag=True, help="A random slice of all claims instead: for corrected rates.")
@json_option
def sample(
    suite: str,
    on: str | None,
    *,
    date: str | None,
    to: Path,
    n: int,
    seed: int,
    kind: str,
    strata: tuple[str, ...],
    is_slice: bool,
    as_json: bool,
) -> int:
    """Draw claims of SUITE's recorded answers on DATE for people to label.

    Beside the sheet their exact texts are written (.items.jsonl), which `spancheck gold labels` reads.
    """
    from spancheck_pipeline.api.gold_sampling import sample_gold
    from spancheck_pipeline.cli.options import place_of
    from spancheck_pipeline.cli.terminal import print_json
    from spancheck_pipeline.errors import UsageError
    from spancheck_pipeline.report.visible import visible

    if is_slice and strata:
        raise UsageError("--slice draws from all claims alike; it goes without --by")
    if on is not None and date is not None:
        raise UsageError("the date is given twice")
    environment, store = open_project()
    place = place_of(environment, suite, on or date)
    divided = () if is_slice else strata or ("outcome",)
    done = sample_gold(store, place, to, n=n, seed=seed, kind=cast("Any", kind), strata=divided)
    if as_json:
        strata_json = {name: {"drawn": drawn, "of": size} for name, (drawn, size) in done.by_stratum.items()}
        print_json({"sheet": str(to), "items": str(done.items_path), "n_claims": done.n_claims, "strata": strata_json})
        return 0
    click.echo(str(to))
    click.echo(f"exact texts: {done.items_path}", err=True)
    for name, (drawn, size) in done.by_stratum.items():
        click.echo(f"  {visible(name) or 'all'}: {drawn} of {size}", err=True)
    click.echo("fill in label: supported or not_supported; one copy of the sheet a person", err=True)
    return 0


@gold.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--to", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The gold set: .jsonl.")
@click.option(
    "--items",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The sample's exact texts; default: beside the first file.",
)
@click.option("--domain", default="general", show_default=True, help="What the claims are about.")
@click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A text file that says how people were told to label.",
)
@click.option("--replace", is_flag=True, help="Write over a gold set that is there.")
@json_option
def labels(
    files: tuple[Path, ...],
    *,
    to: Path,
    items: Path | None,
    domain: str,
    policy: Path | None,
    replace: bool,
    as_json: bool,
) -> int:
    """Read filled-in FILES, one a person, and write what most of them say as a gold set.

    Items on which people are evenly divided are left out and named. `spancheck calibrate` measures against the set.
    """
    from spancheck_pipeline.api.gold_sampling import read_labels
    from spancheck_pipeline.cli.terminal import print_json

    told = policy.read_text(encoding="utf-8-sig") if policy else ""
    done = read_labels(files, to, items=items, domain=domain, policy=told, replace=replace)
    if as_json:
        print_json(
            {
                "gold": str(to),
                "n_items": done.n_items,
                "n_unlabelled": done.n_unlabelled,
                "n_disagreed": done.n_disagreed,
                "tied_ids": list(done.tied_ids),
            }
        )
        return 0
    click.echo(str(to))
    click.echo(f"{done.n_items} items, {done.n_disagreed} of them not unanimous; {done.n_unlabelled} without a label")
    if done.tied_ids:
        click.echo(f"left out, since people are evenly divided: {', '.join(done.tied_ids)}", err=True)
    return 0
