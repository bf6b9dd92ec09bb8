"""Guarantees of the methods that protect links, and their stored settings (on Cora: test_every_method.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpsim.curator.methods import Blink, find
from ldpsim.curator.methods.base import Budget
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.setup.settings import resolve

PUBLIC = ("blink", "rr", "symrr", "dprr", "ldpgcn", "ldpgen")
NAMES = (*PUBLIC, "fp-blink", "fp-ldpgen", "lp-and", "sbp", "noisy", "rnd", "ohd")


def _options(tmp_path: Path, name: str, **given: object) -> RunOptions:
    settings = {"epochs": "3"} if find(name)().in_force().trains_network else {}
    return RunOptions(
        method=name, settings=settings, reference=False, nulls=False, out=tmp_path / "runs",
        **given,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_each_runs_on_the_generated_graph(name: str, tmp_path: Path) -> None:
    record = simulate(_options(tmp_path, name, clients=60)).record
    assert 0 <= record["accuracy"]["test"] <= 1
    if name in ("rnd", "ohd"):
        assert record["privacy"]["trust"] == "none" and record["reconstruction"]["feature_mae"] > 0
        return
    assert record["devices"]["reported"] == 60
    holds = record["privacy"]["holds"]
    assert (holds["vector"]["status"] == "unprotected") == (name in PUBLIC)
    ends = 1 if name == "symrr" else 2
    assert holds["relationship"]["value"] == pytest.approx(ends * holds["bit_adjacency"]["value"])


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


@pytest.mark.parametrize("variant", ["soft", "hybrid"])
def test_variants_and_silent_devices(variant: str, tmp_path: Path) -> None:
    options = RunOptions(
        method="blink", clients=60, settings={"epochs": "3", "variant": variant},
        reference=False, nulls=False, dropout=0.2,
        out=tmp_path / "runs",
    )  # fmt: skip
    assert simulate(options).record["devices"]["silent"] == 12


def test_published_settings_are_taken_by_variant() -> None:
    budget = Budget(epsilon=5, public_features=True)

    def of(**given: str) -> object:
        return resolve(RunOptions(method="blink", dataset="cora", tuned=True, settings=given), Blink, budget)

    hard, soft = of(), of(variant="soft")
    assert (hard.training.lr, hard.training.gnn_dropout, hard.method.degree_share) == (0.1, 0.001, 0.1)  # type: ignore[attr-defined]
    assert (soft.training.lr, soft.training.weight_decay) == (0.01, 0.0)  # type: ignore[attr-defined]
    assert hard.provenance["lr"].startswith("published: ") and soft.method.variant == "soft"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="--tuned: no stored setting for blink, cora, gcn, epsilon 5.5"):
        options = RunOptions(method="blink", dataset="cora", tuned=True)
        resolve(options, Blink, Budget(epsilon=5.5, public_features=True))


@pytest.mark.parametrize("name", PUBLIC)
def test_what_was_published_is_stored(name: str) -> None:
    for dataset in ("cora", "citeseer"):
        for gnn in ("gcn", "sage", "gat"):
            for epsilon in range(1, 9):
                options = RunOptions(method=name, dataset=dataset, gnn=gnn, tuned=True)
                settings = resolve(options, find(name), Budget(epsilon=epsilon, public_features=True))
                assert settings.training.lr in (0.1, 0.01)
