"""What a configuration of the Flower app, and the file of public facts, may hold."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.curator_key import CuratorKey
from ldpsim.devices.data.population import Population
from ldpsim.strategies.flower_app import simulation
from ldpsim.strategies.flower_app.deployed import PublicFile, options_given, signed_config
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions

ROOT = Path(__file__).parents[3]


def test_the_app_of_the_checkout_lists_the_keys_that_are_read() -> None:
    """The table in pyproject.toml is for `flwr run .`; an installed package writes it itself."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    assert listed == simulation.default_config()
    assert {key: type(value) for key, value in listed.items()} == {
        key: type(value) for key, value in simulation.default_config().items()
    }
    options = {spec.key: spec for spec in declared(RunOptions).values() if spec.flower}
    assert set(listed) == {*simulation.OWN_KEYS, *options}
    for key, value in listed.items():
        assert not value or value == options[key].default, f"{key}: empty text and 0 mean not given"


def test_only_public_labels_are_learned_from(facts: Path) -> None:
    public = PublicFile.load(facts)
    split = public.split(0)
    assert set(split.labelled.tolist()) == set(range(0, 40, 2))
    assert (len(split.train), len(split.val), len(split.test)) == (13, 7, 20)
    nobody = PublicFile(public.facts, np.full(40, -1)).split(0)
    assert (len(nobody.train), len(nobody.val), len(nobody.test)) == (20, 10, 10)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "No such file"),
        ("[]", "not a file of public facts"),
        ('{"facts": {"n": 0}}', "not a file of public facts"),
        ("{}", "'facts' is missing"),
        ('{"n": 4}', "n does not belong there"),
        ('{"facts": {"n": 40, "d": 4.5, "classes": 2}}', "d 4.5: must be a whole number"),
        ('{"facts": {"n": 40, "d": 4, "classes": 2, "feature_low": "a"}}', "feature_low 'a': must be a number"),
        ('{"facts": {"n": 40, "d": 4, "classes": 2, "range": 1}}', "public facts have n, d, classes, feature_low"),
        ('{"facts": FACTS, "labels": {"40": 0}}', "person 40: a whole number below 40"),
        ('{"facts": FACTS, "labels": {" 0": 0}}', "person  0: a whole number below 40"),
        ('{"facts": FACTS, "labels": {"0": 0, "00": 1}}', "person 0 is given twice"),
        ('{"facts": FACTS, "labels": [0]}', "an object is wanted"),
        ('{"facts": FACTS, "node": {"0": 5}}', "node does not belong there; facts, labels, volunteers"),
        ('{"facts": FACTS, "volunteer": [0, 1, 2]}', "volunteer does not belong there; facts, labels, volunteers"),
        ('{"facts": FACTS, "labeled": [3]}', "labeled does not belong there; facts, labels, volunteers"),
        ('{"facts": FACTS, "labels": {"0": 99}}', "person 0 with label 99"),
        ('{"facts": FACTS, "volunteers": 3}', "a list of different people, each 0 to 39"),
        ('{"facts": FACTS, "volunteers": [0, 1, "2"]}', "a list of different people, each 0 to 39"),
        ('{"facts": FACTS, "volunteers": [0, 1, true]}', "a list of different people, each 0 to 39"),
        ('{"facts": FACTS, "volunteers": [0, 1, 40]}', "a list of different people, each 0 to 39"),
        ('{"facts": FACTS, "volunteers": [0, 1, 1, 2]}', "a list of different people, each 0 to 39"),
        ('{"facts": FACTS, "volunteers": []}', "3 to 39 of 40 people can volunteer, not 0"),
        ('{"facts": FACTS, "volunteers": [0, 1]}', "3 to 39 of 40 people can volunteer, not 2"),
        ('{"facts": FACTS, "volunteers": ALL}', "3 to 39 of 40 people can volunteer, not 40"),
        ('{"facts": FACTS, "volunteers": [0, 1, 2], "labels": {"0": 0}}', "no labels may stand beside them"),
        ('{"facts": FACTS, "volunteers": [0, 1, 2], "labelled": [2, 3]}', "person 2 is labelled and a volunteer"),
        ('{"facts": FACTS, "volunteers": [0, 1, 2], "labelled": [3, 3]}', "labelled are a list of different people"),
        ('{"facts": FACTS, "labelled": [3]}', "labelled people stand beside volunteers alone"),
        ('{"facts": FACTS, "nodes": {"0": 1.9}}', "node 1.9: a whole number below"),
        ('{"facts": FACTS, "nodes": {"0": true}}', "node True: a whole number below"),
        ('{"facts": FACTS, "nodes": {"0": " 5"}}', "node  5: a whole number below"),
        ('{"facts": FACTS, "nodes": {"0": 5, "00": 6}}', "person 0 is given twice"),
        ('{"facts": FACTS, "nodes": {"0": 5, "1": "5"}}', "two people have the same node"),
        ('{"facts": FACTS, "nodes": {"40": 5}}', "person 40: a whole number below 40"),
        ('{"facts": FACTS, "nodes": null}', "an object is wanted"),
        ('{"facts": FACTS, "nodes": {"0": 5}, "nodes": {"0": 6}}', "nodes is given twice"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_a_bad_file_of_facts_is_one_line(tmp_path: Path, population: Population, text: str | None, says: str) -> None:
    path = tmp_path / "bad.json"
    if text is not None:
        text = text.replace("FACTS", json.dumps(population.facts.to_dict()))
        path.write_text(text.replace("ALL", json.dumps(list(range(40)))))
    with pytest.raises(ValueError, match=says) as caught:
        PublicFile.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("key_of_run", "value", "says"), [
    ("epsilon", "abc", "--epsilon abc: must be a number"), ("epsilon", "4", "--epsilon 4: must be a number"),
    ("epsilon", True, "--epsilon True: must be a number"), ("epsilon", False, "--epsilon False: must be a number"),
    ("seed", "x", "--seed x: must be a whole number"), ("seed", 3.7, "--seed 3.7: must be a whole number"),
    ("feature-share", True, "--feature-share True: must be a number or text"),
    ("reporting", 1, "--reporting 1: must be text"), ("settings", 5, "settings 5: must be KEY=VALUE"),
])  # fmt: skip
def test_a_value_of_another_type_is_not_signed(
    facts: Path, key: CuratorKey, key_of_run: str, value: Any, says: str
) -> None:
    """Nor is a part of it read, as the 3 of a seed of 3.7, or 1 for true."""
    with pytest.raises(ValueError, match=says) as caught:
        signed_config({key_of_run: value}, facts.read_text(), key)
    assert "\n" not in str(caught.value)


def test_whole_numbers_are_numbers(facts: Path) -> None:
    """TOML tells 4 from 4.0, people do not."""
    assert options_given({"epsilon": 4, "seed": 3.0, "feature-share": "0.5", "eps-labels": 0, "gnn": ""}) == {
        "epsilon": 4.0, "seed": 3, "feature_share": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(("text", "says"), [
    (None, "No such file"), ("epsilon = ", "no configuration of a run"),
    ("collector-key = 'key'", "no key collector-key"), ("epsilon = [1]", "no key epsilon of this kind"),
    ("timeout = 'soon'", "run.toml: timeout soon: must be a number"), ("timeout = true", "timeout True: must be a num"),
    ("minimum-nodes = 2.5", "minimum-nodes 2.5: must be a whole number"), ("collection = 5", "collection 5: must be"),
    ("facts = false", "facts False: must be text"),
])  # fmt: skip
def test_a_bad_configuration_is_one_line(tmp_path: Path, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / "run.toml").write_text(text)
    with pytest.raises(ValueError, match=says) as caught:
        simulation.read_config(tmp_path / "run.toml")
    assert "\n" not in str(caught.value)
