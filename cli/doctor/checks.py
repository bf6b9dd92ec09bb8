"""Checks of an installation and its machine. Each returns what is amiss, or None. Nothing asks the network.

Versions are read from the packages' metadata, so torch, Ray and Flower are not imported. ``constraints.txt`` of the
checkout lies in the wheel beside this module.
"""

from __future__ import annotations

import fcntl
import os
import platform
import resource
import shutil
import sqlite3
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from pathlib import Path
from typing import Literal

import psutil
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

HERE = Path(__file__).resolve().parents[2]
OLDEST_PYTHON = (3, 11)
COMMANDS = ("flwr", "flower-superlink", "flower-supernode")
ROOM = 1 << 30  # bytes free for a run of some size: results, reports and ledgers
LEAST_ROOM = 100 << 20
FILES = 1024  # a vault's 512 connections, its ledgers and its libraries
LEAST_FILES = 256
SLOW_SECONDS = 0.05  # of one fsync: a device waits for it at each answer
NETWORK_DISKS = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ceph", "lustre")
Status = Literal["warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """Fault of an installation or a machine.

    Args:
        name: Subject of the check, in one or two words.
        text: Plain statement of what was found.
        status: ``warning``: something works worse than it could; ``problem``: something does not work.
        remedy: Next step of the person.
    """

    name: str
    text: str
    status: Status
    remedy: str


def tested_versions() -> dict[str, str]:
    """Return the tested version of each package for this Python, by its canonical name."""
    file = files("ldpsim.cli.doctor").joinpath("constraints.txt")
    text = file.read_text()
    if "==" not in text:  # where a checkout has no links, a text file with the path of the other file is in their place
        text = HERE.joinpath("cli", "doctor", text.strip()).resolve().read_text()
    pins = [Requirement(line.partition("#")[0]) for line in text.splitlines() if "==" in line.partition("#")[0]]
    return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins if _applies(pin)}


def _applies(requirement: Requirement) -> bool:
    """Return whether a requirement is one here: of this Python, and of no extra."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def installed_version(name: str) -> str | None:
    """Return the version of an installed package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def own_requirements() -> list[Requirement]:
    """Return what ldpsim requires without an extra; a checkout that is not installed has it in pyproject.toml alone."""
    if installed_version("ldpsim") is not None:
        lines = requires("ldpsim") or []
    else:
        lines = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["dependencies"]
    needed = [Requirement(line) for line in lines]
    return list(filter(_applies, needed))


def ldpsim_itself() -> Finding | None:
    """Check that ldpsim is installed."""
    if installed_version("ldpsim") is not None:
        return None
    return Finding("ldpsim", f"not installed; checkout {HERE}", "warning", "python -m pip install . in the checkout")


def python() -> Finding | None:
    """Check that Python is new enough."""
    if sys.version_info >= OLDEST_PYTHON:
        return None
    oldest = ".".join(map(str, OLDEST_PYTHON))
    return Finding("python", platform.python_version(), "problem", f"ldpsim needs Python {oldest} or newer")


def required_packages(requirements: Iterable[Requirement] | None = None) -> list[Finding]:
    """Check each package that ldpsim needs: out of range is a problem, another version than tested a warning."""
    tested = tested_versions()
    needed = own_requirements() if requirements is None else requirements
    found = (_package(one, installed_version(one.name), tested.get(canonicalize_name(one.name))) for one in needed)
    return [each for each in found if each is not None]


def _package(requirement: Requirement, release: str | None, tested: str | None) -> Finding | None:
    name = requirement.name
    install = f'python -m pip install "{name}=={tested}"' if tested else f'python -m pip install "{requirement}"'
    if release is None:
        return Finding(name, "not installed", "problem", install)
    if not requirement.specifier.contains(release, prereleases=True):
        return Finding(name, f"{release}, but ldpsim needs {requirement.specifier}", "problem", install)
    if tested is not None and Version(release).public != Version(tested).public:
        return Finding(name, f"{release}, tested with {tested}", "warning", f"{install}, if something goes wrong")
    return None


def flower_commands() -> Finding | None:
    """Look for Flower's commands: ``flwr run`` and deployments start them."""
    beside = Path(sys.executable).parent
    missing = [name for name in COMMANDS if not (beside / name).is_file() and shutil.which(name) is None]
    if not missing:
        return None
    remedy = f"python -m pip install --force-reinstall --no-deps flwr=={tested_versions()['flwr']}"
    return Finding("flower runtime", f"no command {', '.join(missing)} beside {sys.executable}", "problem", remedy)


def graphics_card(driver: Path = Path("/proc/driver/nvidia/version"), build: str | None = None) -> Finding | None:
    """Check that torch's build (its version) uses the NVIDIA driver, if the kernel has one; torch is not imported."""
    build = installed_version("torch") if build is None else build
    if not driver.is_file() or "+cpu" not in str(build):
        return None
    remedy = "install a CUDA build of torch (pytorch.org), or leave it: everything runs on the CPU"
    return Finding("gpu", f"NVIDIA driver found, but torch {build} is a CPU build", "warning", remedy)


def nearest_folder(path: Path) -> Path:
    """Return the folder itself, or the nearest one above it that is there."""
    path = path.expanduser().absolute()
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def room(name: str, path: Path, free: int | None = None) -> Finding | None:
    """Check the space on a folder's disk, and whether files can be made there."""
    folder = nearest_folder(path)
    where = str(path) if folder == path.absolute() else f"{path} (not there yet; {folder})"
    if (place := path.expanduser()).exists() and not place.is_dir():
        return Finding(name, f"{path}: is a file", "problem", "name a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        return Finding(name, f"{where}: cannot be written", "problem", "name another folder, or change its rights")
    left = shutil.disk_usage(folder).free if free is None else free
    if left >= ROOM:
        return None
    status: Status = "problem" if left < LEAST_ROOM else "warning"
    remedy = "free some space, or name a folder on another disk"
    return Finding(name, f"{where}: {left / 1e9:,.1f} GB free", status, remedy)


def locks(state: Path) -> Finding | None:
    """Check whether a ledger can be kept in a folder: SQLite's locks, an flock, and the time of an fsync.

    Files are made in a temporary folder there, and removed.
    """
    with tempfile.TemporaryDirectory(prefix=".ldpsim-doctor-", dir=nearest_folder(state)) as name:
        folder = Path(name)
        kind = file_system(folder)
        locked = _sqlite_excludes(folder / "ledger.sqlite") and _flock_excludes(folder / "lock")
        seconds = _fsync_seconds(folder / "sync")
    version = f"SQLite {sqlite3.sqlite_version}"
    if not locked:
        remedy = "name a folder on a local disk: without locks a device could answer twice"
        return Finding("ledger", f"{version}; files on {kind} are not locked", "problem", remedy)
    network = kind.startswith(NETWORK_DISKS)
    if not network and seconds <= SLOW_SECONDS:
        return None
    text = f"{version}; locks work, an fsync takes {1000 * seconds:.1f} ms ({kind})"
    why = "a network disk: its locks may not hold between machines" if network else "a slow disk"
    return Finding("ledger", text, "warning", f"{why}; name a folder on another one")


def file_system(folder: Path) -> str:
    """Return the type of the file system that a folder lies on."""
    mounted = [part for part in psutil.disk_partitions(all=True) if folder.resolve().is_relative_to(part.mountpoint)]
    return max(mounted, key=lambda part: len(part.mountpoint)).fstype if mounted else "an unknown file system"


def _sqlite_excludes(path: Path) -> bool:
    with closing(sqlite3.connect(path, isolation_level=None)) as first:
        first.execute("PRAGMA journal_mode=WAL")
        first.execute("CREATE TABLE answers (device)")
        first.execute("BEGIN IMMEDIATE")
        with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as second:
            try:
                second.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
    return False


def _flock_excludes(path: Path) -> bool:
    with path.open("wb") as first, path.open("wb") as second:
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _fsync_seconds(path: Path) -> float:
    with path.open("wb") as file:
        file.write(b"0" * 4096)
        file.flush()
        begun = time.perf_counter()
        os.fsync(file.fileno())
    return time.perf_counter() - begun


def open_files(limit: int | None = None) -> Finding | None:
    """Check the largest number of open files of a process."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if limit is None else limit
    if soft == resource.RLIM_INFINITY or soft >= FILES:
        return None
    remedy = f"ulimit -n {FILES} in this shell, or more; Ray and a vault of many connections need it"
    return Finding("open files", f"{soft:,} at most", "problem" if soft < LEAST_FILES else "warning", remedy)
