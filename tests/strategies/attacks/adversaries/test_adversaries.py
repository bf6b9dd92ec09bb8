"""Every adversary against devices behind the local Grid: what it learned, beside the one-query bound."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from ldpsim.devices import draw
from ldpsim.devices.collector import CollectorKey, generate
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.ledger import decisions
from ldpsim.devices.ledger.decisions import NewRelease
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.noise import key_message
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.report import unpack_parts
from ldpsim.devices.wire import TEXTS
from ldpsim.strategies.attacks.adversaries.curator import AttackResult, Target
from ldpsim.strategies.attacks.adversaries.table import ADVERSARIES
from ldpsim.strategies.results.lifetime import lifetime
from tests.strategies.attacks.adversaries.conftest import loss_of

ASKS = 25
PROCESSES = {"parallel", "two-supernodes"}
# Starting processes takes a second: once with devices of each kind.
TABLE = [(name, on_requery, wide) for name in ADVERSARIES for on_requery, wide in (("refuse", True), ("replay", False))
         if name not in PROCESSES or wide == (name == "parallel")]  # fmt: skip


def reports_in(state: State) -> dict[tuple[int, str, int], bytes]:
    """Return the reports that stand in the ledger, by device, attribute and stage."""
    entered = [(answer, part) for answer in state.ledger().answers() for part in answer.parts if part.report]
    found = {(answer.device, part.attribute, answer.stage): part.report for answer, part in entered}
    assert len(found) == len(entered)
    return found


def losses(outcome: AttackResult, target: Target) -> dict[tuple[int, str], tuple[float, float]]:
    """Return the learned loss and the bound of one honest question, by device and attribute."""
    return {
        (device, name): (loss_of(outcome, device, name), target.query.loss(name, device=device).vector)
        for device in range(target.devices)
        for name in target.query.attributes
    }


@pytest.mark.parametrize(("name", "on_requery", "wide"), TABLE)
def test_nobody_gets_a_second_answer(target_for: Callable[..., Target], name: str, on_requery: str, wide: bool) -> None:
    target = target_for(name, on_requery=on_requery, wide=wide)
    outcome = ADVERSARIES[name].attack(target, asks=ASKS)
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
    held = {(r.device, r.attribute, r.query.stage): r.parts for r in outcome.releases}
    entered = reports_in(state)
    assert set(entered) == set(held)
    for key, report in entered.items():
        assert unpack_parts(report) == held[key]
    # And the device still gives its report to who asked for it first, or says that it has.
    before = len(entered)
    ADVERSARIES["repeats"].attack(target, asks=1)
    after = reports_in(State(target.home))
    assert len(after) == before


def test_a_stranger_who_asks_first(target_for: Callable[..., Target], tmp_path: Path) -> None:
    """One hostile run took everybody's answer; a pinned collector is answered, and nobody else."""
    open_to_all = ADVERSARIES["ghost-first"].attack(target_for("ghost-first"))
    assert open_to_all.answers == {"reported": 12, "REPORT_COLLECTED": 24}
    assert {release.query.collection for release in open_to_all.releases} == {"ghost"}
    generate(tmp_path / "key")
    key = CollectorKey.load(tmp_path / "key")
    pinned = ADVERSARIES["ghost-first"].attack(target_for("ghost-first", collector=key))
    assert pinned.answers == {"COLLECTOR_REFUSED": 24, "reported": 12}
    assert {release.query.collection for release in pinned.releases} == {"first"}


# What each gets from devices without ledger, policy or memory: the same messages work where nothing protects.
REPORTS_A_DEVICE = {
    "repeats": ASKS, "new-runs": ASKS, "one-batch": ASKS, "growing-budgets": ASKS, "shrinking-budgets": ASKS,
    "subsets": 12,
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
    outcome = ADVERSARIES[name].attack(target, asks=ASKS)
    found = max(outcome.distinct()[9, attribute] for attribute in target.query.attributes)
    # A label has few values and a short list may come out alike twice, so a few repeats are no surprise.
    assert found >= REPORTS_A_DEVICE[name] - 2, found
    learned, bound = losses(outcome, target)[9, "adjacency"]
    assert learned > 1.5 * bound
