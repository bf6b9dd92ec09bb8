"""Decisions from the answers that a device gave before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ldpsim.devices.ledger.decisions import AlreadyCollected, Decision, NewRelease, Replay, decide
from ldpsim.devices.ledger.rows import Answer, Head, LedgerDamaged
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.query import Query
from tests.devices.ledger.entries import report_after, training_after


class Asked:
    """A device's answers, and what it says to a question after them."""

    def __init__(self, *queries: Query) -> None:
        self.answers: list[Answer] = []
        for query in queries:
            self.release(query)

    def __call__(self, query: Query, *, replay: bool = False) -> Decision:
        return decide(self.answers, query, replay=replay)

    def both(self, query: Query) -> Decision:
        """Return what it says under either policy, where this is the same."""
        assert self(query) == self(query, replay=True)
        return self(query)

    def release(self, query: Query) -> None:
        self.answers.append(report_after(self.answers, query)._replace(seal=b"%d" % len(self.answers)))


def test_the_table(ask_for: Callable[..., Query]) -> None:
    query, other = ask_for(attributes="af"), ask_for("second", attributes="af")
    assert Asked().both(query) == NewRelease()
    say, stored = Asked(query), Replay((b"adjacency0", b"features0"))
    assert say.both(query) == stored
    assert say(other) == AlreadyCollected() and say(other, replay=True) == stored
    # A subset, every fingerprint known; in the query's order.
    assert say.both(ask_for(attributes="f")) == Replay((b"features0",))
    assert say(ask_for("second", attributes="f")) == AlreadyCollected()
    # Joined with an attribute that was never released; and that one alone.
    assert say.both(ask_for(attributes="fl")) == say.both(ask_for(attributes="afl")) == AlreadyCollected()
    fresh = say.both(ask_for("second", attributes="l"))
    assert fresh == NewRelease(spent=21.0)  # 11 bits and 10 features
    # Another budget, under either policy, alone or beside a known one.
    for letters in ("a", "af", "al"):
        assert say.both(ask_for(attributes=letters, eps=1.5)) == AlreadyCollected()


def test_a_new_release_says_where_the_chain_ends_and_what_was_spent(ask_for: Callable[..., Query]) -> None:
    say = Asked(ask_for("one", attributes="a"), ask_for("two", attributes="f"))
    say.answers.append(training_after(say.answers, loss=0.5)._replace(seal=b"t"))
    decision = say(ask_for(attributes="l"))
    assert isinstance(decision, NewRelease)
    assert decision.spent == 21.5 and decision.head == Head(3, b"t")


def test_attributes_released_to_two_collections(ask_for: Callable[..., Query]) -> None:
    say = Asked(ask_for("one", attributes="a"), ask_for("two", attributes="f"))
    for collection in ("one", "two", "three"):
        both = ask_for(collection, attributes="af")
        assert say(both) == AlreadyCollected() and say(both, replay=True) == Replay((b"adjacency0", b"features0"))


def test_a_plan_is_entered_whole_and_answered_in_order(ask_for: Callable[..., Query]) -> None:
    (a,), (label,) = ask_for(attributes="a").asks, ask_for(attributes="l").asks
    plan = Query("first", ((a,), (a, label)))
    second, elsewhere = plan.at_stage(1, (0, 1)), replace(plan, collection="second")
    assert Asked().both(second) == AlreadyCollected()  # out of order
    say = Asked(plan)
    assert {(p.attribute, answer.stage): (p.loss, p.report) for answer in say.answers for p in answer.parts} == {
        ("adjacency", 0): (plan.loss("adjacency"), b"adjacency0"), ("label", 0): (plan.loss("label"), b""),
    }  # fmt: skip
    assert plan.loss("adjacency").bit == 2.0 and say.both(plan) == Replay((b"adjacency0",))
    # The label is reserved: nothing else may be asked about it, nor the first stage alone.
    for other in (ask_for(attributes="l"), ask_for(attributes="a"), replace(plan, plan=plan.plan[:1])):
        assert say.both(other) == AlreadyCollected()
    assert say(replace(second, collection="second"), replay=True) == AlreadyCollected()
    assert say.both(second) == NewRelease()
    say.release(second)
    assert [part.loss for part in say.answers[1].parts] == [Loss(0.0, 0.0)] * 2  # entered with stage 0
    again = Replay((b"adjacency1", b"label1"))
    assert say.both(second) == again and say.both(plan) == Replay((b"adjacency0",))
    for grouping in ((1, 0), None, (0, 1, 0)):
        assert say.both(plan.at_stage(1, grouping)) == AlreadyCollected()
    assert say(elsewhere) == say(elsewhere.at_stage(1, (0, 1))) == AlreadyCollected()
    assert say(elsewhere, replay=True) == Replay((b"adjacency0",))
    assert say(elsewhere.at_stage(1, (0, 1)), replay=True) == again


def test_a_stage_is_not_skipped(ask_for: Callable[..., Query]) -> None:
    (a,) = ask_for(attributes="a").asks
    plan = Query("first", ((a,), (a,), (a,)))
    say = Asked(plan)
    assert say.both(plan.at_stage(2)) == AlreadyCollected()
    say.release(plan.at_stage(1))
    assert say.both(plan.at_stage(2)) == NewRelease()


def test_an_attribute_that_stands_there_twice_is_damage(ask_for: Callable[..., Query]) -> None:
    say = Asked(ask_for("one", attributes="a"), ask_for("two", attributes="al"))
    with pytest.raises(LedgerDamaged, match="twice"):
        say(ask_for(attributes="f"))
