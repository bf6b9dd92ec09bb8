"""Completion in a shell, through the protocol by which the shell asks: words and place in the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.curator.methods import BUILT_IN
from ldpsim.devices import datasets
from ldpsim.strategies.results.in_words import compared_levels

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
        (("run", "--cap", ""), ["bit=", "vector=", "user="]),
        (("compare", "hogs", "--match", "re"), ["relationship"]),
        (("run", "--defence", "d"), ["duplicates", "degree"]),
        (("run", "--on-requery", "r"), ["refuse", "replay"]),
        (("sweep", "--engine", ""), ["auto", "local", "ray"]),
        (("stress", "--protection", "con"), ["context-state"]),
        (("stress", "--fault", "ledger-tr"), ["ledger-truncated"]),
        (("stress", "--adversary", "hel"), ["help"]),
        (("run", "--state", ""), []),  # a folder: left to the shell
    ],
)
def test_what_is_offered(words: tuple[str, ...], expected: list[str]) -> None:
    assert completed(*words) == expected


def test_all_names_of_the_registries_are_offered() -> None:
    assert set(completed("run", "--method", "")) >= set(BUILT_IN)
    assert completed("run", "--dataset", "") == list(datasets.names())
    assert completed("compare", "--match", "") == list(compared_levels())


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
