"""``deployment.toml`` of a result: what was measured is what a deployment asks."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods.local.hogs import HoGS
from ldpsim.curator.reports.question import keys_of
from ldpsim.strategies import simulate
from ldpsim.strategies.experiments.compare import compare
from ldpsim.strategies.flower_app.deployed import PublicFile, _questions, _settings_of
from ldpsim.strategies.flower_app.simulation import default_config
from ldpsim.strategies.outputs.deployment import DEPLOYMENT, undeployable
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.setup.options import RunOptions

RUN = RunOptions(clients=60, settings={"epochs": "2"}, reference=False, nulls=False, groups=False)


def _written(folder: Path) -> tuple[str, dict[str, Any]]:
    """Return the file of a run, and the configuration that it makes."""
    text = (folder / DEPLOYMENT).read_text()
    values = tomllib.loads(text)
    assert set(values) <= set(default_config())
    return text, {**default_config(), **values}


@pytest.mark.usefixtures("of_another_package")
def test_a_deployment_asks_the_question_that_was_measured(tmp_path: Path) -> None:
    """Every option that makes the question is in the file; the app reads them, and asks what the run asked."""
    given = {"feature_share": 0.3, "reporting": "one-end", "eps_labels": 2.0, "private_labels": True, "gnn": "sage",
             "label_mechanism": "flags", "settings": {"tau": "0.7", "epochs": "2"}}  # fmt: skip
    options = replace(RUN, out=tmp_path, **given)  # type: ignore[arg-type]
    result = simulate(options)
    assert result.folder is not None
    text, config = _written(result.folder)
    setup = prepare(options)
    facts = setup.population.facts
    public = PublicFile(facts, np.full(facts.n, -1))
    settings, budget = _settings_of(config, public)
    method, training = settings.method, settings.training
    assert (method, training.gnn, training.epochs) == (HoGS(tau=0.7), "sage", 2)
    assert budget == setup.budget
    split = public.split(0)
    asked = _questions(method, public, split, budget, "c")
    assert keys_of(asked) == keys_of(method.questions(facts, split, setup.budget, "c"))
    held = result.record["privacy"]["holds"]["relationship"]["value"]
    assert text.startswith("# hogs, measured on 60 people of generated: ") and f"a friendship {held:g}" in text
    assert _facts_told(text) == {"facts": {"n": 60, "d": facts.d, "classes": facts.classes}}


def _facts_told(text: str) -> Any:
    (line,) = (line for line in text.splitlines() if "facts.json:" in line)
    return json.loads(line.partition(": ")[2].rpartition(", with")[0])


def test_the_public_range_is_told_where_it_is_not_that_of_bits(tmp_path: Path) -> None:
    """One bit of a feature is asked over the range, so a deployment without it would ask another question."""
    people = prepare(RUN).population
    names = tuple(f"class, with {number}" for number in range(people.facts.classes))
    facts = replace(people.facts, feature_low=-1.0, feature_high=2.0, class_names=names)
    result = simulate(replace(RUN, out=tmp_path), population=replace(people, facts=facts))
    assert result.folder is not None
    told = _facts_told(_written(result.folder)[0])
    assert PublicFile.read(json.dumps(told)).facts == facts and set(told["facts"]) == {
        "n", "d", "classes", "feature_low", "feature_high", "class_names",
    }  # fmt: skip


def test_the_budget_and_the_share_that_were_in_force_are_written(tmp_path: Path) -> None:
    """sbp chooses a share of its own, and hogs has its default epsilon."""
    for method, more in (("sbp", {"epsilon": 30.0}), ("hogs", {})):
        options = replace(RUN, method=method, out=tmp_path, settings={}, **more)
        setup, folder = prepare(options), simulate(options).folder
        assert folder is not None
        config = _written(folder)[1]
        assert config["epsilon"] == setup.budget.epsilon
        share = setup.budget.feature_share if method == "sbp" else ""
        assert config["feature-share"] == (str(share) if method == "sbp" else "")
        _, budget = _settings_of(config, PublicFile(setup.population.facts, np.zeros(60, np.int64)))
        assert budget == setup.budget


@pytest.mark.usefixtures("cells_in_this_process")
def test_a_comparison_at_equal_loss_writes_the_budget_that_it_found(tmp_path: Path) -> None:
    made = compare(["vote", "lpgnn"], replace(RUN, out=tmp_path), matching=("user", 4.0))
    folders = {path.name.split("-")[0]: path for path in made.folder.glob("*-generated-*")}
    assert _written(folders["vote"])[1]["epsilon"] == pytest.approx(4.0, rel=0.01)
    assert not (folders["lpgnn"] / DEPLOYMENT).exists()


@pytest.mark.parametrize(("given", "why"), [
    ({"public_features": True}, "a configuration has no key for --public-features"),
    ({"method": "lpgnn"}, "the edges of lpgnn are public"),
    ({"method": "rr"}, "the features of rr are public"),
    ({"method": "raw"}, "raw does not ask devices for one private report"),
    ({"method": "fedavg-mlp", "settings": {}}, "fedavg-mlp does not ask devices for one private report"),
    ({"method": "secure-sum", "volunteers": 0.3, "settings": {}}, "secure-sum trusts a sum, which is simulated only"),
    ({"volunteers": 0.3}, "hogs does not ask volunteers"),
    ({"method": "vote", "volunteers": 0.3, "settings": {}}, ""),
])  # fmt: skip
def test_what_a_deployment_cannot_ask_leaves_no_file(given: dict[str, Any], why: str) -> None:
    assert undeployable(prepare(replace(RUN, out=None, **given))) == why
