"""What a local run imports, and what its imports cost the garbage collector."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
OWN = {"cli", "curator", "devices", "ldpsim", "strategies"}
# What a local run uses of other people's packages, and what for. SciPy is counted by its parts.
USED = {
    "click": "the command line",
    "cryptography": "the noise of devices",
    "flwr": "messages between the curator and devices",
    "numpy": "arrays",
    "psutil": "memory of the machine, before a run that may not fit",
    "rich": "what is printed",
    "safetensors": "the stored network",
    "scipy.linalg": "ridge regression, a null model",
    "scipy.optimize": "the temperature of what devices predict from",
    "scipy.sparse": "graphs",
    "scipy.special": "intervals of the printed differences",
    "threadpoolctl": "no thread of BLAS waits on the core of another training",
    "tomli_w": "the stored options",
    "torch": "training",
    "typer": "the command line",
}
_LINE = re.compile(r"import time:\s+\d+ \|\s+\d+ \| ( *)(\S+)$")
RUN = ["run", "--clients", "60", "--method", "hogs", "--feature-share", "0.3", "--set", "epochs=2", "--device", "cpu"]


def importers(lines: str) -> Iterator[tuple[str, str]]:
    """Yield (module, the module that imports it first) from what ``-X importtime`` writes: children before parents."""
    inside: list[tuple[int, str]] = []
    for found in map(_LINE.match, reversed(lines.splitlines())):
        if found:
            depth, name = len(found[1]), found[2]
            while inside and inside[-1][0] >= depth:
                inside.pop()
            yield name, inside[-1][1] if inside else ""
            inside.append((depth, name))


def package(name: str) -> str:
    """Return what counts as one package: ``torch`` for ``torch.nn``, but ``scipy.stats`` for ``scipy.stats.qmc``."""
    return ".".join(name.split(".")[: 2 if name.startswith("scipy.") else 1])


def unused(lines: str) -> list[str]:
    """Return "MODULE, imported by MODULE" of packages that a local run does not use and a module of ours imports."""
    known = OWN | USED.keys() | sys.stdlib_module_names | {"scipy"}
    asked = [(name, by or "a function") for name, by in importers(lines) if package(by) in OWN | {""}]
    return [f"{name}, imported by {by}" for name, by in asked if package(name) not in known]


def child(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=True
    )


def test_a_local_run_imports_only_what_it_uses(tmp_path: Path) -> None:
    shown = child("-X", "importtime", "-m", "ldpsim.cli.main", *RUN, "--out", str(tmp_path), "--quiet").stderr
    assert unused(shown) == []
    loaded = {package(name) for name, _ in importers(shown)}
    assert USED.keys() <= loaded  # power: what is used is seen
    # Other packages may bring no part of SciPy that a run does not use, and none of these.
    brought = {name for name in loaded if name.startswith("scipy.") and not name.startswith("scipy._")}
    by_optimize = {"scipy.constants", "scipy.fft", "scipy.spatial"}
    assert brought - USED.keys() <= {"scipy.version"} | by_optimize, sorted(brought)
    assert not loaded & {"dp_accounting", "jinja2", "matplotlib", "pandas", "ray", "sklearn", "torch_geometric"}
