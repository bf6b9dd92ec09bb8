"""A Flower app of one's own: the page's file is the one that the command writes, Flower takes it, and it runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ldpsim.cli.curator import FEDERATION
from ldpsim.cli.main import app as command
from ldpsim.strategies.flower_app.app_folder import own_app_folder
from ldpsim.strategies.flower_app.simulation import default_config
from tests.flower_processes import Flower

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "flower-app.md").read_text()


def built(folder: Path) -> subprocess.CompletedProcess[str]:
    """``flwr build``, which reads the app's syntax tree and runs nothing of it."""
    flwr = Path(sys.executable).with_name("flwr")
    return subprocess.run([flwr, "build", "--app", folder], cwd=folder.parent, capture_output=True, text=True)


def test_the_page_has_the_file_and_the_command_that_the_program_writes(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    folder = tmp_path / "my app"
    shown = CliRunner().invoke(command, ["curator", "app", str(folder), "--own"])
    assert shown.exit_code == 0 and f"flwr run '{folder}' --stream" in shown.stderr, shown.output
    assert (folder / "my_app.py").read_text() == code and len(code.splitlines()) <= 17
    assert "export FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1\n" in shown.stderr
    assert f'flwr run my-app --stream --federation-config "{FEDERATION}"' in PAGE
    assert CliRunner().invoke(command, ["curator", "app", str(folder), "--own"]).exit_code == 2


def test_flower_finds_an_assignment_and_no_import(tmp_path: Path) -> None:
    folder = own_app_folder(tmp_path / "app", default_config())
    done = built(folder)
    assert done.returncode == 0 and list(tmp_path.glob("*.fab")), done.stdout + done.stderr
    code = (folder / "my_app.py").read_text()
    imported = re.sub(r"client = client_app\.app.*", "from ldpsim.devices.client_app import app as client", code)
    (folder / "my_app.py").write_text(imported)
    refused = built(folder)
    assert refused.returncode != 0
    words = " ".join((refused.stdout + refused.stderr).replace("│", " ").split())
    assert "Unable to find attribute client in module my_app" in words and "Unable to find attribute client" in PAGE


@pytest.mark.flower
@pytest.mark.slow
def test_the_app_of_the_page_runs_under_flower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LDPSIM_HOME", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    log, federation = tmp_path / "flower.log", "num-supernodes=60 client-resources-num-cpus=1 init-args-num-cpus=2"
    with Flower(simulation=True, log=log) as flower:
        folder = own_app_folder(flower.folder / "app", default_config())
        flower.start_run(folder, {"method": "rr", "settings": "epochs=1"}, federation=federation).wait(600)
        flower.start_run(folder, {}, federation="num-supernodes=2 client-resources-num-cpus=1").wait(600)
    printed = log.read_text(errors="replace")
    (result,) = tmp_path.glob("flwr/run-*/rr-generated-*/result.json")
    assert f"60 of 60 people reported; {result}" in printed, printed[-2000:]
    assert f"graph: {result.with_name('graph.npz')}" in printed and result.with_name("graph.npz").exists()
    assert "error: 2 SuperNodes are 2 people, too few" in printed and "Traceback" not in printed
    (table,) = re.findall(r"\| line \| from \| meaning \|\n(.*?)\n\n", PAGE, re.DOTALL)
    told = " ".join(re.sub(r"\x1b\[[\d;]*m", "", printed).split())
    for line, meaning in re.findall(r"^\| `(.*?)` \| .* \| (.*?) \|$", table, re.MULTILINE):
        if "does not always" in meaning:  # the last line of a worker, which may end before Ray reads it
            continue
        parts = [part.strip() for part in line.split("...")]
        assert all(part in told for part in parts if part), line
