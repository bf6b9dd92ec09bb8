"""The ledger: durable, and atomic; its decisions, and what a training adds up.

It covers ``ldpsim.devices.ledger.ledger``, ``ldpsim.devices.ledger.ledger_file`` and
``ldpsim.devices.ledger.statements``.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ldpsim.devices.ledger.chain import checked
from ldpsim.devices.ledger.ledger import AlreadyCollected, Ledger, LedgerDamaged, NewRelease, Replay
from ldpsim.devices.ledger.rows import QueryAnswer, TrainingAnswer
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.query import Query
from tests.devices.ledger.entries import KEY, release, train


def test_it_survives_power_loss_by_its_settings(ledger: Ledger) -> None:
    assert ledger._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert ledger._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    again = Ledger(ledger.path)
    assert again._db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert again._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert Ledger(ledger.path, synchronous="NORMAL")._db.execute("PRAGMA synchronous").fetchone() == (1,)
    with pytest.raises(ValueError, match="FULL or NORMAL"):
        Ledger(ledger.path, synchronous="OFF")


def test_nobody_else_sees_a_row_before_the_commit(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    first, second = Ledger.create(tmp_path / "l"), Ledger(tmp_path / "l")
    with first.transaction():
        release(first, ask_for())
        assert len(first.answers(3)) == 1 and second.answers(3) == []
    assert second.answers(3) == first.answers(3) != []


def test_the_chain_that_a_counter_reads_is_checked(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    """A counter that is ahead reads it: rows without a right seal prove nothing."""
    release(ledger, ask_for())
    assert ledger._chain(3, KEY)() == ledger.answers(3) != [] and ledger._chain(4, KEY)() == []
    with pytest.raises(LedgerDamaged, match="does not carry its seal"):
        ledger._chain(3, b"x" * 32)()


def test_a_row_holds_what_was_released(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    query = ask_for()
    before = time.time()
    release(ledger, query)
    (row,) = ledger.answers(3)
    assert isinstance(row, QueryAnswer)
    assert (row.device, row.number, row.stage, row.collection, row.grouping) == (3, 0, 0, "first", b"")
    assert [(p.attribute, p.report, p.data_digest) for p in row.parts] == [
        (name, f"{name}0".encode(), b"d" * 32) for name in ("adjacency", "features", "label")
    ]
    assert [p.fingerprint for p in row.parts] == [query.fingerprint(name) for name in query.attributes]
    assert [p.loss for p in row.parts] == [query.loss(name) for name in query.attributes] == [
        Loss(1.0, 11.0), Loss(1.0, 10.0), Loss(1.0, 1.0),
    ]  # fmt: skip
    assert before <= row.time <= time.time() and list(ledger.devices()) == [(3, [row])]
    assert ledger.answers(4) == []


def test_one_ended_rows_enter_their_own_loss(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    query = ask_for(attributes="a")
    (ask,) = query.asks
    one_end = replace(query, plan=((replace(ask, mechanisms=(replace(ask.mechanisms[0], reporting="one-end"),)),),))
    ledger = Ledger.create(tmp_path / "l")
    for device in range(12):
        release(ledger, one_end, device)
        (part,) = ledger.answers(device)[0].parts
        assert part.loss == Loss(min(device, 1), device)
        assert part.loss == one_end.plan[0][0].mechanisms[0].loss(device=device)


def test_decisions(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    query = ask_for(attributes="af")

    def decide(asked: Query, *, replay: bool = False, device: int = 3) -> object:
        return ledger.decide(device, asked, seal_key=KEY, replay=replay)

    assert decide(query) == NewRelease()
    release(ledger, query)
    stored = Replay((b"adjacency0", b"features0"))
    assert decide(query) == decide(query, replay=True) == stored
    other = replace(query, collection="second")
    assert decide(other) == AlreadyCollected() and decide(other, replay=True) == stored
    # A subset, every fingerprint known; in the query's order.
    assert decide(ask_for(attributes="f")) == Replay((b"features0",))
    assert decide(ask_for("second", attributes="f")) == AlreadyCollected()
    # Joined with an attribute that was never released; and that one alone.
    assert decide(ask_for(attributes="fl")) == decide(ask_for(attributes="fl"), replay=True) == AlreadyCollected()
    assert decide(ask_for("second", attributes="l")) == NewRelease(spent=21.0)  # 11 bits and 10 features
    # Another budget, under either policy, alone or beside a known one.
    for replay in (False, True):
        assert decide(ask_for(attributes="a", eps=1.5), replay=replay) == AlreadyCollected()
        assert decide(ask_for(attributes="al", eps=1.5), replay=replay) == AlreadyCollected()
    assert decide(query, device=4) == NewRelease()


def test_attributes_released_to_two_collections(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    release(ledger, ask_for("one", attributes="a"))
    release(ledger, ask_for("two", attributes="f"))
    for collection in ("one", "two", "three"):
        both = ask_for(collection, attributes="af")
        assert ledger.decide(3, both, seal_key=KEY, replay=False) == AlreadyCollected()
        assert ledger.decide(3, both, seal_key=KEY, replay=True) == Replay((b"adjacency0", b"features0"))


def plan_of(ask_for: Callable[..., Query]) -> Query:
    """Adjacency, then adjacency again with the label."""
    (a, _), (_, label) = ask_for(attributes="af").asks, ask_for(attributes="fl").asks
    return Query("first", ((a,), (a, label)))


def test_a_plan_is_entered_whole_and_answered_in_order(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    plan = plan_of(ask_for)

    def decide(asked: Query, replay: bool = False) -> object:
        return ledger.decide(3, asked, seal_key=KEY, replay=replay)

    for replay in (False, True):
        assert decide(plan.at_stage(1, (0, 1)), replay) == AlreadyCollected()  # out of order
    release(ledger, plan)
    entered = {(p.attribute, a.stage): (p.loss, p.report) for a in ledger.answers(3) for p in a.parts}
    assert entered == {
        ("adjacency", 0): (plan.loss("adjacency"), b"adjacency0"), ("label", 0): (plan.loss("label"), b""),
    }  # fmt: skip
    assert plan.loss("adjacency").bit == 2.0
    assert decide(plan) == Replay((b"adjacency0",))
    # The label is reserved: nothing else may be asked about it, nor the first stage alone.
    for other in (ask_for(attributes="l"), ask_for(attributes="a"), replace(plan, plan=plan.plan[:1])):
        assert decide(other) == decide(other, True) == AlreadyCollected()
    assert decide(replace(plan.at_stage(1, (0, 1)), collection="second"), True) == AlreadyCollected()
    release(ledger, plan.at_stage(1, (0, 1)))
    assert [part.loss for part in ledger.answers(3)[1].parts] == [Loss(0.0, 0.0)] * 2  # entered with stage 0
    again = Replay((b"adjacency1", b"label1"))
    assert decide(plan.at_stage(1, (0, 1))) == again
    for grouping in ((1, 0), None, (0, 1, 0)):
        assert decide(plan.at_stage(1, grouping)) == decide(plan.at_stage(1, grouping), True) == AlreadyCollected()
    assert decide(plan) == Replay((b"adjacency0",))
    elsewhere = replace(plan, collection="second")
    assert decide(elsewhere) == decide(elsewhere.at_stage(1, (0, 1))) == AlreadyCollected()
    assert decide(elsewhere, True) == Replay((b"adjacency0",))
    assert decide(elsewhere.at_stage(1, (0, 1)), True) == again


def test_a_stage_is_not_skipped(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    (a,) = ask_for(attributes="a").asks
    plan = Query("first", ((a,), (a,), (a,)))
    release(ledger, plan)
    assert ledger.decide(3, plan.at_stage(2), seal_key=KEY, replay=False) == AlreadyCollected()
    release(ledger, plan.at_stage(1))
    release(ledger, plan.at_stage(2))


def test_a_transaction_is_all_or_nothing(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    with pytest.raises(RuntimeError), ledger.transaction():
        release(ledger, ask_for())
        assert len(ledger.answers(3)) == 1
        raise RuntimeError
    assert ledger.answers(3) == [] and not ledger.in_transaction
    release(ledger, ask_for())
    assert len(ledger.answers(3)) == 1


def test_an_interrupt_leaves_no_transaction_open(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    for interrupt in (KeyboardInterrupt, GeneratorExit, SystemExit):
        with pytest.raises(interrupt), ledger.transaction():
            raise interrupt
        assert not ledger._db.in_transaction
    release(ledger, ask_for())


def test_a_second_claim_within_a_transaction_sees_the_first(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    with ledger.transaction():
        release(ledger, ask_for())
        assert isinstance(ledger.decide(3, ask_for(), seal_key=KEY, replay=False), Replay)


def test_losses_of_a_training_add_up(ledger: Ledger) -> None:
    for number in range(5):
        head, spent = ledger.training(3, seal_key=KEY)
        assert head.answers == number and spent.vector == 2.0 * number
        train(ledger)
    assert list(checked(ledger.answers(3), KEY))[-1].total == ledger.training(3, seal_key=KEY)[1]  # type: ignore[union-attr]


def test_a_checked_training_is_checked_again_when_somebody_else_wrote(ledger: Ledger) -> None:
    train(ledger)
    with pytest.raises(RuntimeError), ledger.transaction():
        train(ledger)
        raise RuntimeError  # what was entered is given up, and not remembered
    train(ledger)
    train(ledger)
    other = Ledger(ledger.path)
    train(other)
    train(ledger)
    assert ledger.training(3, seal_key=KEY)[0].answers == 5
    with sqlite3.connect(ledger.path) as stranger:
        stranger.execute("UPDATE training_answer SET size = 1 WHERE number = 1")
    stranger.close()
    with pytest.raises(LedgerDamaged):
        train(ledger)


def test_an_answer_to_a_query_ends_the_chain_of_a_training(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    train(ledger)
    release(ledger, ask_for())
    train(ledger)
    assert ledger.training(3, seal_key=KEY)[0].answers == 3
    assert [type(row) for row in checked(ledger.answers(3), KEY)] == [TrainingAnswer, QueryAnswer, TrainingAnswer]


def test_who_answered_in_a_training_or_a_query_is_not_among_those_who_never_answered(
    ledger: Ledger, ask_for: Callable[..., Query]
) -> None:
    train(ledger, device=4)
    release(ledger, ask_for(), device=6)
    with ledger.transaction():
        assert ledger.unanswered(range(3, 8)) == {3: b"", 5: b"", 7: b""}


def test_the_first_training_is_seen_by_a_ledger_that_was_opened_before(ledger: Ledger) -> None:
    other = Ledger(ledger.path)
    train(ledger)
    assert len(other.answers(3)) == 1 and other.answers(3) == ledger.answers(3)
