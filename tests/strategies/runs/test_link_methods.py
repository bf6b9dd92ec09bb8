"""Guarantees of the methods that protect links, and their stored settings (on Cora: test_every_method.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpsim.curator.methods import find
from ldpsim.strategies import RunOptions, simulate

PUBLIC = ("blink", "rr", "symrr", "dprr", "ldpgcn", "ldpgen")


def _options(tmp_path: Path, name: str, **given: object) -> RunOptions:
    settings = {"epochs": "3"} if find(name)().in_force().trains_network else {}
    return RunOptions(
        method=name, settings=settings, reference=False, nulls=False, out=tmp_path / "runs",
        **given,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize("asks", ["rgnn", "lpgnn", "solitude", "fp-solitude", "blink", "symrr", "dprr"])
def test_sbp_reads_the_answers_to_any_question(asks: str, tmp_path: Path) -> None:
    options = RunOptions(
        method="sbp", clients=60, settings={"asks": asks}, epsilon=12.0, public_features=asks in PUBLIC,
        reference=False, nulls=False, out=tmp_path / "runs",
    )  # fmt: skip
    record = simulate(options).record
    assert record["devices"]["reported"] == 60 and 0 <= record["accuracy"]["test"] <= 1
    assert (
        record["reconstruction"]["posterior"]["answer"] in record["reconstruction"]["posterior"]["validation_accuracy"]
    )
