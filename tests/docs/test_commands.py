"""Shell commands of README, CONTRIBUTING and docs: their program reads each, and those that take seconds are run.

``commands()`` collects them, in one place; `make slow` runs some. docs/deployment.md has a
test of its own (tests/strategies/flower_app/test_deployment_guide.py), which runs all commands of that page.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from ldpsim.cli.main import app
from tests.cli.test_import_data import EDGES, PEOPLE

ROOT = Path(__file__).resolve().parents[2]
SHELLS = ("sh", "bash", "shell", "console")
# Run here, in this order and in one folder. About half a minute of processor time in all.
RUN_HERE = (
    "ldpsim doctor",
    "ldpsim doctor --json",
    "ldpsim poison hogs --attack help",
    "ldpsim audit hogs --released-model --epsilon 1 --shadows 8",
    "ldpsim import edges.csv people.csv --out mine.npz",
    "ldpsim run --dataset mine.npz --noise-seed os",
    "ldpsim run --method vote --clients 3000 --epsilon 4 --volunteers .1 --private-labels",
    "ldpsim run --clients 3000 --method hogs --feature-share 0.3",
    "ldpsim plan hogs vote --clients 1e8",
)
SHORT = ["--set", "epochs=10"]  # added to runs: every word is read and every part runs, without the long training


def pages() -> list[Path]:
    """Return the documents with commands; pages that are made from code are left out."""
    made = {"_build", "api"}
    found = [path for path in (ROOT / "docs").rglob("*.md") if not made & set(path.relative_to(ROOT).parts)]
    found = [path for path in found if path.parent.name != "methods" or path.name == "README.md"]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(found)]


@cache
def commands() -> tuple[tuple[str, str], ...]:
    """Return all commands of the documents but docs/deployment.md: page and command, comments and folds left out."""
    found: dict[tuple[str, str], None] = {}
    for page in pages():
        if page.name == "deployment.md":
            continue
        name = page.relative_to(ROOT).as_posix()
        for block in re.findall(rf"^```(?:{'|'.join(SHELLS)})\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words:
                    found[name, re.sub(r"\s+#.*| +$", "", line).strip()] = None
    return tuple(found)


def of_ldpsim() -> Iterator[str]:
    """Yield the commands of ldpsim, each once; variables and the folder of the program are left out."""
    seen = {re.sub(r"^(\w+=\S+ +)*(\S+/bin/)?", "", command) for _, command in commands()}
    yield from sorted(command for command in seen if command.startswith("ldpsim "))


def test_the_commands_were_found() -> None:
    assert len(commands()) > 60 and {"README.md", "docs/guide-decide.md", "docs/commands/plan.md"} <= {
        p for p, _ in commands()
    }


@pytest.mark.parametrize("command", list(of_ldpsim()))
def test_the_program_reads_every_word(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Options and the values of choices and numbers are known; nothing runs."""
    monkeypatch.chdir(tmp_path)
    for name in re.findall(r"\b[a-z]+\.(?:csv|npz|toml)\b", command):
        Path(name).touch()
    monkeypatch.setattr(click.Command, "invoke", lambda self, context: None)
    words = shlex.split(command)[1:]
    with get_command(app).make_context("ldpsim", words) as context:
        context.command.invoke(context)


def test_targets_of_make_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {shlex.split(command)[1] for _, command in commands() if command.startswith("make ")}
    assert named and named <= targets


@pytest.mark.slow
def test_the_quick_ones_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LDPSIM_DATA", raising=False)
    Path("edges.csv").write_text(EDGES)
    Path("people.csv").write_text(PEOPLE)
    for command in RUN_HERE:
        short = SHORT if command.startswith("ldpsim run") else []
        shown = CliRunner().invoke(app, [*shlex.split(command)[1:], *short], env={"COLUMNS": "100", "TERM": "dumb"})
        assert shown.exit_code == 0, (command, shown.output[-2000:])
    results = sorted(os.path.dirname(path) for path in Path("runs").glob("*/result.json"))
    assert len(results) == sum(command.startswith("ldpsim run") for command in RUN_HERE)
