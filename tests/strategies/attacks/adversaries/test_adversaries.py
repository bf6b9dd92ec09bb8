"""Every adversary against devices behind the local Grid: what it learned, beside the one-query bound."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from flwr.app import ConfigRecord, Context, Error, Message, RecordDict

from ldpsim.devices import draw
from ldpsim.devices.client_app import app, open_state
from ldpsim.devices.curator_key import CuratorKey, generate
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.ledger import decisions
from ldpsim.devices.ledger.decisions import NewRelease
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.mechanisms import BUILT_IN, GRR, OneBit, RandomizedResponse
from ldpsim.devices.noise import key_message
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report, unpack_parts
from ldpsim.devices.wire import TEXTS, read_reply
from ldpsim.strategies.attacks.adversaries.curator import AttackResult, Curator, Release, Target
from ldpsim.strategies.attacks.adversaries.questions import every_mechanism, rebudgeted
from ldpsim.strategies.results.lifetime import read_ledgers
from tests.strategies.attacks.adversaries.conftest import loss_of
from tests.strategies.attacks.adversaries.malformed import hostile_bytes, hostile_shot
from tests.strategies.attacks.adversaries.other_attacks import ATTACKS, two_stages
from tests.strategies.attacks.adversaries.pooling import pooled

ASKS = 25
PROCESSES = {"parallel", "two-supernodes"}
# Starting processes takes a second: once with devices of each kind.
TABLE = [(name, on_requery, wide) for name in ATTACKS for on_requery, wide in (("refuse", True), ("replay", False))
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
    outcome = ATTACKS[name].attack(target, asks=ASKS)
    assert sum(outcome.answers.values()) == outcome.messages >= 24
    assert outcome.unasked == 0 and outcome.answers["other"] == 0
    assert outcome.texts <= set(TEXTS.values())
    assert outcome.distinct_releases == 1
    assert outcome.answers["LEDGER_DAMAGED"] == 0
    state = State(target.folder)  # type: ignore[arg-type]
    known = read_ledgers(state, None)[0].figures()
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
    ATTACKS["repeats"].attack(target, asks=1)
    after = reports_in(State(target.home))
    assert len(after) == before


def test_a_stranger_who_asks_first(target_for: Callable[..., Target], tmp_path: Path) -> None:
    """One hostile run took everybody's answer; a pinned curator is answered, and nobody else."""
    open_to_all = ATTACKS["ghost-first"].attack(target_for("ghost-first"))
    assert open_to_all.answers == {"reported": 12, "REPORT_COLLECTED": 24}
    assert {release.query.collection for release in open_to_all.releases} == {"ghost"}
    generate(tmp_path / "key")
    key = CuratorKey.load(tmp_path / "key")
    pinned = ATTACKS["ghost-first"].attack(target_for("ghost-first", collector=key))
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
    outcome = ATTACKS[name].attack(target, asks=ASKS)
    found = max(outcome.distinct()[9, attribute] for attribute in target.query.attributes)
    # A label has few values and a short list may come out alike twice, so a few repeats are no surprise.
    assert found >= REPORTS_A_DEVICE[name] - 2, found
    learned, bound = losses(outcome, target)[9, "adjacency"]
    assert learned > 1.5 * bound


N, D, C = 12, 10, 3
BITS, TRUTH = OneBit.from_epsilon(1.0, d=D), GRR.from_epsilon(1.0, categories=C)
QUERY = Query("c", ((Ask("features", (BITS,)), Ask("label", (TRUTH,))),))


def test_a_staged_query_is_one_answer() -> None:
    staged = two_stages(Query("c", ((Ask("adjacency", (RandomizedResponse.from_epsilon(1.0, n=N),)),),)), N)
    outcome = AttackResult()
    first, second = (tuple((j + s) % 3 for j in range(N)) for s in (0, 1))
    outcome.releases |= {Release(0, staged, "adjacency", (b"1",)),
                         Release(0, staged.at_stage(1, first), "adjacency", (b"2",))}  # fmt: skip
    assert outcome.distinct_releases == 1 and loss_of(outcome, 0, "adjacency") == staged.loss("adjacency").vector
    outcome.releases.add(Release(0, staged.at_stage(1, second), "adjacency", (b"2",)))  # to another question
    assert outcome.distinct_releases == 2
    assert two_stages(staged, N) == staged
    assert pooled([outcome, outcome]).distinct_releases == 2


