"""Pages in the storage: written whole or not at all, the same one once, and the superseded one kept."""

from pathlib import Path

import pytest

from spancheck_pipeline.errors import ContractError, StorageError
from spancheck_pipeline.storage.pages import page_path, publish_page, write_page_file
from spancheck_pipeline.storage.store import AdHoc, Night, Store

NIGHT = Night("leases", "2026-03-14")


def page(text: str):
    def parts(stamps):
        yield "<!DOCTYPE html>\n"
        yield '<meta name="spancheck-contract" content="1">\n'
        yield from (f'<meta name="spancheck-{name}" content="{value}">\n' for name, value in stamps.items())
        yield text

    return parts


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "storage")


def test_a_page_is_found_at_its_place_and_says_its_revision(store):
    made = publish_page(store, NIGHT, page("one"), identity={"n": 1})

    assert made.path == f"{store.root}/report/suite=leases/date=2026-03-14/report.html" == page_path(store, NIGHT)
    assert (made.revision, made.is_new, made.n_bytes) == (1, True, Path(made.path).stat().st_size)
    assert '<meta name="spancheck-revision" content="00001">' in Path(made.path).read_text()
    assert publish_page(store, AdHoc("leases", "a1"), page("x"), identity={}).path.endswith(
        "runs/a1/report/report.html"
    )


def test_the_same_page_is_not_made_again(store):
    first = publish_page(store, NIGHT, page("one"), identity={"n": 1})

    def never(stamps):
        raise AssertionError("it is there already")

    again = publish_page(store, NIGHT, never, identity={"n": 1})
    assert (again.revision, again.is_new, again.content_digest) == (1, False, first.content_digest)


def test_a_superseded_page_stays_readable_under_history(store):
    for n in (1, 2, 3):
        publish_page(store, NIGHT, page(f"page {n}"), identity={"n": n})

    kept = sorted(Path(store.root, "_history").rglob("report.html"))
    assert [path.parent.name for path in kept] == ["revision=00001", "revision=00002"]
    assert [path.read_text().rpartition("\n")[2] for path in kept] == ["page 1", "page 2"]
    assert Path(page_path(store, NIGHT)).read_text().endswith("page 3")
    assert list(Path(store.root, "_tmp").iterdir()) == []


def test_a_failed_write_leaves_what_stood_there(store):
    publish_page(store, NIGHT, page("whole"), identity={"n": 1})

    def broken(stamps):
        yield from page("half")(stamps)
        raise OSError(28, "No space left on device")

    with pytest.raises(StorageError, match=r"report\.html: cannot be written \(No space left on device\)"):
        publish_page(store, NIGHT, broken, identity={"n": 2})
    assert Path(page_path(store, NIGHT)).read_text().endswith("whole")
    assert list(Path(store.root, "_tmp").iterdir()) == []


def test_a_page_of_another_contract_is_not_replaced(store):
    target = Path(page_path(store, NIGHT))
    target.parent.mkdir(parents=True)
    target.write_text('<meta name="spancheck-contract" content="2">')

    with pytest.raises(ContractError, match=r"contract '?2"):
        publish_page(store, NIGHT, page("x"), identity={})


def test_on_object_storage_pages_have_revisions_too():
    store = Store("memory://pages-test")

    for n in (1, 2):
        made = publish_page(store, NIGHT, page(f"page {n}"), identity={"n": n})

    assert (made.revision, made.is_new) == (2, True)
    assert store.filesystem.cat_file(made.path).endswith(b"page 2")
    history = f"{store.root}/_history/report/suite=leases/date=2026-03-14/revision=00001/report.html"
    assert store.filesystem.cat_file(history).endswith(b"page 1")


def test_a_file_of_the_users_is_written_whole_or_not_at_all(tmp_path):
    target = tmp_path / "new" / "r.html"
    write_page_file(target, page("one"), identity={})

    def broken(stamps):
        yield "half"
        raise OSError(28, "No space left on device")

    with pytest.raises(StorageError, match="cannot be written"):
        write_page_file(target, broken, identity={})
    assert target.read_text().endswith("one")
    assert [path.name for path in target.parent.iterdir()] == ["r.html"]
