"""Parties of a training that send anything: they count as failed and are named, and the others train on.

The methods come from the registry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Message, MessageType

from ldpsim.curator.methods import table
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.federated.wire import OTHERS, WEIGHTS, record_of, weights_record
from ldpsim.devices.network import LARGEST
from ldpsim.devices.wire import EXCHANGE_TYPE
from ldpsim.strategies import RunFailed, RunOptions, simulate
from ldpsim.strategies.engines.grids import DirectGrid, LocalGrid, SiloGrid

PEOPLE, ROUNDS = 60, 3
METHODS = {name: method for name, method in table().items() if method.spec.trained_by in ("devices", "silos")}
Lie = Callable[[Message], None]


def sent(message: Message) -> np.ndarray:
    return message.content.array_records["arrays"][WEIGHTS].numpy()


def _of(change: Callable[[np.ndarray], np.ndarray]) -> Lie:
    def lie(message: Message) -> None:
        message.content["arrays"] = weights_record(change(sent(message)))

    return lie


# tests/strategies/rounds/test_replies.py has every other lie
NAN = _of(lambda weights: np.where(np.arange(len(weights)) == 7, np.float32(np.nan), weights))


@pytest.fixture
def lying(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let some nodes change their answers to messages of a type."""

    def begin(nodes: Iterable[int], lie: Lie, kind: str = MessageType.TRAIN) -> None:
        for grid in (LocalGrid, SiloGrid):
            monkeypatch.setattr(grid, "deliver", _delivering(grid.deliver, set(nodes), lie, kind))

    return begin


def _delivering(inner: Callable[..., Iterator[Message]], nodes: set[int], lie: Lie, kind: str) -> Callable[..., Any]:
    def deliver(self: DirectGrid, messages: Iterable[Message]) -> Iterator[Message]:
        messages = list(messages)
        kinds = {message.metadata.message_id: message.metadata.message_type for message in messages}
        for reply in inner(self, messages):
            if reply.metadata.src_node_id in nodes and reply.has_content():
                if kinds[reply.metadata.reply_to_message_id] == kind:
                    lie(reply)
            yield reply

    return deliver


def run(out: Path, method: str, engine: str = "local", **settings: str) -> dict[str, Any]:
    settings = {"rounds": str(ROUNDS), **settings}
    options = RunOptions(method=method, out=out, settings=settings, clients=PEOPLE, reference=False, nulls=False,
                         engine=engine)  # fmt: skip
    return simulate(options).record


def answers(out: Path) -> dict[int, int]:
    """Return the number of answers of each device in all trainings, by its ledger."""
    state = State(next(out.rglob("enrolment.json")).parent)
    try:
        return dict(Counter(row.device for row in state.ledger(0).answers() if row.is_training))
    finally:
        state.close()


