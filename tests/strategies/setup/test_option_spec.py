"""An option is declared once: a copy of the packages gets one more field, and it is found everywhere."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.strategies.attacks.stress.campaign import StressOptions
from ldpsim.strategies.experiments.sweep_file import read_sweep
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.planning.plan import Wishes
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.option_spec import RUNNING, declared, option
from ldpsim.strategies.setup.options import RunOptions

ROOT = Path(__file__).parents[3]
FOG = """    fog: float = option(
        0.0, "Share of the town in fog.", POPULATION, "F", allows=lambda share: 0 <= share <= 1, must="a share",
        flower=True,
    )
    out: """

# Runs where `strategies` is the copy; prints what was found.
LOOK = """
import inspect, json, sys
from pathlib import Path
from typer.testing import CliRunner
from ldpsim import strategies
from ldpsim.cli.main import app
from ldpsim.strategies.outputs.shell import command_of
from ldpsim.cli.run import run
from ldpsim.strategies import RunOptions
from ldpsim.strategies.experiments.compare import _name
from ldpsim.strategies.experiments.sweep_file import read_sweep
from ldpsim.strategies.outputs.groups import groups_of
from ldpsim.strategies.results.rows import data_frame, failed_row, row_of
from ldpsim.strategies.flower_app.deployed import options_given

def ldpsim(*words):
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, [str(word) for word in words])

small = ("--method", "mlp", "--clients", 60, "--set", "epochs=2", "--device", "cpu", "--no-nulls", "--no-reference",
         "--json", "--out", "runs")
foggy, clear = (json.loads(ldpsim("run", *small, *more).stdout) for more in (("--fog", 0.25), ()))
caught = []
def catch(options, **_):
    caught.append(options.fog)
    raise strategies.RunFailed("caught")
