"""The judge of the simulation: what each reply may be, and the invariants. It uses no code of the product.

For each person it holds every state of the world that agrees with all replies so far: the answers in each copy of the
folder, and the end that the counter holds. A reply that no state explains is a violation. Beside that it compares
all replies of all copies with each other, and looks for their bytes on the medium at the moment they leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tests.faults.paper import Asked, Lineage, Outcome, decide, split
from tests.faults.questions import CAP, TRAINING, Question

Chain = tuple[int, ...]  # numbers of the asks that a copy's ledger holds answers of
State = tuple[tuple[tuple[str, Chain], ...], Chain]  # chains by copy, and the counter's end
MOST = 400  # states of a person; beyond it nothing is judged any more but the replies themselves
SILENT = ("", "LEDGER_DAMAGED")


class Violation(AssertionError):
    """An invariant does not hold."""


@dataclass
class Judge:
    """Judge of one schedule.

    Args:
        lineages: By name.
        asks: All asks, by number.
        states: The states of each person.
        first: First reply about an attribute of a person, and its question.
        same: Bytes of each question to each person.
        died: Asks of each person in which the process died: their rows may lie in the log, unseen by other processes.
        left: Numbers of replies that left.
    """

    lineages: dict[str, Lineage]
    asks: dict[int, Question] = field(default_factory=dict)
    states: dict[int, set[State]] = field(default_factory=dict)
    first: dict[tuple[int, str, int, object], tuple[tuple[object, ...], bytes]] = field(default_factory=dict)
    same: dict[tuple[object, ...], bytes] = field(default_factory=dict)
    spent: dict[int, dict[str, float]] = field(default_factory=dict)
    died: dict[int, list[Asked]] = field(default_factory=dict)
    left: int = 0

    # --- the answers that a device may give -------------------------------------------------

    def ask(self, person: int, asked: Asked, outcome: Outcome, *, fault: str = "") -> None:
        """Judge a reply, or silence.

        Args:
            person: The person.
            asked: What was asked.
            outcome: The reply.
            fault: Empty; ``died``: the process died at some step; ``failed``: some step failed.
        """
        self.asks[asked.number] = asked.question
        self.replied(person, asked, outcome)
        lineage = self.lineages[asked.copy[0]]
        if lineage.loose:
            return
        found: set[State] = set()
        for state in self.states[person]:
            for code, after in self._may(lineage, state, asked, fault):
                if code == outcome.code:
                    found.add(after)
        if fault == "died" and not outcome.code:
            self.died.setdefault(person, []).append(asked)
        if not found:
            may = sorted({code for state in self.states[person] for code, _ in self._may(lineage, state, asked, "")})
            raise Violation(f"device {person} of {asked.copy} replied {outcome.code or 'nothing'} to {asked.question}; "
                            f"it may reply {' or '.join(may)}")  # fmt: skip
        self._keep(person, found, lineage)

    def race(self, person: int, one: Asked, other: Asked, said: tuple[Outcome, Outcome]) -> None:
        """Judge the replies of two processes that were asked at once."""
        for asked, outcome in zip((one, other), said, strict=True):
            self.asks[asked.number] = asked.question
            self.replied(person, asked, outcome)
        lineage = self.lineages[one.copy[0]]
        if lineage.loose:
            return
        found: set[State] = set()
        for state in self.states[person]:
            for codes, after in self._together(lineage, state, one, other):
                if all(code == outcome.code or outcome.code == "LEDGER_DAMAGED"
                       for code, outcome in zip(codes, said, strict=True)):  # fmt: skip
                    found.add(after)
            if "LEDGER_DAMAGED" in (said[0].code, said[1].code):  # one waited for the other for too long
                found |= self._busy(lineage, state, (one, other), said)
        if not found:
            both = " and ".join(f"that of {asked.copy} replied {outcome.code or 'nothing'} to {asked.question}"
                                for asked, outcome in zip((one, other), said, strict=True))  # fmt: skip
            raise Violation(f"device {person} was asked twice at once: {both}; no order of steps gives both")
        self._keep(person, found, lineage)

    def _busy(
        self, lineage: Lineage, state: State, both: tuple[Asked, Asked], said: tuple[Outcome, Outcome]
    ) -> set[State]:
        found = set()
        for order in ((0, 1), (1, 0)):
            for code, middle in self._may(lineage, state, both[order[0]], "failed"):
                if code == said[order[0]].code:
                    found |= {after for again, after in self._may(lineage, middle, both[order[1]], "failed")
                              if again == said[order[1]].code}  # fmt: skip
        return found

    def _keep(self, person: int, found: set[State], lineage: Lineage) -> None:
        if len(found) > MOST:
            lineage.loose = True
        self.states[person] = found

    def _may(self, lineage: Lineage, state: State, asked: Asked, fault: str) -> Iterator[tuple[str, State]]:
        if asked.passed:
            yield "LEDGER_DAMAGED", state
            if fault == "died":
                yield "", state
            return
        if asked.refusal:
            chains, head = state
            ours = not lineage.counted or _begins(dict(chains)[asked.copy], head)
            yield (asked.refusal if ours else "COUNTER_MISMATCH"), state
            if fault:
                yield ("" if fault == "died" else "LEDGER_DAMAGED"), state
            return
        code, committed, read, end = self._commit(lineage, state, asked)
        settled, lost = self._settle(lineage, committed, asked.copy, read, end)
        yield ("COUNTER_MISMATCH" if lost else code), settled
        if fault:
            for after in (state, committed, settled):
                yield ("" if fault == "died" else "LEDGER_DAMAGED"), after

    def _commit(self, lineage: Lineage, state: State, asked: Asked) -> tuple[str, State, Chain, Chain]:
        """Return code and state after the ledger's transaction, the counter's end that it read, and its own end."""
        chains, head = state
        own = dict(chains)
        chain = own[asked.copy]
        if lineage.counted and not _begins(chain, head):
            return "COUNTER_MISMATCH", state, head, head
        decided = decide([self.asks[number] for number in chain], asked.question, replay=lineage.replay)
        if decided == "report":
            chain = own[asked.copy] = (*chain, asked.number)
            return decided, (tuple(sorted(own.items())), head), head, chain
        return decided, state, head, chain

    @staticmethod
    def _settle(lineage: Lineage, state: State, copy: str, read: Chain, end: Chain) -> tuple[State, bool]:
        chains, head = state
        if not lineage.counted or read == end:
            return state, False
        chain = dict(chains)[copy]
        if head in (read, end):
            return (chains, end), False
        if not (_begins(chain, end) and _begins(chain, head)):
            return state, True
        return (chains, max(head, end, key=len)), False

    def _together(
        self, lineage: Lineage, state: State, one: Asked, other: Asked
    ) -> Iterator[tuple[tuple[str, str], State]]:
        """Yield codes and states of every order of reading the counter, committing and settling.

        One question to two copies can give two equal rows. Then the counter's end and the bytes are those of both.
        """
        if one.question == other.question and one.number != other.number:
            yield from self._together(lineage, state, one, replace(other, number=one.number))
        for order in ((0, 0, 0, 1, 1, 1), (1, 1, 1, 0, 0, 0), (0, 1, 1, 1, 0, 0), (0, 0, 1, 1, 1, 0),
                      (1, 0, 0, 0, 1, 1), (1, 1, 0, 0, 0, 1)):  # fmt: skip
            now, step, codes = state, [0, 0], ["", ""]
            seen: list[Chain] = [(), ()]
            ends: list[tuple[Chain, Chain]] = [((), ()), ((), ())]
            for who in order:
                asked = (one, other)[who]
                if asked.refusal or asked.passed:
                    if step[who] == 0:
                        ((codes[who], now),) = list(self._may(lineage, now, asked, ""))[:1]
                elif step[who] == 0:
                    seen[who] = now[1]
                elif step[who] == 1:
                    chains, head = now
                    codes[who], (chains, _), read, end = self._commit(lineage, (chains, seen[who]), asked)
                    now, ends[who] = (chains, head), (read, end)
                elif codes[who] != "COUNTER_MISMATCH":
                    now, lost = self._settle(lineage, now, asked.copy, *ends[who])
                    codes[who] = "COUNTER_MISMATCH" if lost else codes[who]
                step[who] += 1
            yield (codes[0], codes[1]), now

    # --- copies -----------------------------------------------------------------------------

    def copied(self, persons: Iterable[int], source: str, target: str) -> None:
        """Note that ``target`` is now what ``source`` is.

        A process that died in a commit may leave a row that is whole in the log. Processes that were there before do
        not see it, and write over it. Who opens a copy of the files finds it, and so does the first process after all
        others have ended. So a copy may hold one row more, and so may a folder that is opened anew.
        """
        for person in persons:
            found = set()
            for chains, head in self.states[person]:
                own = dict(chains)
                for chain in (own[source], *self._unseen(person, source, own[source])):
                    found.add((tuple(sorted((own | {target: chain}).items())), head))
            self.states[person] = found

    def _unseen(self, person: int, copy: str, chain: Chain) -> Iterator[Chain]:
        """Yield the chain with the row of an ask in which a process of this copy died."""
        before = [self.asks[number] for number in chain]
        for asked in self.died.get(person, ()):
            decides = asked.copy == copy and asked.number not in chain and not (asked.refusal or asked.passed)
            if decides and decide(before, asked.question, replay=False) == "report":
                yield (*chain, asked.number)

    # --- the replies ------------------------------------------------------------------------

    def replied(self, person: int, asked: Asked, outcome: Outcome) -> None:
        """Compare a report with all others."""
        if not outcome.reports:
            return
        question, lineage = asked.question, self.lineages[asked.copy[0]]
        if asked.refusal or asked.passed:
            raise Violation(f"device {person} of {asked.copy} answered {question}")
        self.left += 1
        parts = split(outcome.data)
        if len(parts) != len(question.asks):
            raise Violation(f"device {person} of {asked.copy} answered {len(parts)} attributes to {question}")
        for (name, budget), data in zip(question.asks, parts, strict=True):
            what = (budget, question.staged, question.grouping)
            key = (person, name, question.stage, what if question.trains else None)
            before = self.first.setdefault(key, (what, data))
            if before != (what, data) and not lineage.free:
                raise Violation(f"device {person} gave two different answers about {name} ({asked.copy}, {question})")
            bytes_before = self.same.setdefault((person, name, question.stage, what), data)
            several = question.trains and lineage.free  # the number of an answer is in the key of its noise
            if bytes_before != data and not (lineage.changed or several):
                raise Violation(f"device {person} gave other bytes for one question about {name} ({asked.copy})")
            if question.trains:
                self._pay(person, asked, free=lineage.free)
            elif question.stage == 0:  # a plan's whole loss is spent with its first stage
                self.spent.setdefault(person, {})[name] = budget * (2 if question.staged else 1)

    def _pay(self, person: int, asked: Asked, *, free: bool) -> None:
        """Add up the updates that left a person, each question once."""
        left = [what[0] for (who, name, *_), (what, _) in self.first.items() if (who, name) == (person, TRAINING)]
        if sum(left) > CAP and not free:  # type: ignore[arg-type]
            raise Violation(f"device {person} lost {left} in trainings, and its cap is {CAP:g} ({asked.copy})")


def _begins(chain: Chain, head: Chain) -> bool:
    return chain[: len(head)] == head
