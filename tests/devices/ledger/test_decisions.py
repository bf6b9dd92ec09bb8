"""Decisions from the answers that a device gave before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ldpsim.devices.ledger.decisions import AlreadyCollected, Decision, NewRelease, Replay, decide
from ldpsim.devices.ledger.rows import Answer, Head, LedgerDamaged
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


def test_an_attribute_that_stands_there_twice_is_damage(ask_for: Callable[..., Query]) -> None:
    say = Asked(ask_for("one", attributes="a"), ask_for("two", attributes="al"))
    with pytest.raises(LedgerDamaged, match="twice"):
        say(ask_for(attributes="f"))
