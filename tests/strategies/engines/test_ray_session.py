"""Ray is started with quiet arguments and without statistics, and a Ray of somebody else stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ldpsim.strategies import NO_TELEMETRY
from ldpsim.strategies.engines import pool
from ldpsim.strategies.engines.pool import RaySession


class Ray(SimpleNamespace):
    """Ray that notes what is asked of it."""

    def __init__(self, *, running: bool = False) -> None:
        constants = SimpleNamespace(ENABLE_RAY_CLUSTER=True)
        loader = SimpleNamespace(instance=lambda: SimpleNamespace(reset_cache=lambda: None))
        raylet = SimpleNamespace(AuthenticationTokenLoader=loader, Config=SimpleNamespace(initialize=lambda text: None))
        super().__init__(running=running, started=[], stopped=0, variables={}, _raylet=raylet,
                         _private=SimpleNamespace(ray_constants=constants))  # fmt: skip

    def is_initialized(self) -> bool:
        return bool(self.running)

    def init(self, **given: Any) -> None:
        assert all(os.environ[name] == value for name, value in NO_TELEMETRY.items())
        self.running = True
        self.variables = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
        self.clustered = self._private.ray_constants.ENABLE_RAY_CLUSTER
        self.started.append(given)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 6.0}

    def shutdown(self) -> None:
        self.stopped += 1


ALONE = """
import json, os, sys, grpc, psutil
from ray.core.generated import gcs_service_pb2 as messages, gcs_service_pb2_grpc as services
from ldpsim.strategies.engines.pool import RaySession

def entered(gcs, *metadata):
    stub = services.NodeInfoGcsServiceStub(grpc.insecure_channel(gcs))
    try:
        return len(stub.GetAllNodeInfo(messages.GetAllNodeInfoRequest(), metadata=metadata, timeout=30).node_info_list)
    except grpc.RpcError as error:
        return error.code().name

def start():
    session = RaySession(1)
    ray = session.ray
    told = ray.get(ray.remote(lambda: dict(os.environ)).remote())
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    heard = [c.laddr.ip for p in family for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    gcs, folder = ray.get_runtime_context().gcs_address, told["RAY_TMPDIR"]
    right, wrong = ("authorization", "Bearer " + told["RAY_AUTH_TOKEN"]), ("authorization", "Bearer " + "0" * 64)
    found = {"heard": heard, "mode": os.stat(folder).st_mode & 0o777, "files": len(os.listdir(folder)),
             "stranger": entered(gcs), "guess": entered(gcs, wrong), "own": entered(gcs, right)}
    session.close()
    return {**found, "gone": not os.path.exists(folder)}

before = dict(os.environ)
found = [start(), start()]
print(json.dumps([found, [name for name in ("RAY_AUTH_TOKEN", "RAY_TMPDIR") if name in os.environ]]))
"""


@pytest.mark.slow
def test_a_ray_that_is_started_here_is_this_user_s_alone(tmp_path: Path) -> None:
    """Two sessions of one process: all their sockets are on loopback, and another user may not enter."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment["TMPDIR"] = str(tmp_path)  # too long for sockets
    ran = subprocess.run([sys.executable, "-c", ALONE], env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    sessions, left = json.loads(ran.stdout.splitlines()[-1])
    assert left == []
    for found in sessions:
        assert len(found["heard"]) >= 5
        assert {ip.removeprefix("::ffff:") for ip in found["heard"]} <= {"127.0.0.1", "::1"}
        assert (found["mode"], found["gone"]) == (0o700, True) and found["files"] >= 1
        assert (found["stranger"], found["guess"], found["own"]) == ("UNAUTHENTICATED", "UNAUTHENTICATED", 1)


@pytest.mark.parametrize("address", [None, "local", "far:1"])
def test_a_cluster_of_the_user_s_is_reached_as_the_user_set_it_up(
    monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    ray = Ray()
    monkeypatch.setitem(sys.modules, "ray", ray)  # type: ignore[arg-type]
    monkeypatch.setenv("RAY_AUTH_TOKEN", "theirs")
    session = RaySession(1, address)
    own = address != "far:1"
    assert (ray.variables["RAY_AUTH_TOKEN"] != "theirs") == own and ray.clustered == (not own)
    assert os.environ["RAY_AUTH_TOKEN"] == "theirs" and ray._private.ray_constants.ENABLE_RAY_CLUSTER
    session.close()


def test_a_ray_that_does_not_start_leaves_no_folder_though_its_error_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    ray, folder = Ray(), pool.own_folder()

    def fail(**given: Any) -> None:
        raise OSError("no memory")

    monkeypatch.setattr(ray, "init", fail)
    monkeypatch.setitem(sys.modules, "ray", ray)  # type: ignore[arg-type]
    monkeypatch.setattr(pool, "own_folder", lambda: folder)
    with pytest.raises(OSError, match="no memory") as kept:
        RaySession(1)
    assert not os.path.exists(folder.name) and ray.stopped == 1 and kept.tb is not None
