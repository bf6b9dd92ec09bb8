"""Answers and ledgers of devices enrolled to train, in fleets and alone.

This file also covers ``devices/training_task.py`` and ``devices/federated/exchange.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MessageType, RecordDict

from ldpsim.devices.client_app import app
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.federated.exchange import rows_record
from ldpsim.devices.federated.local_steps import SparseRows
from ldpsim.devices.federated.wire import OTHERS, WEIGHTS, record_of, round_content, weights_record
from ldpsim.devices.network import FloatArray
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import STEPS, GaussianUpdate, Task
from ldpsim.devices.wire import EXCHANGE_TYPE, RECEIVE_TYPE
from tests.fleets import fleet_of, release_states

PEOPLE = 24
NOISE = GaussianUpdate.from_epsilon(2.0, clip=0.5, delta=1e-3)
Make = Callable[..., State]


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    yield
    release_states()


@pytest.fixture(scope="module")
def people() -> Population:
    return generate(PEOPLE, d=40, classes=3, seed=2, words=6)


def task_of(sees: str = "own", **more: object) -> Task:
    return Task("first", sees, 40, 5, 3, 0.3, 4, **{"scaling": "unit", **more})  # type: ignore[arg-type]


@pytest.fixture
def make(people: Population, tmp_path: Path) -> Make:
    number = iter(range(100))

    def enrolled(task: Task, **more: object) -> State:
        policy = policy_for_training(task, people.facts, **{"answers": 3, **more})  # type: ignore[arg-type]
        return enrol(tmp_path / f"state-{next(number)}", people, policy, seed=4)

    return enrolled


def messages(
    task: Task, kind: str = MessageType.TRAIN, *, own: Callable[[int], ArrayRecord | None] = lambda device: None,
    weights: FloatArray | None = None, mu: float | None = None, number: int = 1, devices: range = range(PEOPLE),
) -> list[Message]:  # fmt: skip
    config = ConfigRecord({"task": task.to_bytes(), "server-round": number})
    if mu is not None:
        config["proximal-mu"] = mu
    arrays = None if weights is None else weights_record(weights)
    return [Message(round_content(arrays, config, own(device)), device + 1, kind) for device in devices]


def start(task: Task) -> FloatArray:
    return task.shape.initial(3, np.float64)


def one_by_one(state: State, asked: list[Message]) -> list[Message]:
    replies = []
    for message in asked:
        node = message.metadata.dst_node_id
        config = {"state-dir": str(state.folder), "partition-id": node - 1}
        replies.append(app(message, Context(1, node, config, RecordDict(), {})))
    return replies


def in_order(replies: Iterable[Message]) -> list[Message]:
    return sorted(replies, key=lambda reply: reply.metadata.src_node_id)


def weights_of(replies: list[Message]) -> FloatArray:
    assert not any(reply.has_error() for reply in replies), [r.error for r in replies if r.has_error()][:1]
    return np.stack([reply.content["arrays"][WEIGHTS].numpy() for reply in replies])  # type: ignore[call-overload]


def sums_for(device: int) -> ArrayRecord:
    rng = np.random.default_rng(device)
    rows = 1 + device % 4
    counts = rng.integers(1, 6, rows)
    columns = np.concatenate([np.sort(rng.choice(40, count, replace=False)) for count in counts])
    values = rng.random(len(columns)).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return rows_record(SparseRows(indptr, columns, values), weights=rng.random(rows))


def neighbours_of(device: int) -> ArrayRecord:
    return record_of(rows=np.random.default_rng(device).random(device % 3 * 10))


@pytest.mark.parametrize("mu", [None, 0.7])
@pytest.mark.parametrize("sees", ["own", "ego", "sums"])
def test_a_fleets_round_is_that_of_its_devices_one_by_one(make: Make, sees: str, mu: float | None) -> None:
    task = task_of(sees)
    fleet, alone = make(task), make(task)
    own = neighbours_of if sees == "ego" else (lambda device: None)
    if sees == "sums":
        for state in (fleet, alone):
            kept = fleet_of(state.folder).answer(messages(task, RECEIVE_TYPE, own=sums_for))
            assert not any(reply.has_error() for reply in kept)
    asked = messages(task, own=own, weights=start(task), mu=mu)
    together = in_order(fleet_of(fleet.folder).answer(asked))
    single = one_by_one(alone, asked)
    found, expected = weights_of(together), weights_of(single)
    assert found.dtype == np.float64 and np.array_equal(found, expected)
    assert np.abs(found - start(task)).max(axis=1).min() > 1e-3  # power: everybody moved
    sent = [[reply.content.get(OTHERS) for reply in replies] for replies in (together, single)]
    assert sent[0] == sent[1] and (sent[0][0] is not None) == (sees == "ego")
    rows = [[a.parts[0].loss for a in state.ledger(0).answers()] for state in (fleet, alone)]
    assert rows[0] == rows[1] and len(rows[0]) == PEOPLE


def test_noise_is_bound_to_the_entry_and_to_every_step_of_the_update(make: Make) -> None:
    """No two answers share noise, even if everything but the place in the ledger or one grid step is the same."""
    task = task_of(noise=NOISE)
    first, second = make(task), make(task)
    weights_of(one_by_one(second, messages(task, weights=start(task), number=9)))
    asked = messages(task, weights=start(task))
    found = [weights_of(one_by_one(state, asked)) for state in (first, second)]
    steps = np.abs(found[0] - found[1]) / (NOISE.clip / STEPS)
    assert (steps < 0.5).mean() < 0.01 and steps.std() > 0.5 * NOISE.deviation / 2**32
    update = np.full(50, 0.01)
    moved = update.copy()
    moved[7] += NOISE.clip / STEPS
    assert np.abs(NOISE.steps(update) - NOISE.steps(moved)).sum() == 1
    noisy = [NOISE.perturb(given, bytes(32)) for given in (update, update, moved)]
    assert np.array_equal(noisy[0], noisy[1]) and np.count_nonzero(noisy[0] == noisy[2]) < 3


def with_values(people: Population) -> Population:
    """Return people whose features are real numbers, those of the first one huge: sums over people are rounded."""
    values = np.random.default_rng(5).random(len(people.feature_values))
    values[: people.feature_indptr[1]] *= 1e7
    return replace(people, feature_values=values.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_repeated_question_gives_no_difference(people: Population, tmp_path: Path, dtype: type) -> None:
    """A repeat would cancel the noise: where two answers differ in rounding alone, they name private features."""
    task = task_of(noise=NOISE, scaling="none")
    policy = policy_for_training(task, people.facts, answers=100)  # the cap is no help
    state = enrol(tmp_path / "state", with_values(people), policy, seed=4)
    asked = messages(task, weights=task.shape.initial(3, dtype))
    weights_of(one_by_one(state, asked))
    again = messages(replace(task, collection="again"), weights=task.shape.initial(3, dtype))
    for replies in (one_by_one(state, asked), fleet_of(state.folder, batch=32).answer([*asked, *asked, *again])):
        assert {reply.error.code for reply in replies if reply.has_error()} == {Refusal.REPORT_COLLECTED.value}
    twice = messages(task, weights=task.shape.initial(4, dtype), devices=range(2))
    replies = list(fleet_of(state.folder, batch=32).answer([message for message in twice for _ in range(2)]))
    assert [reply.has_error() for reply in replies].count(True) == 2  # in one batch, too
    assert [row[:2] for row in state.ledger(0).answers()] == [
        (device, number) for device in range(PEOPLE) for number in range(1 + (device < 2))
    ]


@pytest.mark.parametrize("noise", [None, NOISE], ids=["no noise", "noise"])
def test_a_question_may_be_repeated_where_its_answer_is_without_noise(make: Make, noise: GaussianUpdate | None) -> None:
    """A round that was broken off is asked again: the same update, another answer in the ledger. Under noise: refused.

    The difference of two answers to one question would be noise alone, or what became of the data.
    """
    task = task_of(noise=noise)
    state = make(task)
    first, again = (list(fleet_of(state.folder).answer(messages(task, weights=start(task)))) for _ in range(2))
    if noise is None:
        assert np.array_equal(weights_of(in_order(first)), weights_of(in_order(again)))
    else:
        assert {reply.error.code for reply in again} == {Refusal.REPORT_COLLECTED.value}
    answers = [len(state.ledger(device).answers(device)) for device in range(PEOPLE)]
    assert answers == [2 if noise is None else 1] * PEOPLE
    other = messages(task, weights=2 * start(task))  # another model is another question
    assert not any(reply.has_error() for reply in fleet_of(state.folder).answer(other))


def test_losses_of_rounds_add_up_to_the_cap_and_not_beyond(make: Make) -> None:
    task = task_of(noise=NOISE)
    state = make(task, answers=3)
    for number in range(1, 4):
        weights_of(one_by_one(state, messages(task, weights=start(task), number=number, devices=range(1))))
    (refused,) = one_by_one(state, messages(task, weights=start(task), number=4, devices=range(1)))
    assert refused.error.code == Refusal.POLICY_REFUSED.value
    rows = state.ledger(0).answers(0)
    assert [row.number for row in rows] == [0, 1, 2] and {row.scope for row in rows} == {("features", "label")}
    spent = rows[-1].total
    assert math.isclose(spent.vector, sum(row.parts[0].loss.vector for row in rows), abs_tol=1e-9)
    assert math.isclose(spent.vector, 6.0, abs_tol=1e-6) and math.isclose(spent.delta, 3e-3)
    # nothing without noise either: neither an update in clear nor an evaluation fits under the cap
    clear = messages(task_of(), weights=start(task), devices=range(1, 2))
    judged = messages(task, MessageType.EVALUATE, weights=start(task), devices=range(1, 2))
    for message in clear + judged:
        (reply,) = one_by_one(state, [message])
        assert reply.error.code == Refusal.POLICY_REFUSED.value


def test_other_modes_and_malformed_rounds_are_refused_alike_alone_and_in_a_fleet(
    make: Make, people: Population, tmp_path: Path
) -> None:
    from ldpsim.devices.policy.policy import policy_for

    task = task_of()
    reporting = enrol(tmp_path / "reporting", people, policy_for((), people.facts), seed=4)
    training = make(task)
    good = messages(task, weights=start(task), devices=range(1))[0].content
    bad = []
    for change in ("task", "weights", "extra", "empty", "nan"):
        config = ConfigRecord({"task": task.to_bytes(), "server-round": 1})
        content = RecordDict({"arrays": good["arrays"], "config": config})
        if change == "task":
            config["task"] = task.to_bytes() + b" "
        elif change == "weights":
            content["arrays"] = weights_record(np.zeros(7))
        elif change == "extra":
            config["rider"] = 1
        elif change == "empty":
            content = RecordDict()
        else:
            content["arrays"] = weights_record(np.full(task.shape.size, np.nan))
        bad.append(content)
    cases = [(reporting, good, Refusal.MODE_REFUSED), *((training, content, Refusal.UNKNOWN_QUERY) for content in bad)]
    for state, content, refusal in cases:
        for kind in (MessageType.TRAIN, MessageType.EVALUATE, EXCHANGE_TYPE):
            message = Message(content, 1, kind)
            for replies in (one_by_one(state, [message]), list(fleet_of(state.folder).answer([message]))):
                assert [reply.error.code for reply in replies] == [refusal.value], (refusal, kind)
    assert not training.ledger(0).answers()
    (reply,) = one_by_one(training, [Message(RecordDict({"query": ConfigRecord({"query": b"{}"})}), 1, "query.report")])
    assert reply.has_error()


def test_sums_must_be_received_first_and_nothing_is_released_by_keeping_them(make: Make) -> None:
    task = task_of("sums")
    state = make(task)
    (reply,) = one_by_one(state, messages(task, weights=start(task), devices=range(1)))
    assert reply.error.code == Refusal.UNKNOWN_QUERY.value
    (reply,) = one_by_one(
        state, messages(task, RECEIVE_TYPE, own=lambda device: record_of(junk=np.zeros(1)), devices=range(1))
    )
    assert reply.error.code == Refusal.UNKNOWN_QUERY.value
    (reply,) = one_by_one(state, messages(task, RECEIVE_TYPE, own=sums_for, devices=range(1)))
    assert not reply.has_error() and not state.ledger(0).answers()
    weights_of(one_by_one(state, messages(task, weights=start(task), devices=range(1))))


def test_what_a_device_keeps_has_a_quota(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message above it is refused before its arrays are made; the oldest trainings make room for a new one."""
    task = task_of("sums")
    state = make(task)

    def send(collection: str, own: ArrayRecord) -> Message:
        asked = messages(replace(task, collection=collection), RECEIVE_TYPE, own=lambda _: own, devices=range(1))
        return one_by_one(state, asked)[0]

    assert not send("c", sums_for(0)).has_error()
    (size,) = [file.stat().st_size for file in state.received.glob("*/0.npz")]
    monkeypatch.setattr("ldpsim.devices.federated.exchange.QUOTA", 2 * size)
    for number in range(9):
        assert not send(f"c-{number}", sums_for(0)).has_error()
        kept = [file.stat().st_size for file in state.received.glob("*/0.npz")]
        assert sum(kept) <= 2 * size and len(kept) == 2
    with monkeypatch.context() as patch:
        patch.setattr("ldpsim.devices.federated.exchange.checked_record", None)  # nothing is made of it
        assert send("large", record_of(junk=np.zeros(2 * size + 1, np.int8))).error.code == Refusal.UNKNOWN_QUERY.value
    other = replace(task, d=41)  # no training that the device would take part in
    (reply,) = one_by_one(state, messages(other, RECEIVE_TYPE, own=sums_for, devices=range(1)))
    assert reply.error.code == Refusal.POLICY_REFUSED.value
    of_silos = replace(task, seed=1)  # what silos keep is more
    (reply,) = one_by_one(state, messages(of_silos, RECEIVE_TYPE, own=sums_for, devices=range(1)))
    assert reply.error.code == Refusal.UNKNOWN_QUERY.value
    assert sum(file.stat().st_size for file in state.received.glob("*/*.npz")) <= 2 * size


def test_an_update_never_leaves_the_clipping_ball() -> None:
    """The sensitivity that the noise is calibrated to: exact integers, whatever was learned."""
    rng = np.random.default_rng(0)
    for size in (0.0, 1e-9, 0.49999999, 0.5, 0.5000001, 7.0, 1e30, math.inf, math.nan):
        update = rng.normal(size=50)
        update *= size / np.linalg.norm(update)
        steps = NOISE.steps(update)
        assert int(steps @ steps) <= STEPS * STEPS
        if size in (7.0, 1e30):
            assert math.sqrt(int(steps @ steps)) > 0.9999 * STEPS  # power: it is clipped, not dropped
    assert math.isclose(NOISE.loss.vector, 2.0, rel_tol=1e-8) and NOISE.loss.vector <= 2.0 + 1e-9
