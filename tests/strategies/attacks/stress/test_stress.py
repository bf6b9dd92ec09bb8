"""Curators who ask again: unprotected devices follow theory, real ones stay at one answer.

A row that is right fails with a chance of 2e-9 (six standard deviations). The power is
shown by the rows without protection, which must fail the test of a protected device.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.data.population import build_population
from ldpsim.devices.datasets.generated import generate
from ldpsim.strategies.attacks.campaign import CampaignResult
from ldpsim.strategies.attacks.stress.campaign import StressOptions, agrees, question, record_of, stress
from ldpsim.strategies.attacks.stress.recovery import Tally, Truth

PEOPLE = 60


def options(**changes: object) -> StressOptions:
    given = {"clients": PEOPLE, "asks": (1, 9), "adversaries": ("new-run",), **changes}
    return StressOptions(**given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def plain() -> CampaignResult:
    """Every protection against every plain adversary."""
    return stress(options(adversaries=("repeat", "new-run", "at-once"), asks=(1, 2, 9)))


def test_who_is_protected_from_what(plain: CampaignResult) -> None:
    assert plain.passed and len(plain.rows) == 4 * 3 * 3 * 3
    for row in plain.rows:
        assert row["distinct_releases"] == (1 if row["covered"] else row["asks"])
    broken = {(row["protection"], row["adversary"]) for row in plain.rows if not row["covered"]}
    assert broken == {
        ("none", "repeat"), ("none", "new-run"), ("none", "at-once"),
        ("context-state", "new-run"), ("context-state", "at-once"),
    }  # fmt: skip
    for row in plain.rows:
        if (row["attribute"], row["asks"]) == ("features", 9):
            assert row["recovered"] < 0.75 if row["covered"] else row["recovered"] > 0.9


@pytest.mark.parametrize(("case", "expected"), [
    ("refuse new-run", {"reported": PEOPLE, "REPORT_COLLECTED": 8 * PEOPLE}),
    ("replay new-run", {"reported": PEOPLE, "replayed": 8 * PEOPLE}),
    ("none repeat", {"reported": 9 * PEOPLE}),
    ("context-state repeat", {"reported": PEOPLE, "replayed": 8 * PEOPLE}),
    # Flower 1.41: state is kept by run; messages at once start from one copy each
    ("context-state new-run", {"reported": 9 * PEOPLE}),
    ("context-state at-once", {"reported": (1 + 2 + 9) * PEOPLE}),
])  # fmt: skip
def test_asking_again(plain: CampaignResult, case: str, expected: dict[str, int]) -> None:
    assert plain.results[case]["answers"] == expected


def test_a_stranger_takes_the_only_answer_unless_the_collector_is_pinned() -> None:
    found = stress(options(protections=("refuse", "pinned"), adversaries=("ghost-first",), asks=(1,)))
    assert found.passed and {row["distinct_releases"] for row in found.rows} == {1}
    assert {name: case["answers"] for name, case in found.results.items()} == {
        "refuse ghost-first": {"reported": PEOPLE, "REPORT_COLLECTED": 2 * PEOPLE},
        "pinned ghost-first": {"COLLECTOR_REFUSED": 2 * PEOPLE, "reported": PEOPLE},
    }
    # What the stranger's question was worth, and what the honest one is.
    shares = {row["protection"]: row["recovered"] for row in found.rows if row["attribute"] == "features"}
    assert shares["refuse"] < 0.55 < 0.7 < shares["pinned"]
    with pytest.raises(ValueError, match="only the others attack pinned ones"):
        stress(options(protections=("pinned",), adversaries=("new-run",)))


def test_an_unprotected_device_fails_the_test_of_a_protected_one(plain: CampaignResult) -> None:
    row = next(r for r in plain.rows if (r["protection"], r["asks"], r["attribute"]) == ("none", 9, "features"))
    bound = row["one_query_bound"]
    assert agrees(row, covered=False) and not agrees(row, covered=True)
    assert not agrees({**row, "distinct_releases": 1}, covered=True)
    assert not agrees({**row, "recovered": bound}, covered=False)
    assert agrees({**row, "recovered": 0.5, "distinct_releases": 0}, covered=True, plain=False)
    assert not agrees({**row, "distinct_releases": 0}, covered=True, plain=False)
    assert agrees(row, covered=False, plain=False)


def test_one_guess_for_all_is_the_share_of_the_most_frequent_value(plain: CampaignResult) -> None:
    people = options().load()
    found = {row["attribute"]: row["constant_guess"] for row in plain.rows}
    edges, entries = people.edges.shape[1], PEOPLE * (PEOPLE - 1)
    assert found["adjacency"] == 1 - 2 * edges / entries > 0.9  # no neighbour
    assert found["label"] == np.bincount(people.labels).max() / PEOPLE
    ones = len(people.feature_values) / (PEOPLE * people.facts.d)
    assert found["features"] == pytest.approx(max(ones, 1 - ones))


def test_edges_beside_the_prior(plain: CampaignResult) -> None:
    rows = [row for row in plain.rows if row["attribute"] == "adjacency" and row["asks"] == 9]
    for row in rows:
        if row["covered"]:
            assert row["edge_recall"] < 0.3
        else:
            assert row["edge_recall"] > 0.8 and row["edge_precision"] > 0.8
    assert all(row["edge_recall"] is None for row in plain.rows if row["attribute"] == "label")


def test_registered_adversaries_and_faults() -> None:
    """A trick against real devices, a fault that is covered and one that is not."""
    found = stress(options(protections=("refuse",), adversaries=("growing-budgets",), faults=("ledger-truncated",
                           "older-backup"), asks=(3,)))  # fmt: skip
    assert found.passed
    releases = {(row["adversary"], row["fault"]): row["distinct_releases"] for row in found.rows}
    assert releases["growing-budgets", "none"] <= 1 and releases["after-fault", "ledger-truncated"] <= 1
    assert releases["after-fault", "older-backup"] == 3  # the real loss: 3x
    assert not next(row for row in found.rows if row["fault"] == "older-backup")["covered"]
    with pytest.raises(ValueError, match="only repeat"):
        stress(options(protections=("none",), adversaries=("growing-budgets",)))


def test_a_result_on_disk(tmp_path: Path) -> None:
    asked = options(protections=("none", "refuse"), asks=(1, 3))
    result = stress(asked, tmp_path)
    assert result.folder is not None
    record = json.loads((result.folder / "result.json").read_text())
    assert record["passed"] and record["rows"] == result.rows and record == record_of(result)
    assert list(record["answers"]) == ["none new-run", "refuse new-run"]
    table = (result.folder / "table.csv").read_text().splitlines()
    assert len(table) == 1 + len(result.rows) and table[0].startswith("protection,adversary,fault,covered,attribute")


@pytest.mark.slow  # starts processes
def test_several_workers_give_the_same_rows() -> None:
    asked = options(protections=("none", "refuse"), asks=(1, 3))
    assert stress(replace(asked, workers=2)).rows == stress(asked).rows


def test_people_without_features_labels_or_edges() -> None:
    n = 6
    people = build_population(
        "bare", n=n, d=0, edges=np.zeros((2, 0), int), feature_indptr=np.zeros(n + 1, int),
        feature_indices=np.zeros(0, int), feature_values=None, labels=np.full(n, -1), classes=0,
    )  # fmt: skip
    query = question(people, 1.0)
    assert query.attributes == ("adjacency",)
    (found,) = Tally(people, Truth.of(people), query).rows(1)
    assert found["recovered"] == 0.5 and found["distinct_releases"] == 0 and found["edge_recall"] is None


def test_features_inside_their_range_follow_their_own_theory(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    n, d = 40, 50
    people = build_population(
        "grades", n=n, d=d, edges=rng.integers(0, n, (2, 60)), feature_indptr=np.arange(0, n * d + 1, d),
        feature_indices=np.tile(np.arange(d), n), feature_values=rng.random(n * d), labels=rng.integers(0, 3, n),
        classes=3,
    )  # fmt: skip
    monkeypatch.setattr(StressOptions, "load", lambda given: people)
    found = stress(options(protections=("none", "refuse"), asks=(1, 7)))
    assert found.passed
    bound = next(row["one_query_bound"] for row in found.rows if row["attribute"] == "features")
    assert 0.58 < bound < 0.65  # half way between a coin and 73 %


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"protections": ("vault",)}, "--protection vault: must be one of none, context-state, refuse, replay, pinned"),
        ({"adversaries": ("new-rum",)}, "did you mean"),
        ({"faults": ("power-loss",)}, "--fault power-loss"),
        ({"asks": (0,)}, "--asks"),
        ({"epsilon_bit": 0.0}, "--epsilon-bit 0"),
        ({"clients": 2}, "--clients 2"),
        ({"workers": 0}, "--workers 0"),
    ],
)
def test_mistakes_are_one_line(changes: dict[str, object], line: str) -> None:
    with pytest.raises(ValueError) as error:
        options(**changes)
    assert line in str(error.value) and "\n" not in str(error.value)


def test_budgets_and_crowds_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="--epsilon-bit 50"):
        stress(options(epsilon_bit=50.0))
    monkeypatch.setattr("ldpsim.strategies.attacks.stress.recovery.LARGEST", 50)
    with pytest.raises(ValueError, match="--clients 50"):
        Truth.of(generate(60, seed=0))
    assert options(asks=(25, 1, 25)).asks == (1, 25)
