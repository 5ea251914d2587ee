"""Resources of the assets: the store, and the IO manager that hands stored tables to other people's assets.

Environment variables are read in ``api/environment.py``; what lies where in ``storage/store.py``.
"""

from typing import Any

import dagster as dg
import pyarrow.dataset as pads

from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import TABLES

STORE_KEY = "spancheck_store"
IO_MANAGER_KEY = "spancheck_io_manager"


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

    However many partitions are asked for, the input is a dataset with ``suite`` and ``date`` columns. Our own assets
    write through the store, which keeps revisions; an output that comes here is a mistake.
    """

    root: str
    namespace: str | None = None

    def load_input(self, context: dg.InputContext) -> pads.Dataset:
        """Return the partitions asked for."""
        path = [part for part in context.asset_key.path if part != self.namespace]
        suite, name, *grader = path
        nights = [Night(suite, key) for key in context.asset_partition_keys]
        store = Store(self.root, namespace=self.namespace)
        return store.dataset(nights, TABLES[name], grader[0] if grader else None)

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Refuse: these tables are written by ``spancheck_pipeline`` alone."""
        raise dg.DagsterInvariantViolationError(
            f"{context.asset_key.to_user_string()} returned a {type(obj).__name__}; tables of a suite are written "
            "through the store, so use another io_manager_key for assets of your own"
        )
