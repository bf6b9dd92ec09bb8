"""Attacks from several processes at the same moment: if a claim were not one atomic step, two would both make it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from functools import partial
from multiprocessing.synchronize import Barrier

from flwr.app import Context, Message, RecordDict, UserConfig

from ldpsim.devices.client_app import app
from ldpsim.devices.wire import QUERY_TYPE, query_content
from ldpsim.strategies.attacks.adversaries.curator import AttackResult, Curator, Shot, Target
from ldpsim.strategies.attacks.adversaries.questions import rebudgeted, recollected
from ldpsim.strategies.engines.flower_private import assume_identity, set_message_id
from ldpsim.strategies.engines.pool import processes
from tests.strategies.attacks.adversaries.pooling import pooled

PROCESSES = 2
_WAIT = 120.0
_gate: list[Barrier] = []


def from_processes(target: Target, asks: int) -> AttackResult:
    """Ask from processes that each open the devices' state and have a budget of their own."""
    return _together(partial(_of_curator, target, asks))


def from_supernodes(target: Target) -> AttackResult:
    """Let two SuperNodes with one state folder answer; each calls the ClientApp with a context of its own."""
    return _together(partial(_of_supernode, target))


def _together(ask: Callable[[int], AttackResult]) -> AttackResult:
    gate = multiprocessing.get_context("spawn").Barrier(PROCESSES)
    with processes(PROCESSES, prepare=partial(_begin, gate)) as pool:
        return pooled(pool.in_order(partial(_at_once, ask), range(PROCESSES)))


def _begin(gate: Barrier) -> None:
    _gate[:] = [gate]


def _at_once(ask: Callable[[int], AttackResult], number: int) -> AttackResult:
    assume_identity(run_id=1)
    _gate[0].wait(_WAIT)
    return ask(number)


def _of_curator(target: Target, asks: int, number: int) -> AttackResult:
    """Ask the devices one by one, so that the processes meet at each."""
    query = rebudgeted(target.query, 1.0 - number / 4, target.facts)
    rounds = [[Shot(query, devices=range(device, device + 1))] for device in range(target.devices)]
    again = [[Shot(recollected(query, f"process-{number}"))]] * max(1, min(4, asks // PROCESSES))
    return Curator(target).carry_out(iter([[*rounds, *again]]))


def _of_supernode(target: Target, number: int) -> AttackResult:
    """Answer with a node id, run and Flower context of its own."""
    query, curator = rebudgeted(target.query, 1.0 - number / 4, target.facts), Curator(target)
    content = query_content(query)
    for device in range(target.devices):
        config: UserConfig = {"partition-id": device, "state-dir": str(target.home)}
        node = 1000 * (number + 1) + device
        message = Message(content, node, QUERY_TYPE)
        set_message_id(message, f"{number}-{device}")
        curator.result.messages += 1
        curator.hear(app(message, Context(number + 1, node, config, RecordDict(), {})), device, query)
    return curator.result
