"""Entries of a ledger, as tests make them."""

from __future__ import annotations

from ldpsim.devices.ledger.ledger import Ledger, NewRelease
from ldpsim.devices.ledger.rows import QueryAnswer, TrainingAnswer
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.query import Query

KEY = b"k" * 32


def release(ledger: Ledger, query: Query, device: int = 3, key: bytes = KEY) -> None:
    with ledger.transaction():
        decision = ledger.decide(device, query, seal_key=key, replay=False)
        assert isinstance(decision, NewRelease)
        reports = {ask.attribute: f"{ask.attribute}{query.stage}".encode() for ask in query.asks}
        answer = QueryAnswer.following(decision.head, device, query, reports, dict.fromkeys(reports, b"d" * 32))
        ledger.enter(answer, after=decision.head, seal_key=key)


def train(ledger: Ledger, device: int = 3, key: bytes = KEY, *, loss: float = 2.0) -> None:
    with ledger.transaction():
        head, spent = ledger.training(device, seal_key=key)
        answer = TrainingAnswer.following(
            head, spent, device, collection="training", kind="update", scope=("features", "label"),
            fingerprint=b"f" * 32, loss=Loss(loss, loss, 1e-6), data_digest=b"d" * 64, size=100,
        )  # fmt: skip
        ledger.enter(answer, after=head, seal_key=key)
