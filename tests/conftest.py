"""Fixtures that every package's tests share, and the tests that stay together when several processes run them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

# A test that has one of these marks or fixtures starts servers: Ray, Flower's runtime or a browser.
SERVERS = frozenset({"flower", "deployment", "ray_here", "browser"})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that start servers into one group, which pytest-xdist gives to one worker."""
    for item in items:
        names = {mark.name for mark in item.iter_markers()} | set(getattr(item, "fixturenames", ()))
        if names & SERVERS:
            item.add_marker(pytest.mark.xdist_group("servers"))


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
