"""Dask: partitions on its local scheduler or on the workers of a client, and what happens when these are lost."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...exceptions import FairfrontError, InputError, require
from ..resources import memory, threads_setting


def require_dask(module: str = "dask") -> Any:
    """Return a module of Dask, or say which extra brings it."""
    return require(module, "dask", "data larger than memory")


def lazy_matrix(
    read: Callable[..., Any], parts: Sequence[tuple[Any, ...]], lengths: Sequence[int], width: int, like: Any
) -> Any:
    """Return an array (n, width) whose partitions are ``read(*part)``, each with the given number of rows.

    ``like`` is an empty matrix of the kind that ``read`` returns.
    """
    array, call = require_dask("dask.array"), require_dask().delayed(read, pure=False)
    blocks = [array.from_delayed(call(*part), (n, width), meta=like) for part, n in zip(parts, lengths, strict=True)]
    return blocks[0] if len(blocks) == 1 else array.concatenate(blocks, axis=0)


def lazy_column(codes: NDArray[Any], values: NDArray[Any] | None, lengths: Sequence[int]) -> Any:
    """Return an array (n,) of what codes stand for, looked up partition by partition; of the codes where no values."""
    known = require_dask("dask.array").from_array(codes, chunks=(tuple(lengths),), name=False)
    if values is None:
        return known
    return known.map_blocks(_looked_up, values, dtype=values.dtype, meta=values[:0])


def _looked_up(codes: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(values[codes])


JOINED = 8
"""How many results one step of a sum takes."""
POLL = 1.0
"""Seconds between two looks at whether there are workers left."""
UNHEARD = "no connection to the scheduler"


ALIKE = "take them from one data frame, or rechunk or repartition them alike."


class ClusterError(FairfrontError, RuntimeError):
    """The workers of a cluster are gone, or one partition is too much for them."""


@dataclass(frozen=True)
class DaskSettings:
    """How fairfront uses Dask; each field is a key of Dask's configuration, ``fairfront.<name>``.

    keep            where prepared rows stay between passes: "memory", "disk" (one machine, no client), "source" (each
                    pass reads its partitions again), or "auto": memory where they fit, then disk, then source
    memory_share    share of the memory (of all workers, or of this machine) that they may fill
    small_bytes     data up to this size (as double precision) are brought to memory, where Dask would cost more time
    patience        seconds that a pass waits for workers when there are none left
    """

    keep: Literal["auto", "memory", "disk", "source"] = "auto"
    memory_share: float = 0.4
    small_bytes: float = 1 << 27
    patience: float = 60.0

    @classmethod
    def current(cls) -> DaskSettings:
        """Return what Dask's configuration says."""
        config = require_dask().config
        given = {name: config.get(f"fairfront.{name}", getattr(cls, name)) for name in cls.__dataclass_fields__}
        if given["keep"] not in ("auto", "memory", "disk", "source"):
            raise InputError(f"fairfront.keep is {given['keep']!r}, expected 'auto', 'memory', 'disk' or 'source'.")
        for name in ("memory_share", "small_bytes", "patience"):
            if isinstance(given[name], bool) or not isinstance(given[name], (int, float)) or not given[name] >= 0:
                raise InputError(f"fairfront.{name} is {given[name]!r}, expected a number of at least 0.")
        return cls(**given)


