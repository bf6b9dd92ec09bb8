"""The wheel of ``make wheel``, installed into a fresh environment and used from an empty folder, as a stranger would.

``make wheel-test`` runs this. The commands run as processes of that environment. Nothing of the checkout is on their
path, and no variable of this process leads to it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.strategies.flower_app.rehearsal import perform, rehearsing, two_devices_twice

pytestmark = pytest.mark.wheel
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cli", "curator", "devices", "strategies")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUN = ("run", "--clients", "300", "--no-nulls", "--json")
UV = (sys.executable, "-m", "uv")


def _process(command: tuple[object, ...], folder: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    left_out = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LDPSIM_DATA", "LDPSIM")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env={**environment, **extra}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done


@pytest.fixture(scope="session")
def wheel() -> Path:
    found = sorted((ROOT / "dist").glob("*.whl"))
    assert len(found) == 1, "`make wheel` leaves one wheel in dist/"
    return found[0]


@pytest.fixture(scope="session")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of a fresh environment that has the wheel, with the versions of constraints.txt."""
    folder = tmp_path_factory.mktemp("environment")
    made = folder / "fresh" / "bin" / "python"
    _process((*UV, "venv", "--quiet", "--python", sys.executable, "fresh"), folder)
    given = ("--python", made, "--constraint", ROOT / "constraints.txt", wheel)
    _process((*UV, "pip", "install", "--quiet", *given), folder)
    return made


@pytest.fixture
def ldpsim(python: Path, tmp_path: Path) -> Any:
    """Run a command of the fresh environment in an empty folder; return what it prints."""

    def run(*words: object) -> str:
        return _process((python.parent / "ldpsim", *words), tmp_path).stdout

    return run


def test_it_ships_the_four_packages_and_nothing_else(wheel: Path) -> None:
    """All files of the packages are in the wheel, below ``ldpsim``, templates and settings too; nothing else is."""
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if not name.split("/")[0].endswith(".dist-info")}
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    wanted = {f"ldpsim/{path.relative_to(ROOT).as_posix()}" for path in files if "__pycache__" not in path.parts}
    assert shipped == wanted | {"ldpsim/__init__.py"}


def test_the_source_package_names_its_constraints_and_ships_no_tests(wheel: Path) -> None:
    (source,) = (ROOT / "dist").glob("*.tar.gz")
    listed = {name.partition("/")[2] for name in _process(("tar", "-tzf", source), ROOT).stdout.splitlines()}
    assert {"constraints.txt", "LICENSE", "README.md", "pyproject.toml"} <= listed
    assert not any(name.startswith(("tests", "docs", "benchmarks")) for name in listed)


def test_it_is_installed_outside_the_checkout(python: Path, tmp_path: Path, ldpsim: Any) -> None:
    names = "cli, curator, devices, strategies"
    code = f"import ldpsim; from ldpsim import {names}; print(*(module.__file__ for module in (ldpsim, {names})))"
    for place in _process((python, "-c", code), tmp_path).stdout.split():
        assert Path(place).is_relative_to(python.parents[1]) and not Path(place).is_relative_to(ROOT)
    assert ldpsim("--version").split() == ["ldpsim", PROJECT["version"]]


def test_every_extra_can_be_installed(python: Path, wheel: Path, tmp_path: Path) -> None:
    extras = ",".join(PROJECT["optional-dependencies"])
    given = ("--python", python, "--constraint", ROOT / "constraints.txt", f"{wheel}[{extras}]")
    _process((*UV, "pip", "install", "--quiet", "--dry-run", *given), tmp_path)


def test_ray_gives_the_bytes_of_the_local_engine(ldpsim: Any) -> None:
    local, other = (json.loads(ldpsim(*RUN, "--engine", name)) for name in ("local", "ray"))
    assert local["devices"]["reports_sha256"] == other["devices"]["reports_sha256"]
    assert local["devices"]["reported"] == other["devices"]["reported"] == 300
    assert local["ldpsim_version"] == PROJECT["version"]


def test_the_page_of_compare_is_whole(ldpsim: Any, tmp_path: Path) -> None:
    """The page's template, style and script come out of the package."""
    ldpsim("compare", "hogs", "lpgnn", "--clients", "300", "--no-nulls")
    (page,) = (tmp_path / "runs").glob("compare-*/compare.html")
    text = page.read_text()
    assert "<style>" in text and "<script" in text and "hogs" in text
    assert not re.search(r"\{\{|\{%", text.partition("<script")[0])


def test_a_run_leads_to_a_dossier(ldpsim: Any, tmp_path: Path) -> None:
    """The dossier's template comes out of the package."""
    ldpsim("plan", "hogs", "vote", "--clients", "300")
    ldpsim("run", "--clients", "60", "--set", "epochs=2", "--no-nulls", "--no-reference")
    (run,) = (tmp_path / "runs").glob("hogs-*")
    ldpsim("dossier", str(run), "--out", "dossier")
    text = (tmp_path / "dossier" / "dossier.html").read_text()
    assert "<style>" in text and "to be filled by the controller" in text and not re.search(r"\{\{|\{%", text)


def test_tuned_settings_are_read_out_of_the_package(python: Path, tmp_path: Path) -> None:
    names = sorted(path.stem for path in (ROOT / "curator" / "tuned").glob("*.toml"))
    code = (
        "from importlib.resources import files; print(*sorted(p.name for p in files('ldpsim.curator.tuned').iterdir()))"
    )
    there = _process((python, "-c", code), tmp_path).stdout.split()
    assert names and {f"{name}.toml" for name in names} <= set(there)


