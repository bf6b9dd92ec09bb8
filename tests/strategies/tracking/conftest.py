"""Shared by the tests of trackers: a small run, and clients that have to be there in CI."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ldpsim.strategies import RunOptions


def small(out: Path | None, **given: Any) -> RunOptions:
    """Return a run of a second."""
    return RunOptions(**{"clients": 60, "settings": {"epochs": "3"}, "reference": False, "nulls": False, "out": out,
                         **given})  # fmt: skip


def needs(module: str) -> None:
    """Skip a test whose client is not installed; in CI it fails instead."""
    if find_spec(module) is None:
        if os.environ.get("CI", "").lower() in ("true", "1"):
            pytest.fail(f"{module} is not installed")
        pytest.skip(f"{module} is not installed")
