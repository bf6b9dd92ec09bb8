"""Options of the commands: how they are read, completed in a shell, and what goes out of a run."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import networkx
import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.config import as_parameters
from ldpsim.cli.main import app
from ldpsim.cli.options import Config, pairs, read_table, seeds, with_run_options
from ldpsim.cli.run import run
from ldpsim.curator.methods import BUILT_IN
from ldpsim.curator.privacy.levels import level_words
from ldpsim.devices import datasets
from ldpsim.strategies.results.folder import write_config
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.tracking import targets
from tests.strategies.tracking.conftest import needs


def test_text_becomes_values() -> None:
    assert pairs("--set", ["tau=.8", "features = literal", "a=b=c"]) == {"tau": ".8", "features": "literal", "a": "b=c"}
    assert read_table(declared(RunOptions)["caps"], ["bit=2", "user=inf"]) == {"bit": 2.0, "user": float("inf")}
    assert seeds({"noise": "OS", "split": 3, "training": None}) == {"noise": None, "split": 3}
    assert seeds({"noise": "17"}) == {"noise": 17}


def given(*words: str) -> RunOptions:
    """The options that a command with all options of a run reads from a command line."""
    found: list[RunOptions] = []

    @with_run_options()
    def command(config: Config = None, *, options: RunOptions) -> None:
        found.append(options)

    alone = typer.Typer()
    alone.command()(command)
    shown = CliRunner().invoke(alone, words)
    assert shown.exit_code == 0, shown.output
    return found[0]


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names a default for ``--data-dir``; here it gives none."""
    monkeypatch.delenv("LDPSIM_DATA", raising=False)


def test_every_kind_of_option_is_read() -> None:
    words = (
        "--clients 70 --epsilon 4.5 --private-labels --no-reference --set tau=.8 --cap bit=2 --noise-seed os "
        "--split-seed 9 --state here --on-requery replay"
    )
    assert given(*words.split()) == RunOptions(
        clients=70, epsilon=4.5, private_labels=True, reference=False, caps={"bit": 2.0}, state=Path("here"),
        settings={"tau": ".8"}, seeds={"noise": None, "split": 9}, on_requery="replay",
    )  # fmt: skip


def test_names_of_a_list_are_repeated_or_between_commas() -> None:
    wanted = RunOptions(defence="degree,both-ends")
    assert given("--defence", "degree", "--defence", "both-ends") == given("--defence", "degree,both-ends") == wanted
    assert as_parameters({"defence": "degree,both-ends"}, Path()) == {"defence": ["degree,both-ends"]}
    with pytest.raises(ValueError, match="--defence degre: there is no degre; did you mean degree"):
        RunOptions(defence="degre")


def test_every_option_of_a_run_is_a_parameter() -> None:
    given = {name: spec.default for name, spec in declared(RunOptions).items()}
    fielded = as_parameters({**given, "method": "hogs"}, Path())
    assert set(fielded) <= set(inspect.signature(run).parameters)


def test_a_relative_data_set_of_a_configuration_lies_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.npz").touch()
    (tmp_path / "data" / "c.toml").write_text('dataset = "people.npz"\n')
    monkeypatch.chdir(tmp_path)
    assert given("--config", "data/c.toml").dataset == "data/people.npz"
    assert given("--config", "data/c.toml", "--dataset", "cora").dataset == "cora"
    (tmp_path / "data" / "people.npz").rename("people.npz")  # as an earlier version wrote it
    assert given("--config", "data/c.toml").dataset == "people.npz"
    write_config(tmp_path / "data", {"dataset": "people.npz"})
    assert given("--config", "data/config.toml").dataset == "data/../people.npz"


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


ROOT = Path(__file__).parents[2]
PYTHON = {**os.environ, "PYTHONPATH": str(ROOT)}


def completed(*words: str) -> list[str]:
    """What bash would offer for the last word."""
    asked = {"_LDPSIM_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["ldpsim", *words]),
             "COMP_CWORD": str(len(words))}  # fmt: skip
    shown = CliRunner().invoke(app, [], env=asked, prog_name="ldpsim")
    assert shown.exit_code == 0, shown.output
    return [line for line in shown.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("swe",), ["sweep"]),
        (("ledger", "s"), ["show"]),
        (("run", "--method", "fp-"), ["fp-blink", "fp-ldpgen", "fp-solitude"]),
        (("audit", "nois"), ["noise", "noisy", "noisy_row"]),
        (("run", "--dataset", "citeseer-"), ["citeseer-3312", "citeseer-lcc", "citeseer-full"]),
        (("run", "--cap", ""), ["bit=", "all-features=", "person="]),
        (("compare", "hogs", "--match", "fr"), ["friendship"]),
        (("run", "--defence", "d"), ["duplicates", "degree"]),
        (("run", "--on-requery", "r"), ["refuse", "replay"]),
        (("sweep", "--engine", ""), ["auto", "local", "ray"]),
        (("stress", "--protection", "con"), ["context-state"]),
        (("stress", "--adversary", "hel"), ["help"]),
        (("run", "--state", ""), []),  # a folder: left to the shell
    ],
)
def test_what_is_offered(words: tuple[str, ...], expected: list[str]) -> None:
    assert completed(*words) == expected


def test_all_names_of_the_registries_are_offered() -> None:
    assert set(completed("run", "--method", "")) >= set(BUILT_IN)
    assert completed("run", "--dataset", "") == list(datasets.names())
    assert completed("compare", "--match", "") == list(level_words())


def test_no_method_is_imported_for_a_completion() -> None:
    code = "import sys; from ldpsim.cli.main import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    asked = {"_LDPSIM_COMPLETE": "complete_bash", "COMP_WORDS": "ldpsim compare ho", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**PYTHON, **asked}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["hogs"]
    imported = set(done.stderr.split())
    assert "ldpsim.curator.methods" in imported
    assert not imported & {"torch", "flwr", "ldpsim.curator.methods.local.hogs", "ray"}
