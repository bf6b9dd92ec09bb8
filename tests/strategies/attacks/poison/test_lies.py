"""Lies: what each attack claims, who is drawn, and the worst report of every mechanism."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.facts import PublicFacts, Split
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
)
from ldpsim.devices.mechanisms.mechanism import one_report, one_value
from ldpsim.devices.noise import Noise
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.attacks.poison import cell as cells
from ldpsim.strategies.attacks.poison.edited_app import worst_report
from ldpsim.strategies.attacks.poison.lies import (
    ATTACKS,
    CHOSEN_CLASS,
    SILENT,
    Liars,
    choose_targets,
    draw_liars,
    lying_people,
    with_labels_of,
)
from ldpsim.strategies.engines.collect import Connection
from ldpsim.strategies.setup.run_setup import load_population
from tests.devices.mechanisms.one import drawn

N = 60


@pytest.fixture(scope="module")
def people() -> Population:
    return load_population(RunOptions(clients=N))


def liars_of(people: Population, *, join: bool, share: float = 0.2) -> Liars:
    numbers = draw_liars(N, share, 4, join=join)
    return Liars(people, numbers, choose_targets(np.setdiff1d(np.arange(20), numbers), 1), 4)


@pytest.mark.parametrize("join", [False, True])
@pytest.mark.parametrize("public_graph", [False, True])
@pytest.mark.parametrize("attack", [*ATTACKS, SILENT])
def test_honest_records_stay(attack: str, public_graph: bool, join: bool, people: Population) -> None:
    """But in a public graph, where who is named by an account gets it as a neighbour."""
    liars = liars_of(people, join=join)
    found = lying_people(liars, attack, public_graph=public_graph)
    assert len(found) == found.facts.n == N + (len(liars.numbers) if join else 0)
    for person in np.setdiff1d(np.arange(N), liars.numbers).tolist():
        true, now = people.record(person), found.record(person)
        assert now.label == true.label and np.array_equal(now.feature_indices, true.feature_indices)
        assert np.array_equal(now.feature_values, true.feature_values)
        near = now.neighbours[now.neighbours < N]
        assert np.array_equal(near, true.neighbours)
        assert len(near) == len(now.neighbours) or (public_graph and join)
    for liar in liars.numbers.tolist():
        near = found.record(liar).neighbours
        assert liar not in near and np.all(np.diff(near) > 0)
        if public_graph:
            assert all(liar in found.record(other).neighbours for other in near.tolist())


@pytest.mark.parametrize("join", [False, True])
def test_the_claims(join: bool, people: Population) -> None:
    liars = liars_of(people, join=join)
    everybody = len(people) + (len(liars.numbers) if join else 0)
    made = {name: lying_people(liars, name, public_graph=False) for name in ATTACKS}
    for liar in liars.numbers.tolist():
        claimed = {name: found.record(liar) for name, found in made.items()}
        assert len(claimed["largest-degree"].neighbours) == everybody - 1
        assert 0 < len(claimed["random"].neighbours) <= liars.links
        assert claimed["one-class"].label == claimed["pairs"].label == CHOSEN_CLASS
        others = claimed["one-class"].neighbours
        assert len(others) == liars.links and not np.any(people.labels[others] == CHOSEN_CLASS)
        mates = np.intersect1d(claimed["pairs"].neighbours, liars.numbers)
        assert np.isin(np.setdiff1d(claimed["pairs"].neighbours, mates), liars.targets).all()
        assert all(liar in made["pairs"].record(mate).neighbours for mate in mates.tolist())
    assert any(np.intersect1d(made["pairs"].record(liar).neighbours, liars.numbers).size for liar in liars.numbers)


def test_liars_are_nested_and_accounts_are_behind_the_people() -> None:
    few, many = (set(draw_liars(N, share, 4, join=False).tolist()) for share in (0.1, 0.4))
    assert len(few) == 6 and few < many
    assert draw_liars(N, 0.1, 4, join=True).tolist() == list(range(60, 66))


def test_accounts_give_labels_in_the_proportion_of_the_people() -> None:
    split = Split(np.arange(40), np.arange(40, 50), np.arange(50, 60))
    found = with_labels_of(split, np.arange(60, 70), 4)
    assert (len(found.train), len(found.val)) == (48, 12) and np.array_equal(found.test, split.test)
    assert set(found.train) | set(found.val) == {*range(50), *range(60, 70)}


NINE, D, C = 9, 6, 3
FACTS = PublicFacts(NINE, D, C)
PEOPLE = build_population(
    "few", n=NINE, d=D, edges=np.array([[0, 0, 0, 0], [1, 2, 5, 8]]),
    feature_indptr=np.array([0, 2, *[2] * (NINE - 1)]), feature_indices=np.array([1, 4]), feature_values=None,
    labels=np.array([2, *[0] * (NINE - 1)]), classes=C,
)  # fmt: skip
NOISY: list[Mechanism] = [
    RandomizedResponse.from_epsilon(0.1, n=NINE), NoisyRow.from_epsilon(0.1, n=NINE), Degree.from_epsilon(0.1, n=NINE),
    GroupDegrees.from_epsilon(0.1, n=NINE, groups=3, seed=1), OneBit.from_epsilon(0.1, d=D),
    GRRFS.from_epsilon(0.1, facts=FACTS, m=2), ClearLabel(C),
]  # fmt: skip
DRAWN: list[Mechanism] = [
    GRR.from_epsilon(0.5, categories=C), MultiBit.from_epsilon(0.5, d=D, m=2), Laplace.from_epsilon(0.5, d=D),
    AnalyticGaussian.from_epsilon(0.5, delta=1e-6, d=D),
]  # fmt: skip


@pytest.mark.parametrize("mechanism", NOISY, ids=lambda each: each.name)
def test_the_claim_is_sent_without_noise(mechanism: Mechanism) -> None:
    value = one_value(mechanism, PEOPLE.record(0), 0)
    report = one_report(mechanism, worst_report(mechanism, PEOPLE.record(0), 0), 0)
    assert np.array_equal(np.asarray(report, np.float64), np.asarray(value, np.float64))


@pytest.mark.parametrize("mechanism", DRAWN, ids=lambda each: each.name)
def test_a_drawn_report_speaks_for_the_claim(mechanism: Mechanism) -> None:
    """It is at least as likely as the median honest report: of 64 one that is none of the likelier half is rare."""
    value = one_value(mechanism, PEOPLE.record(0), 0)
    report = one_report(mechanism, worst_report(mechanism, PEOPLE.record(0), 0), 0)
    honest = [mechanism.log_probability(drawn(mechanism, value, Noise([bytes([k] * 32)])), value)
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
    real = Connection.ask

    def heard(self: Connection, questions: Any, *, facts: PublicFacts | None = None, **more: Any) -> Any:
        found = real(self, questions, **more)
        seen.append((questions, dict(found.answers)))
        assert facts is not None
        found.decoded = Reports.from_bytes(facts, questions, found.answers)
        return found

    monkeypatch.setattr(Connection, "ask", heard)
    plain = replace(options, out=None, save_reports=False)
    cells.run_poison_cell(cells.PoisonCell(plain, 0, "largest-degree", 0.2, 0.2, False))
    (questions, answers), liars = seen[0], draw_liars(60, 0.2, plain.seeds_of(0).split, join=False)
    rows = Reports.from_bytes(PublicFacts(60, 1, 2), questions, answers).adjacency
    assert honest is not None and rows is not None and len(liars) == 12
    for person in range(60):
        ones = rows[[person]].toarray()[0]
        assert ones.sum() == 59 if person in liars else np.array_equal(ones, honest[[person]].toarray()[0])
