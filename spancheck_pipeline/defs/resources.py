"""Resources of the assets: the store, and the IO manager that hands stored tables to other people's assets.

Environment variables are read in ``api/environment.py``; what lies where in ``storage/store.py``.
"""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import dagster as dg
import pyarrow.dataset as pads

from spancheck_pipeline.storage.calibrations import calibrations_dataset
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CALIBRATION, TABLES

F = TypeVar("F", bound=Callable[..., Any])

STORE_KEY = "spancheck_store"
IO_MANAGER_KEY = "spancheck_io_manager"


def resource_key(key: str, namespace: str | None) -> str:
    """Return the key of a project's resource: with the namespace before it, so that two projects have one each.

    >>> resource_key("spancheck_store", "team_a")
    'team_a_spancheck_store'
    """
    return f"{namespace}_{key}" if namespace else key


class StoreResource(dg.ConfigurableResource):  # type: ignore[type-arg]  # Dagster's own examples leave it open
    """Where a project's partitions are."""

    root: str
    """A local path, or a URL that fsspec knows."""
    namespace: str | None = None

    def store(self) -> Store:
        """Return the store."""
        return Store(self.root, namespace=self.namespace)


class StoredTables(dg.ConfigurableIOManager):
    """Hands an asset of a suite to any downstream asset, as one lazy ``pyarrow.dataset.Dataset``.

    However many partitions are asked for, the input is a dataset with ``suite`` and ``date`` columns (of calibrations,
    ``judge`` and ``domain``). Our own assets
    write through the store, which keeps revisions; an output that comes here is a mistake.
    """

    root: str
    namespace: str | None = None

    def load_input(self, context: dg.InputContext) -> pads.Dataset:
        """Return the partitions asked for."""
        # A suite may be called as the namespace is: only the first part is taken off.
        path = context.asset_key.path[1 if self.namespace else 0 :]
        store = Store(self.root, namespace=self.namespace)
        if list(path) == [CALIBRATION.name]:
            return calibrations_dataset(store, context.asset_partition_keys)
        suite, name, *grader = path
        nights = [Night(suite, key) for key in context.asset_partition_keys]
        return store.dataset(nights, TABLES[name], grader[0] if grader else None)

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Refuse: these tables are written by ``spancheck_pipeline`` alone."""
        raise dg.DagsterInvariantViolationError(
            f"{context.asset_key.to_user_string()} returned a {type(obj).__name__}; tables of a suite are written "
            "through the store, so use another io_manager_key for assets of your own"
        )


@cache
def project_resources(root: str, namespace: str | None) -> dict[str, Any]:
    """Return the resources of a project's assets by key.

    The same project has the same objects, so that definitions made for one suite each can be merged.
    """
    return {
        resource_key(STORE_KEY, namespace): StoreResource(root=root, namespace=namespace),
        resource_key(IO_MANAGER_KEY, namespace): StoredTables(root=root, namespace=namespace),
    }


def takes_store(namespace: str | None) -> Callable[[F], F]:
    """Return a decorator for functions with a parameter ``spancheck_store``, put beneath Dagster's own decorator.

    Dagster takes a resource's key from the parameter's name. In a namespace the function shows Dagster the name that
    its project's store has.
    """
    key = resource_key(STORE_KEY, namespace)

    def renamed(function: F) -> F:
        if key == STORE_KEY:
            return function
        signature = inspect.signature(function)
        parameters = [
            parameter.replace(name=key) if parameter.name == STORE_KEY else parameter
            for parameter in signature.parameters.values()
        ]

        def given(named: dict[str, Any]) -> dict[str, Any]:
            return {STORE_KEY if name == key else name: value for name, value in named.items()}

        def plain(*arguments: Any, **named: Any) -> Any:
            return function(*arguments, **given(named))

        def generator(*arguments: Any, **named: Any) -> Any:
            yield from function(*arguments, **given(named))

        # Dagster reads the outputs of a generator otherwise than those of another function.
        called = generator if inspect.isgeneratorfunction(function) else plain
        called.__name__, called.__doc__, called.__module__ = function.__name__, function.__doc__, function.__module__
        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by inspect
        return cast("F", called)

    return renamed
