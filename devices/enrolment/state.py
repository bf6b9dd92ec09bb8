"""A state folder: the data, secrets, policy and ledger of the devices that live in it.

Enrolment happens once. ``enrolment.json`` is written last and by an atomic rename, so a
folder either holds enrolled devices or holds none. Later runs do not change it.

    enrolment.json    format, policy, number of devices, whether the secrets were seeded
    population/       the records, memory-mapped
    secrets.bin       32 bytes a device, readable by the owner alone
    ledger.sqlite     answers of devices 0 .. 1023; ledger-0001.sqlite those of the next 1,024, ...
    collection.json   ids of the collections that have no result yet
    received/         values sent to the devices in a federated training, for its later rounds
    .in-use           lock of the process that works with the folder, a run or a vault

The id of a collection stands in ``collection.json`` until its result is written: a run that was killed goes on with the
same collection, and devices that answered give the stored bytes.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Container, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.atomic_files import exclusive_lock, lock_file, make_durable, private_folder, write_atomically
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Device
from ldpsim.devices.enrolment.counters import counter_of, make_counters, new_place
from ldpsim.devices.ledger.counter import Counter
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.ledger.schema import count_answered
from ldpsim.devices.noise import derive_key, key_message
from ldpsim.devices.policy.policy import Policy

FORMAT = 1
PARTIAL = 2  # only some of the people live there
COUNTED = 4  # a counter holds each chain's end: a file from which its place was taken away is not read
# Devices of one shard share a ledger file.
SHARD = 1024
_SEAL = key_message(b"seal")  # its HMAC is the key of a device's seals
_FIELDS = {"format", "devices", "simulation_seeded", "population_digest", "policy"}  # every enrolment.json has them
_OURS = {"enrolment.json", "population", "secrets.bin", "collection.json"}


def ledger_name(shard: int) -> str:
    """File name of a shard's ledger."""
    return f"ledger-{shard:04d}.sqlite" if shard else "ledger.sqlite"


def is_enrolled(folder: Path) -> bool:
    """Return whether the folder holds devices."""
    return (folder / "enrolment.json").is_file()


@contextmanager
def used_alone(folder: Path) -> Iterator[None]:
    """Hold a state folder for this process, which makes it if it is missing; the lock ends with the process.

    Raises:
        ValueError: where another process, a run or a vault, works with these devices.
        OSError: where it cannot be made or opened.
    """
    private_folder(folder)
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_file(folder / ".in-use"))
        except BlockingIOError as error:
            raise ValueError(
                f"--state {folder}: these devices are in use ({error.strerror}); wait for it, or name another folder"
            ) from None
        yield


def foreign_file(folder: Path) -> str | None:
    """Return the name of a file in a folder that no enrolment, finished or interrupted, put there."""
    names = sorted(path.name for path in folder.iterdir())
    ours = _OURS | {path.name for path in folder.glob("ledger*.sqlite*")}
    return next((name for name in names if name not in ours and not name.startswith(".")), None)


