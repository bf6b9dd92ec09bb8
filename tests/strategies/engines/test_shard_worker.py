"""A worker for the shards on its machine's disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from flwr.app import Message

from ldpsim.curator.methods import HoGS
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.client_app import open_state, release_states
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.device import Refusal, Report
from ldpsim.devices.enrolment.state import SHARD, State
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.wire import QUERY_TYPE, query_content, read_reply
from ldpsim.strategies.engines import shard_worker
from ldpsim.strategies.engines.packed_messages import packed, unpacked
from ldpsim.strategies.engines.shard_worker import ShardGone, ShardWorker

PEOPLE = SHARD + 4


@pytest.fixture(scope="module")
def people() -> Population:
    return generate(PEOPLE, seed=0)


@pytest.fixture
def worker(tmp_path: Path, people: Population) -> Iterator[ShardWorker]:
    made = ShardWorker("id", tmp_path)
    (question,) = HoGS().questions(people.facts, make_split("random", people, 0), Budget(), "first")
    made.enrol(people, policy_for([question.query], people.facts), [1], None)
    yield made
    release_states()


def ask(
    worker: ShardWorker, people: Population, device: int, epoch: int, *, epsilon: float | None = None
) -> Report | Refusal | None:
    """Ask the first collection's question, or that of a second one with another budget."""
    budget, collection = (Budget(), "first") if epsilon is None else (Budget(epsilon=epsilon), "second")
    (question,) = HoGS().questions(people.facts, make_split("random", people, 0), budget, collection)
    message = Message(query_content(question.query), device + 1, QUERY_TYPE, group_id="1")
    (reply,) = unpacked(worker.answer(*packed([message]), epoch), {message.metadata.message_id: message})
    answer = read_reply(reply)
    return answer[1] if isinstance(answer, tuple) else answer


def test_it_says_what_is_here_and_answers_for_it(worker: ShardWorker, people: Population) -> None:
    assert worker.describe()[1] == [1]
    assert isinstance(ask(worker, people, SHARD, 1), Report)
    with pytest.raises(ShardGone, match="shard 0 is not on "):
        ask(worker, people, 0, 1)


def test_a_worker_of_an_earlier_owner_commits_nothing(worker: ShardWorker, people: Population, tmp_path: Path) -> None:
    """Also in the middle of a batch: the ledger itself compares the epoch inside its transaction."""
    first = ask(worker, people, SHARD, 1)
    late = open_state(str(tmp_path / "shards" / "id" / "part-0"), 0)  # another process's connection
    assert late.ledger(SHARD).epoch == 1
    open_state.cache_clear()
    again = ask(ShardWorker("id", tmp_path), people, SHARD, 2)
    assert isinstance(first, Report) and isinstance(again, Report)
    assert (again.replayed, again.data) == (True, first.data)
    with pytest.raises(shard_worker.EpochPassed, match="shard 1 is in epoch 2; this worker serves epoch 1"):
        ask(worker, people, SHARD + 1, 1)
    with pytest.raises(shard_worker.EpochPassed), late.ledger(SHARD).transaction():
        pass
    ledger = Ledger(tmp_path / "shards" / "id" / "part-0" / "ledger-0001.sqlite")
    assert [device for device, _ in ledger.devices()] == [SHARD]
    ledger.close()
    late.close()


@pytest.mark.parametrize("moment", ["before", "in the middle"])
def test_an_earlier_owner_does_not_say_that_a_ledger_is_damaged(
    worker: ShardWorker, people: Population, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Its connection is open, so it has the old epoch; the later owner is another process."""
    ask(worker, people, SHARD, 1)
    other, answer = Ledger(tmp_path / "shards" / "id" / "part-0" / "ledger-0001.sqlite"), shard_worker.answer_packed
    if moment == "before":
        other.raise_epoch(2)
    else:
        monkeypatch.setattr(shard_worker, "answer_packed", lambda *given: (other.raise_epoch(2), answer(*given))[1])
    with pytest.raises(shard_worker.EpochPassed, match="is in epoch 2; this process answers for epoch 1"):
        ask(worker, people, SHARD + 1, 1)
    assert [device for device, _ in other.devices()] == [SHARD]
    other.close()


def test_a_damaged_ledger_is_said_by_its_devices(worker: ShardWorker, people: Population, tmp_path: Path) -> None:
    (tmp_path / "shards" / "id" / "part-0" / "ledger-0001.sqlite").write_bytes(b"no ledger")
    assert ask(worker, people, SHARD, 1) is Refusal.LEDGER_DAMAGED


def test_a_function_gets_the_folders_of_the_shards(worker: ShardWorker, people: Population) -> None:
    worker.enrol(people, State(worker.parts.folders()[1]).policy, [0], None)
    assert worker.apply(lambda part, shards: (part.name, shards), [0, 1]) == [("part-0", [1]), ("part-1", [0])]
    assert worker.apply(lambda part, shards: shards, [1, 7]) == [[1]]


def test_a_copy_of_a_part_gives_no_second_answer(worker: ShardWorker, people: Population, tmp_path: Path) -> None:
    """An administrator copies a part beside it. The copy is served by nobody, before and after it is gone."""
    part = tmp_path / "shards" / "id" / "part-0"
    copy = part.with_name("part-0.bak")
    shutil.copytree(part, copy)
    with pytest.raises(ValueError, match=f"{copy} is a copy of {part}: keep one of them, under the name part-0"):
        ShardWorker("id", tmp_path).describe()
    assert isinstance(ask(worker, people, SHARD, 1), Report)  # this worker knew the part before
    shutil.rmtree(copy)
    release_states()
    later = ShardWorker("id", tmp_path)
    assert ask(later, people, SHARD, 2, epsilon=1.0) is Refusal.REPORT_COLLECTED
    assert isinstance(ask(later, people, SHARD, 3), Report)


def test_a_copy_of_before_in_a_part_s_place_gives_no_second_answer(
    worker: ShardWorker, people: Population, tmp_path: Path
) -> None:
    """The counter of the machine is not in the folder that was copied."""
    part = tmp_path / "shards" / "id" / "part-0"
    shutil.copytree(part, tmp_path / "backup")
    first = ask(worker, people, SHARD, 1)
    assert isinstance(first, Report)
    release_states()
    shutil.rmtree(part)
    shutil.copytree(tmp_path / "backup", part)
    later = ShardWorker("id", tmp_path)
    for epsilon in (1.0, None):
        assert ask(later, people, SHARD, 2, epsilon=epsilon) is Refusal.COUNTER_MISMATCH
    assert isinstance(ask(later, people, SHARD + 1, 2), Report)  # it never answered
