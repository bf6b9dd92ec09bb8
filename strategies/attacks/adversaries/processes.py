"""Adversaries that ask from several processes at the same moment."""

from __future__ import annotations

import multiprocessing
from functools import partial
from multiprocessing.synchronize import Barrier

from flwr.app import Context, Message, RecordDict, UserConfig

from ldpsim.devices.client_app import app
from ldpsim.devices.wire import QUERY_TYPE, query_content
from ldpsim.strategies.attacks.adversaries.attack_result import AttackResult
from ldpsim.strategies.attacks.adversaries.curator import AdversarialCurator, Runs, Shot, rebudgeted, recollected
from ldpsim.strategies.attacks.adversaries.target import Target
from ldpsim.strategies.engines.grids import assume_identity, set_message_id
from ldpsim.strategies.engines.pool import processes

PROCESSES = 2
_WAIT = 120.0
_gate: list[Barrier] = []


def _begin(gate: Barrier) -> None:
    _gate[:] = [gate]


class Parallel(AdversarialCurator):
    """Asks from processes that each open the devices' state and have a budget of their own.

    If a claim were not one atomic step, two processes would both make it.
    """

    name = "parallel"
    description = "asks from several processes at the same moment, each at its own budget"

    def attack(self) -> AttackResult:
        """Start the processes, let them ask at the same moment, and add up their results."""
        gate = multiprocessing.get_context("spawn").Barrier(PROCESSES)
        with processes(PROCESSES, prepare=partial(_begin, gate)) as pool:
            for heard in pool.in_order(partial(_ask, type(self), self.target, self.asks), range(PROCESSES)):
                self.outcome.merge(heard)
        return self.outcome

    def runs(self) -> Runs:
        yield from ()

    def bombard(self, number: int) -> None:
        """Ask as process ``number``: the devices one by one, so that the processes meet at each."""
        query = rebudgeted(self.target.query, 1.0 - number / 4, self.target.facts)
        rounds = [[Shot(query, devices=range(device, device + 1))] for device in range(self.target.devices)]
        again = [[Shot(recollected(query, f"process-{number}"))]] * max(1, min(4, self.asks // PROCESSES))
        with self.target.run() as grid:
            self.fire(grid, [*rounds, *again])


class TwoSuperNodes(Parallel):
    """Two SuperNodes with one device's state; each calls the ClientApp with a context of its own."""

    name = "two-supernodes"
    description = "two SuperNodes on one state folder answer the same devices at the same moment"

    def bombard(self, number: int) -> None:
        """Ask as SuperNode ``number``, with a node id, run and Flower context of its own."""
        query = rebudgeted(self.target.query, 1.0 - number / 4, self.target.facts)
        content = query_content(query)
        for device in range(self.target.devices):
            config: UserConfig = {"partition-id": device, "state-dir": str(self.target.home)}
            node = 1000 * (number + 1) + device
            message = Message(content, node, QUERY_TYPE)
            set_message_id(message, f"{number}-{device}")
            self.outcome.messages += 1
            self.hear(app(message, Context(number + 1, node, config, RecordDict(), {})), device, query)


def _ask(kind: type[Parallel], target: Target, asks: int, number: int) -> AttackResult:
    assume_identity(run_id=1)
    curator = kind(target, asks=asks)
    _gate[0].wait(_WAIT)
    curator.bombard(number)
    return curator.outcome
