"""Size, building and opening of a report of many cases: ``python tests/benchmarks/report.py [CASES]``.

The cases are drawn from made-up words with a fixed seed, graded for real, and written as a page. Printed are seconds
and peak memory of writing it; its size against 1.5 times the gzipped records plus 1 MB; and in Chromium the seconds
until it is ready, until a filter is applied, until all texts have been searched, and until a case is shown.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from report_scenario import GRADERS, STAMPS, answered, head_of
from ui.report_page import reader

from spancheck_pipeline.report.html.overview import ReportFacts
from spancheck_pipeline.report.html.page import write_page

WORDS = """lease tenant landlord deposit notice rent month unit party premises repair insurance charge interest payment
date term renewal clause building floor access keys water""".split()  # noqa: SIM905 - a list of words is read as one


def records_of(n: int):
    draw = random.Random(7)
    sentences = [" ".join(draw.choices(WORDS, k=draw.randint(9, 22))).capitalize() + f" {i}." for i in range(4000)]
    passages = [(f"doc-{i}", " ".join(draw.choices(sentences, k=6))) for i in range(1500)]
    for i in range(n):
        shown = draw.sample(passages, 5)
        source, text = shown[0]
        quote = text.split(". ")[0] + "."
        said = quote if draw.random() < 0.85 else quote.replace("lease", "licence")
        answer = f"{said} [1] {draw.choice(sentences)}"
        yield answered(
            f"case-{i:05d}",
            answer,
            passages=shown,
            quotes=[(source, said)],
            question=f"What does document {i} say about {draw.choice(WORDS)}?",
            category=draw.choice(["money", "time", "people"]),
            answerable=True,
        )


def main(n: int) -> None:
    started = time.perf_counter()
    records = list(records_of(n))
    print(f"{n} records graded in {time.perf_counter() - started:.1f} s")
    lines = "\n".join(record.model_dump_json() for record in records).encode()
    gzipped = len(gzip.compress(lines, 6))
    head = head_of(records, graders=GRADERS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        started = time.perf_counter()
        with path.open("w", encoding="utf-8", newline="\n") as handle:
            handle.writelines(write_page(ReportFacts(head=head), iter(records), [], STAMPS))
        seconds = time.perf_counter() - started
        size, most = path.stat().st_size, 1.5 * gzipped + 1_000_000
        tracemalloc.start()
        for _ in write_page(ReportFacts(head=head), iter(records), [], STAMPS):
            pass
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"written in {seconds:.1f} s; at most {peak:.0f} MiB are held besides the records")
        print(f"{len(lines) / 1e6:.1f} MB of records, gzipped {gzipped / 1e6:.2f} MB; page {size / 1e6:.2f} MB")
        print(f"of {most / 1e6:.2f} MB allowed; a page is {size / gzipped:.2f} × the gzipped records")
        print(json.dumps(opened(path), indent=2))


def opened(path: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    with reader() as seen:
        page = seen.page

        def timed(name: str, act: Callable[[], object], ready: str) -> None:
            started = time.perf_counter()
            act()
            page.wait_for_function(ready, timeout=60_000)
            found[name] = round(time.perf_counter() - started, 3)

        timed("ready_s", lambda: page.goto(path.as_uri()), "() => document.documentElement.dataset.ready")
        seen.go("#view=cases", "#cases:not([hidden]) tbody a")
        page.evaluate(LONG_TASKS)
        whole = page.inner_text("#found")
        shown = "() => document.getElementById('found').textContent"
        timed("filter_s", lambda: page.select_option("#filter-category", "money"), f"{shown} !== {whole!r}")
        timed(
            "search_s",
            lambda: page.fill("#filter-q", "case-00123"),
            f"{shown} .startsWith('1 case') || {shown[6:]} .startsWith('0 ')",
        )
        page.fill("#filter-q", "")
        page.select_option("#filter-category", "")
        page.wait_for_function(f"{shown} === {whole!r}")
        found["longest_task_while_filtering_ms"] = page.evaluate("() => Math.max(0, ...window.long)")
        page.evaluate("() => { window.long.length = 0; document.getElementById('rows').scrollTop = 150000 }")
        page.wait_for_timeout(200)
        found["longest_task_while_scrolling_ms"] = page.evaluate("() => Math.max(0, ...window.long)")
        page.evaluate("() => { window.long.length = 0 }")
        page.check("#filter-deep")
        done = f"() => /[1-9][0-9,]* cases? of [0-9,]+$/.test({shown[6:]}) && {shown[6:]} !== {whole!r}"
        timed("search_all_texts_s", lambda: page.fill("#filter-q", "licence"), done)
        found["longest_task_while_searching_ms"] = page.evaluate("() => Math.max(0, ...window.long)")
        timed(
            "case_s",
            lambda: page.evaluate("() => { location.hash = 'case=case-00042' }"),
            "() => !document.getElementById('case').hidden",
        )
        seen.assert_quiet()
    return found


LONG_TASKS = """() => {
  window.long = [];
  const note = list => list.getEntries().forEach(entry => window.long.push(entry.duration));
  new PerformanceObserver(note).observe({ entryTypes: ["longtask"] });
}"""


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
