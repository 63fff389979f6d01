"""Errors from below in the words of the entry that was called: a person who has no X should not read of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..exceptions import InputError


@contextmanager
def reworded(words: Mapping[str, str]) -> Iterator[None]:
    """Replace patterns in the sentence of an `InputError` that is raised inside; both sides are as in `re.sub`."""
    try:
        yield
    except InputError as error:
        text = str(error)
        for pattern, said in words.items():
            text = re.sub(pattern, said, text)
        raise InputError(text) from error
