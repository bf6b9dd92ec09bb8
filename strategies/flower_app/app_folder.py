"""Flower apps that ``ldpsim curator app`` writes: the installed packages, or an app of one's own that imports them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import ldpsim

PACKAGES = ("devices", "curator", "strategies")
_SUFFIXES = {".py", ".toml"}

_PROJECT = """\
[project]
name = "ldpsim"
version = "0.0.0"
description = "Reports under local differential privacy"
license = { file = "LICENSE" }
dependencies = ["flwr>=1.41,<1.43"]
[tool.flwr.app]
publisher = "ldpsim"
fab-format-version = 1
flwr-version-target = "1.42.0"
[tool.flwr.app.components]
serverapp = "ldpsim.strategies.server_app:app"
clientapp = "ldpsim.devices.client_app:app"
[tool.flwr.app.config]
"""


_OWN_PROJECT = """\
[project]
name = "my-app"
version = "1.0.0"
description = "Reports under local differential privacy, and the curator's graph"
license = "Apache-2.0"
dependencies = ["ldpsim"]
[tool.flwr.app]
publisher = "me"
[tool.flwr.app.components]
serverapp = "my_app:app"
clientapp = "my_app:client"
[tool.flwr.app.config]
"""
_OWN_APP = """\
\"\"\"One report of each node, and the graph that the curator makes of them.\"\"\"

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from ldpsim import run_on_grid
from ldpsim.devices import client_app

client = client_app.app  # Flower reads this file's text: it finds an assignment, and no import
app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    result = run_on_grid(grid, context)
    print("graph:", result.graph.save(result.folder / "graph.npz"))
"""


def own_app_folder(folder: Path, config: Mapping[str, Any]) -> Path:
    """Create a Flower app of one's own, of 17 lines, which imports the installed ldpsim.

    Args:
        folder: Folder to create; it must not exist.
        config: The app's configuration with its defaults.
    """
    folder.mkdir(parents=True)
    (folder / "my_app.py").write_text(_OWN_APP)
    (folder / "pyproject.toml").write_text(_OWN_PROJECT + _settings(config))
    return folder


def app_folder(folder: Path, config: Mapping[str, Any]) -> Path:
    """Create a Flower app from the installed packages, of a checkout or a wheel.

    Args:
        folder: Folder to create; it must not exist.
        config: The app's configuration with its defaults.
    """
    folder.mkdir(parents=True)
    (folder / "ldpsim").mkdir()
    shutil.copyfile(ldpsim.__file__, folder / "ldpsim" / "__init__.py")
    for package in PACKAGES:
        (place,) = import_module(f"ldpsim.{package}").__path__
        source = Path(place).resolve()
        for path in sorted(source.rglob("*")):
            if path.is_file() and path.suffix in _SUFFIXES:
                target = folder / "ldpsim" / package / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    (folder / "LICENSE").write_text(_licence())
    (folder / "pyproject.toml").write_text(_PROJECT + _settings(config))
    return folder


def _settings(config: Mapping[str, Any]) -> str:
    """Return a configuration as lines of TOML."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in config.items())


def _licence() -> str:
    """Return the text of the licence, of the installed package or of the checkout."""
    try:
        text = metadata.distribution("ldpsim").read_text("licenses/LICENSE")
    except metadata.PackageNotFoundError:
        text = None
    return text or (Path(ldpsim.__file__).parents[1] / "LICENSE").read_text()
