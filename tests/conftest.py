"""Fixtures that every package's tests share."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the real data sets; without it tests skip, but fail in CI."""
    folder = os.environ.get("LDPSIM_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    what = f"LDPSIM_DATA={folder} is no folder" if folder else "LDPSIM_DATA is not set"
    if os.environ.get("CI", "").lower() in ("true", "1"):
        pytest.fail(f"{what}: the tests on real data cannot run")
    pytest.skip(f"{what}: this test needs the real data sets")


@pytest.fixture(scope="session")
def ray_here() -> Iterator[None]:
    """One Ray for all tests: starting it takes seconds."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    yield
    ray.shutdown()