@pytest.mark.parametrize("method", METHODS)
def test_one_liar_is_named_and_the_others_train_on(
    method: str, tmp_path: Path, lying: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    silos = METHODS[method].spec.trained_by == "silos"
    liars = {1} if silos else {node for node in range(1, PEOPLE + 1) if node % 10 == 3}
    lying(liars, NAN)
    record = run(tmp_path, method)
    assert record["federated"]["rounds_answered"] == ROUNDS
    failed = record["federated"]["failed"]
    assert failed and {int(number) + 1 for number in failed} <= liars
    why = "the weights are too large, or no finite numbers"
    assert all(found.startswith("round ") and found.endswith(why) for found in failed.values())
    first = min(failed, key=int)
    party = "silo" if silos else "device"
    assert f"{party} {first} failed in {failed[first]}\n" in capsys.readouterr().err
    if not silos:
        devices = record["devices"]
        assert devices["failed"] == len(failed) or METHODS[method].spec.sees != "own"  # they answered another message
        assert devices["refused"] == devices["silent"] == 0
        given = answers(tmp_path)
        most = METHODS[method]().answers if METHODS[method].spec.sees == "own" else 2 * ROUNDS + 1
        assert given and max(given.values()) <= most
    assert np.isfinite(record["accuracy"]["test"])


@pytest.mark.parametrize("method", METHODS)
def test_the_largest_numbers_make_no_honest_party_fail(method: str, tmp_path: Path, lying: Callable[..., None]) -> None:
    """Honest steps from such weights diverge. What they end with is an answer all the same."""
    signs = np.float32([-1, 1])
    lying({1} if METHODS[method].spec.trained_by == "silos" else range(3, PEOPLE, 10),
          _of(lambda weights: np.resize(signs, len(weights)) * np.float32(LARGEST)))  # fmt: skip
    record = run(tmp_path, method, rounds="8")
    assert record["federated"]["rounds_answered"] == 8 and "failed" not in record["federated"]
    assert record["devices"]["refused"] == record["devices"]["failed"] == 0


@pytest.mark.parametrize(("method", "kind", "array", "lie", "why"), [
    ("fedavg-gnn", EXCHANGE_TYPE, "values", "short", "the representation is of another size"),
    ("fedavg-gnn", MessageType.TRAIN, "values", "nan", "are too large, or no finite numbers"),
    ("fedgcn", EXCHANGE_TYPE, "values", "short", "has no place here"),
    ("fedgcn", EXCHANGE_TYPE, "values", "nan", "are too large, or no finite numbers"),
    ("fedgcn", EXCHANGE_TYPE, "neighbours", "strange", "neighbours: a number is outside 0..59"),
    ("scaffold", MessageType.TRAIN, "variate", "short", "the control variate is of another size"),
    ("scaffold", MessageType.TRAIN, "variate", "nan", "are too large, or no finite numbers"),
    ("silo-fedgcn", EXCHANGE_TYPE, "members", "short", "the contribution names somebody twice, or is cut off"),
    ("silo-fedgcn", EXCHANGE_TYPE, "values", "nan", "are too large, or no finite numbers"),
])  # fmt: skip
def test_false_values_for_others_reach_nobody(
    method: str, kind: str, array: str, lie: str, why: str, tmp_path: Path, lying: Callable[..., None]
) -> None:
    """No honest device is made to refuse by what a liar lets the server forward."""

    def change(message: Message) -> None:
        told = {name: each.numpy() for name, each in message.content.array_records[OTHERS].items()}
        lies = {
            "short": told[array][:-1], "nan": told[array] + np.float32(np.nan), "strange": np.array([PEOPLE], np.int32),
        }  # fmt: skip
        message.content[OTHERS] = record_of(**{**told, array: lies[lie].astype(told[array].dtype)})

    liars = {3} if METHODS[method].spec.trained_by == "silos" else set(range(3, PEOPLE, 10))
    lying(liars, change, kind)
    record = run(tmp_path, method)
    failed = record["federated"]["failed"]
    assert failed and {int(number) + 1 for number in failed} <= liars
    assert all(found.endswith(why) for found in failed.values())
    assert record["federated"]["rounds_answered"] == ROUNDS and record["devices"]["refused"] == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_training_with_too_many_failures_stops_for_good(
    method: str, tmp_path: Path, lying: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command says the same line, and asks nobody: the ledgers stay as they are."""
    silos = METHODS[method].spec.trained_by == "silos"
    rounds = 0

    def later(message: Message) -> None:
        nonlocal rounds
        rounds += 1
        if rounds > (3 if silos else 40):  # the first rounds are honest
            NAN(message)

    lying(range(1, PEOPLE + 1), later)
    with pytest.raises(RunFailed) as first:
        run(tmp_path, method, rounds="30")
    line = str(first.value)
    assert "\n" not in line and line.startswith(f"{method}: ")
    assert "so the training stopped for good; a run with another --state" in line
    before = {} if silos else answers(tmp_path)
    asked: list[Message] = []
    for grid in (LocalGrid, SiloGrid):
        monkeypatch.setattr(grid, "deliver", lambda self, messages: asked.extend(messages) or iter(()))
    for _ in range(3):
        with pytest.raises(RunFailed) as again:
            run(tmp_path, method, rounds="30")
        assert str(again.value) == line
    assert not asked and (silos or answers(tmp_path) == before)
