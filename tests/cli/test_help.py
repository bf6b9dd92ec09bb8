"""``--help``: all options, one line each, in groups in the order of use; examples that the program reads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest
from rich.console import Console
from typer.main import get_command
from typer.testing import CliRunner

from ldpsim.cli.help import described, option_groups
from ldpsim.cli.main import app
from ldpsim.strategies.setup.option_spec import PANELS, declared
from ldpsim.strategies.setup.options import RunOptions, Seeds

OF_A_RUN = ("run", "compare", "poison", "tune")  # commands that take its options
LISTED = (*OF_A_RUN, "sweep", "plan")
LEFT_OUT = {  # options of a run that another command does not have, as they are refused there or change nothing
    "run": set(),
    "compare": {"method", "all_nulls", "state", "from_reports"},
    "poison": {"method", "reference", "all_nulls", "groups", "state", "from_reports", "save_reports", "dropout",
               "caps", "on_requery", "collector_key", "false_alarm"},
    "tune": {"method", "tuned", "reference", "nulls", "all_nulls", "groups", "engine", "workers", "ray_address",
             "state", "on_requery", "caps", "collector_key", "out", "save_reports", "from_reports"},
}  # fmt: skip


def walk(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield a command, and all below it, with their contexts."""
    yield command, context
    for name, below in command.commands.items() if isinstance(command, click.Group) else ():
        yield from walk(below, click.Context(below, info_name=name, parent=context))


PROGRAM = get_command(app)
ROOT = click.Context(PROGRAM, info_name="ldpsim", **PROGRAM.context_settings)
COMMANDS = {context.command_path: (command, context) for command, context in walk(PROGRAM, ROOT)}


def shown(*words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--help"])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("name", OF_A_RUN)
def test_a_command_lists_the_options_of_a_run_that_it_takes(name: str) -> None:
    text = shown(name)
    for option, spec in declared(RunOptions).items():
        flags = [f"--{seed}-seed" for seed in declared(Seeds)] if option == "seeds" else [spec.option]
        flags = ["--reference"] if (name, option) == ("compare", "reference") else flags
        for flag in flags:
            lines = re.findall(rf"^  {flag}\b(?!-).*$", text, re.MULTILINE)
            assert len(lines) == (option not in LEFT_OUT[name]), flag


@pytest.mark.parametrize("path", [path for path in COMMANDS if path != "ldpsim"])
def test_nothing_is_hidden_and_texts_are_short(path: str) -> None:
    command, context = COMMANDS[path]
    assert not [parameter.name for parameter in command.params if getattr(parameter, "hidden", False)]
    for rows in option_groups(command, context).values():
        for name, text in rows:
            assert text and len(text.split(" [")[0]) <= 60, name
            assert not text.endswith(".") or text.endswith("..."), name


@pytest.mark.parametrize("name", LISTED)
def test_an_option_is_one_line_of_80_columns(name: str) -> None:
    command, context = COMMANDS[f"ldpsim {name}"]
    lines = shown(name).splitlines()
    assert max(map(len, lines)) <= 80
    for rows in option_groups(command, context).values():
        for option, text in rows:
            assert sum(line.split() == [*option.split(), *text.split()] for line in lines) == 1, option


@pytest.mark.parametrize("name", LISTED)
def test_groups_are_in_the_order_of_use_and_examples_at_the_end(name: str) -> None:
    text = shown(name)
    headings = [line for line in text.splitlines() if line in PANELS]
    assert headings == sorted(headings, key=PANELS.index) and len(headings) >= 3
    examples = text.partition("\nExamples\n")[2].splitlines()
    assert len(examples) >= 2 and all(line.startswith(f"  ldpsim {name} ") for line in examples)


@pytest.mark.parametrize("path", COMMANDS)
def test_the_program_reads_its_examples(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Command, "invoke", lambda self, context: None)
    for example in described(COMMANDS[path][0].help or "")[1]:
        with get_command(app).make_context("ldpsim", shlex.split(example)[1:]) as context:
            context.command.invoke(context)


@pytest.mark.parametrize("path", COMMANDS)
def test_a_narrow_terminal_has_every_word(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = path.split()[1:]
    wide = shown(*words)
    monkeypatch.setattr("ldpsim.cli.help.console", lambda: Console(width=40))
    narrow = shown(*words)
    assert narrow.split() == wide.split()
    uncut = [line for line in narrow.splitlines() if not line.startswith(("Usage:", "  ldpsim "))]
    assert max(map(len, uncut)) <= 40


def test_commands_stand_under_their_headings() -> None:
    headings = re.findall(r"^(\w.*)\n  (\w+)  ", shown(), re.MULTILINE)
    assert headings == [
        ("Simulate", "run"), ("Look up", "report"), ("Attack and audit", "stress"), ("Deploy", "ledger"),
    ]  # fmt: skip
    rows = shown().partition("\nSimulate\n")[2].partition("\nOptions\n")[0].splitlines()
    assert all(len(line) <= 80 and not line.startswith("   ") for line in rows)  # a command is one line
