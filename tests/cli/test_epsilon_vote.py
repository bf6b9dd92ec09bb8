from __future__ import annotations

import json

import pytest
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.main import app


def ask(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).invoke(app, ["epsilon", "vote", *arguments])


def test_for_people() -> None:
    shown = ask("--epsilon", "4", "--lists", "168", "--nodes", "2708")
    assert shown.exit_code == 0 and max(map(len, shown.stdout.splitlines())) <= 80
    text = " ".join(shown.stdout.split())
    for said in ("answers once, each answer at epsilon 4", "list entry 4", "both ends 8", "reports 4",
                 "joins or leaves 676", "all links change 1,348", "more than 168 lists"):  # fmt: skip
        assert said in text, said
    assert "label" not in text
    text = " ".join(ask("--epsilon", "2", "--queries", "3", "--eps-labels", "1.5").stdout.split())
    for said in ("answers 3 times", "reports 7.5", "a person's label 1.5", "leaves 7.5 + 6 D",
                 "change 7.5 + 12 D", "D (--lists) lists"):  # fmt: skip
        assert said in text, said


def test_as_json() -> None:
    found = json.loads(ask("--epsilon", "4", "--lists", "10", "--reporting", "one-end", "--json").stdout)
    assert found == {
        "method": "vote", "epsilon": 4, "eps_labels": None, "queries": 1, "lists": 10, "nodes": None,
        "reporting": "one-end", "warnings": [],
        "holds": {"bit": 4, "relationship": 4, "label": None, "user": 4, "node_joins": 44, "node": 84},
    }  # fmt: skip


@pytest.mark.parametrize(("arguments", "said"), [
    ([], "--epsilon: the loss of one answer is needed"), (["--epsilon", "0"], "--epsilon 0"),
    (["--epsilon", "1", "--delta", "1e-4"], "--delta"),
    (["--epsilon", "1", "--lists", "-1"], "--lists -1"), (["--epsilon", "1", "--reporting", "all"], "--reporting all"),
    (["--epsilon", "1", "--as-printed"], "--as-printed"), (["--epsilon", "1e308"], "at most 1,000,000"),
])  # fmt: skip
def test_a_mistake_is_one_line(arguments: list[str], said: str) -> None:
    shown = ask(*arguments)
    assert (shown.exit_code, shown.stdout) == (2, ""), shown.output
    assert len(shown.stderr.splitlines()) == 1 and said in shown.stderr
