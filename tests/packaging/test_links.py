"""A checkout of a system, or of an archive, without symbolic links: text files with the paths are in their places."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import json, sys
from pathlib import Path
import ldpsim.devices.client_app, ldpsim.strategies.server_app, ldpsim.cli.main
from ldpsim.cli.doctor.checks import tested_versions
from ldpsim.strategies.flower_app.app_folder import app_folder
places = [module.__file__ for name, module in sys.modules.items() if name.startswith("ldpsim") and module.__file__]
app = app_folder(Path("app"), {})
print(json.dumps([places, [str(path.relative_to(app)) for path in app.rglob("*.py")], tested_versions()]))
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy this checkout; each link is a text file with the path that it leads to."""
    folder = tmp_path / "checkout"
    skipped = shutil.ignore_patterns("__pycache__", ".*")
    for package in ("ldpsim", "cli", "curator", "devices", "strategies"):
        shutil.copytree(ROOT / package, folder / package, symlinks=True, ignore=skipped)
    for name in ("constraints.txt", "LICENSE"):
        shutil.copyfile(ROOT / name, folder / name)
    links = [path for path in folder.rglob("*") if path.is_symlink()]
    assert len(links) == 5
    for link in links:
        text = os.readlink(link)
        link.unlink()
        link.write_text(text)
    return folder


def test_text_files_in_place_of_links(checkout: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=checkout, env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    places, shipped, versions = json.loads(done.stdout)
    assert {Path(place).relative_to(checkout).parts[0] for place in places} == {
        "ldpsim", "cli", "curator", "devices", "strategies"
    }  # fmt: skip
    assert {Path(path).parts[1] for path in shipped} == {"__init__.py", "curator", "devices", "strategies"}
    assert "numpy" in versions
