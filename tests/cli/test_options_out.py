"""``--track`` and ``--save-graph`` on the command line: what goes out of run, compare and sweep."""

from __future__ import annotations

from pathlib import Path

import networkx
import pytest
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.strategies.tracking import targets
from tests.strategies.tracking.conftest import needs

pytestmark = pytest.mark.usefixtures("cells_in_this_process")

SMALL = ["--clients", "60", "--set", "epochs=2", "--no-nulls"]
GRID = "[fixed]\nclients = 60\nreference = false\nnulls = false\nsettings.epochs = 2\n[grid]\nepsilon = [4, 8]\n"


def ldpsim(*words: object) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, [str(word) for word in words])


def logged(folder: Path) -> list[str]:
    return sorted(path.name.split("-")[0] for path in folder.glob("*/events.out.*") for path in [path.parent])


def test_a_run_is_logged_and_its_graph_saved(tmp_path: Path) -> None:
    needs("tensorboard")
    trackers = [word for name in "ab" for word in ("--track", f"tensorboard:{tmp_path / name}")]
    graph = tmp_path / "friends.graphml"
    shown = ldpsim("run", *SMALL, "--no-reference", "--out", tmp_path / "runs", *trackers, "--save-graph", graph)
    assert shown.exit_code == 0, shown.output
    assert logged(tmp_path / "a") == logged(tmp_path / "b") == ["hogs"]
    assert len(networkx.read_graphml(graph)) == 60


@pytest.mark.parametrize("command", ["run", "compare", "sweep"])
def test_a_missing_client_is_one_line_before_anybody_is_asked(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "find_spec", lambda name: None)
    (tmp_path / "grid.toml").write_text(GRID)
    words = {
        "run": ["run", *SMALL],
        "compare": ["compare", "hogs", "raw", *SMALL],
        "sweep": ["sweep", tmp_path / "grid.toml"],
    }
    shown = ldpsim(*words[command], "--out", tmp_path / "runs", "--track", "tensorboard:x")
    assert shown.exit_code == 2
    assert shown.stderr == (
        "error: --track tensorboard:x: tensorboard is not installed: pip install 'ldpsim[tensorboard]'\n"
    )
    assert not (tmp_path / "runs").exists()
