"""Broken variants of the product: the simulator has to find each of them. A variant changes the code for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from ldpsim.devices import query

Patch = Callable[[], Any]
VARIANTS: dict[str, Patch] = {}
KIND: dict[str, str] = {}  # of the schedules that look for a variant
put = mock.patch.object


def variant(text: str, kind: str = "reports") -> Callable[[Patch], Patch]:
    """Enter a variant under its name, in words, and the kind of schedules that look for it."""

    def enter(make: Patch) -> Patch:
        VARIANTS[text] = make
        KIND[text] = kind
        return make

    return enter


@contextmanager
def broken(name: str) -> Iterator[None]:
    """Change the code as a variant says."""
    made = every_variant()[name]()
    with ExitStack() as stack:
        for patch in made if isinstance(made, list) else [made]:
            stack.enter_context(patch)
        yield
    query._parse.cache_clear()  # a question keeps what was found out about it


def every_variant() -> dict[str, Patch]:
    """Return all variants by name, of all modules that have some."""
    from tests.faults import broken_counter, broken_ledger, broken_messages, broken_training  # noqa: F401 - they enter theirs

    return VARIANTS
