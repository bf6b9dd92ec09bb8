"""Ledger shards on a machine's own disk: devices that were enrolled there for a run on a Ray cluster.

    LDPSIM_HOME/shards/machine       name of the disk, made once
    LDPSIM_HOME/shards/ID/part-0/    state folder of the shards that were enrolled together; ID is that of the devices
    LDPSIM_HOME/counters/ID/         counters of their answers, and ``parts.json``: name and counters of each part

The secrets are made there and never leave it. ``LDPSIM_HOME`` is ``~/.ldpsim`` where it is not set.

A part is opened by the name and the counters that ``parts.json`` has. A copy of it under another name is never
served, and one that is put in its place is compared with the counters, which are not in the folder.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

import numpy as np

from ldpsim.devices.atomic_files import exclusive_lock, private_folder, write_atomically
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.counters import answered_before, new_place
from ldpsim.devices.enrolment.state import SHARD, State, enrol, is_enrolled
from ldpsim.devices.facts import IntArray
from ldpsim.devices.ledger.columns import LedgerDamaged
from ldpsim.devices.policy.policy import Policy


def ldpsim_home() -> Path:
    """Return the folder of this machine for devices without a folder of their own."""
    return Path(os.environ.get("LDPSIM_HOME", Path.home() / ".ldpsim"))


def devices_of(shards: Sequence[int], n: int) -> IntArray:
    """Return the devices of shards of a population of ``n``, int64."""
    return np.concatenate([np.arange(shard * SHARD, min(n, (shard + 1) * SHARD)) for shard in shards])


@dataclass(frozen=True)
class KnownPart:
    """Entry of ``parts.json``, written before the part is enrolled.

    Args:
        counters: As in the part's ``enrolment.json`` (:func:`ldpsim.devices.enrolment.counters.new_place`).
        shards: The shards whose devices are enrolled there.
    """

    counters: Mapping[str, str]
    shards: Sequence[int]


class Parts:
    """Shards of one enrolment on this machine.

    Args:
        devices: Id of the devices.
        home: Folder of this machine; None: :func:`ldpsim_home`.

    Raises:
        ValueError: one line, where the folder cannot be written, or holds a copy of a part.
    """

    def __init__(self, devices: str, home: Path | None = None) -> None:
        home = home or ldpsim_home()
        self._root, self._counters = home / "shards", home / "counters" / devices
        self._folder = self._root / devices
        self._found: dict[int, Path] = {}
        with self._naming_this_machine():
            for folder in (self._root, self._folder, self._counters.parent, self._counters):
                private_folder(folder)
            self.machine = self._name()
            self._check_copies()

    @contextmanager
    def _naming_this_machine(self) -> Iterator[None]:
        """Turn a failure into a ValueError of one line with the machine's name: its reader is on another machine."""
        try:
            yield
        except OSError as error:
            raise ValueError(f"{socket.gethostname()}: {self._root} cannot be written ({error.strerror})") from None
        except (LedgerDamaged, ValueError) as error:
            raise ValueError(f"{socket.gethostname()}: {error}") from None

    def _name(self) -> str:
        """Return the name of this disk. It also stays where the machine gets another address."""
        path = self._root / "machine"
        with exclusive_lock(self._root):
            if not path.is_file():
                write_atomically(path, f"{socket.gethostname()}-{os.urandom(4).hex()}")
        return path.read_text()

    def _known(self) -> dict[str, KnownPart]:
        """Return the parts that were ever enrolled here, or begun, by their names."""
        path = self._counters / "parts.json"
        try:
            found = json.loads(path.read_text()) if path.is_file() else {}
            return {name: KnownPart(**part) for name, part in found.items()}
        except (ValueError, TypeError, AttributeError):
            raise ValueError(f"{path} cannot be read: nobody can say which parts of the devices are copies") from None

    def _check_copies(self) -> None:
        """Check that every enrolled folder here is the part of its name."""
        known = self._known()
        for part in sorted(path for path in self._folder.iterdir() if is_enrolled(path)):
            counters = State(part).head.get("counters")
            if part.name in known and known[part.name].counters == counters:
                continue
            same = next((name for name, other in known.items() if other.counters == counters), None)
            raise ValueError(
                f"{part} is not a part of {self._counters / 'parts.json'}: remove it"
                if same is None
                else f"{part} is a copy of {self._folder / same}: keep one of them, under the name {same}"
            )

    def folders(self) -> dict[int, Path]:
        """Return the state folder of each shard that is here."""
        with self._naming_this_machine():
            return self._enrolled()

    def _enrolled(self) -> dict[int, Path]:
        """Return the state folder of each shard, opened by the name and the counters that are known."""
        here: dict[int, Path] = {}
        for name, known in self._known().items():
            part = self._folder / name
            if is_enrolled(part):
                state = State(part)
                if state.head.get("counters") != known.counters:
                    raise ValueError(f"{part} is not the part that was enrolled here under this name")
                here |= dict.fromkeys(state.shards, part)
        return here

    def folder(self, shard: int) -> Path | None:
        """Return the state folder of a shard, None where it is not here."""
        part = self._found.get(shard)
        if part is None:
            self._found = self.folders()
            part = self._found.get(shard)
        return part if part is not None and is_enrolled(part) else None

    def enrol(self, people: Population, policy: Policy, shards: Sequence[int], *, seed: int | None) -> None:
        """Enrol the devices of shards; those that are here stay as they are.

        A part that is gone may be enrolled anew if its counters say that no device of it ever answered: its
        enrolment may have been interrupted.

        Args:
            people: Their records; everybody else's is empty.
            policy: The rules of every device.
            shards: The shards.
            seed: As for :func:`ldpsim.devices.enrolment.state.enrol`.

        Raises:
            ValueError: one line, where it cannot be done, or where a part with some of these devices is gone and
                they answered; no device of a part that is not whole ever answers.
        """
        with self._naming_this_machine(), exclusive_lock(self._folder):
            self._check_copies()
            here = self._enrolled()
            missing = [shard for shard in shards if shard not in here]
            if not missing:
                return
            known = self._without_forgotten(missing)
            name = next(name for number in count() if (name := f"part-{number}") not in known)
            made = KnownPart(new_place(str(self._counters), self._folder), missing)
            content = {name: asdict(part) for name, part in sorted({**known, name: made}.items())}
            write_atomically(self._counters / "parts.json", json.dumps(content, indent=1))
            residents = devices_of(missing, len(people))
            part = self._folder / name
            enrol(
                part, people.only(residents), policy, seed=seed, residents=residents.tolist(), counters=made.counters,
                nonces=seed is None,
            ).close()  # fmt: skip

    def _without_forgotten(self, missing: Sequence[int]) -> dict[str, KnownPart]:
        """Return the known parts, less those that are gone and have some of these shards, of which nobody answered."""
        known = self._known()
        for name, part in list(known.items()):
            if is_enrolled(self._folder / name) or not set(part.shards) & set(missing):
                continue
            if any(answered_before(part.counters, shard) for shard in part.shards):
                raise ValueError(f"{self._folder / name} is gone, and its devices answered: put it back")
            del known[name]
        return known
