"""Trainings of devices and of silos, end to end on a small graph: strategies, refusals, dropouts, bytes, privacy."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Message, MessageType, RecordDict
from flwr.serverapp.strategy import FedAvg

from ldpsim.curator.linear.propagation import adjacency_matrix, gcn_matrix
from ldpsim.curator.privacy.federated import (
    MOST_EPSILON,
    Rounds,
    central_epsilon,
    noise_multiplier_for,
    updates_epsilon,
)
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.federated.exchange import read_sums
from ldpsim.devices.federated.members import Members
from ldpsim.devices.federated.wire import WEIGHTS, record_of
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.training_task import UNPROTECTED, Task
from ldpsim.strategies import Refused, RunOptions, simulate
from ldpsim.strategies.federated import EVERYBODY, TrainingPlan, strategy_for
from ldpsim.strategies.results.lifetime import TrainingAnswers
from ldpsim.strategies.runs.kind import kind_of
from ldpsim.strategies.runs.kinds import rounds as kinds
from ldpsim.strategies.runs.kinds.rounds import Trained, Training
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.spent import guarantee_before

SMALL = {"clients": 60, "reference": False, "nulls": False}


def run(tmp_path: Path, method: str, **more: Any) -> dict[str, Any]:
    rounds = {} if method == "isolate" else {"rounds": "3"}
    settings = {**rounds, **more.pop("settings", {})}
    options = RunOptions(method=method, out=tmp_path, settings=settings, **{**SMALL, **more})
    return simulate(options).record


class Watched(Training):
    """Keeps each round's replies and the weights after it."""

    rounds: list[list[Message]]

    def run(self) -> Any:
        self.rounds, self.after = [], []
        inner = self.grid.send_and_receive

        def listen(messages: Any, *, timeout: float | None = None) -> Any:
            replies = inner(messages, timeout=timeout)
            if replies:
                self.rounds.append(list(replies))
            return replies

        self.grid.send_and_receive = listen  # type: ignore[method-assign]
        Watched.last = self  # type: ignore[attr-defined]
        weights = super().run()
        self.final = weights
        return weights


def test_the_aggregate_is_flowers_fedavg_of_the_same_replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "Training", Watched)
    record = run(tmp_path, "fedavg-mlp")
    seen: Watched = Watched.last  # type: ignore[attr-defined]
    assert len(seen.rounds) == 3 and record["federated"]["rounds_answered"] == 3
    arrays, _ = FedAvg(**EVERYBODY).aggregate_train(1, seen.rounds[-1])
    assert np.array_equal(arrays[WEIGHTS].numpy(), seen.final)
    plain = np.mean([reply.content["arrays"][WEIGHTS].numpy().astype(np.float64) for reply in seen.rounds[-1]], axis=0)  # type: ignore[call-overload]
    assert np.abs(plain - seen.final).max() < 1e-6
    assert record["devices"]["asked"] == record["devices"]["reported"] == 30


def test_fedgcn_in_one_step_is_the_gcns_own_gradient(tmp_path: Path) -> None:
    """With the neighbours' sums a device's gradient is exact: one step of FedAvg is one of gradient descent."""
    import torch

    options = RunOptions(method="fedgcn", out=tmp_path, settings={"rounds": "1", "local_steps": "1"}, **SMALL)
    result = simulate(options)
    from safetensors.numpy import load_file

    from ldpsim.curator.linear.propagation import adjacency_matrix, gcn_matrix
    from ldpsim.devices.data.splits import make_split
    from ldpsim.strategies.runs.kinds.network import scaled_features
    from ldpsim.strategies.runs.kinds.rounds import task_of

    setup = prepare(dataclasses.replace(options, out=None))
    people, seeds = setup.population, options.seeds_of(0)
    split = make_split("random", people, seeds.split)
    task, train = task_of(setup, "x", split), split.train
    both = np.concatenate([people.edges, people.edges[::-1]], axis=1)
    spread = torch.tensor(gcn_matrix(adjacency_matrix(len(people), both)).toarray(), dtype=torch.float64)
    inputs = torch.tensor(scaled_features(people, task.scaling).toarray(), dtype=torch.float64)
    flat = task.shape.initial(seeds.training).astype(np.float64)
    parts = [torch.tensor(part, requires_grad=True) for part in task.shape.parts(flat)]
    w1, b1, w2, b2 = parts
    scores = spread @ torch.relu(spread @ inputs @ w1 + b1) @ w2 + b2
    torch.nn.functional.cross_entropy(scores[train], torch.tensor(people.labels[train])).backward()  # type: ignore[no-untyped-call]
    found = load_file(result.folder / "model.safetensors")
    for name, part in zip(("weight1", "bias1", "weight2", "bias2"), parts, strict=True):
        expected = (part - task.lr * part.grad).detach().numpy()  # type: ignore[operator]
        assert np.abs(found[name] - expected).max() < 1e-5


