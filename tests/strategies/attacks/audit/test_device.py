"""Real devices pass every check; each of a list of devices with one thing wrong fails.

A right device fails with a chance of 1e-7 for all comparisons of noise together; the other
checks are exact. Which check sees which bug stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devices.device import Device, Refusal, Report, pack_parts, pack_report
from devices.noise import NoiseStream, derive_key
from devices.query import Ask, Query
from strategies.attacks.audit import device as checks
from strategies.attacks.audit.device import audit_device


def failing(make: type[Device]) -> dict[str, str]:
    return {row.level: row.detail for row in audit_device(make) if not row.passed}


def test_real_devices_pass() -> None:
    rows = audit_device()
    assert len(rows) == 9 and all(row.passed for row in rows), [row for row in rows if not row.passed]


class _Keyed(Device):
    """A device whose noise hangs on something else."""

    def key(self, ask: Ask, query: Query, digest: bytes) -> bytes:
        raise NotImplementedError

    def _perturb(self, ask: Ask, query: Query, key: bytes) -> Iterator[bytes]:
        own = self.key(ask, query, self._data_digest(ask.attribute))
        for stream, mechanism in enumerate(ask.mechanisms):
            yield mechanism.respond(self._record, NoiseStream(own, stream), device=self.index)


class PublicSeed(_Keyed):
    """Noise seeded from a public id."""

    def key(self, ask: Ask, query: Query, digest: bytes) -> bytes:
        return derive_key(self.index.to_bytes(8, "little"), query.question(ask.attribute))


class WithoutFingerprint(_Keyed):
    """The key says whose data of which attribute, not what was asked."""

    def key(self, ask: Ask, query: Query, digest: bytes) -> bytes:
        return derive_key(self._secret, b"noise", ask.attribute.encode(), digest)


class WithoutData(_Keyed):
    """The key says what was asked, not about which data."""

    def key(self, ask: Ask, query: Query, digest: bytes) -> bytes:
        return derive_key(self._secret, b"noise", query.question(ask.attribute))


class WholeQuery(_Keyed):
    """The key is over the whole query: the same attribute asked alone gets other noise."""

    def key(self, ask: Ask, query: Query, digest: bytes) -> bytes:
        return derive_key(self._secret, b"noise", query.digest, ask.attribute.encode(), digest)


class WithCollection(_Keyed):
    """The key is over the bytes of the query, its collection included."""

    def key(self, ask: Ask, query: Query, digest: bytes) -> bytes:
        return derive_key(self._secret, b"noise", query.collection.encode(), query.question(ask.attribute), digest)


class WithoutAttribute(_Keyed):
    """The key is one for all attributes."""

    def key(self, ask: Ask, query: Query, digest: bytes) -> bytes:
        return derive_key(self._secret, b"noise")


class MemoWithoutAttribute(Device):
    """A device that remembers releases by person and not by attribute."""

    def answer(self, question: bytes | Query) -> Report | Refusal:
        answer = super().answer(question)
        if answer is not Refusal.REPORT_COLLECTED:
            return answer
        kept = self.ledger.answers(self.index)
        return Report(pack_report((kept[0].parts[0].report,)), replayed=True)


class Forgetful(Device):
    """Writes nothing down."""

    def _claim(self, query: Query) -> Report | Refusal:
        parts = []
        for ask in query.asks:
            key = derive_key(self._secret, query.question(ask.attribute), self._data_digest(ask.attribute))
            parts.append(pack_parts(self._perturb(ask, query, key)))
        return Report(pack_report(tuple(parts)), replayed=False)


class SaysMyDataChanged(Device):
    """Refuses a retry when the data are not those of its report."""

    def answer(self, question: bytes | Query) -> Report | Refusal:
        for answer in self.ledger.answers(self.index):
            if any(part.data_digest != self._data_digest(part.attribute) for part in answer.parts):
                return Refusal.REPORT_COLLECTED
        return super().answer(question)


class SaysOutOfRange(Device):
    """Refuses a label that is not in the list."""

    def answer(self, question: bytes | Query) -> Report | Refusal:
        if not 0 <= self._record.label < self._policy.facts.classes:
            return Refusal.POLICY_REFUSED
        return super().answer(question)


class Raises(Device):
    """Lets an error out whose text depends on the data."""

    def answer(self, question: bytes | Query) -> Report | Refusal:
        if len(self._record.neighbours) == 0:
            raise ValueError("nobody to report about")
        return super().answer(question)


@pytest.mark.parametrize(
    ("make", "check"),
    [
        (PublicSeed, "key: secret"), (WithoutFingerprint, "key: question"), (WithoutData, "key: data"),
        (WholeQuery, "key: nothing else"), (WithCollection, "key: nothing else"), (WithoutAttribute, "key: attribute"),
        (MemoWithoutAttribute, "policy refuse"), (Forgetful, "policy refuse"),
        (SaysMyDataChanged, "refusals say nothing"), (SaysOutOfRange, "refusals say nothing"),
        (Raises, "refusals say nothing"),
    ],
)  # fmt: skip
def test_a_planted_bug_fails(make: type[Device], check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_CHECKS", {check: checks._CHECKS[check]})
    found = failing(make)
    assert set(found) == {check} and found[check]


def test_each_bug_is_told_from_the_others() -> None:
    """A wrong key does not fail the checks of keys that are right."""
    found = failing(WithoutData)
    assert set(found) == {"key: data"}
    assert "subtracting" in found["key: data"]
