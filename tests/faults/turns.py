"""Processes that work at once. At each step of a disk and each statement another one may go on, as a schedule says.

Each process has a thread, and one thread runs at a time, so that a seed gives one order. A process that waits for a
lock lets others go on; where all of them wait, one waits in vain.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.faults.computers import Computers

_MAIN = -1


class Turns:
    """The order of processes that work at once.

    Args:
        computers: The machines.
        rng: Decides who goes on.
        share: Share of the steps after which another process goes on.
    """

    def __init__(self, computers: Computers, rng: Random, share: float) -> None:
        self.computers, self.rng, self.share = computers, rng, share
        self.switches = 0
        self.in_vain: set[int] = set()  # who waited for a lock in vain
        self._now = _MAIN
        self._open: set[int] = set()  # who has not ended
        self._waits: dict[int, int] = {}  # step of the last try of those that wait
        self._gates: dict[int, threading.Semaphore] = {}
        self._errors: list[BaseException] = []

    def run(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Do all of these at once, and return what they return; raise the first error after all have ended."""
        results: list[Any] = [None] * len(works)
        self._open = set(range(len(works)))
        self._gates = {number: threading.Semaphore(0) for number in (_MAIN, *self._open)}
        threads = [threading.Thread(target=self._work, args=(number, work, results), daemon=True)
                   for number, work in enumerate(works)]  # fmt: skip
        for thread in threads:
            thread.start()
        self.computers.turns = self
        self._hand_over(0)
        self.computers.turns = None
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[0]
        return results

    def _work(self, number: int, work: Callable[[], Any], results: list[Any]) -> None:
        self._gates[number].acquire()
        try:
            results[number] = work()
        except BaseException as error:
            self._errors.append(error)
        self._open.discard(number)
        self._now = self.rng.choice(sorted(self._open)) if self._open else _MAIN
        self._gates[self._now].release()

    def _hand_over(self, number: int) -> None:
        """Let another one go on, and wait for the next turn."""
        computers, mine = self.computers, self._now
        kept = computers.current, computers.plan, computers.planned
        self._now = number
        self._gates[number].release()
        self._gates[mine].acquire()
        computers.current, computers.plan, computers.planned = kept

    def pass_step(self) -> None:
        """Let another process go on, at times."""
        others = sorted(self._open - {self._now})
        if others and self.rng.random() < self.share:
            self.switches += 1
            self._hand_over(self.rng.choice(others))

    def wait(self) -> bool:
        """Let others go on because of a lock; False where nobody can give it up."""
        steps, mine = self.computers.steps, self._now
        others = sorted(other for other in self._open - {mine} if self._waits.get(other) != steps)
        if not others:
            self.in_vain.add(mine)
            return False
        self._waits[mine] = steps
        self._hand_over(self.rng.choice(others))
        del self._waits[mine]
        return True
