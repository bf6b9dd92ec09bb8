"""Kill test of collections: a thousand times kill -9; no device gives two reports, no ledger row is lost.

    python -m tests.strategies.attacks.stress.kill [--kills 1000] [--devices 500] [--seed 0]

A collection is started, killed ten times and started again each time. Then it runs to its end.
Every reply is logged when it leaves. In half of the collections the runs alternate between two
budgets: a device with a lost row would answer both. The other half asks one question only and
must end with the reports of a collection without a kill. Half of the runs send messages to many
devices, the others one to each. A run is killed at a random moment, or kills itself at a named
step: before a claim, between claim and commit, after a commit, while replies leave.

The process forks the runs that it kills, so it must run alone.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Message

from ldpsim.curator.methods.base import Question
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.mechanisms import OneBit, RandomizedResponse
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report
from ldpsim.devices.wire import QUERY_TYPE, REPORTS_TYPE, batch_content, query_content, read_batch_reply, read_reply
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.engines.flower_private import assume_identity
from tests.fleets import fleet_of, release_states

STEPS = ("at random", "before a claim", "before the commit", "after the commit", "while replies leave")
KILLS_EACH = 10
BATCH = 16


@dataclass
class KillRecord:
    """Result of a kill test.

    Args:
        kills: Number of runs that were killed before their end, by moment.
        collections: Number of collections.
        reports: Number of devices that reported, over all collections.
        faults: One line for each device or collection that broke the promise.
    """

    kills: Counter[str] = field(default_factory=Counter)
    collections: int = 0
    reports: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        moments = ", ".join(f"{moment} {self.kills[moment]:,}" for moment in STEPS)
        found = "\n".join(self.faults[:20]) if self.faults else "none"
        return (
            f"{self.kills.total():,} kills ({moments})\n"
            f"{self.collections:,} collections, {self.reports:,} reports, {self.seconds:.0f} s\n"
            f"devices with two different reports or a lost record, collections that could not be completed: {found}"
        )


def _questions(devices: int, d: int) -> tuple[Query, Query]:
    def at(epsilon: float) -> Query:
        adjacency = Ask("adjacency", (RandomizedResponse.from_epsilon(epsilon, n=devices),))
        return Query("open", ((adjacency, Ask("features", (OneBit.from_epsilon(epsilon, d=d),))),))

    return at(2.0), at(1.0)


def torture(
    kills: int,
    devices: int,
    *,
    seed: int = 0,
    spoil: Callable[[], None] | None = None,
    folder: Path | None = None,
    moments: tuple[str, ...] = STEPS,
) -> KillRecord:
    """Kill collections of ``devices`` devices ``kills`` times in all, and check them.

    Args:
        kills: Number of runs that die before their end.
        devices: Number of devices.
        seed: Seed of the moments.
        spoil: Called in every run that will be killed; it breaks something that must be found.
        folder: Parent of the working folder; None for the system's.
        moments: Moments of the kills, out of ``STEPS``. Without "at random" every kill depends on ``seed``
            alone, not on the speed of the machine.
    """
    assume_identity(run_id=1)
    record, rng, began = KillRecord(), random.Random(seed), time.monotonic()
    population = generate(devices, 64, 4, seed=seed, words=8.0)
    questions = _questions(devices, 64)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        fresh, log = Path(scratch) / "fresh", Path(scratch) / "log"
        enrol(fresh, population, policy_for(questions, population.facts), seed=seed).close()
        whole = Path(shutil.copytree(fresh, Path(scratch) / "whole"))
        expected = collect(whole, [Question(questions[0])], devices=devices, engine="local").reports
        span = _span(fresh, Path(scratch), questions[0], devices)
        while record.kills.total() < kills:
            state = Path(shutil.copytree(fresh, Path(scratch) / "state"))
            log.write_bytes(b"")
            rivals = questions if record.collections % 2 else questions[:1]
            record.collections += 1
            for number in range(min(KILLS_EACH, kills - record.kills.total())):
                by_clock = number % 2 == 1 and STEPS[0] in moments
                moment = STEPS[0] if by_clock else moments[rng.randrange(len(moments))]
                run = _Run(state, log, rivals[number % len(rivals)], devices, moment, rng.randrange(1 << 30), spoil)
                while not run.killed(rng.uniform(0, span)):  # it ended before: that is no kill
                    run = _Run(state, log, run.question, devices, moment, rng.randrange(1 << 30), spoil)
                record.kills[moment] += 1
            _check(record, state, log, questions, expected if len(rivals) == 1 else None, devices)
            shutil.rmtree(state)
    record.seconds = time.monotonic() - began
    return record


def _span(fresh: Path, scratch: Path, question: Query, devices: int) -> float:
    """Return the seconds of a run without a kill."""
    spans = []
    for number in range(3):
        folder = Path(shutil.copytree(fresh, scratch / f"timed-{number}"))
        run = _Run(folder, scratch / "timed", question, devices, STEPS[0], 0, None)
        began = time.monotonic()
        run.killed(60.0)
        spans.append(time.monotonic() - began)
        shutil.rmtree(folder)
    return statistics.median(spans)


class _Run:
    """Process of a curator that asks every device; it starts at once, and :meth:`killed` kills it."""

    def __init__(
        self, folder: Path, log: Path, question: Query, devices: int, moment: str, seed: int,
        spoil: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        self.question = question
        self.moment = moment
        ready, begun = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            code = 1
            try:
                os.close(ready)
                if spoil is not None:
                    spoil()
                _die_at(moment, random.Random(seed), devices)
                os.write(begun, b".")
                os.close(begun)
                _ask(folder, log, question, devices, moment, random.Random(seed))
                code = 0
            finally:
                os._exit(code)
        os.close(begun)
        os.read(ready, 1)
        os.close(ready)

    def killed(self, after: float) -> bool:
        """Kill it after some seconds, or let it kill itself; return whether that ended it."""
        if self.moment == STEPS[0]:
            deadline = time.monotonic() + after
            while (left := deadline - time.monotonic()) > 0:
                if os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                    break
                time.sleep(min(left, 0.0005))
            os.kill(self.process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        if code not in (0, -signal.SIGKILL):
            raise RuntimeError(f"a run ended by itself with exit code {code}")
        return code == -signal.SIGKILL


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_at(moment: str, rng: random.Random, devices: int) -> None:
    """Make this process kill itself at a step of the ledger, the n-th time that it comes there."""
    chains, transaction = Ledger.chains, Ledger.transaction
    left = rng.randrange(devices if moment == "before a claim" else -(-devices // BATCH))

    def reached(step: str) -> bool:
        nonlocal left
        left -= moment == step
        return left < 0

    def reading(self: Ledger, keys: Any) -> Any:  # also of who answered before, so each run comes there
        if any(reached("before a claim") for _ in keys):
            _die()
        return chains(self, keys)

    @contextmanager
    def committing(self: Ledger, devices: Iterable[int] = ()) -> Iterator[None]:
        with transaction(self, devices):
            yield
            if reached("before the commit"):
                _die()
        if reached("after the commit"):
            _die()

    setattr(Ledger, "chains", reading)  # noqa: B010 - only this process's
    setattr(Ledger, "transaction", committing)  # noqa: B010


def _ask(folder: Path, log: Path, question: Query, devices: int, moment: str, rng: random.Random) -> None:
    last = rng.randrange(devices) if moment == "while replies leave" else -1
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    answers = _answers_together if rng.random() < 0.5 else _answers_one_by_one
    for sent, (device, answer) in enumerate(answers(folder, question, devices)):
        if isinstance(answer, Report):
            os.write(handle, f"{device} {hashlib.sha256(answer.data).hexdigest()}\n".encode())
        if sent == last:
            _die()


def _answers_one_by_one(folder: Path, question: Query, devices: int) -> Iterator[tuple[int, Report | Refusal | None]]:
    content = query_content(question)
    messages = [Message(content, device + 1, QUERY_TYPE) for device in range(devices)]
    for answer in fleet_of(folder, batch=BATCH).answer(messages):
        read = read_reply(answer)
        yield answer.metadata.src_node_id - 1, read[1] if isinstance(read, tuple) else read


def _answers_together(folder: Path, question: Query, devices: int) -> Iterator[tuple[int, Report | Refusal]]:
    content = query_content(question)
    batches = [np.arange(first, min(first + BATCH, devices)) for first in range(0, devices, BATCH)]
    messages = [Message(batch_content(content, batch), int(batch[0]) + 1, REPORTS_TYPE) for batch in batches]
    for batch, answer in zip(batches, fleet_of(folder).answer(messages), strict=True):
        yield from zip(batch.tolist(), read_batch_reply(answer, len(batch)) or [], strict=True)


def _check(
    record: KillRecord, folder: Path, log: Path, questions: tuple[Query, Query], expected: dict[int, bytes] | None,
    devices: int,
) -> None:  # fmt: skip
    """Finish the collection; compare the logged replies, the ledgers and the reports of the curator."""
    said: dict[int, set[str]] = defaultdict(set)
    for line in log.read_text().splitlines():
        name, what = line.split()
        said[int(name)].add(what)
    found = [collect(folder, [Question(question)], devices=devices, engine="local") for question in questions]
    for collected in found:
        for device, report in collected.reports.items():
            said[device].add(hashlib.sha256(report).hexdigest())
    where = f"collection {record.collections}"
    for device in range(devices):
        if len(said[device]) != 1:
            record.faults.append(f"{where}: device {device} gave {len(said[device])} different reports")
    answered = [collected.reported + collected.replayed for collected in found]
    refused = [collected.refused["REPORT_COLLECTED"] for collected in found]
    if sum(answered) != devices or sum(refused) != devices or answered[0] != refused[1]:
        record.faults.append(f"{where}: {answered} reports and {refused} refusals of {devices} devices")
    if expected is not None and found[0].reports != expected:
        record.faults.append(f"{where}: the reports are not those of a collection that nobody killed")
    state = State(folder)
    for device, chain in state.ledger().chains(state.seal_keys(range(devices))).items():
        if isinstance(chain, LedgerDamaged) or sum(len(answer.parts) for answer in chain) != 2:
            record.faults.append(f"{where}: the record of device {device} is lost")
    state.close()
    release_states()
    record.reports += sum(answered)


def main() -> int:
    """Run the kill test; return 1 if a fault was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--devices", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    record = torture(given.kills, given.devices, seed=given.seed)
    print(record)
    return 1 if record.faults else 0


if __name__ == "__main__":
    sys.exit(main())
