"""How many different values a stream has: exact while they are few, a good estimate beyond, in little memory."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEPT = 1 << 14
Hashes = NDArray[np.uint64]


class DistinctCount:
    """Count distinct values by their smallest hashes (k minimum values, k = 16 384).

    Up to k distinct values the count is exact. Beyond, with u the k-th smallest hash as a share of the range, the
    estimate is (k - 1) / u, whose standard error is about 1 / sqrt(k) = 0.8 %. Hashes are kept, values are not.
    """

    def __init__(self) -> None:
        self.smallest: Hashes = np.empty(0, dtype=np.uint64)
        self.pending: list[Hashes] = []
        self.full = False

    def add(self, hashes: Hashes) -> None:
        """Take note of some more values."""
        if self.full:
            hashes = hashes[hashes < self.smallest[-1]]
        self.pending.append(hashes)
        if sum(map(len, self.pending)) >= 2 * KEPT:  # sorting is dear, so it is done seldom
            self._merge()

    def _merge(self) -> None:
        self.smallest = np.unique(np.concatenate([self.smallest, *self.pending]))[:KEPT]
        self.pending.clear()
        self.full = len(self.smallest) == KEPT

    @property
    def exact(self) -> bool:
        """Tell whether the count is exact."""
        self._merge()
        return not self.full

    @property
    def count(self) -> int:
        """Return the number of distinct values, or its estimate."""
        if self.exact:
            return len(self.smallest)
        return round((KEPT - 1) / (float(self.smallest[-1]) / 2.0**64))


def hash_numbers(values: NDArray[Any]) -> Hashes:
    """Return 64-bit hashes of floats, mixed so that near numbers are far apart (splitmix64)."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0 makes one zero of two
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = bits ^ (bits >> np.uint64(31))
    return mixed


def hash_texts(texts: Iterable[str]) -> Hashes:
    """Return 64-bit hashes of texts that are the same in every process."""
    digests = b"".join(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype=np.uint64)
