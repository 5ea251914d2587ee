"""Single JSON documents of a contract, whichever they are."""

import pytest
from pydantic import BaseModel

from spancheck_pipeline.errors import ContractError, CorruptFileError
from spancheck_pipeline.storage.contract_documents import parsed, read_document, write_document
from spancheck_pipeline.storage.store import Store


class Note(BaseModel):
    contract: int = 1
    text: str


def test_a_document_is_read_as_it_was_written(tmp_path):
    store, path = Store(tmp_path), str(tmp_path / "notes" / "1.json")
    note = Note(text="naïve ☃\n")

    write_document(store, path, note)

    assert read_document(store, path, Note, "note") == note


def test_a_byte_order_mark_is_no_part_of_a_document():
    assert parsed(b'\xef\xbb\xbf{"contract": 1, "text": "a"}', "a.json", Note, "note") == Note(text="a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "a.json: not a readable note (JSONDecodeError); restore it"),
        (b"\xff", "a.json: not a readable note (UnicodeDecodeError); restore it"),
        (b"[" * 200_000, "a.json: not a readable note (RecursionError); restore it"),
        (b'{"contract": 1}', "a.json: not a note of this version; restore it"),
    ],
)
def test_a_file_that_is_no_document_is_named_and_nothing_of_it_is_quoted(content, message):
    with pytest.raises(CorruptFileError) as caught:
        parsed(content, "a.json", Note, "note")

    assert str(caught.value) == message


@pytest.mark.parametrize("content", [b'{"contract": 2, "text": "a"}', b'{"text": "a"}', b"[]", b"1"])
def test_a_document_of_another_contract_is_refused(content):
    with pytest.raises(ContractError, match=r"a\.json"):
        parsed(content, "a.json", Note, "note")


def test_a_document_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(CorruptFileError, match=r"not a readable note \(FileNotFoundError\)"):
        read_document(Store(tmp_path), str(tmp_path / "1.json"), Note, "note")
