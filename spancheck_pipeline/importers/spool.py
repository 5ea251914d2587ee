"""What was read of a file, on disk until it is written: cases and answers in a temporary database that has no name.

SQLite makes the file in the folder for temporary files (``TMPDIR``) and has removed its name by the time it is used, so
that nothing of it is left behind, however the process ends. Memory stays bounded whatever the number of rows.
"""

from __future__ import annotations

import contextlib
import sqlite3
import weakref
from collections.abc import Iterator
from typing import Self

from spancheck_pipeline.errors import StorageError
from spancheck_pipeline.evidence.canonical import digest_of_list
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow

_CACHE_KIB = 16 * 1024


class TemporaryDatabase:
    """An SQLite database on disk that lives as long as its connection."""

    def __init__(self, schema: str) -> None:
        with disk_errors():
            # The threads of a capture take turns; SQLite itself serializes them.
            self.db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            # A target is never told that it is the last call; what nobody refers to any more is let go.
            weakref.finalize(self, self.db.close)
            self.db.executescript(
                f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-{_CACHE_KIB}; {schema}; BEGIN;"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database, and with it of its file."""
        self.db.close()


@contextlib.contextmanager
def disk_errors() -> Iterator[None]:
    """Turn what SQLite says of a full or read-only disk into a message with its fix.

    Raises:
        StorageError: in place of SQLite's error.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise StorageError(
            f"the temporary file that a large file is read into cannot be written ({error}); make room, or set TMPDIR "
            "to a folder that has some"
        ) from None


class Spool(TemporaryDatabase):
    """Cases in the order in which they came, and the answers of each by epoch."""

    def __init__(self) -> None:
        super().__init__("""
            CREATE TABLE cases(position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, question TEXT NOT NULL,
                               label TEXT NOT NULL, body TEXT NOT NULL);
            CREATE TABLE answers(position INTEGER NOT NULL, epoch INTEGER NOT NULL, body TEXT NOT NULL,
                                 UNIQUE(position, epoch));
            CREATE TABLE namesakes(id TEXT NOT NULL, epoch INTEGER NOT NULL, n INTEGER NOT NULL,
                                   PRIMARY KEY(id, epoch)) WITHOUT ROWID
        """)
        self.n_cases = self.n_answers = self.epochs = 0

    def add(self, case: Case, row: CapturedRow) -> str | None:
        """Take an answer and its case, or return why not: ``question`` (the id asks another one) or ``twice``."""
        with disk_errors():
            found = self.db.execute("SELECT position, question FROM cases WHERE id = ?", (case.id,)).fetchone()
            if found is None:
                position = self.n_cases
                body = case.model_dump_json()
                self.db.execute(
                    "INSERT INTO cases VALUES (?, ?, ?, ?, ?)",
                    (position, case.id, case.question_digest, case.label_digest, body),
                )
                self.n_cases += 1
            else:
                position, question = found
                if question != case.question_digest:
                    return "question"
            try:
                body = row.model_dump_json()
                self.db.execute("INSERT INTO answers VALUES (?, ?, ?)", (position, row.epoch, body))
            except sqlite3.IntegrityError:
                return "twice"
        self.n_answers += 1
        self.epochs = max(self.epochs, row.epoch + 1)
        return None

    def namesake(self, case_id: str, epoch: int) -> int:
        """Return how often a name was asked for before in an epoch, and count this time."""
        count = "INSERT INTO namesakes VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1 RETURNING n - 1"
        with disk_errors():
            [(taken,)] = self.db.execute(count, (case_id, epoch)).fetchall()
        return int(taken)

    def cases(self) -> Iterator[Case]:
        """Yield the cases, one in memory at a time."""
        with disk_errors():
            for (body,) in self.db.execute("SELECT body FROM cases ORDER BY position"):
                yield Case.model_validate_json(body)

    def rows(self) -> Iterator[CapturedRow]:
        """Yield a row for each case and epoch, in order; one that the file does not hold is an error row."""
        query = (
            "SELECT id, question, epoch, answers.body FROM cases JOIN answers USING (position) ORDER BY position, epoch"
        )
        at, epoch, asked = "", self.epochs, ""
        with disk_errors():
            for case_id, question, found, body in self.db.execute(query):
                if case_id != at:
                    yield from _missing(at, asked, epoch, self.epochs)
                    at, asked, epoch = case_id, question, 0
                yield from _missing(at, asked, epoch, found)
                yield CapturedRow.model_validate_json(body)
                epoch = found + 1
        yield from _missing(at, asked, epoch, self.epochs)

    def dataset_digest(self) -> str:
        """Return what ``evidence.case.dataset_digest`` says of the cases."""
        return self._digest("SELECT id, question, label FROM cases ORDER BY id")

    def questions_digest(self) -> str:
        """Return what ``storage.journal.questions_digest`` says of the cases."""
        return self._digest("SELECT id, question FROM cases ORDER BY id")

    def _digest(self, query: str) -> str:
        # SQLite orders text by its UTF-8 bytes, which is the order of code points, as Python's.
        with disk_errors():
            return digest_of_list(list(row) for row in self.db.execute(query))


def _missing(case_id: str, question: str, start: int, end: int) -> Iterator[CapturedRow]:
    for epoch in range(start, end):
        yield CapturedRow(
            case_id=case_id,
            question_digest=question,
            epoch=epoch,
            error_class="NoRecordedAnswer",
            attempts=0,
        )
