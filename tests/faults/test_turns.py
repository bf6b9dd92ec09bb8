"""Processes that work at once: turns, waiting, and the orders that explain replies."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("apsw")
from tests.faults.computers import Computers, Process
from tests.faults.disk import Disks
from tests.faults.judge import Judge, Violation
from tests.faults.paper import Asked, Lineage, Outcome
from tests.faults.questions import HONEST, Question
from tests.faults.turns import Turns

REPORT, LOST, COLLECTED = Outcome("report", b"\1\0\0\0x"), Outcome("COUNTER_MISMATCH"), Outcome("REPORT_COLLECTED")
FEATURES, LABEL = (next(q for q in HONEST if q.attributes == (name,)) for name in ("features", "label"))
OTHER = next(q for q in HONEST if q.attributes == ("label",) and q.asks != LABEL.asks)


@pytest.fixture
def computers(tmp_path: Path) -> Computers:
    return Computers(Disks(tmp_path / "disks"))


def _count(computers: Computers, name: str, seen: list[str]) -> None:
    process = Process("", name)

    def work() -> None:
        for _ in range(5):
            computers.statement(process, "")
            seen.append(computers.current.name)

    computers.run(process, work)


def _orders(computers: Computers, seed: int, share: float) -> list[str]:
    seen: list[str] = []
    Turns(computers, Random(seed), share).run([lambda name=name: _count(computers, name, seen) for name in "abc"])
    return seen


def test_a_seed_gives_one_order_and_each_process_is_itself(computers: Computers) -> None:
    orders = {seed: _orders(computers, seed, 0.4) for seed in range(5)}
    assert all(sorted(order) == sorted("abc" * 5) for order in orders.values())
    assert all(_orders(computers, seed, 0.4) == order for seed, order in orders.items())
    assert len({tuple(order) for order in orders.values()}) == 5
    assert computers.turns is None and computers.current is computers.nobody


def test_without_changes_of_turn_each_process_works_whole(computers: Computers) -> None:
    order = _orders(computers, 1, 0.0)
    assert [order[k] for k in range(0, 15, 5)] == sorted(set(order), key=order.index)
    assert all(len(set(order[k : k + 5])) == 1 for k in range(0, 15, 5))


def test_of_two_that_wait_for_each_other_one_waits_in_vain(computers: Computers) -> None:
    locks: dict[str, str] = {}

    def take(who: str, first: str, second: str) -> bool:
        for lock in (first, second):
            computers.statement(computers.nobody, "")
            while locks.setdefault(lock, who) != who:
                if not computers.waits():
                    del locks[first]
                    return False
        del locks[first], locks[second]
        return True

    ends = []
    for seed in range(40):
        turns = Turns(computers, Random(seed), 0.5)
        found = turns.run([lambda: take("a", "x", "y"), lambda: take("b", "y", "x")])
        assert [k for k, gained in enumerate(found) if not gained] == sorted(turns.in_vain) and any(found)
        ends.append(tuple(found))
    assert set(ends) == {(True, True), (True, False), (False, True)}


def test_an_error_is_raised_after_all_have_ended(computers: Computers) -> None:
    ended: list[int] = []

    def fail() -> None:
        raise Violation("wrong")

    with pytest.raises(Violation, match="wrong"):
        Turns(computers, Random(0), 0.0).run([fail, lambda: ended.append(1)])
    assert ended == [1]


def _judge(**copies: tuple[int, ...]) -> Judge:
    judge = Judge({"a": Lineage(counted=True, replay=False)})
    judge.states[0] = {(tuple(sorted(copies.items())), ())}
    return judge


def _raced(judge: Judge, *given: tuple[str, Question, Outcome], cut: frozenset[int] = frozenset(),
           **more: Any) -> set[Any]:  # fmt: skip
    asked = [Asked(k + 1, copy, question) for k, (copy, question, _) in enumerate(given)]
    judge.asks.update({one.number: one.question for one in asked})
    judge.race(0, asked, [outcome for *_, outcome in given], cut, **more)
    return set(judge.states[0])


def test_two_answers_of_one_ledger_may_both_be_counted_after_both_commits() -> None:
    """The counter goes on from the first answer, which another process counted, to the second."""
    ends = _raced(_judge(a=()), ("a", FEATURES, REPORT), ("a", LABEL, REPORT))
    assert ends == {((("a", (1, 2)),), (1, 2)), ((("a", (2, 1)),), (2, 1))}


def test_of_two_copies_one_loses() -> None:
    ends = _raced(_judge(a=(), a1=()), ("a", LABEL, REPORT), ("a1", OTHER, LOST))
    assert ends == {((("a", (1,)), ("a1", ())), (1,)), ((("a", (1,)), ("a1", (2,))), (1,))}
    with pytest.raises(Violation, match="two different answers"):
        _raced(_judge(a=(), a1=()), ("a", LABEL, REPORT), ("a1", OTHER, REPORT))
    with pytest.raises(Violation, match="no order"):
        _raced(_judge(a=(), a1=()), ("a", LABEL, LOST), ("a1", OTHER, LOST))


def test_one_ledger_has_one_answer_and_no_reason_to_refuse_both() -> None:
    _raced(_judge(a=()), ("a", LABEL, REPORT), ("a", OTHER, COLLECTED))
    with pytest.raises(Violation, match="no order"):
        _raced(_judge(a=()), ("a", LABEL, COLLECTED), ("a", OTHER, COLLECTED))


def test_a_process_that_dies_may_have_done_any_number_of_steps() -> None:
    given = ("a", LABEL, Outcome("")), ("a", FEATURES, REPORT)
    ends = {end[0][0][1]: end[1] for end in _raced(_judge(a=()), *given, cut=frozenset({0}))}
    assert set(ends) == {(2,), (1, 2), (2, 1)}
    with pytest.raises(Violation, match="no order"):
        _raced(_judge(a=()), *given)


def test_a_backup_may_have_the_row_of_who_holds_the_lock_and_of_nobody_else() -> None:
    """A commit that has not ended is in it or not; a process that waits for the lock has written nothing."""
    ends = _raced(_judge(a=()), ("a", FEATURES, REPORT), ("a", LABEL, REPORT), backed_up="a")
    kept = {chains: {dict(end)["a@"] for end, _ in ends if dict(end)["a"] == chains} for chains in ((1, 2), (2, 1))}
    assert kept == {(1, 2): {(), (1,), (1, 2)}, (2, 1): {(), (2,), (2, 1)}}
    died = ("a", LABEL, Outcome("")), ("a", FEATURES, REPORT)
    ends = _raced(_judge(a=()), *died, cut=frozenset({0}), backed_up="a")
    assert ((("a", (2,)), ("a@", (1,))), (2,)) in ends  # its row lay whole in the log, and the other one wrote over it
