"""A small generated population and its devices, enrolled for HoGS's question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from ldpsim.curator.methods import HoGS, Question
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.client_app import open_state
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.strategies.engines.flower_private import assume_identity
from tests.curator.reports.kinds import Flags, Unequal
from tests.devices.mechanisms.installed import installed

SMALL = 40


@pytest.fixture(scope="session", autouse=True)
def flower_identity() -> None:
    """Messages can only be built in a process that has a task."""
    assume_identity(run_id=1)


@pytest.fixture(autouse=True)
def fresh_states() -> Iterator[None]:
    """A process keeps state folders open; a test must not see those of another."""
    open_state.cache_clear()
    yield
    open_state.cache_clear()


@pytest.fixture(scope="session")
def population() -> Population:
    """Forty people of the generated graph."""
    return generate(SMALL, seed=3)


@pytest.fixture
def ask(population: Population) -> Callable[..., tuple[Question, ...]]:
    """Return HoGS's questions for a collection id and an epsilon."""

    def questions(collection: str = "first", epsilon: float = 8.0, **budget: object) -> tuple[Question, ...]:
        split = make_split("random", population, 0)
        return HoGS().questions(population.facts, split, Budget(epsilon=epsilon, **budget), collection)  # type: ignore[arg-type]

    return questions


@pytest.fixture
def enrolled(tmp_path: Path, population: Population, ask: Callable[..., tuple[Question, ...]]) -> Callable[..., State]:
    """Return freshly enrolled folders, for HoGS's question or others; every one has the same seeded devices."""
    number = iter(range(100))

    def make(questions: Sequence[Question] = (), **policy: object) -> State:
        queries = [question.query for question in questions or ask()]
        rules = policy_for(queries, population.facts, **policy)  # type: ignore[arg-type]
        return enrol(tmp_path / f"state-{next(number)}", population, rules, seed=5)

    return make


@pytest.fixture
def of_another_package() -> Iterator[None]:
    """Install two mechanisms about the label, ``unequal`` and ``flags``."""
    with installed(Unequal, Flags):
        yield


@pytest.fixture
def short_perceptron(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train the perceptron of null models and votes for 5 epochs and not 300: for tests that read no accuracy of it."""
    from ldpsim.curator.learning import training

    monkeypatch.setattr(training, "TrainingSettings", partial(training.TrainingSettings, epochs=5))
