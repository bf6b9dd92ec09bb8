"""The ledger is atomic between threads and processes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report


@pytest.mark.parametrize("same_ledger_object", [True, False])
def test_threads_that_claim_at_once(
    tmp_path: Path,
    people: Callable[..., Population],
    policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query],
    same_ledger_object: bool,
) -> None:
    population = people(n=40)
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    states = [state] * 4 if same_ledger_object else [State(state.folder) for _ in range(4)]
    questions = [ask_for("c", n=40, eps=eps) for eps in (1.0, 1.0, 2.0, 3.0)]
    barrier = threading.Barrier(4)
    answers: list[dict[int, object]] = [{} for _ in range(4)]

    def run(worker: int) -> None:
        for index in range(40):
            barrier.wait()
            answers[worker][index] = states[worker].device(index).answer(questions[worker])

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index in range(40):
        given = [answers[worker][index] for worker in range(4)]
        reports = [a for a in given if isinstance(a, Report)]
        assert all(a is Refusal.REPORT_COLLECTED for a in given if not isinstance(a, Report))
        assert len({r.data for r in reports}) == 1 and sum(not r.replayed for r in reports) == 1
        assert isinstance(given[0], Report) == isinstance(given[1], Report)
