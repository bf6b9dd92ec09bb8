"""Decisions from answers alone, without a file; ``test_ledger.py`` has the same table on a real ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from ldpsim.devices.ledger.chain import head_of
from ldpsim.devices.ledger.columns import LedgerDamaged
from ldpsim.devices.ledger.decisions import AlreadyCollected, Decision, NewRelease, Replay, decide
from ldpsim.devices.ledger.rows import Answer, Head, QueryAnswer, TrainingAnswer
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.query import Query


def after(answers: list[Answer], query: Query) -> list[Answer]:
    """Return the answers with one more, as the device would give it."""
    reports = {ask.attribute: f"{ask.attribute}{query.stage}".encode() for ask in query.asks}
    return [*answers, QueryAnswer.following(head_of(answers), 3, query, reports, {})]


def say(answers: Sequence[Answer], query: Query, *, replay: bool = False) -> Decision:
    return decide(answers, head_of(list(answers)), query, replay=replay)


def test_a_first_question_and_its_repeats(ask_for: Callable[..., Query]) -> None:
    query = ask_for(attributes="al")
    assert say([], query) == NewRelease()
    answers = after([], query)
    stored = Replay((b"adjacency0", b"label0"))
    assert say(answers, query) == say(answers, query, replay=True) == stored
    assert say(answers, ask_for(attributes="l")) == Replay((b"label0",))
    assert say(answers, ask_for("second", attributes="al")) == AlreadyCollected()
    assert say(answers, ask_for("second", attributes="al"), replay=True) == stored
    for other in (ask_for(attributes="al", eps=2.0), ask_for(attributes="afl"), ask_for(attributes="fl")):
        assert say(answers, other) == say(answers, other, replay=True) == AlreadyCollected()


def test_a_new_release_says_where_the_chain_ends_and_what_was_spent(ask_for: Callable[..., Query]) -> None:
    answers = after(after([], ask_for("one", attributes="a")), ask_for("two", attributes="f"))
    training = TrainingAnswer.following(
        head_of(answers), Loss(0.0, 0.0), 3, collection="t", kind="update", scope=("label",), fingerprint=b"f",
        loss=Loss(0.5, 0.5), data_digest=b"d", size=1,
    )  # fmt: skip
    decision = say([*answers, training], ask_for(attributes="l"))
    assert isinstance(decision, NewRelease)
    assert decision.spent == 21.5 and decision.head == Head(3, b"")


def test_stages_are_answered_in_order_and_for_one_grouping(ask_for: Callable[..., Query]) -> None:
    features, label = ask_for(attributes="fl").asks
    staged = Query("first", ((label,), (features, label)))
    second = staged.at_stage(1, (0,) * 12)
    assert say([], second) == AlreadyCollected()
    answers = after([], staged)
    assert say(answers, second) == NewRelease()
    assert say(answers, replace(second, collection="second"), replay=True) == AlreadyCollected()
    answers = after(answers, second)
    assert say(answers, staged) == Replay((b"label0",)) and say(answers, second) == Replay((b"features1", b"label1"))
    assert say(answers, staged.at_stage(1, (1,) * 12), replay=True) == AlreadyCollected()


def test_an_attribute_that_stands_there_twice_is_damage(ask_for: Callable[..., Query]) -> None:
    answers = after(after([], ask_for("one", attributes="a")), ask_for("two", attributes="al"))
    with pytest.raises(LedgerDamaged, match="twice"):
        say(answers, ask_for(attributes="f"))
