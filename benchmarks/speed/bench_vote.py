"""Processor time of a vote beside a plain label report, of 2 neighbours beside 2,000, and of codes beside a full table.

    python -m benchmarks.speed.bench_vote [--devices 20000] [--repeats 3]

Both collections are local, of one byte (GRR of the label: two), with devices of their own and a
ledger that is ``synchronous=FULL``; the first answer reads the table. The goal is 1.5 times the
label's processor time. Times by degree are the least of many, of the mechanism alone and of a
whole answer with its ledger; the goal is a factor of 2. A table is read when the question is judged and the
first scores are added up, of 2 classes + 1 different rows; the goal is that codes are not slower.

Beside volunteers an ordinary person's answer is about list and features. Its work memory is the most that Python and
numpy hold while the mechanism answers, beyond the record, and beyond table and model as they were read from the
question; the ledger is not counted. A device that is alone pads its list, so that the time does not depend on it.
Devices of one process answer together, without padding; of them it is the memory of all, a device.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np

from benchmarks.speed.process import beside
from ldpsim.curator.methods import Budget, Question, Vote
from ldpsim.devices.data.population import Population, Record
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.mechanisms import GRR, Mechanism, NeighbourhoodVote
from ldpsim.devices.noise import NoiseStream
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.estimate.asked import random_split

EPS, DEGREES, READ = 4.0, (2, 2000), (3_000, 50_000)


def vote(population: Population) -> NeighbourhoodVote:
    """Return a vote over random class distributions."""
    facts = population.facts
    q = np.random.default_rng(0).dirichlet(np.ones(facts.classes) / 2, facts.n)
    return NeighbourhoodVote.from_probabilities(q, EPS, homophily=0.8, candidates=min(4, facts.classes))


def question(mechanism: Mechanism) -> Query:
    """Return the question of one mechanism."""
    attribute = mechanism.reads[0]
    return Query("bench", ((Ask(attribute, (mechanism,)),),))


def collection(population: Population, query: Query, folder: Path) -> tuple[float, int]:
    """Return the processor seconds of one collection, and the bytes down a device."""
    devices = len(population)
    enrol(folder, population, policy_for([query], population.facts), seed=1).close()
    began = time.process_time()
    collected = collect(folder, [Question(query)], devices=devices, engine="local")
    seconds = time.process_time() - began
    if collected.reported != devices:
        raise SystemExit(f"{devices - collected.reported} devices did not answer: {dict(collected.refused)}")
    return seconds, collected.downlink_bytes // devices


def by_degree(population: Population) -> dict[int, float]:
    """Return the microseconds of the mechanism by number of neighbours."""
    asked, rng, found = vote(population), np.random.default_rng(1), {}
    for degree in DEGREES:
        near = np.sort(rng.choice(len(population), degree, replace=False)).astype(np.int32)
        record = Record(np.zeros(0, np.int32), np.zeros(0, np.float32), near, 0)
        asked.respond([record], [NoiseStream(bytes(32))], devices=[0])
        alone = []
        for index in range(degree % 1000, degree % 1000 + 300):
            began = time.process_time()
            asked.respond([record], [NoiseStream(bytes(32))], devices=[index])
            alone.append(time.process_time() - began)
        found[degree] = 1e6 * statistics.median(alone)
    return found


def reading(people: int, repeats: int) -> tuple[float, int]:
    """Return the least milliseconds in which a device reads a question and gives its first answer, and its bytes."""
    classes, times = 7, []
    kinds = np.concatenate([np.eye(classes), np.eye(classes) + 1, np.zeros((1, classes))])
    rows = kinds[np.random.default_rng(0).integers(len(kinds), size=people)]
    asked = NeighbourhoodVote.from_probabilities(rows, EPS, homophily=0.8)
    nothing = np.zeros(0, np.float32)
    record = Record(np.zeros(0, np.int32), nothing, np.arange(10, dtype=np.int32), 0)
    for number in range(repeats):
        data = Query(f"bench-{number}", question(asked).plan).to_bytes()  # another id: a question that was read is kept
        began = time.process_time()
        (ask,) = Query.from_bytes(data).asks
        ask.mechanisms[0].value_of(record, device=11)
        times.append(time.process_time() - began)
    return 1e3 * min(times), len(data)


def beside_volunteers(people: int, together: int = 1000) -> dict[str, tuple[float, float]]:
    """Return the bytes of work memory and the microseconds of an ordinary person's answer, alone and of many together.

    Args:
        people: Number of people, a tenth of whom volunteer.
        together: Number of devices that answer together.
    """
    population = generate(people, seed=0)
    split = random_split(people, volunteers=0.1)
    _, asked = Vote().questions(population.facts, split, Budget(epsilon=EPS, volunteers=True), "bench")
    (ask,) = asked.query.asks
    (mechanism,) = ask.mechanisms
    assert asked.devices is not None
    devices = asked.devices[:together].tolist()
    records = [population.record(device) for device in devices]

    def alone() -> None:
        mechanism.respond(records[:1], [NoiseStream(bytes(32))], devices=devices[:1])

    def many() -> None:
        mechanism.respond(records, [NoiseStream(bytes(32))] * len(devices), devices=devices)

    found = {}
    for name, answer, number in (("alone", alone, 1), ("together", many, len(devices))):
        answer()  # it reads table and model
        tracemalloc.start()
        answer()
        room = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        times = []
        for _ in range(20):
            began = time.process_time()
            answer()
            times.append(time.process_time() - began)
        found[name] = (room / number, 1e6 * min(times) / number)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    population = generate(given.devices, seed=0)
    kinds = {"label": question(GRR.from_epsilon(EPS, categories=population.facts.classes)),
             "vote": question(vote(population))}  # fmt: skip
    print(f"{given.devices:,} devices, {beside()}")
    ratios = []
    for _ in range(given.repeats):
        with tempfile.TemporaryDirectory(prefix="ldpsim-bench-") as folder:
            seconds = {name: collection(population, query, Path(folder) / name) for name, query in kinds.items()}
        ratios.append(seconds["vote"][0] / seconds["label"][0])
        print("  " + ", ".join(f"{name} {1e6 * cpu / given.devices:.0f} us CPU a device, {down:,} bytes down"
                               for name, (cpu, down) in seconds.items()))  # fmt: skip
    print(f"  vote / label: {statistics.median(ratios):.2f} (median of {given.repeats})")
    for degree, alone in by_degree(population).items():
        print(f"  {degree:>5,} neighbours: {alone:.0f} us the mechanism")
    for name, (room, taken) in beside_volunteers(READ[0]).items():
        print(f"  beside volunteers, {READ[0]:,} people, {name}: {room:,.0f} bytes of work memory and {taken:.0f} us "
              "of the mechanism a device")  # fmt: skip
    for people in READ:
        took, size = reading(people, 5 * given.repeats)
        print(f"  table of {people:,} people: {took:.1f} ms and {size:,} bytes")


if __name__ == "__main__":
    main()