class Runner:
    """Computes delayed values: on the client that was active when it was made, or else on the local scheduler."""

    def __init__(self, settings: DaskSettings) -> None:
        self.dask = require_dask()
        self.settings, self.client = settings, _active_client(self.dask)
        self.threads = {} if threads_setting() is None else {"num_workers": threads_setting()}

    def delayed(self, function: Any) -> Any:
        """Return a function whose calls are put off, each under a name of its own."""
        return self.dask.delayed(function, pure=False)

    def shared(self, value: Any) -> Any:
        """Return a value that is sent once and that many tasks read."""
        return self.dask.delayed(value, traverse=False)

    def over(
        self, parts: Iterable[tuple[Any, ...]], function: Callable[..., Any], combine: Callable[[list[Any]], Any]
    ) -> Any:
        """Return the combination of a function's results on parts.

        They meet in a tree of fixed shape, so that equal parts give equal bytes on any workers. What the function
        carries goes inside every task: as a task of its own, workers would wait for it.
        """
        call, join = self.delayed(function), self.delayed(combine)
        level = [call(*part) for part in parts]
        while len(level) > 1:
            split = [level[i : i + JOINED] for i in range(0, len(level), JOINED)]
            level = [join(group) if len(group) > 1 else group[0] for group in split]
        return self.result(level[0])

    def result(self, value: Any) -> Any:
        """Compute one delayed value and return it."""
        if self.client is None:
            return self.dask.compute(value, **self.threads)[0]
        future = self.client.compute(value)
        self._wait([future])
        return self._answer(future)

    def brought(self, collections: list[Any]) -> list[Any]:
        """Compute collections as a whole and return them in memory."""
        if self.client is None:
            return list(self.dask.compute(*collections, **self.threads))
        return list(self.result(self.dask.delayed(collections)))

    def kept(self, values: list[Any]) -> list[Any]:
        """Compute delayed values and leave them where they are; what is lost with a worker is computed again."""
        if self.client is None:
            return list(self.dask.persist(*values, **self.threads))
        persisted = self.client.persist(values)
        futures = self.client.futures_of(persisted)
        self._wait(futures)
        for future in futures:
            if future.status != "finished":
                self._answer(future)
        return list(persisted)

    def memory(self) -> float:
        """Return the bytes of memory of all workers, or of this machine."""
        here = memory()
        if self.client is None:
            return here
        try:
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        except TypeError:  # before 2025 all workers were told of without asking
            workers = self.client.scheduler_info()["workers"]
        return float(sum(worker["memory_limit"] or here for worker in workers.values()))

    def _wait(self, futures: list[Any]) -> None:
        """Wait for futures as long as there are workers, and a little longer."""
        distributed = sys.modules["distributed"]
        alone: float | None = None
        while True:
            try:
                distributed.wait(futures, timeout=POLL)
                return
            except TimeoutError:
                alone = None if self._workers() else time.monotonic() if alone is None else alone
            except distributed.CancelledError as error:
                raise ClusterError(_lost(UNHEARD)) from error
            if alone is not None and time.monotonic() - alone >= self.settings.patience:
                self.client.cancel(futures)
                raise ClusterError(_lost(f"no worker for {self.settings.patience:g} s"))

    def _workers(self) -> int:
        try:
            return len(self.client.nthreads())
        except (OSError, RuntimeError) as error:  # the client is closed, or cannot reach anybody
            raise ClusterError(_lost(UNHEARD)) from error

    def _answer(self, future: Any) -> Any:
        distributed = sys.modules["distributed"]
        try:
            return future.result()
        except distributed.KilledWorker as error:
            raise ClusterError(
                "a partition was being read or added up when its worker died, more than once, most likely for want of "
                "memory, expected partitions that fit into a worker a few times; make them smaller, or workers larger."
            ) from error
        except distributed.CancelledError as error:
            raise ClusterError(_lost(UNHEARD)) from error


def _lost(found: str) -> str:
    return (
        f"the cluster was lost in the middle of a pass: expected at least one worker, found {found}; start workers and "
        "trace again (from the checkpoint, where one was asked for)."
    )


def _active_client(dask: Any) -> Any:
    """Return the client that Dask itself would use, None for its local scheduler."""
    distributed = sys.modules.get("distributed")
    if distributed is None or dask.config.get("scheduler", None) not in (None, "distributed", "dask.distributed"):
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def check_sizes(*blocks: Any) -> None:
    """Refuse blocks of one partition that do not have the same rows."""
    sizes = {size for block in blocks for size in _sizes(block)}
    if len(sizes) > 1:
        found = " and ".join(map(str, sorted(sizes)))
        raise InputError(f"a partition has {found} rows in two collections, expected the same rows; {ALIKE}")


def _sizes(block: Any) -> list[int]:
    if isinstance(block, Mapping):
        return [size for each in block.values() for size in _sizes(each)]
    return [] if block is None or np.ndim(block) == 0 else [int(block.shape[0])]
