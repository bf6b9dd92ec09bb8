"""Registry records against the registry's schema. It covers ``strategies.outputs.registry_models`` too."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import yaml

from curator.methods import find, table
from curator.privacy.level import DONATED, LABEL, Level, OfOne
from curator.privacy.levels import LEVELS
from devices.facts import PublicFacts
from docs.rooms import ROOT
from strategies.outputs.registry import (
    FILES,
    NO_DATE,
    PARTS,
    TO_FILL,
    UNITS,
    Deployment,
    file_of,
    registry_records,
    registry_texts,
)
from strategies.outputs.registry_models import model_of
from strategies.results.in_words import PrivacyInWords
from tests.strategies.registry_schemas import mistakes, named_schema

ASKED = ("randomized_response on adjacency",)
# The form of drafts before the registry renamed its fields; the values do not matter.
OLD_DRAFT: dict[str, Any] = {
    "status": "Draft",
    "registry_authors": [],
    "tier": 3,
    "deployment": {
        **dict.fromkeys(("name", "data_curator", "description", "intended_use", "data_product_type", "publication_date",
                         "data_product_region", "data_product_sector", "additional_information"), ""),
        "dp_flavor": {"name": "Pure DP", "data_domain": "", "unprotected_quantities": ""},
        "privacy_loss": {"privacy_unit": "User-level", "privacy_unit_description": "", "privacy_parameters": {},
                         "privacy_parameters_description": ""},
        "model": {"model_name": "Local"},
        "accounting": {"post_processing": "", "composition": ""},
        "implementation": {"pre_processing_eda_hyperparameter_tuning": "", "mechanisms": "", "justification": ""},
    },
}  # fmt: skip


def described(holds: dict[str, Level], method: str = "rr", **more: Any) -> Deployment:
    every = {name: holds.get(name, Level("not asked")).to_dict() for name in LEVELS}
    facts = PublicFacts(n=50, d=4, classes=3)
    return Deployment(find(method), facts, every, ASKED, "A model.", "Notes.", "None.", "Why.", **more)


@pytest.fixture
def schema() -> dict[str, Any]:
    return named_schema()


def test_a_named_schema_that_is_missing_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LDPSIM_REGISTRY_SCHEMA", "/nowhere/schema.yaml")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"LDPSIM_REGISTRY_SCHEMA=/nowhere/schema\.yaml is no file"):
        named_schema()
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception):
        named_schema()


def test_a_draft_in_the_old_form_has_six_mistakes(schema: dict[str, Any]) -> None:
    assert len(mistakes(OLD_DRAFT, schema)) == 6


def test_a_record_is_valid_and_the_text_says_the_same(schema: dict[str, Any]) -> None:
    of = described({"relationship": Level("bounded", 8.0), "user": Level("bounded", 4.0, 1e-5, not_counted=(LABEL,))})
    texts, records = registry_texts(of), registry_records(of)
    assert list(texts) == ["registry-relationship.yaml", "registry-user.yaml"]
    for text, record in zip(texts.values(), records.values(), strict=True):
        assert yaml.safe_load(text) == record and mistakes(record, schema) == []
    assert records["user"]["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 4.0, "delta": 1e-5}
    assert [record["deployment"]["dp_variant"]["variant_name"] for record in records.values()] == [
        "Pure DP", "Approximate DP",
    ]  # fmt: skip


def test_what_only_people_know_is_named_at_the_head_and_marked_in_its_field() -> None:
    (text,) = registry_texts(described({"relationship": Level("bounded", 8.0)})).values()
    basic = yaml.safe_load(text)["deployment"]["basic"]
    named = text.splitlines()[0].partition("people: ")[2].rstrip(".").split(", ")
    for name in ("name", "data_curators", "intended_use", "data_product_region", "publication_date"):
        assert f"deployment.basic.{name}" in named
        assert TO_FILL in str(basic[name]) or basic[name] == NO_DATE
    assert {"url_slug", "deployment.administrative.registry_authors"} <= set(named)
    assert "deployment.basic.description" not in named and "data_product_sector" not in basic


def test_no_unit_that_is_in_clear_or_not_asked_has_a_record() -> None:
    """Every combination of statuses; a loss beside a status that is not bounded changes nothing."""
    losses = dict(zip((*UNITS, *PARTS), (8.0, 4.0, 16.0, 2.0, 1.0, 0.5), strict=True))
    for statuses in product(("bounded", "unprotected", "not asked"), repeat=len(losses)):
        given = dict(zip(losses, statuses, strict=True))
        of = described({name: Level(status, reason=f"reason of {name}") for name, status in given.items()})  # type: ignore[arg-type]
        for name, loss in losses.items():
            of.holds[name].update(value=loss, private_value=loss)
        records = registry_records(of)
        bounded = {name for name, status in given.items() if status == "bounded"}
        assert bounded & set(UNITS) <= set(records) <= bounded
        for unit, record in records.items():
            parts = record["deployment"]
            assert parts["privacy_loss"]["privacy_parameters"] == {"epsilon": losses[unit]}
            for name, status in given.items():
                assert (f"reason of {name}" in parts["dp_variant"]["unprotected_quantities"]) == (
                    status == "unprotected"
                )


def test_the_other_units_stand_beside_the_figure_of_one() -> None:
    """Of a vote at 4 the record of a person says relationship 8, and 4 + 8 D for a person as others report it."""
    node = Level("bounded", 396.0, counted=("adjacency", "told"), own=4.0, per_list=8.0)
    holds = {"relationship": Level("bounded", 8.0), "user": Level("bounded", 4.0), "node": node}
    records = registry_records(described(holds, "vote"))
    assert list(records) == ["relationship", "user", "node"]
    said = {
        unit: record["deployment"]["privacy_loss"]["privacy_parameters_details"] for unit, record in records.items()
    }
    assert "- a relationship: epsilon 8\n" in said["user"]
    assert "- a person as others report it: epsilon 396 (list and the bits" in said["user"]
    assert all("4 + 8 D where nobody is in more than D lists" in text for text in said.values())
    assert said["relationship"].startswith("- a person: epsilon 4\n")


def test_units_with_one_loss_have_one_record() -> None:
    """What others report adds nothing where nobody reports about others."""
    same = {"user": Level("bounded", 4.0, 1e-5), "node": Level("bounded", 4.0, 1e-5)}
    assert list(registry_records(described(same))) == ["user"]
    other = {**same, "node": Level("bounded", 4.0, 1e-4)}
    assert list(registry_records(described(other))) == ["user", "node"]


def test_parts_stand_for_a_person_who_is_not_protected_as_a_whole() -> None:
    parts = {"vector": Level("bounded", 1.0), "label": Level("bounded", 2.0)}
    assert list(registry_records(described({**parts, "user": Level("bounded", 3.0)}))) == ["user"]
    assert list(registry_records(described({**parts, "central_node": Level("bounded", 3.0)}))) == ["central_node"]
    rest = Level("unprotected", public=("adjacency",), private_value=3.0, counted=("features", "label"))
    records = registry_records(described({**parts, "user": rest}))
    assert list(records) == ["vector", "label"]
    clear = "- a person: list in clear; feature vector and label alone: 3"
    assert records["vector"]["deployment"]["dp_variant"]["unprotected_quantities"] == clear
    assert registry_records(described({"user": rest})) == {} == registry_texts(described({}))


def test_what_a_figure_leaves_out_is_not_protected() -> None:
    donated = Level("bounded", 1.0, not_counted=(DONATED,))
    label = Level("unprotected", public=("label",))
    user = Level("bounded", 2.0, not_counted=(LABEL, DONATED))
    (record,) = registry_records(described({"vector": donated, "label": label, "user": user})).values()
    assert record["deployment"]["dp_variant"]["unprotected_quantities"].splitlines() == [
        "- a person's label: labels of training and validation nodes are public in this setting",
        "- features of labelled people are public in this setting and not counted",
    ]
    (record,) = registry_records(described({"user": Level("bounded", 2.0)})).values()
    none = "None of the levels that ldpsim accounts for."
    assert record["deployment"]["dp_variant"]["unprotected_quantities"] == none


def test_the_details_of_several_collections_and_their_words() -> None:
    found = PrivacyInWords(("user",), "a person", "partly hidden", "open", "best guess 80 %")
    level = Level("bounded", 6.0, kind="exact", of_one=OfOne(2.0, 0.0, 3))
    (record,) = registry_records(described({"user": level}, in_words=(found,), many=True)).values()
    parts = record["deployment"]
    assert parts["privacy_loss"]["privacy_parameters_details"].splitlines() == [
        "- the figure counts 3 collections; one of them alone: epsilon 2",
        "- in words: partly hidden (best guess 80 %)",
    ]
    assert parts["deployment_model"]["release_type"] == "Many releases"
    assert parts["accounting"]["composition"].endswith("the figure of a person is attained by some input.")


def test_files_and_models() -> None:
    assert FILES == tuple(file_of(unit) for unit in (*UNITS, *PARTS))
    names = {name: model_of(find(name)).name for name in ("hogs", "privgnn", "dp-fedavg", "ldp-fedavg")}
    assert names == {"hogs": "Local", "privgnn": "Central", "dp-fedavg": "Federated", "ldp-fedavg": "Federated"}
    with pytest.raises(ValueError, match=r"\Araw: the registry has no deployment model for trust 'none' where "):
        model_of(find("raw"))
    kinds = [find(name) for name in sorted(table())]
    noise = [kind for kind in kinds if kind.mechanisms or (kind.trust != "none" and "owner" in kind.trained_by)]
    assert noise and all(model_of(kind).actors for kind in noise)


def test_the_page_names_every_file() -> None:
    page = (ROOT / "docs" / "commands" / "report.md").read_text()
    assert all(f"`{name}`" in page for name in FILES) and f"`{TO_FILL}`" in page and f"`{NO_DATE}`" in page


def test_a_text_of_somebody_else_stays_a_text() -> None:
    of = described({"user": Level("bounded", 1.0)})
    of.holds["user"]["detail"] = "x\n  epsilon: 0\u2028!!python/object:os.system"
    (text,) = registry_texts(replace(of, product="a: b\n- c")).values()
    parts = yaml.safe_load(text)["deployment"]
    assert parts["basic"]["description"] == "a: b\n- c"
    assert parts["privacy_loss"]["privacy_parameters_details"] == "- x epsilon: 0 !!python/object:os.system"


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1.0, None, True, "4"])
def test_a_loss_that_is_no_loss_is_refused(value: Any) -> None:
    of = described({"user": Level("bounded", 1.0)})
    of.holds["user"]["value"] = value
    with pytest.raises(ValueError, match=r"privacy\.holds\.user: a bounded level needs"):
        registry_records(of)
