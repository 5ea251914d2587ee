"""Storages and namespaces that the environment names: what would be taken for something else is refused."""

import pytest

from spancheck_pipeline.api.environment import given_environment, read_environment
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.storage.tables import TABLES


@pytest.mark.parametrize("storage", ["s3://bucket/place", "memory://x", "file:///x", "simplecache::s3://bucket/place"])
def test_a_url_of_a_known_kind_is_taken_as_it_is(storage):
    assert read_environment({"SPANCHECK_STORAGE": storage}).storage == storage


@pytest.mark.parametrize("storage", ["here", "/abs/x:y", "with: colon", r"C:\\x"])
def test_a_folder_stays_one_whatever_its_name(tmp_path, storage):
    assert read_environment({"SPANCHECK_STORAGE": storage}, folder=tmp_path).storage == str(tmp_path / storage)


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ("s3:/bucket", "SPANCHECK_STORAGE: a URL has two slashes after its colon: s3://…"),
        ("s3:bucket", "a URL has two slashes after its colon: s3://…"),
        ("nope:/x", "a URL has two slashes after its colon: nope://…"),
        ("s4://bucket", "SPANCHECK_STORAGE: 's4' is no kind of storage that is known here"),
    ],
)
def test_what_is_neither_is_refused_before_a_folder_of_that_name_is_made(storage, said):
    with pytest.raises(UsageError) as refused:
        read_environment({"SPANCHECK_STORAGE": storage})
    assert said in str(refused.value)
    with pytest.raises(UsageError, match=r"^storage: "):
        given_environment(storage=storage)


@pytest.mark.parametrize("namespace", [*TABLES, "runs", "baselines"])
def test_a_namespace_is_never_a_folder_of_the_storage(namespace):
    with pytest.raises(UsageError, match="is a table's folder in a storage"):
        read_environment({"SPANCHECK_NAMESPACE": namespace})
