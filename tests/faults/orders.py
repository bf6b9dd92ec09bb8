"""Processes that are asked at once: every order of their steps that explains their replies.

An answer has three steps: it reads the counter under the ledger's lock, commits, and advances the counter. An answer
that was interrupted may have done any number of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from tests.faults.paper import Asked, Lineage, Outcome

if TYPE_CHECKING:
    from tests.faults.judge import Chain, Judge, State

_DONE = 3


@dataclass(frozen=True)
class _Turn:
    """How far an answer is: its number of steps, the counter's end that it read, its own end, and its code."""

    step: int = 0
    read: Chain = ()
    end: Chain = ()
    code: str = ""


class Orders:
    """The orders in which a person's answers may have been given.

    Args:
        judge: Knows the asks.
        lineage: The copies that were asked.
        asked: What was asked at once.
        said: The replies.
        cut: Which of the asks were interrupted: their process died, or some step failed.
        backed_up: The copy of which a backup was made meanwhile; empty for none.
    """

    def __init__(
        self, judge: Judge, lineage: Lineage, asked: Sequence[Asked], said: Sequence[Outcome], cut: frozenset[int],
        backed_up: str = "",
    ) -> None:  # fmt: skip
        self.judge, self.lineage, self.said, self.cut = judge, lineage, said, cut
        self.backed_up = backed_up
        self.ways = list(_numbered(asked))

    def ends(self, person: int, state: State) -> set[State]:
        """Return the states that may follow a state of a person."""
        return {end for asked in self.ways for end in self._ends(person, asked, state)}

    def _ends(self, person: int, asked: Sequence[Asked], state: State) -> set[State]:
        begin = state, (_Turn(),) * len(asked), not self.backed_up
        seen, waiting, found = {begin}, [begin], set()
        while waiting:
            state, turns, kept = waiting.pop()
            if kept and all(turn.step == _DONE or k in self.cut for k, turn in enumerate(turns)):
                found.add(state)
            reached = {(now, (*turns[:k], after, *turns[k + 1 :]), kept)
                       for k in range(len(turns)) for now, after in self._step(asked, turns, k, state)
                       if self._explains(k, after)}  # fmt: skip
            if not kept:
                reached |= {(now, turns, True) for now in self._backed_up(person, asked, turns, state)}
            waiting += reached - seen
            seen |= reached
        return found

    def _backed_up(self, person: int, asked: Sequence[Asked], turns: Sequence[_Turn], state: State) -> Iterator[State]:
        """Yield the states after a backup: it may have the row of a commit that has not ended."""
        chains, head = state
        begun = {dict(self.judge.commit(self.lineage, (chains, turn.read), one)[1][0])[self.backed_up]
                 for one, turn in zip(asked, turns, strict=True)
                 if turn.step == 1 and one.copy == self.backed_up}  # fmt: skip
        own = dict(chains)[self.backed_up]
        for chain in {own, *begun, *self.judge.unseen(person, self.backed_up, own)}:
            yield tuple(sorted((dict(chains) | {f"{self.backed_up}@": chain}).items())), head

    def _explains(self, k: int, turn: _Turn) -> bool:
        """Return whether the reply may be the one that was given."""
        said = self.said[k].code
        if k in self.cut or turn.step < 2 or turn.code == said:
            return True
        return turn.step == 2 and said == "COUNTER_MISMATCH"  # another copy may be quicker yet

    def _step(
        self, asked: Sequence[Asked], turns: Sequence[_Turn], k: int, state: State
    ) -> Iterator[tuple[State, _Turn]]:
        """Yield what the next step of an answer leads to."""
        one, turn = asked[k], turns[k]
        chains, head = state
        if turn.step == 0 and (one.refusal or one.outdated):
            code, after = next(self.judge.may(self.lineage, state, one, ""))
            yield after, _Turn(_DONE, code=code)
        elif turn.step == 0:
            if not self._locked(asked, turns, k):
                yield state, _Turn(1, read=head)
        elif turn.step == 1:
            code, (chains, _), read, end = self.judge.commit(self.lineage, (chains, turn.read), one)
            # A ledger that does not agree with the counter settles nothing.
            yield (chains, head), _Turn(_DONE if code == "COUNTER_MISMATCH" else 2, read, end, code)
        elif turn.step == 2:
            after, lost = self.judge.settle(self.lineage, state, one.copy, turn.read, turn.end)
            yield after, replace(turn, step=_DONE, code="COUNTER_MISMATCH" if lost else turn.code)

    def _locked(self, asked: Sequence[Asked], turns: Sequence[_Turn], k: int) -> bool:
        """Return whether another process holds the lock of this ledger; a dead one holds none."""
        return any(turn.step == 1 and asked[other].copy == asked[k].copy and other not in self.cut
                   for other, turn in enumerate(turns) if other != k)  # fmt: skip


def _numbered(asked: Sequence[Asked]) -> Iterator[tuple[Asked, ...]]:
    """Yield the asks under their own numbers, and under each other's.

    One question to two copies can give two equal rows. Then the counter's end and the bytes are those of both.
    """
    alike = [
        [one.number, *(other.number for other in asked[:k] if _have_equal_rows(one, other))]
        for k, one in enumerate(asked)
    ]
    for numbers in product(*alike):
        yield tuple(replace(one, number=number) for one, number in zip(asked, numbers, strict=True))


def _have_equal_rows(one: Asked, other: Asked) -> bool:
    return one.question == other.question and one.copy != other.copy