def enrol(
    folder: Path,
    population: Population,
    policy: Policy,
    *,
    seed: int | None,
    residents: Sequence[int] | None = None,
    counters: Path | str | None = None,
    durable: bool = True,
) -> State:
    """Make one device for every person of a population, or for some of them.

    Args:
        folder: Missing, empty, or left over from an enrolment that was interrupted.
        population: The records.
        policy: The rules of every device.
        seed: Derives the secrets in a simulation; None takes them from the operating system.
        residents: Numbers of the people who live in this folder; None: everybody.
        counters: A folder, or the address of a PostgreSQL database, that is not rolled back, copied
            or deleted with ``folder``: each answer is counted there
            (:mod:`ldpsim.devices.ledger.counter`). None counts nothing.
        durable: Whether answers wait for the disk. False is for people who do not exist, in a folder that is removed.

    Raises:
        ValueError: where the folder holds devices already, or something else, or the counters'
            folder lies inside it, or their address is not accepted.
        OSError: where it, or the counters, cannot be written.
    """
    place = None if counters is None else new_place(str(counters), folder)
    private_folder(folder)
    with exclusive_lock(folder):  # two enrolments at once would replace each other's secrets
        if is_enrolled(folder):
            raise ValueError(f"{folder} holds enrolled devices already")
        foreign = foreign_file(folder)
        if foreign is not None:
            raise ValueError(f"{folder} is not empty and holds no enrolled devices (found {foreign})")
        _remove_empty_ledgers(folder)
        population.save(folder / "population")
        for path in (*(folder / "population").iterdir(), folder / "population") if durable else ():
            make_durable(path)
        n = len(population)
        devices = np.arange(n) if residents is None else np.unique(np.asarray(residents, np.int64))
        secrets = np.zeros((n, 32), np.uint8)  # of people who live elsewhere: unused
        secrets[devices] = np.frombuffer(_secrets(devices.tolist(), seed), np.uint8).reshape(-1, 32)
        write_atomically(folder / "secrets.bin", secrets.tobytes())
        for shard in np.unique(devices // SHARD).tolist():
            Ledger.create(folder / ledger_name(shard)).close()
            if place is not None:
                make_counters(place, shard, devices[devices // SHARD == shard].tolist())
        head: dict[str, Any] = {
            "format": FORMAT, "devices": n, "simulation_seeded": seed is not None,
            "population_digest": population.digest, "policy": policy.to_dict(),
        }  # fmt: skip
        if residents is not None:
            head |= {"format": PARTIAL, "residents": devices.tolist()}
        if place is not None:
            head |= {"format": COUNTED, "counters": place}
        if not durable:
            head["durable"] = False
        write_atomically(folder / "enrolment.json", json.dumps(head, indent=1))
    return State(folder)


def _secrets(devices: Sequence[int], seed: int | None) -> bytes:
    """Return the secrets of devices, one after another."""
    if seed is None:
        return os.urandom(32 * len(devices))
    master = derive_key(seed.to_bytes(16, "little", signed=True), b"ldpsim simulation")
    numbers = (key_message(b"device", device.to_bytes(8, "little")) for device in devices)
    return b"".join(hmac.digest(master, number, "sha256") for number in numbers)


def _remove_empty_ledgers(folder: Path) -> None:
    """Remove the ledgers of an enrolment that never finished: no device of it ever answered."""
    for path in sorted(folder.glob("ledger*.sqlite")):
        try:
            with closing(Ledger(path)) as ledger:
                released = bool(ledger.answers())
        except LedgerDamaged:
            released = True  # nobody can say that it is empty
        if released:
            raise ValueError(f"{folder} holds the ledger of devices that answered, but no enrolment.json")
    for path in folder.glob("ledger*.sqlite*"):
        path.unlink()


@contextmanager
def _damage_told(folder: Path) -> Iterator[None]:
    """Turn what goes wrong with a file of another form into one line."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{folder}: the enrolment is damaged ({kind}{error})") from error


@dataclass(frozen=True, eq=False)
class State:
    """An enrolled folder, opened.

    Args:
        folder: Its path.

    Raises:
        ValueError: where the folder holds no devices, or of a format that is not read here, or is damaged. The policy,
            the population and the residents are read when they are asked for, and raise the same.
    """

    folder: Path

    def __post_init__(self) -> None:
        expected = COUNTED if "counters" in self.head else PARTIAL if "residents" in self.head else FORMAT
        if self.head.get("format") != expected:
            raise ValueError(f"{self.folder} was enrolled by a version that this one does not read")
        if type(self.head.get("devices")) is not int or not self.head.keys() >= _FIELDS:
            missing = sorted(_FIELDS - self.head.keys()) or ["a number of devices"]
            raise ValueError(f"{self.folder}: the enrolment is damaged (it lacks {', '.join(missing)})")

    @cached_property
    def head(self) -> dict[str, Any]:
        """Content of ``enrolment.json``."""
        try:
            return dict(json.loads((self.folder / "enrolment.json").read_text()))
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(f"{self.folder} holds no enrolled devices") from error

    @cached_property
    def policy(self) -> Policy:
        """The policy of every device here."""
        with _damage_told(self.folder):
            return Policy.from_dict(self.head["policy"])

    @cached_property
    def population(self) -> Population:
        """The records, memory-mapped."""
        with _damage_told(self.folder):
            return Population.load(self.folder / "population")

    @cached_property
    def _ledgers(self) -> dict[int, Ledger]:
        return {}

    def ledger(self, index: int = 0) -> Ledger:
        """Return the ledger of a device; LedgerDamaged where it cannot be opened, or there is no such device."""
        shard = index // SHARD
        ledger = self._ledgers.get(shard)
        if ledger is None:
            if not 0 <= index < len(self):  # else a message to nobody would make a file
                raise LedgerDamaged(f"no device {index} is enrolled here")
            ledger = self._ledgers[shard] = Ledger(
                self.folder / ledger_name(shard), counter=self.counter(shard), durable=self.head.get("durable", True)
            )  # fmt: skip
        return ledger

    def counter(self, shard: int) -> Counter | None:
        """Return the counter of a shard's devices, None where their answers are not counted."""
        counters = self.head.get("counters")
        return None if counters is None else counter_of(counters, shard)

    def close(self, *shards: int) -> None:
        """Close the ledgers that were opened, or those of these shards; they are opened again where they are needed."""
        for shard in {*self._ledgers} & {*(shards or self._ledgers)}:
            self._ledgers.pop(shard).close()

    @cached_property
    def secrets(self) -> NDArray[np.uint8]:
        """uint8 (n, 32): the secret of each device."""
        octets = np.fromfile(self.folder / "secrets.bin", np.uint8)
        if octets.size != 32 * len(self):
            raise ValueError(f"{self.folder / 'secrets.bin'} is damaged: it does not hold a secret for each device")
        return octets.reshape(-1, 32)

    def __len__(self) -> int:
        return int(self.head["devices"])

    @cached_property
    def residents(self) -> Sequence[int]:
        """Numbers of the people whose devices live here: everybody, or those it was enrolled for."""
        numbers = self.head.get("residents")
        with _damage_told(self.folder):
            return range(len(self)) if numbers is None else tuple(int(device) for device in numbers)

    @cached_property
    def lives_here(self) -> Container[int]:
        """The :attr:`residents`, to look one up."""
        return self.residents if isinstance(self.residents, range) else frozenset(self.residents)

    @cached_property
    def shards(self) -> Sequence[int]:
        """Numbers of the ledger shards of the :attr:`residents`."""
        return list(np.unique(np.asarray(self.residents) // SHARD).tolist())

    def device(self, index: int) -> Device:
        """Return one device; IndexError where it is not enrolled."""
        if index not in self.lives_here:
            raise IndexError(f"no device {index} is enrolled here")
        return Device(index, self)

    @property
    def received(self) -> Path:
        """Folder in which devices keep values that they were sent in a federated training."""
        return self.folder / "received"

    @property
    def shard(self) -> int:
        """Number of devices that share a ledger file."""
        return SHARD

    def seal_key(self, index: int) -> bytes:
        """The key of a device's seals, to check its rows."""
        return self.seal_keys([index])[index]

    def seal_keys(self, devices: Sequence[int]) -> dict[int, bytes]:
        """Return :meth:`seal_key` of each device."""
        secrets = self.secrets
        return {device: hmac.digest(secrets[device], _SEAL, "sha256") for device in devices}

    @property
    def _open(self) -> dict[str, str]:
        """Ids of the collections that have no result yet, by key: a run that was killed goes on with the same one."""
        path = self.folder / "collection.json"
        return dict(json.loads(path.read_text())) if path.is_file() else {}

    def open_collection(self, key: str, new_id: str) -> str:
        """Return the id of the collection that is open under ``key``; if there is none, open one of this id."""
        if key not in self._open:
            write_atomically(self.folder / "collection.json", json.dumps(self._open | {key: new_id}))
        return self._open[key]

    def close_collection(self, key: str) -> None:
        """Forget the collection under ``key``, because its result is written."""
        still_open = {other: name for other, name in self._open.items() if other != key}
        if still_open:
            write_atomically(self.folder / "collection.json", json.dumps(still_open))
        else:
            (self.folder / "collection.json").unlink(missing_ok=True)

    def answered(self, key: str) -> int:
        """Return how many devices answered in the collection that is open under ``key``; LedgerDamaged as a ledger."""
        collection = self._open.get(key)
        if collection is None:
            return 0
        return sum(count_answered(self.folder / ledger_name(shard), collection) for shard in self.shards)
