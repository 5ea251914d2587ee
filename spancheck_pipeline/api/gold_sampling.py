"""A sample of a recorded place's claims for people to label, and their labels read back as a gold set.

What is sampled is what a judge would be asked about: the same claim with the same evidence (``evidence/packet.py``).
The file's form for people lives in ``storage/sheets.py``, a gold set's in ``storage/gold_files.py``.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from spancheck_pipeline.api.audit_logs import open_audit_log, rows_and_records
from spancheck_pipeline.errors import ConfigError, MissingDataError, Problem, UsageError
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.evidence.citation import source_name
from spancheck_pipeline.evidence.packet import Packet, entailment_packet, evidence_around, sentence_packet
from spancheck_pipeline.evidence.run import Context
from spancheck_pipeline.evidence.word import Span
from spancheck_pipeline.storage.documents import write_text, writing
from spancheck_pipeline.storage.gold_files import read_gold
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.sheets import is_sheet, read_sheet, write_rows
from spancheck_pipeline.storage.store import Place, Store

Kind = Literal["citation", "sentence"]
STRATA: Final = ("outcome", "grade", "category", "grader")
"""What claims can be divided by before they are drawn."""
COLUMNS: Final = ("row", "label", "claim", "evidence", "stratum", "group")
"""``label`` is for people to fill in."""
_LABELS: Final = {
    "supported": True, "true": True, "1": True, "yes": True,
    "not_supported": False, "not supported": False, "false": False, "0": False, "no": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """What drawing a sample gave."""

    n_claims: int
    """Distinct claims that could have been drawn."""
    by_stratum: dict[str, tuple[int, int]]
    """Stratum → how many were drawn, of how many."""
    items_path: Path
    """The texts as they are, which a spreadsheet cannot change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """What reading labels gave."""

    n_items: int
    n_unlabelled: int
    tied_ids: tuple[str, ...]
    """Items on which as many people say one thing as the other; they are left out."""
    n_disagreed: int
    """Items in the set on which not all of their labellers agree."""


def items_path_of(path: Path) -> Path:
    """Return where the exact texts of a sample lie: beside the file that people fill in."""
    return path.with_name(f"{path.name.rpartition('.')[0] or path.name}.items.jsonl")


# -- out --------------------------------------------------------------------------------------------------------


def sample_gold(
    store: Store,
    place: Place,
    path: Path,
    *,
    n: int,
    seed: int,
    kind: Kind = "citation",
    strata: Sequence[str] = ("outcome",),
) -> Sampled:
    """Draw claims of a recorded place and write them for people to label.

    With ``strata`` every stratum gets the same number, as far as it has so many; without any the sample is a random
    slice of all claims. The draw depends on the seed and on the claims alone, not on their order.

    Raises:
        MissingDataError: when the place has no record, or no claim of this kind.
        UsageError: for strata that there are not.
    """
    if unknown := sorted(set(strata) - set(STRATA)):
        raise UsageError(f"--by {unknown[0][:40]!r}: claims are divided by {', '.join(STRATA)}")
    seen: set[str] = set()
    sizes: Counter[str] = Counter()
    drawn: dict[str, list[tuple[int, str, dict[str, Any]]]] = defaultdict(list)
    for item in _candidates(store, place, kind, strata):
        if item["id"] in seen:
            continue
        seen.add(item["id"])
        sizes[item["stratum"]] += 1
        # The largest is on top and goes first: what stays are the n smallest marks of the stratum.
        entry = (-_mark(seed, item["id"]), item["id"], item)
        kept = drawn[item["stratum"]]
        if len(kept) < n:
            heapq.heappush(kept, entry)
        else:
            heapq.heappushpop(kept, entry)
    if not seen:
        raise MissingDataError(f"{place}: no {kind} was checked there; name another --kind, or another date")
    quotas = _quotas({name: len(kept) for name, kept in drawn.items()}, n)
    chosen = [item for name in sorted(drawn) for _, _, item in sorted(drawn[name], reverse=True)[: quotas[name]]]
    chosen.sort(key=lambda item: _mark(seed + 1, item["id"]))  # nobody labels a stratum at a time
    _write_sample(path, chosen, has_strata=bool(strata))
    return Sampled(
        n_claims=len(seen),
        by_stratum={name: (quotas[name], sizes[name]) for name in sorted(sizes)},
        items_path=items_path_of(path),
    )


