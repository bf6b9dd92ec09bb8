"""Every adversary against devices behind the local Grid: what it learned, beside the one-query bound.

Covers curator, data, processes, repeating, target and varying.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from ldpsim.devices import draw
from ldpsim.devices.collector import CollectorKey, generate
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.ledger import decisions
from ldpsim.devices.ledger.decisions import NewRelease
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.noise import key_message
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.report import unpack_parts
from ldpsim.devices.wire import TEXTS
from ldpsim.strategies.attacks.adversaries import ADVERSARIES, Target
from ldpsim.strategies.attacks.adversaries.attack_result import AttackResult
from ldpsim.strategies.results.lifetime import lifetime

ASKS = 25
PROCESSES = {"parallel", "two-supernodes"}
ISSUE = {
    "greedy-first", "ghost-first", "repeats", "new-runs", "new-collections", "one-batch", "parallel", "growing-budgets",
    "shrinking-budgets", "attribute-by-attribute", "subsets", "other-mechanisms", "train-and-evaluate", "changed-data",
    "broken-plans", "both-ends", "sybils", "two-supernodes", "retry-storm", "malformed", "huge-parameters",
    "hostile-tables",
}  # fmt: skip
TABLE = [
    (name, on_requery, wide)
    for name in sorted(ISSUE)
    for on_requery in ("refuse", "replay")
    for wide in (False, True)
    # starting processes takes a second: once with devices of each kind
    if (
        not wide or on_requery == "refuse"
        if name not in PROCESSES
        else (on_requery, wide) == (("refuse", True) if name == "parallel" else ("replay", False))
    )
]


def reports_in(state: State) -> dict[tuple[int, str, int], bytes]:
    """Return the reports that stand in the ledger, by device, attribute and stage."""
    entered = [(answer, part) for answer in state.ledger().answers() for part in answer.parts if part.report]
    found = {(answer.device, part.attribute, answer.stage): part.report for answer, part in entered}
    assert len(found) == len(entered)
    return found


def losses(outcome: AttackResult, target: Target) -> dict[tuple[int, str], tuple[float, float]]:
    """Return the learned loss and the bound of one honest question, by device and attribute."""
    return {
        (device, name): (outcome.loss(device, name), target.query.loss(name, device=device).vector)
        for device in range(target.devices)
        for name in target.query.attributes
    }


def test_the_table_is_that_of_the_threat_model() -> None:
    assert set(ADVERSARIES) == ISSUE
    for name, adversary in ADVERSARIES.items():
        assert adversary.name == name and adversary.covered and adversary.loss == "1x"
        assert 20 < len(adversary.description) < 140


@pytest.mark.parametrize(("name", "on_requery", "wide"), TABLE)
def test_nobody_gets_a_second_answer(target_for: Callable[..., Target], name: str, on_requery: str, wide: bool) -> None:
    target = target_for(name, on_requery=on_requery, wide=wide)
    outcome = ADVERSARIES[name](target, asks=ASKS).attack()
    assert sum(outcome.answers.values()) == outcome.messages >= 24
    assert outcome.unasked == 0 and outcome.answers["other"] == 0
    assert outcome.texts <= set(TEXTS.values())
    assert outcome.distinct_releases == 1
    assert outcome.answers["LEDGER_DAMAGED"] == 0
    state = State(target.folder)  # type: ignore[arg-type]
    known = lifetime(state)
    assert known["complete"]
    if not wide:
        for learned, bound in losses(outcome, target).values():
            assert learned <= bound
        assert known["user"]["max"] <= sum(target.query.loss(name).vector for name in target.query.attributes)
    # What the curator holds is in the ledgers, and nothing else is: one report of an attribute and stage.
    held = {(r.device, r.attribute, r.query.stage): r.parts for r in outcome}
    entered = reports_in(state)
    assert set(entered) == set(held)
    for key, report in entered.items():
        assert unpack_parts(report) == held[key]
    # And the device still gives its report to who asked for it first, or says that it has.
    before = len(entered)
    ADVERSARIES["repeats"](target, asks=1).attack()
    after = reports_in(State(target.home))
    assert len(after) == before


def test_changed_data_is_another_label_and_one_feature_and_one_neighbour_less(
    target_for: Callable[..., Target], people: Population
) -> None:
    target = target_for("repeats")
    target.change_data()
    changed = Population.load(target.home / "population")
    for person in range(target.devices):
        old, new = people.record(person), changed.record(person)
        assert new.label == (old.label + 1) % 3
        assert new.feature_indices.tolist() == old.feature_indices[1:].tolist()
        assert new.feature_values.tolist() == old.feature_values[1:].tolist()
        assert new.neighbours.tolist() == old.neighbours[1:].tolist()


def test_a_stranger_who_asks_first(target_for: Callable[..., Target], tmp_path: Path) -> None:
    """Issue 17, break 5: one hostile run took everybody's answer; a pinned collector is answered, and nobody else."""
    open_to_all = ADVERSARIES["ghost-first"](target_for("ghost-first"), asks=ASKS).attack()
    assert open_to_all.answers == {"reported": 12, "REPORT_COLLECTED": 24}
    assert {release.query.collection for release in open_to_all} == {"ghost"}
    generate(tmp_path / "key")
    key = CollectorKey.load(tmp_path / "key")
    pinned = ADVERSARIES["ghost-first"](target_for("ghost-first", collector=key), asks=ASKS).attack()
    assert pinned.answers == {"COLLECTOR_REFUSED": 24, "reported": 12}
    assert {release.query.collection for release in pinned} == {"first"}


# What each gets from devices without ledger, policy or memory: the same messages work where nothing protects.
REPORTS_A_DEVICE = {
    "repeats": ASKS, "new-runs": ASKS, "new-collections": ASKS, "one-batch": ASKS, "retry-storm": 32,
    "growing-budgets": ASKS, "shrinking-budgets": ASKS, "attribute-by-attribute": 2 * ASKS, "subsets": 12,
    "changed-data": 1 + 3 * 6, "sybils": 8, "greedy-first": 2, "both-ends": ASKS, "other-mechanisms": 3,
    "broken-plans": 4, "hostile-tables": 12,
}  # fmt: skip


@pytest.fixture
def unprotected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices that forget what they said, allow everything and draw fresh noise every time."""
    number = itertools.count()

    def fresh(*parts: bytes) -> bytes:
        return key_message(*parts, next(number).to_bytes(8, "little"))

    monkeypatch.setattr(decisions, "decide", lambda *_, **__: NewRelease())
    monkeypatch.setattr(Ledger, "enter", lambda *_: None)
    monkeypatch.setattr(Policy, "allows", lambda *_, **__: True)
    monkeypatch.setattr(draw, "key_message", fresh)


@pytest.mark.parametrize("name", sorted(REPORTS_A_DEVICE))
def test_the_attack_works_where_nothing_protects(
    target_for: Callable[..., Target], unprotected: None, name: str
) -> None:
    target = target_for(name)
    outcome = ADVERSARIES[name](target, asks=ASKS).attack()
    found = max(outcome.distinct(9, attribute) for attribute in target.query.attributes)
    # A label has few values and a short list may come out alike twice, so a few repeats are no surprise.
    assert found >= REPORTS_A_DEVICE[name] - 2, found
    learned, bound = losses(outcome, target)[9, "adjacency"]
    assert learned > 1.5 * bound