def test_devices_enrolled_for_reports_refuse_to_train(tmp_path: Path) -> None:
    simulate(RunOptions(method="hogs", out=tmp_path, state=tmp_path / "state", **SMALL))
    for method in ("fedavg-mlp", "fedavg-gnn", "fedgcn", "dp-fedavg", "silo-fedgcn"):
        with pytest.raises(Refused, match="MODE_REFUSED"):
            run(tmp_path / method, method, state=tmp_path / "state")
    run(tmp_path, "fedavg-mlp", state=tmp_path / "federated")
    with pytest.raises(Refused, match="MODE_REFUSED"):
        simulate(RunOptions(method="hogs", out=tmp_path, state=tmp_path / "federated", **SMALL))


def test_ldp_fedavgs_loss_is_the_composition_of_the_answers_in_the_ledgers(tmp_path: Path) -> None:
    record = run(tmp_path, "ldp-fedavg", settings={"rounds": "8", "fraction": "0.25"}, state=tmp_path / "state",
                 epsilon=4.0)  # fmt: skip
    state = State(tmp_path / "state")
    rows = state.ledger(0).answers()
    spent: dict[int, float] = {}
    for row in rows:
        spent[row.device] = spent.get(row.device, 0.0) + row.parts[0].loss.vector
    assert len(rows) == 8 * 30 // 4 and len(spent) == 30
    life = record["privacy"]["lifetime_per_device"]
    assert math.isclose(life["user"]["max"], max(spent.values()), abs_tol=1e-8)
    assert math.isclose(life["user"]["mean"], sum(spent.values()) / 60, abs_tol=1e-8)
    held = record["privacy"]["holds"]["user"]
    own = [row.parts[0].loss for row in rows if row.device == rows[0].device]
    assert held["value"] == updates_epsilon(2, own[0].vector, own[0].delta) < 0.75 * max(spent.values())
    assert max(spent.values()) <= 4.0 + 1e-8 and len(own) == 2
    assert math.isclose(held["delta"], sum(loss.delta for loss in own)) and held["delta"] == life["user"]["delta"]
    assert "one Gaussian mechanism" in held["detail"]
    assert any("claimed is the sum" in reason for reason in record["privacy"]["why_they_differ"])
    assert record["federated"]["answers_per_device"] == {"max": 2, "mean": 2.0}  # 30 of 60 people were asked at all
    with pytest.raises(Refused, match="POLICY_REFUSED"):  # their budget is spent
        run(tmp_path, "ldp-fedavg", settings={"rounds": "8", "fraction": "0.25"}, state=tmp_path / "state", epsilon=4.0)


def test_dp_fedavg_accounts_for_the_rounds_really_run(tmp_path: Path) -> None:
    record = run(tmp_path, "dp-fedavg", settings={"rounds": "30", "dropping": "0.97"})
    rounds, multiplier = record["federated"]["rounds_answered"], record["federated"]["noise_multiplier"]
    assert 0 < rounds < 30
    level = record["privacy"]["holds"]["central_node"]
    assert level["value"] == central_epsilon(Rounds(rounds, 30, 30, level["delta"]), multiplier) < 8.0


