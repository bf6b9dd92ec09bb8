"""Ledger shards on a machine's own disk: devices that were enrolled there for a run on a Ray cluster.

    LDPSIM_HOME/shards/machine       name of the disk, made once
    LDPSIM_HOME/shards/ID/part-0/    state folder of the shards that were enrolled together; ID is that of the devices

The secrets are made there and never leave it. ``LDPSIM_HOME`` is ``~/.ldpsim`` where it is not set.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np

from devices.atomic_files import exclusive_lock, private_folder, write_atomically
from devices.data.population import Population
from devices.enrolment.state import SHARD, State, enrol, is_enrolled
from devices.facts import IntArray
from devices.ledger.columns import LedgerDamaged
from devices.policy.policy import Policy


def ldpsim_home() -> Path:
    """Return the folder of this machine for devices without a folder of their own."""
    return Path(os.environ.get("LDPSIM_HOME", Path.home() / ".ldpsim"))


def people_of(shards: Sequence[int], n: int) -> IntArray:
    """Return the devices of shards of a population of ``n``, int64."""
    return np.concatenate([np.arange(shard * SHARD, min(n, (shard + 1) * SHARD)) for shard in shards])


class Parts:
    """Shards of one enrolment on this machine.

    Args:
        devices: Id of the devices.
        root: Folder of all shards of this machine; None: the one in :func:`ldpsim_home`.

    Raises:
        ValueError: one line, where the folder cannot be written.
    """

    def __init__(self, devices: str, root: Path | None = None) -> None:
        self._root = root or ldpsim_home() / "shards"
        self._folder = self._root / devices
        self._found: dict[int, Path] = {}
        with self._naming_this_machine():
            private_folder(self._root)
            private_folder(self._folder)
            self.machine = self._name()

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

    def folders(self) -> dict[int, Path]:
        """Return the state folder of each shard that is here."""
        with self._naming_this_machine():
            return self._enrolled()

    def _enrolled(self) -> dict[int, Path]:
        parts = [part for part in sorted(self._folder.glob("part-*")) if is_enrolled(part)]
        return {shard: part for part in parts for shard in State(part).shards}

    def folder(self, shard: int) -> Path | None:
        """Return the state folder of a shard, None where it is not here."""
        part = self._found.get(shard)
        if part is None:
            self._found = self.folders()
            part = self._found.get(shard)
        return part if part is not None and is_enrolled(part) else None

    def enrol(self, people: Population, policy: Policy, shards: Sequence[int], *, seed: int | None) -> None:
        """Enrol the devices of shards; those that are here stay as they are.

        Args:
            people: Their records; everybody else's is empty.
            policy: The rules of every device.
            shards: The shards.
            seed: As for :func:`devices.enrolment.state.enrol`.

        Raises:
            ValueError: one line, where it cannot be done; no device of a part that is not whole ever answers.
        """
        with self._naming_this_machine(), exclusive_lock(self._folder):
            here = self._enrolled()
            missing = [shard for shard in shards if shard not in here]
            if missing:
                free = (part for number in count() if not is_enrolled(part := self._folder / f"part-{number}"))
                residents = people_of(missing, len(people))
                enrol(next(free), people.only(residents), policy, seed=seed, residents=residents.tolist()).close()
