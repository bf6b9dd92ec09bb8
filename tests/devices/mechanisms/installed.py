"""Mechanisms as another package would bring them: by entry points."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ldpsim.devices import mechanisms, query
from ldpsim.devices.mechanisms import Mechanism


class Entry:
    def __init__(self, kind: type[Mechanism]) -> None:
        self.name, self._kind = kind.name, kind

    def load(self) -> type[Mechanism]:
        return self._kind


@contextmanager
def installed(*kinds: type[Mechanism]) -> Iterator[None]:
    """Install these inside the block, and no others."""
    offered = [Entry(kind) for kind in kinds]
    _forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanisms, "entry_points", lambda group: offered if group == "ldpsim.mechanisms" else [])
        yield
    _forget()


def _forget() -> None:
    """Forget names and questions: packages neither come nor go while a process lasts."""
    mechanisms._installed.cache_clear()
    query._parse.cache_clear()
