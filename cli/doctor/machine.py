"""The machine: data sets, graphics card, disks, file locks, limits and the terminal. Nothing asks the network."""

from __future__ import annotations

import codecs
import fcntl
import locale
import os
import resource
import shutil
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import psutil

from ldpsim.cli.doctor.finding import Finding
from ldpsim.cli.output import WIDTH

ROOM = 1 << 30  # bytes free for a run of some size: results, reports and ledgers
LEAST_ROOM = 100 << 20
FILES = 1024  # a vault's 512 connections, its ledgers and its libraries
LEAST_FILES = 256
NARROW = 40
SLOW_SECONDS = 0.05  # of one fsync: a device waits for it at each answer
NETWORK_DISKS = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ceph", "lustre")


def data_sets(data_dir: Path | None) -> Finding:
    """Find the data sets on disk and the folder that they are looked for in."""
    from ldpsim.devices.datasets import GENERATED, describe
    from ldpsim.devices.datasets.files import default_root

    named = "--data-dir" if data_dir is not None else "LDPSIM_DATA" if os.environ.get("LDPSIM_DATA") else "default"
    root = default_root() if data_dir is None else data_dir
    rows = [row for row in describe(root) if row["name"] not in GENERATED]
    found = [str(row["name"]) for row in rows if row["on_disk"]]
    place = f"{root} ({named})"
    if found:
        return Finding("data", f"{len(found)} of {len(rows)} data sets in {place}: {', '.join(found)}")
    what = "no data set in" if root.is_dir() else "no folder"
    remedy = "ldpsim datasets lists them; --data-dir or LDPSIM_DATA names their folder; 'generated' needs none"
    return Finding("data", f"{what} {place}", "warning", remedy)


def graphics_card(driver: Path = Path("/proc/driver/nvidia/version"), build: str | None = None) -> Finding:
    """Find an NVIDIA driver and whether torch's build uses it; torch is not imported.

    Args:
        driver: File of the kernel's driver.
        build: CUDA version of torch's build, empty for a CPU build; None reads it.
    """
    there = driver.is_file()
    cuda = _torch_cuda() if build is None else build
    if there and cuda:
        return Finding("gpu", f"NVIDIA driver found, torch is built for CUDA {cuda} (--start asks it)")
    if there:
        remedy = "install a CUDA build of torch (pytorch.org), or leave it: everything runs on the CPU"
        return Finding("gpu", "NVIDIA driver found, but torch is a CPU build", "warning", remedy)
    return Finding("gpu", f"none; torch is {f'built for CUDA {cuda}' if cuda else 'a CPU build'} and runs on the CPU")


def _torch_cuda() -> str:
    """Return the CUDA version that torch's files name; empty for a CPU build, or without torch."""
    from importlib.util import find_spec

    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return ""
    for line in (Path(spec.origin).parent / "version.py").read_text().splitlines():
        if line.startswith("cuda"):
            value = line.partition("=")[2].strip().strip("'\"")
            return "" if value == "None" else value
    return ""


def nearest_folder(path: Path) -> Path:
    """Return the folder itself, or the nearest one above it that is there."""
    path = path.expanduser().absolute()
    return next((folder for folder in (path, *path.parents) if folder.is_dir()), Path("/"))


def room(name: str, path: Path, free: int | None = None) -> Finding:
    """Find the space on a folder's disk, and whether files can be made there."""
    folder = nearest_folder(path)
    where = str(path) if folder == path.absolute() else f"{path} (not there yet; {folder})"
    if not os.access(folder, os.W_OK | os.X_OK):
        return Finding(name, f"{where}: cannot be written", "problem", "name another folder, or change its rights")
    left = shutil.disk_usage(folder).free if free is None else free
    text = f"{where}: {left / 1e9:,.1f} GB free"
    if left < LEAST_ROOM:
        return Finding(name, text, "problem", "free some space, or name a folder on another disk")
    if left < ROOM:
        return Finding(name, text, "warning", "enough for small runs only; free some space")
    return Finding(name, text)


def locks(state: Path) -> Finding:
    """Find whether a ledger can be kept in a folder: SQLite's locks, an flock, and the time of an fsync.

    Files are made in a temporary folder there, and removed.
    """
    version = f"SQLite {sqlite3.sqlite_version}"
    with tempfile.TemporaryDirectory(prefix=".ldpsim-doctor-", dir=nearest_folder(state)) as name:
        folder = Path(name)
        kind = file_system(folder)
        if not (_sqlite_excludes(folder / "ledger.sqlite") and _flock_excludes(folder / "lock")):
            remedy = "name a folder on a local disk: without locks a device could answer twice"
            return Finding("ledger", f"{version}; files on {kind} are not locked", "problem", remedy)
        seconds = _fsync_seconds(folder / "sync")
    text = f"{version}; locks work, an fsync takes {1000 * seconds:.1f} ms ({kind})"
    if kind.startswith(NETWORK_DISKS):
        return Finding("ledger", text, "warning", "a network disk: its locks may not hold between machines")
    if seconds > SLOW_SECONDS:
        return Finding("ledger", text, "warning", "a slow disk: collections wait for it; name a folder on another one")
    return Finding("ledger", text)


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


def open_files(limit: int | None = None) -> Finding:
    """Find the largest number of open files of a process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = soft if limit is None else limit
    text = "no limit" if soft == resource.RLIM_INFINITY else f"{soft:,} at most"
    if soft == resource.RLIM_INFINITY or soft >= FILES:
        return Finding("open files", text)
    highest = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    remedy = f"ulimit -n {highest} in this shell; Ray and a vault of many connections need more"
    return Finding("open files", text, "problem" if soft < LEAST_FILES else "warning", remedy)


def encoding(name: str | None = None) -> Finding:
    """Find whether text is written in UTF-8, as results and panels are."""
    used = name or getattr(sys.stdout, "encoding", None) or locale.getpreferredencoding(False)
    here = locale.setlocale(locale.LC_CTYPE)
    if codecs.lookup(used).name != "utf-8":
        remedy = "export PYTHONUTF8=1, or a locale such as LANG=C.UTF-8"
        return Finding("locale", f"{here}: text is {used}, not UTF-8", "warning", remedy)
    return Finding("locale", f"{here}, UTF-8")


def terminal() -> Finding:
    """Find the width of the terminal, and whether colours are shown."""
    if not sys.stdout.isatty():
        return Finding("terminal", f"none (a pipe or a file): {WIDTH} columns, no colours")
    columns = shutil.get_terminal_size().columns
    colours = "no colours (NO_COLOR)" if os.environ.get("NO_COLOR") else "colours"
    if columns < NARROW:
        return Finding("terminal", f"{columns} columns, {colours}", "warning", f"make it {WIDTH} columns wide")
    return Finding("terminal", f"{columns} columns, {colours}")
