"""Place of the counters of a state folder: apart from it, named by it, and one for each enrolment."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.counters import check_place, counter_of, new_place
from ldpsim.devices.enrolment.state import COUNTED, State, enrol
from ldpsim.devices.ledger.counter_folder import FolderCounter
from ldpsim.devices.ledger.counter_postgres import PostgresCounter
from tests.devices.conftest import policy_of

ADDRESS = "postgresql://ldpsim@counters.example/ldpsim"


def test_counters_are_kept_elsewhere(tmp_path: Path, population: Population) -> None:
    for inside in (tmp_path / "s", tmp_path / "s" / "counters", tmp_path / "s" / ".." / "s" / "c"):
        with pytest.raises(ValueError, match="would be lost together"):
            enrol(tmp_path / "s", population, policy_of(population), seed=7, counters=inside)
    assert not (tmp_path / "s").exists()
    first, second = (
        enrol(tmp_path / name, population, policy_of(population), seed=7, counters=tmp_path / "apart")
        for name in ("first", "second")
    )
    assert first.head["counters"] != second.head["counters"] and len(list((tmp_path / "apart").glob("*.count"))) == 2
    assert first.head["format"] == COUNTED == 4
    plain = enrol(tmp_path / "plain", population, policy_of(population), seed=7)
    assert "counters" not in plain.head and plain.counter(0) is None


def test_which_kind_it_is(tmp_path: Path) -> None:
    check_place(ADDRESS, tmp_path)
    for place, kind in ((ADDRESS, PostgresCounter), (str(tmp_path / "apart"), FolderCounter)):
        named = new_place(place, tmp_path / "state")
        assert named["place"] == place and isinstance(counter_of(named, 3), kind)
    assert new_place(ADDRESS, Path("state"))["name"] != new_place(ADDRESS, Path("state"))["name"]
    assert new_place("here", Path("state"))["place"] == str(Path("here").resolve())


MOUNTS = {
    "/": "ext4", "/home": "nfs4", "/home/me/own disk": "xfs", "/over": "cifs", "/mnt/ssh": "fuse.sshfs",
    "/shared": "9p",
}  # fmt: skip


def mounted(monkeypatch: pytest.MonkeyPatch, kinds: dict[str, str]) -> None:
    mounts = [SimpleNamespace(mountpoint=point, fstype=kind) for point, kind in kinds.items()]
    monkeypatch.setattr("psutil.disk_partitions", lambda all: mounts)


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/srv/counters", ""), ("/homes", ""), ("/home/me/own disk/counters", ""), ("/home/me", "nfs4"),
        ("/home/me/own", "nfs4"), ("/over/x", "cifs"), ("/mnt/ssh", "fuse.sshfs"), ("/shared/a/../b", "9p"),
    ],
)  # fmt: skip
def test_a_folder_of_another_machine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, kind: str
) -> None:
    """Its locks may hold for the processes of one machine alone: two copies of a device would both answer."""
    mounted(monkeypatch, MOUNTS)
    looks: list[Callable[[], object]] = [
        lambda: check_place(place, tmp_path),
        lambda: new_place(place, tmp_path),
        lambda: counter_of({"place": place, "name": "x"}, 0),  # a folder that was enrolled before, or mounted later
    ]
    for refuse in looks:
        if not kind:
            refuse()
            continue
        with pytest.raises(ValueError) as error:
            refuse()
        assert f"({kind})" in str(error.value) and "PostgreSQL" in str(error.value) and "\n" not in str(error.value)


def test_a_folder_whose_form_and_counter_do_not_fit(tmp_path: Path, population: Population) -> None:
    """An edited enrolment.json does not switch the counter off."""
    enrol(tmp_path / "s", population, policy_of(population), seed=7, counters=tmp_path / "apart").close()
    path = tmp_path / "s" / "enrolment.json"
    head = json.loads(path.read_text())
    for edited in ({**head, "format": 1}, {name: value for name, value in head.items() if name != "counters"}):
        path.write_text(json.dumps(edited))
        with pytest.raises(ValueError, match="a version that this one does not read"):
            State(tmp_path / "s")
