"""Cost of durability for a device, and rate and memory of a storm of retries.

    python -m benchmarks.speed.bench_ledger [--devices 1000] [--storm 100000] [--disk DIR]

Durability: the time of a release alone (a commit each, ``synchronous=FULL``) and in a
batch (a commit for all), less the same with a ledger that syncs nothing; a release with a
counter kept apart (`devices/ledger/counter.py`) beside it. The storm: retries of an answered
question through Flower's ClientApp in batches, one process, one core; memory is the
resident set after the first tenth and at the end. Run it on the disk that matters.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from flwr.app import Message

from benchmarks.speed.process import MIB, beside, resident
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.device import answer
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.mechanisms import OneBit, RandomizedResponse
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.wire import QUERY_TYPE, query_content
from ldpsim.strategies.engines.grids import assume_identity

FEATURES = 64


def question(n: int) -> Query:
    """Adjacency and features, as HoGS asks."""
    adjacency = Ask("adjacency", (RandomizedResponse.from_epsilon(4.0, n=n),))
    return Query("bench", ((adjacency, Ask("features", (OneBit.from_epsilon(1.0, d=FEATURES),))),))


def release(folder: Path, kind: str, people: Population, *, batch: bool) -> float:
    """Milliseconds a release of devices with a ledger: ``full``, ``off`` (nothing is synced) or ``counted``."""
    query = question(len(people))
    policy = policy_for([query], people.facts)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        counters = Path(place) / "counters" if kind == "counted" else None
        state = enrol(Path(place) / "state", people, policy, seed=0, counters=counters)
        if kind == "off":
            state.ledger()._db.execute("PRAGMA synchronous=OFF")
        answer(state, [0], query)  # what is computed once a question is computed now
        began = time.perf_counter()
        for devices in [range(1, len(people))] if batch else [[device] for device in range(1, len(people))]:
            answer(state, devices, query)
        seconds = time.perf_counter() - began
        state.close()
        return 1000 * seconds / (len(people) - 1)


def durability(folder: Path, devices: int) -> None:
    """Print the time of a release with and without syncing; medians of five rounds, taken in turn."""
    people = generate(devices, FEATURES, 4, seed=0, words=8)
    found: dict[tuple[str, bool], list[float]] = {}
    syncs = []
    for _ in range(5):
        syncs.append(one_sync(folder))
        for kind in ("full", "off", "counted"):
            for batch in (False, True):
                found.setdefault((kind, batch), []).append(release(folder, kind, people, batch=batch))
    print(f"release, ms a device ({devices} devices, median of 5)   alone    in a batch")
    middle = {key: statistics.median(values) for key, values in found.items()}
    rows = (("full", "synchronous=FULL"), ("off", "nothing synced"), ("counted", "FULL and a counter apart"))
    for kind, text in rows:
        print(f"  {text:44} {middle[kind, False]:8.4f} {middle[kind, True]:12.4f}")
    for kind, text in (("full", "durability: FULL less nothing synced"), ("counted", "with the counter")):
        alone, together = (middle[kind, b] - middle["off", b] for b in (False, True))
        print(f"  {text:44} {alone:8.4f} {together:12.4f}")
    sync = statistics.median(syncs)
    alone = middle["full", False] - middle["off", False]
    print(f"  a write of 4 KiB and an fsync on this disk: {sync:.4f}; durability alone is {alone / sync:.1f} of them")


def one_sync(folder: Path) -> float:
    """Milliseconds of a write of a page and a sync: the least cost of durability on this disk."""
    with tempfile.TemporaryFile(dir=folder) as file:
        began = time.perf_counter()
        for _ in range(200):
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
        return 1000 * (time.perf_counter() - began) / 200


def storm(folder: Path, devices: int, messages: int) -> None:
    """Print the rate of retries and the growth of memory."""
    people = generate(devices, FEATURES, 4, seed=0, words=8)
    query = question(devices)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        state = enrol(Path(place) / "state", people, policy_for([query], people.facts), seed=0)
        content, fleet = query_content(query), Fleet(state)

        def retries(count: int) -> Iterator[Message]:
            for number in range(count):
                yield Message(content, 1 + number % devices, QUERY_TYPE)

        for _ in fleet.answer(retries(devices)):
            pass
        answers = fleet.answer(retries(messages))
        began, cpu = time.perf_counter(), time.process_time()
        early = 0.0
        for part in range(10):
            for reply in islice(answers, messages // 10):
                assert reply.content["report"]["replayed"]
            early = early or resident() / MIB
            print(f"  {(part + 1) * 10:3}%  {resident() / MIB:8.1f} MiB", flush=True)
        seconds, spent = time.perf_counter() - began, time.process_time() - cpu
        rate, busy = messages / seconds, messages / spent
        print(
            f"storm: {messages:,} retries of {devices} devices in {seconds:.1f} s: {rate:,.0f} a second, "
            f"{busy:,.0f} a second of processor time; memory {resident() / MIB - early:+.1f} MiB since a tenth"
        )


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=1000)
    parser.add_argument("--storm", type=int, default=100_000)
    parser.add_argument("--disk", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    assume_identity(run_id=1)
    print(beside())
    durability(given.disk, given.devices)
    storm(given.disk, given.devices, given.storm)


if __name__ == "__main__":
    main()
