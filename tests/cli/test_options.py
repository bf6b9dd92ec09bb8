"""Options of the commands.

It covers ``ldpsim.cli.config`` too.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import click
import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from ldpsim.cli.config import as_parameters
from ldpsim.cli.main import app
from ldpsim.cli.options import Config, pairs, read_table, seeds, with_run_options
from ldpsim.cli.run import run
from ldpsim.strategies.results.folder import write_config
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions


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
        "--split-seed 9 --queries 5 --lambda 0.2 --state here --on-requery replay"
    )
    assert given(*words.split()) == RunOptions(
        clients=70, epsilon=4.5, private_labels=True, reference=False, caps={"bit": 2.0}, state=Path("here"),
        settings={"tau": ".8", "queries": "5", "lambda_": "0.2"}, seeds={"noise": None, "split": 9},
        on_requery="replay",
    )  # fmt: skip


def test_names_of_a_list_are_repeated_or_between_commas() -> None:
    wanted = RunOptions(defence="degree,both-ends")
    assert given("--defence", "degree", "--defence", "both-ends") == given("--defence", "degree,both-ends") == wanted
    assert as_parameters({"defence": "degree,both-ends"}, Path()) == {"defence": ["degree,both-ends"]}
    with pytest.raises(ValueError, match="--defence degre: there is no degre; did you mean degree"):
        RunOptions(defence="degre")


def test_every_option_of_a_run_is_a_parameter() -> None:
    fielded = as_parameters({name: {} if spec.is_table else 1 for name, spec in declared(RunOptions).items()}, Path())
    assert set(fielded) <= set(inspect.signature(run).parameters)


def test_help_of_the_program_lists_few_options_and_the_others_work() -> None:
    listed: dict[str, int] = {}

    def walk(command: click.Command, path: str) -> None:
        listed[path] = sum(isinstance(one, click.Option) and not one.hidden for one in command.params)
        for name, below in command.commands.items() if isinstance(command, click.Group) else ():
            walk(below, f"{path} {name}")

    walk(get_command(app), "ldpsim")
    assert listed["ldpsim run"] <= 40 and sum(listed.values()) <= 200
    for name in ("compare", "plan", "poison", "tune"):
        shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, [name, "--help"]).output
        assert "`ldpsim run --help`" in shown and "--split" not in shown


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
