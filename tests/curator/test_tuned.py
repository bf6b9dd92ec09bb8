"""Stored settings: all of them name parameters that there are, and say where they come from. Covers tuned/__init__."""

from __future__ import annotations

from dataclasses import fields

import pytest

import ldpsim.curator.tuned
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import BUILT_IN, find
from ldpsim.curator.tuned import settings_of

STORED = [name for name in BUILT_IN if settings_of(name)]
CONDITIONS = {
    "dataset", "gnn", "split", "epsilon", "eps_adjacency", "eps_features", "eps_labels", "public_features", "when",
    "feature_share",
}  # fmt: skip


def test_every_file_is_of_a_method() -> None:
    from importlib.resources import files

    there = {path.name for path in files(ldpsim.curator.tuned).iterdir() if path.name.endswith(".toml")}
    assert there == {f"{name.replace('-', '_')}.toml" for name in STORED}
    assert {"lpgnn", "rgnn", "blink", "rr", "symrr", "dprr", "ldpgcn", "ldpgen"} <= set(STORED)  # the published


@pytest.mark.parametrize("name", STORED)
def test_every_setting_is_one_the_method_takes(name: str) -> None:
    method = find(name)
    of_training = {entry.name for entry in fields(TrainingSettings)}
    for setting in settings_of(name):
        assert setting["provenance"] in ("published", "ours") and setting["source"]
        assert set(setting) <= {*CONDITIONS, "provenance", "source", "collections", "values"}
        values = setting["values"]
        training = {key: value for key, value in values.items() if key in of_training}
        TrainingSettings(
            **{"gnn": setting.get("gnn", method.spec.default_gnn), **method.spec.training_defaults, **training}
        )
        own = {key: value for key, value in values.items() if key not in of_training}
        method.from_settings({**setting.get("when", {}), **own})
        assert setting["provenance"] == "published" or "collections" in setting or "search" not in setting["source"]
