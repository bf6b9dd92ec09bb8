from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from ldpsim.strategies.estimate import fits as machine
from ldpsim.strategies.estimate.fits import memory_bytes


def test_the_memory_is_that_of_the_container_where_it_is_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory_bytes() > 1 << 27
    monkeypatch.setattr(machine.psutil, "virtual_memory", lambda: SimpleNamespace(total=3 << 30))
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(machine, "_CGROUP", limit)
    assert memory_bytes() == 3 << 30  # no container
    for said, wanted in (("max\n", 3 << 30), (f"{2 << 30}\n", 2 << 30), (f"{4 << 30}\n", 3 << 30)):
        limit.write_text(said)
        assert memory_bytes() == wanted