def test_a_vault_serves_and_refuses_a_stranger(python: Path, ldpsim: Any, tmp_path: Path) -> None:
    """Key, policy, enrolment, a served socket, an unsigned question, the ledger: all from the installed package."""
    facts = {"n": 4, "d": 16, "classes": 2}
    (tmp_path / "facts.json").write_text(json.dumps({"facts": facts, "labels": {"0": 0, "1": 1}}))
    records = {"2": {"features": [3, 9], "neighbours": [0, 3]}}
    (tmp_path / "own.json").write_text(json.dumps({"facts": facts, "records": records}))
    ldpsim("curator", "keygen", "curator")
    (tmp_path / "policy.json").write_text(ldpsim("device", "policy", "--facts", "facts.json", "--epsilon", "8"))
    pinned = ("--policy", "policy.json", "--curator-key", "curator.pub")
    ldpsim("device", "enrol", "--data", "own.json", "--state", "vault", *pinned)
    with _serving(python, tmp_path) as socket:
        asked = f"VaultDevice({str(socket)!r}, 2).answer(b'x').name"
        code = f"from ldpsim.devices.vault.client import VaultDevice; print({asked})"
        assert _process((python, "-c", code), tmp_path).stdout.strip() == "COLLECTOR_REFUSED"
    assert "device 2: nothing" in ldpsim("ledger", "show", "vault", "--device", "2")


@contextmanager
def _serving(python: Path, folder: Path) -> Iterator[Path]:
    socket = folder / "socket"
    command = [python.parent / "ldpsim", "device", "serve", "--state", "vault", "--socket", socket]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while not socket.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.1)
            assert socket.exists(), process.communicate()[1] if process.poll() is not None else "no socket"
            yield socket
        finally:
            process.terminate()
            process.wait()


def test_the_deployment_guide(python: Path) -> None:
    """The guide's own commands, with TLS and node keys: two devices answer hogs, and with other vaults vote."""
    with rehearsing(python.parents[1]) as variables:
        told = perform(two_devices_twice(), variables, 600)
        for method in ("hogs", "vote"):
            (found,) = Path(variables["HERE"]).glob(f"results/flwr/signed-*/{method}-one/result.json")
            record = json.loads(found.read_text())
            counts = {name: record["devices"][name] for name in ("asked", "reported", "silent", "refused", "failed")}
            assert counts == {"asked": 4, "reported": 2, "silent": 2, "refused": 0, "failed": 0}, told
        served = (Path(variables["HERE"]) / "superlink.log").read_text()
        assert "Uvicorn running on https" in served
        for log in Path(variables["HERE"]).glob("*vault-?.log"):
            assert log.read_text().count("released a report") == 1, told


def test_the_doctor_finds_the_tested_versions(ldpsim: Any) -> None:
    """constraints.txt lies in the wheel: this environment was made with it, so nothing differs."""
    found = {each["name"]: each["status"] for each in json.loads(ldpsim("doctor", "--json"))["findings"]}
    packages = {re.split(r"[<>=!]", line)[0] for line in PROJECT["dependencies"]}
    assert not {"ldpsim", *packages} & found.keys() and "problem" not in found.values()


def test_flower_builds_the_app_that_the_package_writes(python: Path, ldpsim: Any, tmp_path: Path) -> None:
    ldpsim("curator", "app", "app")
    _process((python.parent / "flwr", "build", "--app", "app"), tmp_path, FLWR_HOME=str(tmp_path / "flower"))
    (bundle,) = tmp_path.glob("*.fab")
    names = set(zipfile.ZipFile(bundle).namelist())
    assert {
        f"ldpsim/{name}" for name in ("devices/client_app.py", "strategies/server_app.py", "curator/tuned/hogs.toml")
    } <= names


def test_a_method_of_another_package_is_found(python: Path, ldpsim: Any, tmp_path: Path) -> None:
    """The package of the tutorial, installed beside the wheel with pip's own means."""
    page = (ROOT / "docs" / "tutorial.md").read_text()
    folder = tmp_path / "mine"
    folder.mkdir()
    for language, name in (("python", "mine.py"), ("toml", "pyproject.toml")):
        block, *_ = re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
        (folder / name).write_text(block)
    _process((*UV, "pip", "install", "--quiet", "--python", python, "--no-deps", folder), tmp_path)
    shutil.rmtree(folder)
    try:
        assert any(line.startswith("mine ") for line in ldpsim("methods").splitlines())
        result = json.loads(ldpsim(*RUN, "--method", "mine", "--epsilon", "4"))
        assert result["method"] == "mine" and result["devices"]["reported"] == 300
    finally:
        _process((*UV, "pip", "uninstall", "--quiet", "--python", python, "mine"), tmp_path)


def test_uvx_runs_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """``uvx --from dist/*.whl ldpsim run``: an environment of uv's own, which nobody has installed before."""
    versions = ("--constraints", ROOT / "constraints.txt", "--python", sys.executable)
    shown = _process((*UV, "tool", "run", "--quiet", *versions, "--from", wheel, "ldpsim", *RUN), tmp_path).stdout
    assert json.loads(shown)["devices"]["reported"] == 300
