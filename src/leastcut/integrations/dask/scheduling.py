"""Tasks of Dask: handed to a cluster, or to the scheduler of this process, and fetched from there.

Whatever a task needs is another task or stands in its own description, never data that was put on
a worker: what a worker held when it died is computed again elsewhere, as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from leastcut.optional_packages import needed_for
from leastcut.threads import available_cores

LARGEST_DESCRIPTION = "1GiB"
"""Descriptions of tasks that Dask does not warn of: tables that all share travel in them, once."""


class Scheduler:
    """Whoever runs tasks: the cluster of a client, or what Dask is configured to use.

    Parameters
    ----------
    client : distributed.Client or None
        None is the client that is current, if there is one, and else a scheduler of this process.
    """

    def __init__(self, client: Any = None) -> None:
        with needed_for("Clusterings of Dask collections", "dask", "dask"):
            import dask
            from dask.base import get_scheduler
        if client is not None and not (hasattr(client, "persist") and hasattr(client, "gather")):
            raise TypeError(
                f"client={client!r} is not a client of dask.distributed; pass one, or None for "
                "the current one."
            )
        # Of the schedulers only a client's is a method, of the client.
        client = getattr(get_scheduler(), "__self__", None) if client is None else client
        if getattr(client, "asynchronous", False):
            raise ValueError(
                "The client is asynchronous, and fit waits for what it finds; pass a "
                "Client(..., asynchronous=False)."
            )
        self.client = client
        self._dask = dask

    @property
    def n_threads(self) -> int:
        """Threads that there are for tasks, at this moment."""
        if self.client is None:
            return available_cores()
        return max(1, sum(map(int, self.client.nthreads().values())))

    def owners(self, kept: Sequence[Any]) -> list[str]:
        """Wait for tasks that are kept, and return the addresses of workers that hold them."""
        if self.client is None:
            return [""] * len(kept)
        from distributed import wait

        futures = [future_of(task) for task in kept]
        with self.client.as_current():
            wait(futures)
        holders = self.client.who_has(futures)
        return [min(holders.get(future.key, ()), default="") for future in futures]

    def task(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return a task that calls a function; among its arguments are other tasks."""
        return self._dask.delayed(function, pure=False)(*arguments, dask_key_name=key_of(name))

    def given(self, name: str, *values: Any) -> Any:
        """Return a task whose value is a tuple of values that are known here."""
        # A partial function is a task's own affair: Dask does not look into its arguments.
        return self.task(name, partial(_tuple_of, *values))

    def keep(self, tasks: Sequence[Any]) -> list[Any]:
        """Have tasks run; their values stay on the workers. It does not wait for a cluster."""
        if not tasks:
            return []
        calm = {"distributed.admin.large-graph-warning-threshold": LARGEST_DESCRIPTION}
        with self._dask.config.set(calm):
            if self.client is not None:
                return list(self.client.persist(list(tasks)))
            return list(self._dask.persist(*tasks))

    def fetch(self, kept: Sequence[Any]) -> list[Any]:
        """Return the values of tasks that are kept: they travel here."""
        if self.client is None:
            return list(self._dask.compute(*kept))
        return list(self.client.gather([future_of(task) for task in kept]))


def future_of(kept: Any) -> Any:
    """Return the future of a task that a cluster keeps."""
    from distributed import futures_of

    return futures_of(kept)[0]


def key_of(name: str) -> str:
    """Return a key that no other task has; what people see of it is its name."""
    return f"{name}-{uuid4().hex}"


def _tuple_of(*values: Any) -> tuple[Any, ...]:
    return values
