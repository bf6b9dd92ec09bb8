"""The judge of the simulation: what each reply may be, and the invariants. It uses no code of the product.

For each person it holds every state of the world that agrees with all replies so far: the answers in each copy of the
folder, and the end that the counter holds. A reply that no state explains is a violation. Beside that it compares
all replies of all copies with each other, and looks for their bytes on the medium at the moment they leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.faults.orders import Orders
from tests.faults.paper import Asked, Lineage, Outcome, decide, split
from tests.faults.questions import CAP, TRAINING, Question

Chain = tuple[int, ...]  # numbers of the asks that a copy's ledger holds answers of
State = tuple[tuple[tuple[str, Chain], ...], Chain]  # chains by copy, and the counter's end
MOST = 400  # states of a person; beyond it nothing is judged any more but the replies themselves
SILENT = ("", "LEDGER_DAMAGED")
_TIMES = {2: "twice", 3: "three times"}


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
            for code, after in self.may(lineage, state, asked, fault):
                if code == outcome.code:
                    found.add(after)
        if fault == "died" and not outcome.code:
            self.died.setdefault(person, []).append(asked)
        if not found:
            may = sorted({code for state in self.states[person] for code, _ in self.may(lineage, state, asked, "")})
            raise Violation(f"device {person} of {asked.copy} replied {outcome.code or 'nothing'} to {asked.question}; "
                            f"it may reply {' or '.join(may)}")  # fmt: skip
        self._keep(person, found, lineage)

    def race(self, person: int, asked: Sequence[Asked], said: Sequence[Outcome], cut: frozenset[int],
             backed_up: str = "") -> None:  # fmt: skip
        """Judge the replies of processes that were asked at once.

        Args:
            person: The person.
            asked: What each of them was asked.
            said: What each of them replied.
            cut: Which of them died, or failed at some step.
            backed_up: The copy of which a backup was made meanwhile, if any.
        """
        for one, outcome in zip(asked, said, strict=True):
            self.asks[one.number] = one.question
            self.replied(person, one, outcome)
        lineage = self.lineages[asked[0].copy[0]]
        if lineage.loose:
            if backed_up:
                self.copied([person], backed_up, f"{backed_up}@")
            return
        orders = Orders(self, lineage, asked, said, cut, backed_up)
        found = {after for state in self.states[person] for after in orders.ends(person, state)}
        self.died.setdefault(person, []).extend(asked[k] for k in sorted(cut) if not said[k].code)
        if not found:
            all_said = " and ".join(f"that of {one.copy} replied {outcome.code or 'nothing'} to {one.question}"
                                    for one, outcome in zip(asked, said, strict=True))  # fmt: skip
            times = _TIMES[len(asked)]
            raise Violation(f"device {person} was asked {times} at once: {all_said}; no order of steps gives this")
        self._keep(person, found, lineage)

    def _keep(self, person: int, found: set[State], lineage: Lineage) -> None:
        if len(found) > MOST:
            lineage.loose = True
        self.states[person] = found

    def may(self, lineage: Lineage, state: State, asked: Asked, fault: str) -> Iterator[tuple[str, State]]:
        """Yield each code that an ask may get in a state, and the state after it."""
        if asked.outdated:
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
        code, committed, read, end = self.commit(lineage, state, asked)
        settled, lost = self.settle(lineage, committed, asked.copy, read, end)
        yield ("COUNTER_MISMATCH" if lost else code), settled
        if fault:
            for after in (state, committed, settled):
                yield ("" if fault == "died" else "LEDGER_DAMAGED"), after

    def commit(self, lineage: Lineage, state: State, asked: Asked) -> tuple[str, State, Chain, Chain]:
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
    def settle(lineage: Lineage, state: State, copy: str, read: Chain, end: Chain) -> tuple[State, bool]:
        """Return the state after the counter was advanced, and whether another copy was quicker."""
        chains, head = state
        if not lineage.counted or read == end:
            return state, False
        chain = dict(chains)[copy]
        if head in (read, end):
            return (chains, end), False
        if not (_begins(chain, end) and _begins(chain, head)):
            return state, True
        return (chains, max(head, end, key=len)), False

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
                for chain in (own[source], *self.unseen(person, source, own[source])):
                    found.add((tuple(sorted((own | {target: chain}).items())), head))
            self.states[person] = found

    def unseen(self, person: int, copy: str, chain: Chain) -> Iterator[Chain]:
        """Yield the chain with the row of an ask in which a process of this copy died."""
        before = [self.asks[number] for number in chain]
        for asked in self.died.get(person, ()):
            decides = asked.copy == copy and asked.number not in chain and not (asked.refusal or asked.outdated)
            if decides and decide(before, asked.question, replay=False) == "report":
                yield (*chain, asked.number)

    # --- the replies ------------------------------------------------------------------------

    def replied(self, person: int, asked: Asked, outcome: Outcome) -> None:
        """Compare a report with all others."""
        if not outcome.reports:
            return
        question, lineage = asked.question, self.lineages[asked.copy[0]]
        if asked.refusal or asked.outdated:
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
