"""Parts of devices that are to be enrolled, read from files and checked before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldpsim.devices.data.population import Population
    from ldpsim.devices.enrolment.state import State
    from ldpsim.devices.policy.policy import Policy


@dataclass(frozen=True)
class Enrolment:
    """Devices that are to be enrolled: their policy, the public numbers of their people, and what writes them."""

    policy: Policy
    people: Sequence[int]
    write: Callable[[], State]


def read_enrolment(
    data: Path, policy: Path | None, counters: str | None, collector_key: Path | None, state: Path
) -> Enrolment:
    """Read and check all parts of the devices.

    Raises:
        ValueError: one line, for what does not fit together.
    """
    from ldpsim.devices.enrolment.counters import check_place
    from ldpsim.devices.enrolment.state import enrol

    if counters is not None:
        check_place(counters, state)
    population, residents = read_data(data)
    agreed = pinned(_read_policy(policy, population), collector_key)
    here = range(len(population)) if residents is None else residents
    for person in sorted((agreed.volunteers or frozenset()).intersection(here)):
        if population.labels[person] < 0:
            raise ValueError(f"--data {data}: person {person} volunteers, and has no label to give")
    return Enrolment(
        agreed, here, lambda: enrol(state, population, agreed, seed=None, residents=residents, counters=counters)
    )


def pinned(policy: Policy, collector_key: Path | None) -> Policy:
    """Return the policy with the public key of a collector, where a file names one.

    Raises:
        ValueError: where the policy pins another one.
    """
    from ldpsim.devices.collector import read_public

    if collector_key is None:
        return policy
    public = read_public(collector_key)
    if policy.collector not in (None, public):
        raise ValueError(f"--collector-key {collector_key}: the policy pins another collector ({policy.collector})")
    return replace(policy, collector=public)


def read_data(path: Path) -> tuple[Population, tuple[int, ...] | None]:
    """Return the people of a file, and the numbers of those who live here; None for everybody.

    Raises:
        ValueError: for a file of another kind.
    """
    from ldpsim.devices.datasets.npz_file import read_npz_file
    from ldpsim.devices.enrolment.record_file import read_own_data

    if path.suffix == ".json":
        return read_own_data(path)
    if path.suffix == ".npz":
        return read_npz_file(path.stem, path), None
    raise ValueError(f"--data {path}: a .json of records or a .npz of everybody is needed")


def _read_policy(path: Path | None, population: Population) -> Policy:
    import numpy as np

    from ldpsim.devices.policy.file import read_policy

    if path is None:
        # The usual default: HoGS's question at epsilon 8, with public labels.
        from ldpsim.strategies.flower_app.deployed import PublicFile, agreed_policy

        return agreed_policy({}, PublicFile(population.facts, np.zeros(population.facts.n, np.int64)))
    policy = read_policy(path)
    if policy.facts != population.facts:
        raise ValueError(f"--policy {path}: its public facts are not those of --data")
    if policy.mode not in ("report", "owner"):
        raise ValueError(f"--policy {path}: a vault serves devices of mode report or owner, not {policy.mode}")
    return policy
