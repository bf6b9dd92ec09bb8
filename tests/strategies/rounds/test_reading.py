"""Hostile bytes in a collection: they count as failed or are read as lies, and the curator goes on."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from ldpsim.curator.reports.question import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.mechanisms.base import Mechanism
from ldpsim.devices.mechanisms.bits import pack_integers
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report, pack_parts, pack_report
from ldpsim.devices.wire import read_query, reply
from ldpsim.strategies.engines.grids import DirectGrid
from ldpsim.strategies.progress import quiet
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.rounds.reading import read_reports
from ldpsim.strategies.runs.set_up import run_of, set_scene, set_up
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import read_alone

HOSTILE = range(0, 40, 4)


class HostileGrid(DirectGrid):
    """Sends its own bytes in the place of some devices' answers, as a part of the right form or as anything."""

    def __init__(self, inner: DirectGrid, seed: int) -> None:
        super().__init__(inner.size)
        self._inner, self._rng = inner, random.Random(seed)

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Answer for the hostile devices."""
        messages = list(messages)
        for message in messages:
            device = message.metadata.dst_node_id - 1
            if device in HOSTILE:
                data = self._data(Query.from_bytes(read_query(message)))
                yield reply(Report(data, replayed=False), message, device=device)
        yield from self._inner.deliver([m for m in messages if m.metadata.dst_node_id - 1 not in HOSTILE])

    def _data(self, query: Query) -> bytes:
        if self._rng.random() < 0.2:
            return self._rng.randbytes(self._rng.randrange(60))
        return pack_report(tuple(pack_parts(map(self._part, ask.mechanisms)) for ask in query.asks))

    def _part(self, mechanism: Mechanism) -> bytes:
        rng, name = self._rng, mechanism.name
        if rng.random() < 0.3:
            return rng.randbytes(rng.randrange(40))
        if name in ("degree", "group_degrees", "noisy_row", "laplace", "analytic_gaussian"):
            size = {"degree": 1, "group_degrees": getattr(mechanism, "groups", 1), "noisy_row": 39}.get(name, 256)
            ends = (2**63 - 1, -(2**63), 2**31 - 1, -(2**31), 0, 39)
            return pack_integers(np.array([rng.choice(ends) for _ in range(size)], np.int64))
        if name in ("randomized_response", "clear_adjacency"):
            return b"\0" + bytes([rng.choice((0, 255))] * 4) + bytes([rng.choice((0, 254))])
        if name == "one_bit":
            return bytes([rng.choice((0, 255))] * 32)
        return rng.randbytes(2)


@pytest.mark.parametrize(
    ("method", "given"),
    [("hogs", {}), ("hogs", {"reporting": "one-end"}), ("blink", {}), ("solitude", {}), ("rgnn", {}),
     ("ldpgen", {}), ("ldpgcn", {}), ("vote", {}), ("hogs", {"private_labels": True, "eps_labels": 1.0}),
     ("lpgnn", {"settings": {"epochs": "2", "mechanism": "laplace"}})],
)  # fmt: skip
def test_hostile_bytes_do_not_end_a_run(method: str, given: dict, tmp_path: Path) -> None:
    """Two hostile collections, each with ten devices of forty that send what they like."""
    for seed in range(2):
        options = RunOptions(**{"method": method, "clients": 40, "nulls": False, "reference": False, "seed": seed,
                                "out": None, "settings": {"epochs": "2"}, **given})  # fmt: skip
        setup = set_up(read_alone(options)[0])
        scene = set_scene(setup, 0, tmp_path, tmp_path / f"state-{seed}", quiet)
        object.__setattr__(scene, "around", lambda grid, folder, seed=seed: HostileGrid(grid, seed))
        outcome = run_of(setup.method).work(scene)
        scene.end_collection()
        counted = outcome.collected
        assert outcome.predictions is not None and len(outcome.predictions) == 40
        assert counted.asked == counted.reported + counted.replayed + counted.silent + counted.failed
        assert counted.failed <= len(HOSTILE) and len(counted.reports_sha256) == 64


def test_answers_that_are_wrong_in_another_way_still_raise(population: Population) -> None:
    """A report of somebody who was not asked is a mistake of the collection, not a lie."""
    from ldpsim.curator.methods import HoGS
    from ldpsim.curator.methods.base import Budget
    from ldpsim.devices.data.splits import make_split

    split = make_split("random", population, 0)
    (question,) = HoGS().questions(population.facts, split, Budget(), "first")
    nobody = Question(question.query, np.array([1]))
    collected = Collected(answers={0: {}}, reported=1)
    with pytest.raises(ValueError, match="without being asked|did not report it"):
        read_reports(population.facts, [question], collected)
    assert isinstance(read_reports(population.facts, [nobody], Collected()), Reports)
