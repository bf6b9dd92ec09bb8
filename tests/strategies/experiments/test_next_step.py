from __future__ import annotations

import shlex
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from curator.methods import find
from strategies.experiments.next_step import methods_to_compare
from strategies.outputs.shell import comparison_of
from strategies.setup.options import RunOptions

CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["hogs", "sbp", "vote", "raw"]),
    ({"method": "raw"}, ["raw", "hogs", "sbp", "vote"]),
    ({"method": "blink", "epsilon": 4.0, "caps": {"bit": 9.0}}, ["blink", "hogs", "sbp", "vote", "raw"]),
    ({"method": "vote", "public_features": True, "split": "file"}, ["vote", "hogs", "sbp", "raw"]),
    ({"method": "sbp", "feature_share": "auto"}, ["sbp", "hogs", "vote", "raw"]),
    ({"method": "vote", "feature_share": 0.0}, ["vote", "sbp", "raw"]),
    ({"method": "rgnn", "private_labels": True, "settings": {"epochs": "7"}}, ["rgnn", "raw"]),
    ({"method": "rgnn", "private_labels": True, "eps_labels": 1.0}, ["rgnn", "hogs", "sbp", "vote", "raw"]),
    ({"method": "privgnn", "settings": {"queries": "50"}}, ["privgnn", "pate-m", "b1"]),
    ({"method": "b1"}, ["b1", "privgnn", "pate-m"]),
    ({"method": "fedavg-mlp", "settings": {"rounds": "5"}}, ["fedavg-mlp", "dp-fedavg", "hogs", "raw"]),
    ({"method": "silo-fedgcn"}, ["silo-fedgcn", "silo-fedavg-gcn", "raw"]),
]  # fmt: skip


@pytest.mark.parametrize(("given", "names"), CASES, ids=lambda value: str(value)[:60])
def test_the_methods_fit_the_run_and_the_command_is_one(given: dict[str, Any], names: list[str]) -> None:
    options = RunOptions(**given)
    assert methods_to_compare(options) == names
    # Help is shown only after every option was recognised.
    shown = CliRunner().invoke(app, [*shlex.split(comparison_of(names, options))[1:], "--help"])
    assert shown.exit_code == 0, shown.output


def test_every_method_that_is_named_exists() -> None:
    for _, names in CASES:
        assert all(find(name).name == name for name in names)