def _trained(people: int, models: int, loss: Loss, counts: list[int]) -> Trained:
    given = np.zeros(60, np.int64)
    given[: len(counts)] = counts
    return Trained(people, models, TrainingAnswers(given, loss, complete=True))


def test_a_devices_answers_in_several_trainings_add_up_person_by_person() -> None:
    """Three devices give 2, 1, 0 and 1, 2, 2 answers: nobody more than 3 in all, at the larger loss of one."""
    setup = prepare(RunOptions(method="ldp-fedavg", out=None, **SMALL))
    both = [_trained(30, 5, Loss(0.5, 0.5, 2e-6), [2, 1, 0]), _trained(30, 5, Loss(1.0, 1.0, 1e-6), [1, 2, 2])]
    guarantee = kind_of(setup.method).guarantee(setup, both)
    for name in ("user", "vector", "label", "bit_feature"):
        level = guarantee.holds[name]
        assert (level.value, level.delta) == (updates_epsilon(3, 1.0, 2e-6), pytest.approx(6e-6))
    assert guarantee.collections == 2
    for certain in ((True, False), (False, True), (False, False)):  # one ledger that cannot be read is enough
        unsure = [dataclasses.replace(one, certain=sure) for one, sure in zip(both, certain, strict=True)]
        held = kind_of(setup.method).guarantee(setup, unsure).holds
        assert {name: held[name].status for name in ("user", "vector", "bit_adjacency", "central_node")} == {
            "user": "unprotected", "vector": "unprotected", "bit_adjacency": "not asked", "central_node": "not asked",
        }  # fmt: skip
        assert held["user"].value is None and "could not be read" in held["user"].reason


def test_the_models_of_several_trainings_lose_what_the_worst_division_of_people_loses() -> None:
    """5 models in all, with 30 training people in one repeat and 5 in the other, whose delta is .1 and not .01."""
    setup = prepare(RunOptions(method="dp-fedavg", out=None, **{**SMALL, "settings": {"noise_multiplier": "3"}}))
    both = [_trained(30, 3, UNPROTECTED, []), _trained(5, 2, UNPROTECTED, [])]
    of = {people: central_epsilon(Rounds(5, people, people, delta), 3.0) for people, delta in ((30, 0.01), (5, 0.1))}
    assert of[30] > 1.1 * of[5]
    for trained in (both, both[::-1]):
        level = kind_of(setup.method).guarantee(setup, trained).holds["central_node"]
        assert (level.value, level.delta) == (of[30], 0.01)


def test_what_is_claimed_before_a_training_counts_the_people_who_train() -> None:
    """80 of 160 people train, and a round draws 40 of them: delta is the largest power of ten below 1 / 80."""
    settings = {"noise_multiplier": "3", "rounds": "3", "fraction": "0.5"}
    setup = prepare(RunOptions(method="dp-fedavg", out=None, **{**SMALL, "clients": 160, "settings": settings}))
    level = guarantee_before(setup).holds["central_node"]
    assert (level.value, level.delta) == (central_epsilon(Rounds(3, 80, 40, 0.01), 3.0), 0.01)


def test_a_device_that_trains_alone_learns_its_own_label_and_is_scored_on_the_others(tmp_path: Path) -> None:
    """Features say nothing: each network names its own class everywhere, and is right about that class's people."""
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [60, 30, 10]))
    np.savez(tmp_path / "people.npz", x=np.ones((100, 2)), edge_index=np.zeros((2, 0), np.int64), labels=labels,
             num_classes=3)  # fmt: skip
    options = RunOptions(method="isolate", dataset=str(tmp_path / "people.npz"), out=None, reference=False, nulls=False)
    split = prepare(options).plans[0].split
    accuracy = simulate(options).record["accuracy"]
    for part, figure in ((split.test, accuracy["test"]), (split.val, accuracy["val"])):
        right = [np.mean(labels[part] == label) for label in labels[split.train]]
        assert figure == pytest.approx(np.mean(right)) and 0.2 < figure < 0.8


