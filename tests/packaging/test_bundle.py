"""The bundle that Flower ships finds its packages without an installed ldpsim."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ldpsim.strategies.flower_app.app_folder import app_folder

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import ldpsim.devices.client_app, ldpsim.strategies.server_app
print(json.dumps([m.__file__ for name, m in sys.modules.items() if name.startswith("ldpsim") and m.__file__]))
"""


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an interpreter that has all of this environment's packages but ldpsim."""
    folder = tmp_path_factory.mktemp("without-ldpsim")
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/*/site-packages")
    packages = [path for path in sys.path if path.endswith("site-packages")]
    (site / "others.pth").write_text("\n".join(packages))  # their own .pth files are not read: ldpsim's link is one
    made = folder / "bin" / "python"
    missing = subprocess.run([made, "-c", "import ldpsim"], cwd=folder, capture_output=True, text=True)
    assert "No module named 'ldpsim'" in missing.stderr
    return made


def loaded_from(python: Path, bundle: Path) -> set[str]:
    """Return the folders at the top of the bundle from which the app's modules come; none may come from elsewhere."""
    done = subprocess.run([python, "-c", CODE, bundle], cwd=python.parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    places = {Path(place) for place in json.loads(done.stdout)}
    assert len(places) > 50
    return {place.relative_to(bundle).parts[0] for place in places}


def test_the_written_app_admits_the_versions_of_flower_that_the_package_does(tmp_path: Path) -> None:
    """Both files state them, and the components: the checkout is an app too."""
    folders = ROOT, app_folder(tmp_path / "app", {})
    own, written = (tomllib.loads((folder / "pyproject.toml").read_text()) for folder in folders)
    (admitted,) = (each for each in own["project"]["dependencies"] if Requirement(each).name == "flwr")
    assert written["project"]["dependencies"] == [admitted]
    assert written["tool"]["flwr"]["app"]["flwr-version-target"] in Requirement(admitted).specifier
    assert written["tool"]["flwr"]["app"]["components"] == own["tool"]["flwr"]["app"]["components"]


@pytest.mark.slow
def test_the_checkout_as_a_bundle(python: Path, tmp_path: Path) -> None:
    """`flwr build` leaves the links out."""
    command = [Path(sys.executable).with_name("flwr"), "build", "--app", ROOT]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    (bundle,) = tmp_path.glob("*.fab")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(bundle) as packed:
        packed.extractall(tmp_path / "app")
    assert not (tmp_path / "app" / "ldpsim" / "devices").exists()
    assert loaded_from(python, tmp_path / "app") == {"ldpsim", "devices", "curator", "strategies"}


def test_the_app_that_an_installed_ldpsim_starts(python: Path, tmp_path: Path) -> None:
    assert loaded_from(python, app_folder(tmp_path / "app", {})) == {"ldpsim"}
