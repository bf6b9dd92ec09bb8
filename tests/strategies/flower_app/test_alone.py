"""Covers given too."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from strategies.flower_app import alone
from strategies.flower_app.given import options_given
from strategies.setup.option_spec import declared
from strategies.setup.options import RunOptions

ROOT = Path(__file__).parents[3]


def test_the_app_of_the_checkout_lists_the_keys_that_are_read() -> None:
    """The table in pyproject.toml is for `flwr run .`; an installed package writes it itself."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    assert listed == alone.default_config()
    assert {key: type(value) for key, value in listed.items()} == {
        key: type(value) for key, value in alone.default_config().items()
    }
    options = {spec.key: spec for spec in declared(RunOptions).values() if spec.flower}
    assert set(listed) == {*alone.OWN_KEYS, *options}
    for key, value in listed.items():
        assert not value or value == options[key].default, f"{key}: empty text and 0 mean not given"


def test_a_configuration_becomes_options_of_their_types() -> None:
    config = {"method": "blink", "epsilon": 4, "data-dir": "/data", "seed": 3.0, "split": "", "eps-labels": 0.0}
    given = options_given(config)
    assert given == {"method": "blink", "epsilon": 4.0, "data_dir": Path("/data"), "seed": 3}
    assert isinstance(given["epsilon"], float) and isinstance(given["seed"], int)


def test_settings_are_pairs_with_commas_between_them() -> None:
    config = {"settings": "tau=0.7, l=1", "feature-share": "0.3", "reporting": "one-end", "sampler": 2}
    given = options_given(config)
    assert given == {"settings": {"tau": "0.7", "l": "1"}, "feature_share": 0.3, "reporting": "one-end", "sampler": 2}
    assert options_given({"feature-share": "auto"}) == {"feature_share": "auto"}
    with pytest.raises(ValueError, match="settings tau: must be KEY=VALUE"):
        options_given({"settings": "tau"})
