"""State folder of devices that live on the machines of a Ray cluster.

It has the records and the policy, as a simulation needs them, but no secret and no ledger:

    enrolment.json    as of every state folder, with the id of the devices and, in a simulation, the seed
    population/       the records
    shards.json       machine and epoch of each ledger shard that is enrolled
    collection.json   as of every state folder

The epoch of a shard rises before it gets another worker. A worker with a lower one commits nothing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.parts import devices_of
from ldpsim.devices.enrolment.state import PLACED, SHARD, State, new_enrolment
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.policy.policy import Policy

_PLACES = "shards.json"


@dataclass(frozen=True)
class Place:
    """Place of a ledger shard.

    Args:
        machine: Name of the machine's disk (:class:`ldpsim.devices.enrolment.parts.Parts`).
        epoch: Number of the shard's present owner.
        known: Whether all that its devices ever released is there. False for devices that were enrolled
            anew in a simulation, after their machine was lost.
    """

    machine: str
    epoch: int = 0
    known: bool = True

    def __post_init__(self) -> None:
        if [type(self.machine), type(self.epoch), type(self.known)] != [str, int, bool] or self.epoch >> 62:
            raise ValueError("a place is malformed")


class PlacedState(State):
    """A state folder of devices that live on other machines, opened."""

    def __post_init__(self) -> None:
        if self.head.get("format") != PLACED:
            raise ValueError(f"{self.folder}: its devices live in this folder")

    @property
    def devices_id(self) -> str:
        """Id of the devices on all machines."""
        return str(self.head["placed"])

    @property
    def seed(self) -> int | None:
        """Seed of the secrets in a simulation; None: each machine takes them from its operating system."""
        return None if self.head["seed"] is None else int(self.head["seed"])

    @property
    def shards(self) -> Sequence[int]:
        """Numbers of all ledger shards."""
        return range(-(-len(self) // SHARD))

    def places(self) -> dict[int, Place]:
        """Return the place of each shard that was ever enrolled.

        Raises:
            ValueError: one line, where the file cannot be read: these people may have devices, and get no second ones.
        """
        try:
            found = json.loads((self.folder / _PLACES).read_text())
            # index: ValueError for a shard that these devices do not have
            return {self.shards.index(int(shard)): Place(**place) for shard, place in found.items()}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{self.folder}: {_PLACES} cannot be read: the places of the devices are lost") from error

    def write_places(self, places: Mapping[int, Place]) -> None:
        """Write the places; they are on the disk when this returns."""
        content = {str(shard): asdict(place) for shard, place in sorted(places.items())}
        write_atomically(self.folder / _PLACES, json.dumps(content, indent=1))

    def people(self, shards: Sequence[int]) -> Population:
        """Return the records of shards; everybody else's is empty."""
        return self.population.only(devices_of(shards, len(self)))

    def ledger(self, index: int = 0) -> Ledger:
        """Raise LedgerDamaged: the ledgers are on other machines."""
        raise LedgerDamaged("the ledgers of these devices are on other machines")


def is_placed(folder: Path) -> bool:
    """Return whether a folder's devices live on the machines of a Ray cluster."""
    try:
        PlacedState(folder)
    except ValueError:
        return False
    return True


def state_at(folder: Path) -> State:
    """Open a state folder of either kind; ValueError as :class:`State`."""
    return PlacedState(folder) if is_placed(folder) else State(folder)


def enrol_elsewhere(folder: Path, population: Population, policy: Policy, *, seed: int | None) -> PlacedState:
    """Make a state folder whose devices the machines of a cluster enrol, as soon as they are to be asked.

    Raises:
        ValueError, OSError: as :func:`ldpsim.devices.enrolment.state.enrol`.
    """
    with new_enrolment(folder, population, policy, seeded=seed is not None) as head:
        head |= {"format": PLACED, "placed": uuid.uuid4().hex, "seed": seed}
        write_atomically(folder / _PLACES, "{}")
    return PlacedState(folder)