strategies.simulate = catch
(config,) = (path for path in Path("runs").glob("*/config.toml") if foggy["config_hash"] in str(path))
ldpsim("run", "--config", config)
ldpsim("run", "--config", config, "--fog", 0.5)
Path("grid.toml").write_text("[grid]\\nfog = [0, 0.5]\\n")
cells = read_sweep(Path("grid.toml"))
rows = [row_of(foggy, "x"), failed_row(1, cells[1].options, None, "no")]
print(json.dumps({
    "parameter": "fog" in inspect.signature(run).parameters,
    "help": [ldpsim(name, "--help").stdout.count("--fog") for name in ("run", "compare")],
    "mistake": ldpsim("run", "--fog", 2).stderr,
    "record": [foggy["config"]["fog"], clear["config"]["fog"]],
    "hashes": [foggy["config_hash"], clear["config_hash"]],
    "caught": caught,
    "cells": [[cell.options.fog, cell.label] for cell in cells],
    "column": list(data_frame(rows).columns).count("fog"),
    "rows": [row["fog"] for row in rows],
    "labels": [group.label for group in groups_of([foggy, clear])],
    "commands": [command_of(foggy), command_of(clear)],
    "folders": [_name(RunOptions()), _name(RunOptions(fog=0.5))],
    "flower": [options_given({"fog": 0.5}), options_given({"fog": 0.0})],
}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the places where a copy of the packages shows one more option."""
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "ldpsim"
    package.mkdir()
    shutil.copyfile(ROOT / "ldpsim" / "__init__.py", package / "__init__.py")
    for name in ("cli", "curator", "devices"):
        (package / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "strategies", package / "strategies", ignore=shutil.ignore_patterns("__pycache__"))
    declaration = package / "strategies" / "setup" / "options.py"
    text = declaration.read_text()
    assert text.count("    out: ") == 1
    declaration.write_text(text.replace("    out: ", FOG))
    done = subprocess.run([sys.executable, "-c", LOOK], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_commands_have_it(found: Any) -> None:
    assert found["parameter"] is True and found["help"] == [1, 0]
    assert found["mistake"] == "error: --fog 2: a share\n"


def test_a_result_and_its_config_file_keep_it(found: Any) -> None:
    assert found["record"] == [0.25, 0.0]
    assert found["caught"] == [0.25, 0.5]  # the config file's, and the command line's before it


def test_a_sweep_and_its_table_have_it(found: Any) -> None:
    assert found["cells"] == [[0.0, "fog=0"], [0.5, "fog=0.5"]]
    assert found["column"] == 1 and found["rows"] == [0.25, 0.5]


def test_a_report_tells_results_apart_by_it_and_says_it_again(found: Any) -> None:
    assert found["labels"] == ["mlp fog 0.25", "mlp fog 0"]
    foggy, clear = found["commands"]
    assert "--fog 0.25" in foggy and "fog" not in clear


def test_hash_and_folder_change_with_it_and_stay_without(found: Any, tmp_path: Path) -> None:
    from ldpsim.strategies import simulate
    from ldpsim.strategies.experiments.compare import _name

    options = RunOptions(method="mlp", clients=60, settings={"epochs": "2"}, device="cpu", out=None)
    foggy, clear = found["hashes"]
    assert clear == simulate(options).record["config_hash"] != foggy
    clear, foggy = found["folders"]
    assert clear == _name(RunOptions()) != foggy


def test_the_flower_app_reads_it(found: Any) -> None:
    assert found["flower"] == [{"fog": 0.5}, {}]


def test_a_declaration_checks_values() -> None:
    @dataclass(frozen=True)
    class Few:
        pace: str = option("slow", "Speed.", RUNNING, values=("slow", "fast"))
        share: float | None = option(None, "Share.", RUNNING, "S", allows=lambda share: share > 0, must="above 0")

    pace, share = declared(Few).values()
    assert (pace.option, pace.types, pace.default) == ("--pace", (str,), "slow")
    assert (share.types, share.is_table) == ((float,), False)
    assert (share.read("0.5"), pace.read("0.5")) == ("0.5", "0.5")  # of a type of its own: read elsewhere
    mixed = replace(share, kind=float | str)
    assert (mixed.read("0.5"), mixed.read("auto"), mixed.read(None)) == (0.5, "auto", None)
    share.check(None)
    pace.check("fast")
    with pytest.raises(ValueError, match=r"^--pace swift: must be one of slow, fast$"):
        pace.check("swift")
    with pytest.raises(ValueError, match=r"^--share nan: above 0$"):
        share.check(float("nan"))


@pytest.mark.parametrize(
    ("name", "value", "own"),
    [
        ("clients", np.int64(100), 100), ("clients", 100.0, 100), ("seed", np.uint8(1), 1), ("epsilon", 4, 4.0),
        ("epsilon", np.float32(4), 4.0), ("epsilon", Fraction(1, 2), 0.5), ("label_rate", np.array(0.25), 0.25),
        ("feature_share", np.float64(0.5), 0.5), ("nulls", np.bool_(False), False), ("out", "folder", Path("folder")),
        ("state", Path("folder"), Path("folder")), ("dataset", Path("people.npz"), "people.npz"), ("out", None, None),
        ("settings", {"epochs": np.int64(5), "tau": np.float64(0.8), "loops": np.True_},
         {"epochs": "5", "tau": "0.8", "loops": "true"}),
        ("caps", {"bit": np.float64(2)}, {"bit": 2.0}), ("seeds", {"noise": None, "split": np.int64(7)},
                                                          {"noise": None, "split": 7}),
    ],
)  # fmt: skip
def test_values_of_numpy_and_paths_as_text_are_read(name: str, value: Any, own: Any) -> None:
    found = getattr(RunOptions(**{name: value}), name)
    assert found == own
    assert type(found) is type(own) or isinstance(own, Path)
    entries = list(found.values()) if isinstance(found, dict) else []
    assert [type(entry) for entry in entries] == [type(entry) for entry in (own.values() if entries else [])]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"epsilon": "4"}, "--epsilon 4: must be a number"),
        ({"clients": 100.5}, "--clients 100.5: must be a whole number"),
        ({"clients": True}, "--clients True: must be a whole number"),
        ({"seed": None}, "--seed None: must be a whole number"),
        ({"nulls": 1}, "--no-nulls 1: must be True or False"),
        ({"out": 3}, "--out 3: must be a path"),
        ({"method": ["hogs"]}, r"--method \['hogs'\]: must be text"),
        ({"settings": {"tau": [1]}}, r"--set tau \[1\]: must be text"),
        ({"settings": "tau=1"}, "--set tau=1: must be a table of names and values"),
        ({"caps": {"bit": "2"}}, "--cap bit 2: must be a number"),
    ],
)
def test_a_value_of_another_type_is_one_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=f"^{line}$"):
        RunOptions(**given)


def test_numpy_values_are_read_wherever_options_are_given() -> None:
    """One place converts them: runs, grids, wishes, imports and stress tests; 4 and 4.0 are one budget."""
    cells = read_sweep(None, {"epsilon": np.arange(3, 5), "settings.tau": [np.float64(0.7)]})
    assert [(cell.options.epsilon, cell.options.settings) for cell in cells] == [
        (3.0, {"tau": "0.7"}), (4.0, {"tau": "0.7"}),
    ]  # fmt: skip
    stress = StressOptions(clients=np.int64(40), asks=(np.int64(2), 1), epsilon_bit=np.float32(1))
    wishes = Wishes(holds=np.float32(4), max_bytes=np.int64(5))
    assert json.loads(json.dumps([vars(wishes), stress.clients, stress.asks]))[1:] == [40, [1, 2]]
    assert ImportOptions(feature_range=np.array([0, 2]), ignore=["a"]).feature_range == (0, 2)
    hashes = {setup.digest for setup in (set_up(RunOptions(clients=40, epsilon=value)) for value in (4, 4.0))}
    assert len(hashes) == 1
