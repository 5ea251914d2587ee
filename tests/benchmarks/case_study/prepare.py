"""Make a datasets folder of the case study: the three suites, with links to the evaluation data beside them.

    python tests/benchmarks/case_study/prepare.py DATA FOLDER
    SPANCHECK_DATASETS=FOLDER spancheck nightly expertqa

DATA is the folder that holds ``cases_clapnq.dev.jsonl`` and the other files; nothing of it is copied.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

LINKS = {
    ("clapnq", "cases.jsonl"): "cases_clapnq.dev.jsonl",
    ("expertqa", "answers.jsonl"): "captured_runs_expertqa.dev.jsonl",
    ("rated", "answers.jsonl"): "captured_runs_rated.dev.jsonl",
}


def prepare(data: Path, into: Path) -> None:
    """Write the suites into a folder and link the data into them; what a suite's folder held before is replaced."""
    here = Path(__file__).parent
    missing = [name for name in LINKS.values() if not (data / name).is_file()]
    if missing:
        sys.exit(f"{data} does not hold {', '.join(missing)}")
    for (suite, link), name in LINKS.items():
        folder = into / suite
        folder.mkdir(parents=True, exist_ok=True)
        for source in (here / suite).iterdir():
            if source.is_file():
                shutil.copyfile(source, folder / source.name)
        (folder / link).unlink(missing_ok=True)
        (folder / link).symlink_to((data / name).resolve())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the evaluation data")
    parser.add_argument("folder", type=Path, help="datasets folder to write")
    arguments = parser.parse_args()
    prepare(arguments.data, arguments.folder)
    print(f"SPANCHECK_DATASETS={arguments.folder}")
