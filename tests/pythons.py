"""The quick tests on every Python from 3.11 on that this machine has: ``python -m tests.pythons [--newest] ...``.

Each version has an environment beside ``.venv``, made once, with the versions of constraints.txt; ``.venv`` is that of
its own version. PyTorch is a CPU build: from the folder that ``UV_FIND_LINKS`` names, else from PyTorch's own index.
PyPI's build brings gigabytes of CUDA, so where there is no other one, the tests run that need none.

``--newest`` runs those on the newest version alone. Everything else is given to pytest.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
OLDEST = 11
WITHOUT_TORCH = ("tests/devices", "tests/faults", "tests/test_layers.py", "tests/test_walls.py")
LARGE = {"ray", "torch", "torch-geometric"}  # those tests need none of them
UV = (sys.executable, "-m", "uv")
_NUMBER = "import sqlite3, ssl, sys, venv; v = sys.version_info; print(v.minor if v.releaselevel == 'final' else 0)"


def _candidates() -> Iterator[tuple[int, Path]]:
    """Yield minor version and path of what looks like a Python: on the path, of pyenv, or of uv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    managed = subprocess.run([*UV, "python", "dir"], capture_output=True, text=True, check=False).stdout.strip()
    folders = [Path(name) for name in os.get_exec_path()]
    folders += [path for place in (pyenv, Path(managed)) for path in sorted(place.glob("*/bin"), reverse=True)]
    for folder in folders:
        for path in folder.glob("python3.*"):
            if found := re.fullmatch(r"python3\.(\d+)", path.name):
                yield int(found[1]), path


def interpreters() -> dict[int, Path]:
    """Return the first Python of each minor version that starts, from the oldest to the newest."""
    found: dict[int, Path] = {}
    for minor, path in _candidates():
        if minor >= OLDEST and minor not in found and os.access(path, os.X_OK):
            said = subprocess.run([path, "-c", _NUMBER], capture_output=True, text=True, check=False, cwd="/")
            if said.stdout.strip() == str(minor):
                found[minor] = path
    return dict(sorted(found.items()))


def environment(minor: int, interpreter: Path) -> tuple[Path, bool]:
    """Return the Python of a version's environment, made where it is missing or old, and whether PyTorch is there."""
    place = ROOT / f".venv-3.{minor}"
    python, ready = place / "bin" / "python", place / ".ready"
    stated = [ROOT / "pyproject.toml", ROOT / "constraints.txt"]
    if not ready.is_file() or ready.stat().st_mtime < max(path.stat().st_mtime for path in stated):
        subprocess.run([*UV, "venv", "--quiet", "--clear", "--python", interpreter, place], check=True)
        install = [*UV, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "constraints.txt"]
        folder = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS")
        source = ["--no-index", "--find-links", folder] if folder else ["--torch-backend", "cpu"]
        torch = not subprocess.run(
            [*install, *source, "--no-deps", "torch"], capture_output=True, check=False
        ).returncode
        subprocess.run([*install, *needed(torch)], check=True, cwd=ROOT)
        subprocess.run([*install, "--no-deps", "-e", "."], check=True, cwd=ROOT)
        ready.write_text("torch" if torch else "")
    return python, bool(ready.read_text())


def needed(torch: bool) -> list[str]:
    """Return what the tests need, without what is large where there is no PyTorch."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = map(Requirement, [*project["dependencies"], *project["optional-dependencies"]["dev"]])
    return [str(one) for one in listed if torch or one.name not in LARGE]


def main() -> int:
    """Run the command."""
    given = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    given.add_argument("--newest", action="store_true")
    options, arguments = given.parse_known_args()
    found = interpreters()
    own = sys.version_info.minor
    wanted = [max([own, *found])] if options.newest else sorted({own, *found})
    codes = []
    for minor in wanted:
        if minor == own and options.newest:
            print(f"Python 3.{minor} is the newest here, and `make test` runs on it", flush=True)
            continue
        try:
            python, torch = (Path(sys.executable), True) if minor == own else environment(minor, found[minor])
        except subprocess.CalledProcessError as error:
            print(f"Python 3.{minor}: its environment cannot be made ({error})", flush=True)
            codes.append(1)
            continue
        paths = () if torch and not options.newest else WITHOUT_TORCH
        why = "" if torch else "; no CPU build of PyTorch for it is at hand"
        print(f"Python 3.{minor}: {' '.join(paths) or 'all quick tests'}{why}", flush=True)
        # Trackers and browsers are looked for in the tests of .venv alone.
        variables = {**os.environ, "CI": "", "VIRTUAL_ENV": str(python.parents[1])}
        ran = subprocess.run([python, "-m", "pytest", *arguments, *paths], cwd=ROOT, env=variables, check=False)
        codes.append(ran.returncode)
    return max(codes, default=0)


if __name__ == "__main__":
    sys.exit(main())
