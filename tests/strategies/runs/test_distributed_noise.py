"""dp-fedavg with distributed noise, and trainings that start from volunteers, end to end on small graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods.federated.dp_fedavg import DPFedAvg
from ldpsim.curator.methods.federated.private import PrivateFedAvg
from ldpsim.devices.federated.messages import RoundAnswers
from ldpsim.devices.federated.update_adder import UpdateAdder
from ldpsim.strategies import RunFailed, RunOptions, simulate
from ldpsim.strategies.federated import Average
from ldpsim.strategies.runs.kinds.from_volunteers import StartFromVolunteers
from ldpsim.strategies.runs.kinds.training import Training

SETTINGS = {"rounds": "2", "noise": "distributed"}


def run(method: str = "dp-fedavg", clients: int = 60, **more: Any) -> dict[str, Any]:
    settings = {**SETTINGS, **more.pop("settings", {})} if method == "dp-fedavg" else more.pop("settings", {})
    given = {"epsilon": 4.0, "reference": False, "nulls": False, **more}
    options = RunOptions(method=method, clients=clients, settings=settings, out=None, **given)
    return simulate(options).record


@pytest.mark.parametrize("broken", [False, True])
def test_the_server_never_gets_a_single_update(monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    """Without the party that adds, the same look at what the server gets finds the update of every device."""
    got: list[list[np.ndarray]] = []
    sent: list[np.ndarray] = []
    adds, aggregates = UpdateAdder.add, Average.aggregate_train

    def contributed(self: UpdateAdder, answers: RoundAnswers, start: np.ndarray) -> RoundAnswers:
        updates = answers.updates()
        assert updates is not None and updates.updates is not None
        sent.extend(updates.updates)
        return answers if broken else adds(self, answers, start)

    def looked_at(self: Average, number: int, replies: Any) -> Any:
        got.append([message.content["arrays"]["weights"].numpy() for message in replies])
        return aggregates(self, number, replies)

    monkeypatch.setattr(UpdateAdder, "add", contributed)
    monkeypatch.setattr(Average, "aggregate_train", looked_at)
    record = run()
    single = sum(np.array_equal(one, update) for answers in got for one in answers for update in sent)
    assert len(sent) == 2 * 30 and single == (60 if broken else 0)
    assert [len(answers) for answers in got] == ([30, 30] if broken else [1, 1])
    assert record["privacy"]["trusted"] == "sum" and record["privacy"]["trust"] == "untrusted curator"
    assert record["privacy"]["holds"]["user"]["figures"]["honest"] == 27


def test_no_sum_of_fewer_than_h_is_shown() -> None:
    with pytest.raises(RunFailed):
        run(dropout=0.5)


def test_the_adder_is_there_for_the_sum_alone() -> None:
    assert run(settings={"noise": "server"})["privacy"]["trusted"] == "server"


def test_volunteers_start_the_training_and_other_people_train(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights of the first round are those of the volunteers' network, and no volunteer trains."""
    first: list[np.ndarray] = []
    asked: list[int] = []
    starts, trains = StartFromVolunteers.of, Training.run

    def watched(self: Training) -> Any:
        first.append(self.start.weights.copy())
        asked.extend(self.learners)
        return trains(self)

    made: list[StartFromVolunteers] = []

    def start(*given: Any) -> StartFromVolunteers:
        made.append(starts(*given))
        return made[-1]

    monkeypatch.setattr(Training, "run", watched)
    monkeypatch.setattr(StartFromVolunteers, "of", staticmethod(start))
    record = run("ldp-fedavg", 200, volunteers=0.2, settings={"rounds": "2", "fraction": "0.5", "start": "volunteers"})
    (begun,) = made
    split = begun.repeat.split
    assert np.array_equal(first[0], begun.weights)
    assert asked == (split.ordinary + 1).tolist() and record["federated"]["trained_on"] == len(split.ordinary) == 110
    known = begun.null_inputs.labels.labels >= 0
    assert np.array_equal(np.flatnonzero(known), split.labelled)  # labels of volunteers, and of nobody else


def test_volunteers_choose_the_round_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """With noise that destroys every model the first weights are kept: the models of volunteers alone."""
    kept: list[np.ndarray] = []
    trains = Training.run

    def watched(self: Training) -> Any:
        kept.extend([self.start.weights.copy(), trains(self)])
        return kept[1]

    monkeypatch.setattr(Training, "run", watched)
    noisy = {"start": "volunteers", "noise_multiplier": "1000", "noise": "server"}
    run(clients=200, volunteers=0.2, settings=noisy, epsilon=None)
    assert np.array_equal(*kept)


def test_a_start_from_volunteers_needs_some() -> None:
    for method in ("dp-fedavg", "ldp-fedavg"):
        with pytest.raises(ValueError, match=r"^--set start=volunteers: needs --volunteers"):
            run(method, settings={"start": "volunteers"})
    assert isinstance(DPFedAvg(), PrivateFedAvg) and not DPFedAvg().starts_from_volunteers
