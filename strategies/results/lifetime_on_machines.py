"""Lifetime loss of devices whose ledgers are on the machines of a Ray cluster. Their machines read the ledgers."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from ldpsim.devices.enrolment.parts import devices_of
from ldpsim.devices.enrolment.placement import PlacedState
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.facts import IntArray
from ldpsim.strategies.engines.machines import Machines
from ldpsim.strategies.engines.ray_session import RaySession
from ldpsim.strategies.results.lifetime import Losses, ledger_levels, read_shards


def lifetime_on_machines(state: PlacedState, *, workers: int | None, address: str | None) -> Losses:
    """Return the losses of all devices; they are not asked.

    ``complete`` is False where a shard is on no machine of the cluster, or was enrolled anew after a loss.
    """
    places, n = state.places(), len(state)
    specs = ledger_levels()
    total = Losses({name: np.zeros(n) for name in specs}, {name: np.zeros(n) for name in specs}, True)
    complete = all(shard in places and places[shard].known for shard in state.shards)
    machines = Machines(RaySession(workers, address), state.devices_id, workers=workers, most=len(state.shards))
    with closing(machines):
        machines.look()
        asked = []
        for machine, shards in machines.shards.items():
            here = [shard for shard in shards if shard in places and places[shard].machine == machine]
            on = machines.on(machine)
            complete &= all(shard in shards for shard, place in places.items() if place.machine == machine)
            asked += [
                machines.workers[number].actor.apply.remote(losses_of_part, here[place :: len(on)])
                for place, number in enumerate(on)
            ]
        complete &= {place.machine for place in places.values()} <= machines.shards.keys()
        for reference in asked:
            try:
                found = machines.session.get(reference)
            except machines.session.lost:
                complete = False
                continue
            for devices, part in found:
                complete &= part.complete
                for name in specs:
                    total.levels[name][devices] += part.levels[name]
                    total.deltas[name][devices] += part.deltas[name]
    return replace(total, complete=complete)


def losses_of_part(folder: Path, shards: list[int]) -> tuple[IntArray, Losses]:
    """Return the devices of shards and their losses, float64 (devices,), read on their machine."""
    state = State(folder)
    try:
        found, devices = read_shards(state, shards)[0], devices_of(shards, len(state))
    finally:
        state.close()
    levels, deltas = ({name: sums[devices] for name, sums in each.items()} for each in (found.levels, found.deltas))
    return devices, Losses(levels, deltas, found.complete)
