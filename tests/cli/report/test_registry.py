"""Registry records of a run: the fields that the registry requires, with the run's figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from functools import cache
from itertools import product
from typing import Any

import pytest
import yaml

from ldpsim.cli.report.registry import PARTS, UNITS, file_of, registry_texts
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.results.folder import text_of

# Of the registry's schema of 2026-07-15: the fields of each part, and the words of those that have no other. The
# template fills all of them, although the schema requires less; it allows no other field.
FIELDS = {
    "": "url_slug status tier deployment",
    "basic": "name data_curators description intended_use data_product_type data_product_region publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details privacy_parameters privacy_parameters_details",
    "deployment_model": "model_name actors release_type release_type_details data_source_type access_type",
    "accounting": "post_processing composition",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms justification",
    "administrative": "notes registry_authors",
}
WORDS = {
    "status": {"Draft"}, "data_product_type": {"Machine learning model"}, "variant_name": {"Pure DP", "Approximate DP"},
    "model_name": {"Local", "Central", "Federated"}, "release_type": {"One release", "Many releases"},
    "data_source_type": {"Static"}, "access_type": {"Non-interactive"},
}  # fmt: skip
LISTS = {"data_curators", "registry_authors"}


def mistakes(record: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a record, an entry an error."""
    wrong = [] if record.keys() == {*FIELDS[""].split()} else [f"fields: {sorted(record)}"]
    wrong += [] if record["deployment"].keys() == FIELDS.keys() - {""} else [f"parts: {sorted(record['deployment'])}"]
    for part, fields in {"": {"status": record["status"]}, **record["deployment"]}.items():
        if part and fields.keys() != {*FIELDS[part].split()}:
            wrong.append(f"{part}: {sorted(fields)}")
        for name, value in fields.items():
            if name == "privacy_parameters":
                good = value.keys() <= {"epsilon", "delta"} and all(type(each) is float for each in value.values())
            elif name in LISTS:
                good = bool(value) and all(isinstance(each, str) for each in value)
            else:
                good = isinstance(value, str) and bool(value) and (name not in WORDS or value in WORDS[name])
            wrong += [] if good else [f"{part}.{name}: {value}"]
    date.fromisoformat(record["deployment"]["basic"]["publication_date"])
    return wrong + ([] if record["tier"] in (1, 2, 3) else [f"tier: {record['tier']}"])


# Units and mechanisms of a run.
METHODS = {
    "hogs": (["relationship", "user", "node"], ["randomized_response on adjacency", "one_bit on features"]),
    "lpgnn": (["vector", "label"], ["multi_bit on features", "grr on label"]),
    "vote": (["relationship", "user", "node"], ["neighbourhood_vote on adjacency"]),
    "ldp-fedavg": (["user"], ["gaussian_update"]),
    "dp-fedavg": (["central_node"], ["gaussian"]),
    "privgnn": (["central_node"], ["laplace"]),
}
QUICK = {
    "hogs": {"epochs": "3"}, "lpgnn": {"epochs": "3", "k_x": "2", "k_y": "2"}, "ldp-fedavg": {"rounds": "2"},
    "dp-fedavg": {"rounds": "2"}, "fedavg-mlp": {"rounds": "2"}, "privgnn": {"K": "8", "queries": "3", "epochs": "3"},
}  # fmt: skip


@cache
def _run(name: str) -> str:
    options = RunOptions(method=name, settings=QUICK.get(name, {}), reference=False, nulls=False, out=None, clients=300,
                         feature_share=0.3 if name == "hogs" else None)  # fmt: skip
    return text_of(simulate(options).record)


def run_with(holds: dict[str, Level], method: str = "hogs", **privacy: Any) -> dict[str, Any]:
    """Return the record of a run, whose levels are these and no others."""
    record: dict[str, Any] = json.loads(_run(method))
    record["privacy"] |= {"holds": {name: holds.get(name, Level("not asked")).to_dict() for name in LEVELS}, **privacy}
    record["reconstruction"] = {}
    return record


