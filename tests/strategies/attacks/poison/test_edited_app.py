"""The edited app: every mechanism's worst report is one that its decoder reads, and honest reports stay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import build_population
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    GRR,
    GRRFS,
    AnalyticGaussian,
    ClearLabel,
    Degree,
    GroupDegrees,
    Laplace,
    Mechanism,
    MultiBit,
    NoisyRow,
    OneBit,
    RandomizedResponse,
    SubsetSelection,
)
from ldpsim.devices.noise import NoiseStream
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.attacks.poison import cell as cells
from ldpsim.strategies.attacks.poison.edited_app import worst_report
from ldpsim.strategies.attacks.poison.lies import draw_liars

N, D, C = 9, 6, 3
FACTS = PublicFacts(N, D, C)
PEOPLE = build_population(
    "few", n=N, d=D, edges=np.array([[0, 0, 0, 0], [1, 2, 5, 8]]), feature_indptr=np.array([0, 2, *[2] * (N - 1)]),
    feature_indices=np.array([1, 4]), feature_values=None, labels=np.array([2, *[0] * (N - 1)]), classes=C,
)  # fmt: skip
NOISY: list[Mechanism] = [
    RandomizedResponse.from_epsilon(0.1, n=N), NoisyRow.from_epsilon(0.1, n=N), Degree.from_epsilon(0.1, n=N),
    GroupDegrees.from_epsilon(0.1, n=N, groups=3, seed=1), OneBit.from_epsilon(0.1, d=D),
    GRRFS.from_epsilon(0.1, facts=FACTS, m=2), ClearLabel(C),
]  # fmt: skip
DRAWN: list[Mechanism] = [
    GRR.from_epsilon(0.5, categories=C), SubsetSelection.from_epsilon(0.5, categories=C),
    MultiBit.from_epsilon(0.5, d=D, m=2), Laplace.from_epsilon(0.5, d=D),
    AnalyticGaussian.from_epsilon(0.5, delta=1e-6, d=D),
]  # fmt: skip


@pytest.mark.parametrize("mechanism", NOISY, ids=lambda each: each.name)
def test_the_claim_is_sent_without_noise(mechanism: Mechanism) -> None:
    value = mechanism.value_of(PEOPLE.record(0), device=0)
    report = mechanism.decode(worst_report(mechanism, value, 0), device=0)
    assert np.array_equal(np.asarray(report, np.float64), np.asarray(value, np.float64))


@pytest.mark.parametrize("mechanism", DRAWN, ids=lambda each: each.name)
def test_a_drawn_report_speaks_for_the_claim(mechanism: Mechanism) -> None:
    """It is at least as likely as the median honest report: of 64 one that is none of the likelier half is rare."""
    value = mechanism.value_of(PEOPLE.record(0), device=0)
    report = mechanism.decode(worst_report(mechanism, value, 0), device=0)
    honest = [mechanism.log_probability(mechanism.perturb(value, NoiseStream(bytes([k] * 32))), value)
              for k in range(99)]  # fmt: skip
    assert mechanism.log_probability(report, value) >= np.median(honest)


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.slow)])
def test_only_liars_reports_change(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of largest-degree liars are all ones; honest rows are those of a run in which nobody lies."""
    if engine == "ray":
        pytest.importorskip("ray")
    options = RunOptions(method="rr", clients=60, seed=3, nulls=False, reference=False, settings={"epochs": "2"},
                         engine=engine, out=tmp_path, save_reports=True)  # fmt: skip
    folder = simulate(options).folder
    honest = Reports.load(folder / "reports").adjacency
    seen: list[Any] = []
    real = cells.collect

    def heard(*given: Any, **more: Any) -> Any:
        more.pop("facts", None)
        found = real(*given, **more)
        seen.append((given[1], dict(found.answers)))
        return found

    monkeypatch.setattr(cells, "collect", heard)
    plain = replace(options, out=None, save_reports=False)
    cells.run_poison_cell(cells.PoisonCell(plain, 0, "largest-degree", 0.2, 0.2, False))
    (questions, answers), liars = seen[0], draw_liars(60, 0.2, plain.seeds_of(0).split, join=False)
    rows = Reports.from_bytes(PublicFacts(60, 1, 2), questions, answers).adjacency
    assert honest is not None and rows is not None and len(liars) == 12
    for person in range(60):
        ones = rows[[person]].toarray()[0]
        assert ones.sum() == 59 if person in liars else np.array_equal(ones, honest[[person]].toarray()[0])