def _mark(seed: int, item_id: str) -> int:
    """Return a claim's place in the draw: a number that looks random and depends on nothing else."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{item_id}".encode()).digest()[:8])


def _quotas(available: Mapping[str, int], n: int) -> dict[str, int]:
    """Return how many are drawn of each stratum: the same of all, and what a small one lacks of the others.

    >>> _quotas({"a": 2, "b": 50, "c": 50}, 12)
    {'a': 2, 'b': 5, 'c': 5}
    """
    quotas = dict.fromkeys(sorted(available), 0)
    left = n
    while left:
        open_ones = [name for name in quotas if quotas[name] < available[name]]
        if not open_ones:
            break
        for name in open_ones[:left]:
            quotas[name] += 1
        left -= min(left, len(open_ones))
    return quotas


def _candidates(store: Store, place: Place, kind: Kind, strata: Sequence[str]) -> Iterator[dict[str, Any]]:
    for row, _ in rows_and_records(open_audit_log(store, place)):
        if not row["answered"]:
            continue
        for score in row["scores"]:
            for finding in score["findings"] or ():
                if finding["kind"] != kind or finding["answer_start"] is None:
                    continue
                packet = _packet(row, finding, kind)
                if packet is not None and packet.claim and packet.evidence:
                    facts = {
                        "outcome": finding["outcome"], "grade": finding["grade"] or "none",
                        "category": row["category"], "grader": score["grader"],
                    }  # fmt: skip
                    yield {
                        "id": f"g-{packet.digest[:16]}",
                        "claim": packet.claim,
                        "evidence": list(packet.evidence),
                        "stratum": "/".join(str(facts[name]) for name in strata),
                        "group": row["cluster"] or row["case_id"],
                    }


def _packet(row: Row, finding: Row, kind: Kind) -> Packet | None:
    """Return what a judge would be asked about a finding; None for a citation whose passage has no text."""
    claim = row["answer"][finding["answer_start"] : finding["answer_end"]]
    texts = {source_name(Context(**c), i): c["text"] for i, c in enumerate(row["contexts"] or ()) if c["text"]}
    if kind == "sentence":
        return sentence_packet(claim, texts.values())
    passage = texts.get(finding["source_id"])
    if passage is None:
        return None
    start, end = finding["source_start"], finding["source_end"]
    return entailment_packet(claim, evidence_around(passage, None if start is None else Span(start, end)))


def _write_sample(path: Path, chosen: Sequence[dict[str, Any]], *, has_strata: bool) -> None:
    about = {"kind": "gold_sample", "contract": CONTRACT, "sampling": "stress" if has_strata else "slice"}
    lines = [about, *({key: value for key, value in item.items() if value != ""} for item in chosen)]
    rows = ({**item, "row": item["id"], "label": None, "evidence": "\n\n".join(item["evidence"])} for item in chosen)
    items_path = items_path_of(path)
    is_first = not items_path.exists()
    try:
        # Both are written before one of them appears: a sheet without its texts cannot be read back.
        with writing(path) as sheet:
            write_rows(sheet, COLUMNS, rows, as_csv=is_sheet(path))
            write_text(items_path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    except BaseException:
        if is_first:
            items_path.unlink(missing_ok=True)
        raise


# -- back in ----------------------------------------------------------------------------------------------------


def read_labels(
    paths: Sequence[Path],
    target: Path,
    *,
    items: Path | None = None,
    domain: str,
    policy: str = "",
    replace: bool = False,
) -> Labelled:
    """Read filled-in files, one a person, and write what most of them say as a gold set: JSONL, and YAML beside it.

    Claims and evidence come from the sample's own items, not from what a spreadsheet made of them. A YAML file that is
    there is left as it is, but for its ``tied``: what people said of the items on which they are evenly divided.

    Raises:
        ConfigError: naming every row that cannot be taken, with its line; then nothing is written.
        UsageError: when the gold set is there already and is not to be replaced, or is not named .jsonl.
    """
    if target.suffix != ".jsonl":
        raise UsageError(f"{target}: a gold set is named .jsonl")
    if target.exists() and not replace:
        raise UsageError(f"{target} is there already; write elsewhere, or --replace it")
    about, known = _read_items(items or items_path_of(paths[0]))
    votes: dict[str, list[bool]] = defaultdict(list)
    for path in paths:
        for item_id, label in _labels_of(path, known).items():
            votes[item_id].append(label)
    tied = tuple(sorted(item_id for item_id, said in votes.items() if 2 * sum(said) == len(said)))
    lines = [_gold_line(known[item_id], votes[item_id]) for item_id in known if votes[item_id] and item_id not in tied]
    if not lines:
        raise ConfigError(str(paths[0]), [Problem(what="holds no label", fix="fill in supported or not_supported")])
    write_text(target, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    said = {"contract": CONTRACT, "domain": domain, "sampling": about["sampling"], "policy": policy}
    _write_about(target.with_suffix(".yaml"), said, [votes[item_id] for item_id in tied])
    read_gold(target)
    return Labelled(
        n_items=len(lines),
        n_unlabelled=len(known) - sum(bool(votes[item_id]) for item_id in known),
        tied_ids=tied,
        n_disagreed=sum(len(set(line.get("labellers", ()))) > 1 for line in lines),
    )


def _write_about(path: Path, said: Mapping[str, Any], tied: Sequence[Sequence[bool]]) -> None:
    """Write what a set says of itself; of a file that is there only the line with the ties is written anew."""
    if path.exists():
        lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
        before = "".join(line for line in lines if not line.startswith("tied:"))
    else:
        lines, before = [], yaml.safe_dump(dict(said), sort_keys=False, allow_unicode=True)
    after = f"tied: {json.dumps(tied)}\n" if tied else ""
    text = before + ("" if before.endswith("\n") or not after else "\n") + after
    if text != "".join(lines):
        write_text(path, text)


def _gold_line(item: Mapping[str, Any], said: Sequence[bool]) -> dict[str, Any]:
    label = 2 * sum(said) > len(said)
    line = {**item, "label": "supported" if label else "not_supported"}
    if len(said) > 1:
        line["labellers"] = list(said)
    return line


def _read_items(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        known = {str(line["id"]): line for line in lines[1:]}
        about = {"gold_sample": lines[0]}[lines[0]["kind"]]
    except (OSError, ValueError, IndexError, KeyError, AttributeError, TypeError) as error:
        what = f"not the items of a sample ({type(error).__name__})"
        fix = "name the file that `spancheck gold sample` wrote beside the sheet with --items"
        raise ConfigError(str(path), [Problem(what=what, fix=fix)]) from None
    return about, known


def _labels_of(path: Path, known: Mapping[str, Any]) -> dict[str, bool]:
    """Return one person's labels by item; a row without one is passed over."""
    found: dict[str, bool] = {}
    problems: list[Problem] = []
    for row in read_sheet(path, ["row", "label"]):
        word = row.cell("label").lower()
        if not word:
            continue
        item_id, label = row.cell("row"), _LABELS.get(word)
        if item_id not in known:
            problems.append(Problem(what="its `row` is not of this sample", line=row.line, fix="keep that column"))
        elif label is None:
            what = f"{word[:40]!r} is no label"
            problems.append(Problem(what=what, line=row.line, fix="write supported or not_supported"))
        elif found.setdefault(item_id, label) != label:
            problems.append(Problem(what="labels the same item otherwise than an earlier row", line=row.line))
    if problems:
        raise ConfigError(str(path), problems)
    return found


__all__ = ["COLUMNS", "STRATA", "Labelled", "Sampled", "items_path_of", "read_labels", "sample_gold"]
