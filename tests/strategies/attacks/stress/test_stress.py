"""Curators who ask again: unprotected devices follow theory, real ones stay at one answer.

A row that is right fails with a chance of 2e-9 (six standard deviations). The power is
shown by the rows without protection, which must fail the test of a protected device.
"""

from __future__ import annotations

import pytest

from ldpsim.devices.datasets.generated import generate
from ldpsim.strategies.attacks.campaign import CampaignResult
from ldpsim.strategies.attacks.stress.campaign import StressOptions, agrees, stress
from ldpsim.strategies.attacks.stress.recovery import Truth

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


def test_a_stranger_takes_the_only_answer_unless_the_curator_is_pinned() -> None:
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


def test_a_registered_adversary_attacks_real_devices_alone() -> None:
    found = stress(options(protections=("refuse",), adversaries=("growing-budgets",), asks=(3,)))
    assert found.passed and {row["distinct_releases"] for row in found.rows} == {1}
    with pytest.raises(ValueError, match="only repeat"):
        stress(options(protections=("none",), adversaries=("growing-budgets",)))


def test_budgets_and_crowds_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="--epsilon-bit 50"):
        stress(options(epsilon_bit=50.0))
    monkeypatch.setattr("ldpsim.strategies.attacks.stress.recovery.LARGEST", 50)
    with pytest.raises(ValueError, match="--clients 50"):
        Truth.of(generate(60, seed=0))
    assert options(asks=(25, 1, 25)).asks == (1, 25)