def test_the_noise_of_a_server_is_that_for_the_people_who_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """80 of 160 train: for all of them delta would be a tenth, and the noise larger."""
    plans: list[TrainingPlan] = []
    monkeypatch.setattr(
        "ldpsim.strategies.runs.kinds.training.strategy_for",
        lambda method, plan: plans.append(plan) or strategy_for(method, plan),
    )
    record = run(tmp_path, "dp-fedavg", clients=160, settings={"rounds": "2"}, epsilon=4.0)
    expected = noise_multiplier_for(Rounds(2, 80, 80, 0.01), 4.0)
    assert record["federated"]["noise_multiplier"] == expected < noise_multiplier_for(Rounds(2, 160, 160, 0.001), 4.0)
    assert [(plan.people, len(plan.nodes)) for plan in plans] == [(80, 160)]


def test_a_central_budget_has_a_limit_at_both_ends() -> None:
    asked = Rounds(rounds=1, people=50, sample=50, delta=1e-12)
    assert central_epsilon(asked, noise_multiplier_for(asked, MOST_EPSILON)) <= MOST_EPSILON == 1000
    for epsilon, said in ((1000.1, "must be above 0 and at most 1000 for dp-fedavg"), (1e-8, "no noise reaches it")):
        with pytest.raises(ValueError, match=f"^--epsilon {epsilon:g}: {said}"):
            noise_multiplier_for(asked, epsilon)


def test_central_noise_is_that_of_the_replies_that_came() -> None:
    """Flower divides the sum by the replies and the noise by the sample; the mean of few moves more."""
    from flwr.app import ConfigRecord, MetricRecord

    from ldpsim.curator.methods.federated.dp_fedavg import DPFedAvg
    from ldpsim.devices.federated.wire import weights_record
    from ldpsim.strategies.federated import private

    start = np.zeros(4000)
    told = RecordDict({"config": ConfigRecord()})

    def noise_of(replies: int) -> float:
        strategy = private(FedAvg(**EVERYBODY), DPFedAvg(clip=2.0), multiplier=3.0, sample=50, noise_seed=1)
        strategy.current_arrays = weights_record(start)  # type: ignore[attr-defined]
        update = {"arrays": weights_record(start + 1e-12), "metrics": MetricRecord({"num-examples": 1})}
        asked = [Message(told, node, MessageType.TRAIN) for node in range(1, replies + 1)]
        heard = [Message(RecordDict(update), reply_to=message) for message in asked]
        arrays, _ = strategy.aggregate_train(1, heard)
        return float(arrays[WEIGHTS].numpy().std())

    for replies in (50, 10):
        assert noise_of(replies) == pytest.approx(3.0 * 2.0 / replies, rel=0.1)


def test_noise_of_an_adaptive_round_is_that_of_the_norm_that_clipped_it() -> None:
    """Everybody is clipped, so the next norm is about a tenth smaller: noise for that one would be too small."""
    from flwr.app import ConfigRecord, MetricRecord

    from ldpsim.curator.methods.federated.dp_fedavg import DPFedAvg
    from ldpsim.devices.federated.wire import weights_record
    from ldpsim.strategies.federated import AdaptiveClipping, private

    start, replies = np.zeros(40_000), 50
    strategy = private(FedAvg(**EVERYBODY), DPFedAvg(clip=2.0, clipping="adaptive"), multiplier=1.0, sample=replies,
                       noise_seed=1)  # fmt: skip
    assert isinstance(strategy, AdaptiveClipping)
    strategy.current_arrays = weights_record(start)
    told, update = RecordDict({"config": ConfigRecord()}), {"arrays": weights_record(start + 1.0)}
    asked = [Message(told, node, MessageType.TRAIN) for node in range(1, replies + 1)]
    metrics = {"metrics": MetricRecord({"num-examples": 1})}
    arrays, _ = strategy.aggregate_train(1, [Message(RecordDict(update | metrics), reply_to=one) for one in asked])
    assert arrays is not None and strategy.clipping_norm < 2.0 * 0.95
    noise = arrays[WEIGHTS].numpy().std()
    assert noise == pytest.approx(strategy.noise_multiplier * 2.0 / replies, rel=0.02)  # 5 deviations of its estimate


