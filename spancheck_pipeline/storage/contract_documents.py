"""Single JSON documents of a contract in the storage: a promotion, a seal. Written once, read whole, checked.

Where they lie and what they say is their own modules' (``promotions.py``, ``seals.py``). Documents that stand in a
table's metadata are read by ``stored_file.py``; files that a user names by whoever takes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from spancheck_pipeline.errors import ContractError, CorruptFileError
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.storage.documents import write_text
from spancheck_pipeline.storage.object_files import reaching
from spancheck_pipeline.storage.store import Store

M = TypeVar("M", bound=BaseModel)


def read_document(store: Store, path: str, model: type[M], what: str) -> M:
    """Return a stored document; ``what`` is the word for it in messages.

    Raises:
        ContractError: for one of another contract.
        CorruptFileError: for a file that cannot be read, or is none.
    """
    try:
        content: bytes = store.filesystem.cat_file(path)
    except OSError as error:
        raise CorruptFileError(f"{path}: not a readable {what} ({type(error).__name__}); restore it") from None
    return parsed(content, path, model, what)


def parsed(content: bytes, path: str, model: type[M], what: str) -> M:
    """Return the document that a file's bytes are, in UTF-8 with or without a byte order mark.

    Raises:
        ContractError, CorruptFileError: as ``read_document``.
    """
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{path}: not a readable {what} ({type(error).__name__}); restore it") from None
    contract = document.get("contract") if isinstance(document, dict) else None
    if contract != CONTRACT:
        raise ContractError(path, found=contract, known=CONTRACT)
    try:
        return model.model_validate(document)
    except ValidationError:
        raise CorruptFileError(f"{path}: not a {what} of this version; restore it") from None


def write_document(store: Store, path: str, document: BaseModel) -> None:
    """Write a document whole, in place of what stood there.

    Raises:
        StorageError: when it cannot be written.
    """
    text = text_of(document)
    if store.is_local:
        write_text(Path(path), text)
        return
    with reaching(path):
        store.filesystem.pipe_file(path, text.encode())


def text_of(document: BaseModel) -> str:
    """Return a document as the text of its file."""
    return json.dumps(document.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"
