"""A curator who ships an edited ClientApp, for real: a SuperLink, SuperNodes, vaults, all on loopback.

With a vault it gets one report and no second one. Without, it gets everything: that is
shown too. About two minutes: ``make deployment``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ldpsim.curator.methods import HoGS
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.enrolment.record_file import read_own_data
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.strategies.flower_app.app_folder import app_folder
from ldpsim.strategies.flower_app.deployed import PublicFile, agreed_policy
from tests.flower_processes import Flower, free_port

pytestmark = pytest.mark.deployment
ROOT = Path(__file__).resolve().parents[4]
EDITED = Path(__file__).with_name("edited_app")
FACTS = {"n": 4, "d": 16, "classes": 2}
RECORDS = {
    str(i): {"features": [i, i + 4, i + 8], "neighbours": [(i + 1) % 4, (i + 3) % 4], "label": i % 2} for i in range(4)
}
BARE = 3  # the device that has no vault
VAULT_UID, NODE_UID, SHARED_GID = 64_101, 64_102, 64_103
ROOTED = hasattr(os, "geteuid") and os.geteuid() == 0


@dataclass(frozen=True)
class User:
    """An operating system user, by number: no account is needed."""

    uid: int
    gid: int

    @property
    def options(self) -> dict[str, Any]:
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def python_for(user: User) -> str:
    """Return an interpreter that a user may run with the packages of this one."""
    for python in (sys.executable, shutil.which(f"python3.{sys.version_info.minor}", path=os.defpath)):
        try:
            command = [str(python), "-c", "import flwr.clientapp, numpy, cryptography"]
            subprocess.run(command, env=environment_of(ROOT), cwd="/", check=True, capture_output=True, **user.options)
            return str(python)
        except (OSError, subprocess.CalledProcessError):
            continue
    pytest.skip("no interpreter that another user may run with these packages")


def environment_of(*folders: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join(map(str, (*folders, sysconfig.get_paths()["purelib"])))
    return {"PATH": os.defpath, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8", **more}


class Site:
    """Folders, vaults and SuperNodes of a test; with ``apart`` each kind runs as a user of its own."""

    def __init__(self, folder: Path, flower: Flower, *, apart: bool) -> None:
        self.folder = folder
        self.flower = flower
        self.apart = apart
        self.vaults: list[subprocess.Popen[bytes]] = []
        self.vault_user = User(VAULT_UID, SHARED_GID) if apart else None
        self.node_user = User(NODE_UID, SHARED_GID) if apart else None
        self.facts = folder / "facts.json"
        self.facts.write_text(json.dumps({"facts": FACTS, "labels": {"0": 0, "1": 1, "2": 0}}))

    def room(self, name: str, user: User | None) -> Path:
        """Make a folder that its user alone may enter."""
        made = self.folder / name
        made.mkdir(mode=0o700)
        if user is not None:
            os.chown(made, user.uid, user.gid)
        return made

    def start_vault(self, device: int) -> Path:
        home = self.room(f"vault-{device}", self.vault_user)
        door = self.room(f"door-{device}", self.vault_user)
        door.chmod(0o710)
        data = home / "own.json"
        data.write_text(json.dumps({"facts": FACTS, "records": {str(device): RECORDS[str(device)]}}))
        policy = self.folder / "policy.json"
        policy.write_text(json.dumps(agreed_policy({}, PublicFile.load(self.facts)).to_dict()))
        user = self.vault_user
        options: dict[str, Any] = {}
        python = sys.executable
        if user is not None:
            os.chown(data, user.uid, user.gid)
            data.chmod(0o600)
            python, options = python_for(user), user.options
        command = [python, "-m", "ldpsim.cli.main", "device"]
        state, options["env"] = ["--state", str(home / "state")], environment_of(ROOT, HOME=str(home))
        enrol = [*command, "enrol", *state, "--data", str(data), "--policy", str(policy)]
        subprocess.run(enrol, check=True, cwd="/", capture_output=True, **options)
        command += ["serve", *state, "--socket", str(door / "socket")]
        command += ["--group", str(SHARED_GID)] if self.apart else []
        with (self.folder / f"vault-{device}.log").open("wb") as log:
            vault = subprocess.Popen(command, stderr=log, stdout=log, cwd="/", **options)
        self.vaults.append(vault)
        self.flower.wait_until((door / "socket").exists, vault, "the vault did not start")
        return door / "socket"

    def start_node(self, config: Mapping[str, str | int]) -> None:
        user = self.node_user
        if user is None:
            self.flower.start_supernode(config)
            return
        home = self.room(f"node-{config['partition-id']}", user)
        scripts = self.scripts(python_for(user), home)
        environment = environment_of(
            HOME=str(home), FLWR_HOME=str(home), FLWR_TELEMETRY_ENABLED="0", FLWR_DISABLE_UPDATE_CHECK="1",
            NO_PROXY="127.0.0.1,localhost", PATH=os.pathsep.join([str(scripts), os.defpath]),
        )  # fmt: skip
        given = " ".join(f"{key}={json.dumps(value)}" for key, value in config.items())
        command = ["setpriv", "--reuid", str(user.uid), "--regid", str(user.gid), "--clear-groups", "--no-new-privs"]
        command += ["env", "-C", str(home), *(f"{key}={value}" for key, value in environment.items())]
        command += [str(scripts / "flower-supernode"), "--insecure", "--superlink", f"127.0.0.1:{self.flower.port}"]
        self.flower.start([*command, "--host", "127.0.0.1", "--port", str(free_port()), "--node-config", given])

    def scripts(self, python: str, home: Path) -> Path:
        """Flower's commands for an interpreter that the node's user may run."""
        folder = home / "bin"
        folder.mkdir()
        for script in Path(sysconfig.get_paths()["scripts"]).glob("fl*w*r*"):
            lines = script.read_text().splitlines(keepends=True)
            target = folder / script.name
            target.write_text(f"#!{python}\n" + "".join(lines[1:]))
            target.chmod(0o755)
        return folder

    def stop(self) -> None:
        for vault in self.vaults:
            vault.terminate()
        for vault in self.vaults:
            vault.wait(30)


@pytest.fixture(
    params=["same user", pytest.param("own user", marks=pytest.mark.skipif(not ROOTED, reason="needs root"))]
)
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory(prefix="ldpsim-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        with Flower(simulation=False, log=tmp_path / "flower.log") as flower:
            made = Site(folder, flower, apart=request.param == "own user")
            try:
                yield made
            finally:
                made.stop()


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    folder = app_folder(tmp_path / "app", {"told": ""})
    shutil.copyfile(EDITED / "client_app.py", folder / "ldpsim" / "devices" / "client_app.py")
    shutil.copyfile(EDITED / "server_app.py", folder / "ldpsim" / "strategies" / "server_app.py")
    return folder


def rob(site: Site, app: Path, name: str, nodes: int) -> dict[int, dict[str, Any]]:
    """Ship the edited app and return what it brought home, by device."""
    public = PublicFile.load(site.facts)
    (asked,) = HoGS().questions(public.facts, public.split(0), Budget(), name)
    out = site.folder / f"{name}.json"
    told = {"nodes": nodes, "question": asked.query.to_bytes().decode(), "out": str(out), "root": str(site.folder),
            "state": str(site.folder / "vault-{}" / "state") if site.apart else ""}  # fmt: skip
    site.flower.start_run(app, {"told": json.dumps(told)}).wait(300)
    log = site.flower.log.read_text(errors="replace")
    assert out.exists(), log[-3000:]
    loot = json.loads(out.read_text())
    assert all("error" not in entry for entry in loot), ([e.get("error") for e in loot], log[-3000:])
    return {entry["device"]: entry for entry in loot}


def test_an_edited_clientapp_gets_one_report(site: Site, edited: Path) -> None:
    behind = [0, 1, 2]
    for device in behind:
        site.start_node({"partition-id": device, "socket": str(site.start_vault(device))})
    bare = site.room("bare", site.node_user) / "state"
    own = site.folder / "own.json"
    own.write_text(json.dumps({"facts": FACTS, "records": {str(BARE): RECORDS[str(BARE)]}}))
    population, residents = read_own_data(own)
    policy = agreed_policy({}, PublicFile.load(site.facts))
    enrol(bare, population, policy, seed=None, residents=residents).close()
    if site.node_user is not None:
        for path in (bare, *bare.rglob("*")):
            os.chown(path, site.node_user.uid, site.node_user.gid)
    site.start_node({"partition-id": BARE, "state-dir": str(bare)})

    first = rob(site, edited, "first", 4)
    second = rob(site, edited, "second", 4)  # a new run, with a new collection
    assert set(first) == set(second) == {0, 1, 2, 3}
    for loot in (*first.values(), *second.values()):
        assert str(ROOT) not in loot["file"]  # it was the shipped code that ran, on the node
        assert loot["supernodes_read"]  # what the SuperNode was started with is the app's to read
    for device in behind:
        assert first[device]["asked"] > 385
        assert first[device]["fresh"] == 1 and len(first[device]["distinct"]) == 1
        assert second[device]["fresh"] == 0 and set(second[device]["distinct"]) <= set(first[device]["distinct"])
        state = site.folder / f"vault-{device}" / "state"
        if site.apart:
            assert first[device]["uid"] == NODE_UID != state.stat().st_uid == VAULT_UID
            assert first[device]["vaults_seen"] == 1
            assert first[device]["broken_into"] == second[device]["broken_into"] == []
            # what the ledger says, read as root: one collection, once
            answers = State(state).ledger(device).answers(device)
            assert [part.attribute for answer in answers for part in answer.parts] == ["adjacency", "features"]
            assert len(answers) == 1
    # Power: the same app on a node without a vault has the record, and as many reports as it likes.
    assert first[BARE]["raw"]["label"] == RECORDS[str(BARE)]["label"]
    assert first[BARE]["raw"]["neighbours"] == sorted(RECORDS[str(BARE)]["neighbours"])
    assert len(first[BARE]["distinct"]) == 5 and len(first[BARE]["broken_into"]) > 4
