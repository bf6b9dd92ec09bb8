"""Files of a deployment: public facts, and a curator's key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldpsim.devices.curator_key import CuratorKey, generate
from ldpsim.devices.data.population import Population


@pytest.fixture
def facts(tmp_path: Path, population: Population) -> Path:
    labels = {str(node): int(population.labels[node]) for node in range(0, 40, 2)}
    path = tmp_path / "facts.json"
    path.write_text(json.dumps({"facts": population.facts.to_dict(), "labels": labels}))
    return path


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CuratorKey:
    """The key of the curator whose server this is."""
    monkeypatch.setenv("LDPSIM_CURATOR_KEY", str(tmp_path / "key.pub"))
    generate(tmp_path / "key")
    return CuratorKey.load(tmp_path / "key")
