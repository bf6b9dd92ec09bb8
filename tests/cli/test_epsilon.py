from __future__ import annotations

import json
import time
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.main import app

PRIVGNN = ["privgnn", "--queries", "1000", "--lambda", ".2", "--classes", "10", "--delta", "1e-4"]
PATE = ["pate-g", "--queries", "500", "--lambda", ".1", "--delta", "4e-4"]


def ask(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).invoke(app, ["epsilon", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    shown = ask(*arguments, "--json")
    assert shown.exit_code == 0, shown.output
    return dict(json.loads(shown.stdout))


def words(shown: Result) -> str:
    assert shown.exit_code == 0, shown.output
    assert max(map(len, shown.stdout.splitlines())) <= 80
    return " ".join(shown.stdout.split())


def test_as_json() -> None:
    started = time.process_time()
    found = document(*PRIVGNN)
    assert time.process_time() - started < 10  # usually one second
    given = {key: found[key] for key in ("method", "queries", "gamma", "lambda", "classes", "delta", "sampling")}
    assert given == {
        "method": "privgnn", "queries": 1000, "gamma": 0.3, "lambda": 0.2, "classes": 10, "delta": 1e-4,
        "sampling": "fresh",
    }  # fmt: skip
    assert found["printed"]["epsilon"] == pytest.approx(8.538752, abs=1e-6)
    assert found["printed"]["delta_used"] == pytest.approx(1e-3)
    assert found["holds"] == {
        "label": pytest.approx(3.812266, abs=1e-6),
        "vector": pytest.approx(19.131, abs=2e-3),
        "label_edge": pytest.approx(1.000019, abs=1e-6),
    }


def test_standard_output_is_the_document_alone() -> None:
    shown = ask(*PRIVGNN, "--json")
    json.loads(shown.stdout)
    assert "needs more than 10,000 people" in shown.stderr
    assert ask(*PRIVGNN, "--nodes", "500", "--json").stderr == ""


def test_once() -> None:
    found = document(*PRIVGNN, "--sampling", "once")
    assert found["sampling"] == "once"
    assert found["holds"]["label"] == pytest.approx(14.883026, abs=1e-6)


def test_for_people() -> None:
    text = words(ask(*PRIVGNN))
    for said in ("PrivGnn: 1,000 queries", "noise Lap(5)", "a fresh sample for every query",
                 "a person; labels released (exact) 3.8123", "an edge; labels released (exact) 1.0001",
                 "a person; noisy vectors released 19.1313", "at delta 0.001; no guarantee 8.538752",
                 "0.1220 at most", "The owner is trusted", "needs more than 10,000 people"):  # fmt: skip
        assert said in text, said


def test_pate() -> None:
    text = words(ask(*PATE, "--gamma", ".3"))
    for said in ("PATE-G: 500 queries", "labels released 14.56", "counts released 14.56", "27.824",
                 "draws no sample: --gamma has no effect"):  # fmt: skip
        assert said in text, said
    found = document(*PATE)
    assert found["gamma"] is None and found["sampling"] is None and found["classes"] is None
    assert found["holds"]["vector"] == pytest.approx(14.5614, abs=1e-3)
    assert found["printed"] == {"epsilon": pytest.approx(27.824046, abs=1e-6), "delta_used": 4e-4}
    assert "data-dependent" in words(ask("pate-m", *PATE[1:]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hogs", *PRIVGNN[1:]], "hogs: must be one of privgnn"),
        (["privgn", *PRIVGNN[1:]], "did you mean privgnn"),
        ([*PRIVGNN[:3], *PRIVGNN[5:]], "Missing option '--lambda'"),
        ([*PRIVGNN[:5], *PRIVGNN[7:]], "--classes"),
        ([*PRIVGNN, "--nodes", "10000"], "--delta 0.0001: must be below 1 / n"),
        ([*PRIVGNN, "--gamma", "0"], "--gamma 0"),
        ([*PRIVGNN, "--gamma", "nan"], "--gamma nan"),
        ([*PRIVGNN, "--sampling", "twice"], "--sampling twice"),
        ([*PRIVGNN, "--lambda", "inf"], "--lambda inf"),
        ([*PRIVGNN, "--delta", "0"], "--delta 0"),
        ([*PRIVGNN, "--queries", "0"], "--queries 0"),
        ([*PRIVGNN, "--classes", "1"], "--classes 1"),
        (PRIVGNN[:7], "--delta"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], said: str) -> None:
    shown = ask(*arguments)
    assert (shown.exit_code, shown.stdout) == (2, ""), shown.output
    assert len(shown.stderr.splitlines()) == 1
    assert said in shown.stderr
