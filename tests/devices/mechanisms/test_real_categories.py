"""What devices read from the real records: categories as the file has them, blocks as sparse as published."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.datasets import load
from ldpsim.devices.mechanisms import GRRFS


@pytest.mark.parametrize(("name", "block", "features", "zeros"), [("cora", 25, 58, 0.738), ("citeseer", 70, 53, 0.560)])
def test_blocks_are_as_many_and_as_sparse_as_published(
    name: str, block: int, features: int, zeros: float, data_dir: Path
) -> None:
    population = load(name, data_dir=data_dir)
    mechanism = GRRFS.from_epsilon(1.0, facts=population.facts, m=10, block=block)
    read = np.array([mechanism.value_of(population.record(i), device=i) for i in range(len(population))])
    assert read.shape[1] == features and 1 - read.mean() == pytest.approx(zeros, abs=6e-4)
