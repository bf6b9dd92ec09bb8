"""Thousands of malformed and hostile messages: no crash, no data in an error, a ledger that does not change."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from flwr.app import Context, Message, RecordDict

from ldpsim.devices.client_app import app, open_state
from ldpsim.devices.device import Refusal
from ldpsim.devices.report import Report
from ldpsim.devices.wire import TEXTS, read_reply
from ldpsim.strategies.attacks.adversaries.curator import Target
from ldpsim.strategies.attacks.adversaries.malformed import hostile_bytes, hostile_shot

MESSAGES = 3_000


def everything(folder: Path) -> dict[str, bytes]:
    """All files that say something; SQLite's own index of a log says nothing, nor does an empty log."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith("-shm")]
    return {str(path): data for path in paths if (data := path.read_bytes())}


@pytest.mark.parametrize(("mode", "messages"), [("report", MESSAGES), ("owner", MESSAGES // 3)])
def test_hostile_bytes_to_a_device(target_for: Callable[..., Target], mode: str, messages: int) -> None:
    """Half of them before the first report, half after it; no exception, one code, nothing written."""
    target = target_for("malformed")
    device = open_state(str(target.home), os.getpid()).device(3)
    rng = random.Random(1)
    answer = device.answer if mode == "report" else device.hand_over
    for half in range(2):
        before = everything(target.home)
        for _ in range(messages // 2):
            assert answer(hostile_bytes(target.query, rng)) is Refusal.UNKNOWN_QUERY
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
