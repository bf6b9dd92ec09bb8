"""Eight people whose trainings are written out in dense numpy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from tests.fleets import release_states


@pytest.fixture(scope="module")
def people() -> Population:
    return generate(8, d=20, classes=3, seed=2, mean_degree=2.0, words=6)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    release_states()
