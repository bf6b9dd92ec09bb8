"""A policy from a file: nothing is taken for granted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.policy.policy import Policy, read_policy, write_policy


def test_a_policy_and_its_file(tmp_path: Path, population: Population, policy_of: Callable[..., Policy]) -> None:
    pins = {"collector": "0a" * 32, "questions": frozenset({"1b" * 32}), "volunteers": frozenset({3, 1})}
    policy = policy_of(population, on_requery="replay", user_cap=3.5, **pins)
    (tmp_path / "p.json").write_text(write_policy(policy))
    assert read_policy(tmp_path / "p.json").to_dict() == policy.to_dict()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"mode": "open"}, "mode is one of"),
        ({"reporting": "all"}, "reporting is one of"),
        ({"on_requery": "answer"}, "on_requery is one of"),
        ({"mechanisms": ["grr", "none"]}, "no mechanism is called none"),
        ({"caps": {"name": {"bit": 1, "vector": 1, "user": 1}}}, "no attribute name"),
        ({"caps": {"label": {"bit": float("nan"), "vector": 1, "user": 1}}}, "label's cap on bit"),
        ({"caps": {"label": {"bit": 1, "vector": -1, "user": 1}}}, "label's cap on vector"),
        ({"caps": {"label": {"bit": 1, "vector": 1, "user": "1"}}}, "label's cap on user"),
        ({"caps": {"label": {"bit": 1, "all": 1}}}, "not a policy"),
        ({"caps": []}, "not a policy"),
        ({"user_cap": -1}, "user_cap"),
        ({"facts": {}}, "not a policy"),
        ({"more": 1}, "no others"),
        ({"collector": "ab"}, "64 hexadecimal digits"),
        ({"collector": 5}, "64 hexadecimal digits"),
        ({"questions": ["ab"]}, "questions are"),
        ({"questions": 5}, "not a policy"),
        ({"volunteers": ["1"]}, "volunteers are public numbers"),
        ({"volunteers": [-1]}, "volunteers are public numbers"),
        ({"volunteers": 5}, "not a policy"),
        ({"mode": "federated", "collector": "ab" * 32}, "not signed"),
    ],
)
def test_a_bad_policy_is_one_line(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], change: dict[str, Any], says: str
) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**policy_of(population).to_dict(), **change}))
    with pytest.raises(ValueError, match=says) as caught:
        read_policy(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        read_policy(tmp_path / "none")
    (tmp_path / "x").write_text("[1")
    with pytest.raises(ValueError, match="not a policy"):
        read_policy(tmp_path / "x")