def drafts(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the deployment of each unit, by file; each draft is valid."""
    texts = registry_texts(record)
    found = {name: yaml.safe_load(text) for name, text in texts.items()}
    for each in found.values():
        assert mistakes(each) == []
    return {name: each["deployment"] for name, each in found.items()}


@pytest.mark.parametrize("name", METHODS)
def test_a_run_has_valid_records_with_its_own_figures_and_mechanisms(name: str) -> None:
    record = json.loads(_run(name))
    units, mechanisms = METHODS[name]
    found = drafts(record)
    assert list(found) == [file_of(unit) for unit in units]
    for unit, parts in zip(units, found.values(), strict=True):
        entry = record["privacy"]["holds"][unit]
        delta = {"delta": entry["delta"]} if entry["delta"] else {}
        assert parts["privacy_loss"]["privacy_parameters"] == {"epsilon": entry["value"], **delta}
        assert parts["dp_variant"]["variant_name"] == ("Approximate DP" if delta else "Pure DP")
        lines = parts["implementation"]["mechanisms"].splitlines()
        assert [line.removeprefix("- Mechanism: ") for line in lines if line.startswith("- Mechanism: ")] == mechanisms
        trusted = unit == "central_node"
        assert ("is trusted" in parts["deployment_model"]["actors"]) == trusted


@pytest.mark.parametrize("name", ["raw", "mlp", "fedavg-mlp", "isolate"])
def test_a_run_that_protects_nothing_has_no_record(name: str) -> None:
    assert registry_texts(json.loads(_run(name))) == {}


def test_no_unit_that_is_in_clear_or_not_asked_has_a_record() -> None:
    """Every combination of statuses; a loss beside a status that is not bounded changes nothing."""
    losses = dict(zip((*UNITS, *PARTS), (8.0, 4.0, 16.0, 2.0, 1.0, 0.5), strict=True))
    record = run_with({})
    for statuses in list(product(("bounded", "unprotected", "not asked"), repeat=len(losses)))[::5]:
        given = dict(zip(losses, statuses, strict=True))
        for name, status in given.items():
            level = Level(status, reason=f"reason of {name}").to_dict()
            record["privacy"]["holds"][name] = {**level, "value": losses[name], "private_value": losses[name]}
        found = {name: yaml.safe_load(text)["deployment"] for name, text in registry_texts(record).items()}
        bounded = {file_of(name) for name, status in given.items() if status == "bounded"}
        assert bounded & set(map(file_of, UNITS)) <= set(found) <= bounded
        for unit in losses:
            if file_of(unit) in found:
                parts = found[file_of(unit)]
                assert parts["privacy_loss"]["privacy_parameters"] == {"epsilon": losses[unit]}
                for name, status in given.items():
                    clear = f"reason of {name}" in parts["dp_variant"]["unprotected_quantities"]
                    assert clear == (status == "unprotected")


def test_units_with_one_loss_have_one_record_and_parts_stand_for_a_whole() -> None:
    same = {"user": Level("bounded", 4.0, 1e-5), "node": Level("bounded", 4.0, 1e-5)}
    assert list(drafts(run_with(same))) == ["registry-user.yaml"]
    other = {**same, "node": Level("bounded", 4.0, 1e-4)}
    assert list(drafts(run_with(other))) == ["registry-user.yaml", "registry-node.yaml"]
    parts = {"vector": Level("bounded", 1.0), "label": Level("bounded", 2.0)}
    assert list(drafts(run_with({**parts, "user": Level("bounded", 3.0)}))) == ["registry-user.yaml"]
    rest = Level("unprotected", public=("adjacency",), private_value=3.0, counted=("features", "label"))
    found = drafts(run_with({**parts, "user": rest}))
    assert list(found) == ["registry-vector.yaml", "registry-label.yaml"]
    clear = "- a person: list in clear; feature vector and label alone: 3\n"
    assert clear in found["registry-vector.yaml"]["dp_variant"]["unprotected_quantities"]
    assert registry_texts(run_with({"user": rest})) == {}


def test_text_of_a_file_stays_text() -> None:
    record = run_with({"user": Level("bounded", 1.0)})
    record["privacy"]["holds"]["user"]["detail"] = "x\n  epsilon: 0\u2028!!python/object:os.system <b> & \x07"
    record["dataset"]["name"] = "a: b\n- c\nstatus: Published"
    (text,) = registry_texts(record).values()
    found = yaml.safe_load(text)
    assert found["status"] == "Draft" and "a: b - c status: Published" in found["deployment"]["administrative"]["notes"]
    said = found["deployment"]["privacy_loss"]["privacy_parameters_details"].splitlines()[0]
    assert said == "- x epsilon: 0 !!python/object:os.system <b> &"