def test_who_trains_in_a_round_and_who_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training people alone train, drawn anew in each round; validation people alone judge."""
    monkeypatch.setattr(kinds, "Training", Watched)
    run(tmp_path / "a", "fedavg-mlp", settings={"fraction": "0.5", "evaluate_every": "2"})
    seen: Watched = Watched.last  # type: ignore[attr-defined]
    train, val = (set((part + 1).tolist()) for part in (seen.split.train, seen.split.val))
    assert seen.grid.tally.recipients <= train | val and seen.grid.tally.recipients >= val
    assert set(seen._judges(2)) == val and not seen._judges(1)
    rounds = [tuple(seen.sample(number)) for number in range(1, 41)]
    assert len(set(rounds)) == 40 and all(len(set(nodes)) == 15 and set(nodes) <= train for nodes in rounds)
    # 20 of 40 rounds are expected of everybody; 18 off is a false alarm of 1e-7 for 30 people
    assert all(abs(sum(node in nodes for nodes in rounds) - 20) < 18 for node in train)

    run(tmp_path / "b", "ldp-fedavg", settings={"rounds": "5", "fraction": "0.2"})
    seen = Watched.last  # type: ignore[attr-defined]
    turns = [seen.sample(number) for number in range(1, 11)]
    assert turns[:5] == turns[5:]  # a device takes part in every fifth round
    assert sorted(node for nodes in turns[:5] for node in nodes) == sorted(train)
    assert turns[0] != sorted(train)[::5]  # who trains together is drawn


def test_a_silos_steps_are_autograds(population: Population) -> None:
    """No dropout: the written-out gradient of the GCN equals torch's, weight decay and FedProx's term included."""
    import torch

    members = np.arange(0, 40, 2)
    silo, d, c = _silo(population, members), population.facts.d, population.facts.classes
    task = Task("one", "own", d, 4, c, 0.5, 3, weight_decay=0.01, seed=1)
    flat = task.shape.initial(2, np.float64)
    spread, features = silo.inside(), silo.features(d)
    (found,) = silo.stack(task, None, training=True).trained(flat, mu=0.3)
    own = torch.tensor(flat, requires_grad=True)
    s, x = torch.tensor(spread.toarray(), dtype=torch.float64), torch.tensor(features.toarray(), dtype=torch.float64)
    labels, nodes = torch.tensor(silo.labels), np.flatnonzero(silo.training)
    for _ in range(3):
        w1, b1, w2, b2 = torch.split(own, [d * 4, 4, 4 * c, c])
        scores = s @ torch.relu(s @ x @ w1.reshape(d, 4) + b1) @ w2.reshape(4, c) + b2
        loss = torch.nn.functional.cross_entropy(scores[nodes], labels[nodes])
        loss = loss + 0.005 * (own**2).sum() + 0.15 * ((own - torch.tensor(flat)) ** 2).sum()
        (gradient,) = torch.autograd.grad(loss, own)
        own = (own - 0.5 * gradient).detach().requires_grad_()
    assert np.abs(found - own.detach().numpy()).max() < 1e-6


def _silo(population: Population, members: np.ndarray) -> Members:
    records = [population.record(int(person)) for person in members]
    ends = [np.concatenate([[0], np.cumsum([len(part) for part in parts])]) for parts in (
        [r.feature_indices for r in records], [r.neighbours for r in records])]  # fmt: skip
    return Members(
        members, ends[0], np.concatenate([r.feature_indices for r in records]).astype(np.int64),
        np.concatenate([r.feature_values for r in records]), ends[1],
        np.concatenate([r.neighbours for r in records]).astype(np.int64), population.labels[members],
        np.arange(len(members)) % 2 == 0,
    )  # fmt: skip


def test_a_silo_sees_no_edge_to_another_silo(population: Population) -> None:
    members = np.arange(10)
    inside = population.edges[:, (population.edges < 10).all(axis=0)]
    expected = gcn_matrix(adjacency_matrix(10, np.concatenate([inside, inside[::-1]], axis=1)))
    assert np.abs(_silo(population, members).inside().toarray() - expected.toarray()).max() < 1e-6


def test_after_fedgcns_exchange_silos_have_the_whole_graphs_rows(population: Population, tmp_path: Path) -> None:
    options = RunOptions(dataset="generated", method="silo-fedgcn", clients=40, out=tmp_path, reference=False,
                         nulls=False, split="random", settings={"rounds": "2", "silos": "4"},
                         seeds={"population": 3})  # fmt: skip
    record = simulate(options)
    people = _people(options)
    both = np.concatenate([people.edges, people.edges[::-1]], axis=1)
    spread = gcn_matrix(adjacency_matrix(40, both))
    from ldpsim.strategies.people.owner_graphs import sparse_features

    whole = (spread @ sparse_features(people)).toarray()
    for number in range(4):
        room = record.folder / "silos" / f"silo-{number}"
        task = Task("one", "sums", people.facts.d, 4, people.facts.classes, 0.5, 3, seed=1)
        with np.load(next(room.glob(f"*/{number}.npz"))) as kept:
            sums = read_sums(record_of(**kept), task)
        rows, ids, degrees = sums.rows.matrix(task.d), sums.more["ids"], sums.more["degrees"]
        assert np.abs(rows.toarray() - whole[ids]).max() < 1e-6 and np.array_equal(degrees, people.degrees[ids])
        silo = Members.load(room)
        full = np.zeros((len(silo.members), 40), np.float32)
        full[:, ids] = silo.outside(ids, degrees).toarray()
        assert np.abs(full - spread[silo.members].toarray()).max() < 1e-6
    phases = record.record["communication"]["by_phase"]
    assert {name: phase["rounds"] for name, phase in phases.items()} == {
        "handover": 1, "contribution": 1, "sums": 1, "training": 2,
    }  # fmt: skip
    sent = record.record["communication"]
    for key in ("rounds", "messages", "downlink_bytes", "uplink_bytes"):
        assert sent[key] == sum(phase[key] for phase in phases.values()) > phases["handover"][key]
    for name, each in record.record["federated"]["per_silo"].items():
        assert each == {key: phases[name][key] / 4 for key in ("downlink_bytes", "uplink_bytes")}
    assert record.record["devices"]["reported"] == 40 and record.record["privacy"]["trust"] == "trusted curator"
    assert record.record["privacy"]["lifetime_per_device"]["user"]["max"] is None


def _people(options: RunOptions) -> Population:
    from ldpsim.strategies.setup.run_setup import load_population

    return load_population(options)


def test_silos_learn_from_training_people_alone(tmp_path: Path) -> None:
    options = RunOptions(method="silo-fedavg-gcn", clients=40, out=tmp_path, reference=False,
                         settings={"rounds": "1", "silos": "3"})  # fmt: skip
    result = simulate(options)
    folder = result.folder
    silos = [Members.load(folder / "silos" / f"silo-{number}") for number in range(3)]
    learners = np.concatenate([silo.members[silo.training] for silo in silos])
    setup = prepare(options)
    assert np.array_equal(np.sort(learners), setup.plans[0].split.train)
    everybody = np.concatenate([silo.members for silo in silos])
    assert np.array_equal(np.sort(everybody), np.arange(40))
    section, edges = result.record["federated"], setup.population.edges
    assert section["members"] == [len(silo.members) for silo in silos]
    inside = sum(int(np.isin(edges, silo.members).all(axis=0).sum()) for silo in silos)
    assert section["edges_inside"] == inside / edges.shape[1] < 0.5  # three silos of people at random