def test_budgets_are_changed_whatever_the_mechanism() -> None:
    facts = PublicFacts(N, D, C)
    found = [(name, m) for name in ("adjacency", "features", "label") for m in every_mechanism(name, facts)]
    assert {m.name for _, m in found} == set(BUILT_IN)
    for attribute, mechanism in found:
        query = Query("c", ((Ask(attribute, (mechanism,)),),))
        smaller, larger = (rebudgeted(query, factor, facts) for factor in (0.5, 2.0))
        if query.loss(attribute).vector == math.inf:  # in clear, to the curator or to the party that adds
            assert smaller == larger == query
        else:
            assert smaller.loss(attribute).vector < query.loss(attribute).vector < larger.loss(attribute).vector
        assert rebudgeted(query, 1, facts) is query


def test_what_is_no_report_is_noted() -> None:
    target = Target(QUERY, None, 1, lambda: None)  # type: ignore[arg-type,return-value]
    curator = Curator(target)
    asked = Message(RecordDict(), 1, "query.report")
    report = RecordDict({"report": ConfigRecord({"report": b"label 2", "device": 0, "replayed": False})})
    for content in (report, RecordDict({"leak": ConfigRecord({"x": 1})})):
        curator.hear(Message(content, reply_to=asked), 0, None)
    curator.hear(Message(report, reply_to=asked), 0, QUERY)
    assert curator.result.unasked == 3
    curator.hear(Message(Error(0, "ValueError: label 2"), reply_to=asked), 0, QUERY)
    assert curator.result.texts == {"ValueError: label 2"} and curator.result.answers["other"] == 2


MESSAGES = 3_000


def everything(folder: Path) -> dict[str, bytes]:
    """All files that say something; SQLite's own index of a log says nothing, nor does an empty log."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith("-shm")]
    return {str(path): data for path in paths if (data := path.read_bytes())}


def test_hostile_bytes_to_a_device(target_for: Callable[..., Target]) -> None:
    """Half of them before the first report, half after it; no exception, one code, nothing written."""
    target = target_for("malformed")
    device = open_state(str(target.home), os.getpid()).device(3)
    rng = random.Random(1)
    for half in range(2):
        before = everything(target.home)
        for _ in range(MESSAGES // 2):
            assert device.answer(hostile_bytes(target.query, rng)) is Refusal.UNKNOWN_QUERY
        assert everything(target.home) == before
        said = device.answer(target.query.to_bytes())
        assert isinstance(said, Report) and said.replayed == bool(half)


def test_hostile_messages_to_the_app(target_for: Callable[..., Target]) -> None:
    """Through Flower's ClientApp: only the fixed texts leave, whatever record or type of message comes."""
    target = target_for("malformed")
    rng = random.Random(2)
    codes: Counter[str] = Counter()
    before: dict[str, bytes] = {}
    for number in range(MESSAGES // 2):
        if number == MESSAGES // 4:
            device = open_state(str(target.home), os.getpid()).device(3)
            assert isinstance(device.answer(target.query), Report)
            before.clear()
        if not before:
            before = everything(target.home)
        shot = hostile_shot(target.query, rng)
        context = Context(1, 4, {"partition-id": 3, "state-dir": str(target.home)}, RecordDict(), {})
        reply = app(Message(shot.content or RecordDict(), 4, shot.kind), context)
        answer = read_reply(reply)
        assert isinstance(answer, Refusal) and reply.error.reason == TEXTS[answer] and not reply.has_content()
        codes[answer.name] += 1
        if number in (MESSAGES // 4 - 1, MESSAGES // 2 - 1):
            assert everything(target.home) == before
    assert set(codes) == {"UNKNOWN_QUERY", "MODE_REFUSED"} and codes["UNKNOWN_QUERY"] > MESSAGES // 4


def test_hostile_questions_that_are_well_formed(target_for: Callable[..., Target]) -> None:
    """Every number in a query changed at random: after the report each is refused by the policy or the ledger."""
    target = target_for("malformed", wide=True)
    device = open_state(str(target.home), os.getpid()).device(3)
    honest = device.answer(target.query)
    before = everything(target.home)
    rng = random.Random(3)
    data = target.query.to_bytes()
    codes: Counter[str] = Counter()
    while codes.total() < MESSAGES // 4:
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 3)):
            at = rng.randrange(len(changed))
            if chr(changed[at]).isdigit():
                changed[at] = ord(rng.choice("123456789"))
        if bytes(changed) == data:
            continue
        answer = device.answer(bytes(changed))
        assert isinstance(answer, Refusal)
        codes[answer.name] += 1
    assert set(codes) == {"UNKNOWN_QUERY", "POLICY_REFUSED", "REPORT_COLLECTED"}, codes
    assert everything(target.home) == before
    assert device.answer(data) == Report(honest.data, replayed=True)  # type: ignore[union-attr]
