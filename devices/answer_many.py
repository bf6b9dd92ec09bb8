"""One question to many devices of one ledger: the answers that :meth:`ldpsim.devices.device.Device.answer` gives one by
one.

A device that never answered and whose policy allows the question reports. What these devices
compute is computed together, with their own secrets, digests and keys: every byte of a report
and of a row is the same. A device whose only answer was to this question repeats it. All other devices, and
all refusals, go through :meth:`ldpsim.devices.device.Device.answer`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ldpsim.devices.data.records import records_of
from ldpsim.devices.device import PermittedQuery, Refusal, Report, pack_columns, pack_report, question_to
from ldpsim.devices.enrolment.state import SHARD, State
from ldpsim.devices.keyed.hashes import KeyedHashes
from ldpsim.devices.keyed_data import SEAL, data_messages
from ldpsim.devices.ledger.ledger import CounterMismatch, LedgerDamaged
from ldpsim.devices.ledger.rows import FirstAnswers
from ldpsim.devices.noise import NoiseStream, key_message
from ldpsim.devices.query import InvalidQuery, Query


def answer_together(state: State, devices: Sequence[int], question: bytes) -> list[Report | Refusal]:
    """Answer a question in one transaction of the devices' ledger, committed when this returns.

    If it fails, nothing was released, and every device answers ``LEDGER_DAMAGED``. Where the counter shows that
    a device's ledger is a copy, that device answers ``COUNTER_MISMATCH``.

    Args:
        state: Their folder.
        devices: Public numbers, in rising order, of one shard.
        question: As for one device.

    Raises:
        InvalidQuery: for other numbers.
    """
    rising = all(first < second for first, second in zip(devices, devices[1:], strict=False))
    if not (devices and rising and devices[0] // SHARD == devices[-1] // SHARD):
        raise InvalidQuery("the devices are out of order, or of several ledgers")
    damaged: list[Report | Refusal] = [Refusal.LEDGER_DAMAGED] * len(devices)
    answers = damaged
    try:
        with state.ledger(devices[0]).transaction(devices):
            answers = answer_many(state, devices, question)
    except CounterMismatch as error:  # the transaction is committed, but nothing of these devices may leave
        lost = error.devices
        return [Refusal.of(error) if d in lost else answer for d, answer in zip(devices, answers, strict=True)]
    except (LedgerDamaged, ValueError, OSError):
        return damaged
    return answers


def answer_many(state: State, devices: Sequence[int], question: bytes) -> list[Report | Refusal]:
    """Answer a question inside a transaction of the devices' ledger; no answer may leave before its commit.

    Raises:
        LedgerDamaged: as :meth:`ldpsim.devices.device.Device.answer`; the transaction has to be given up whole.
    """
    asked = question_to(state.policy, question)
    found: dict[int, Report] = {}
    if isinstance(asked, PermittedQuery) and asked.query.stage == 0:
        found = _first_answers(state, [device for device in devices if asked.includes(device)], query := asked.query)
        found |= _repeats(state, [device for device in devices if device not in found], query)
    return [found[device] if device in found else _alone(state, device, question) for device in devices]


def _alone(state: State, index: int, question: bytes) -> Report | Refusal:
    """Return one device's answer, and the refusals that the ClientApp has for a failure."""
    try:
        device = state.device(index)
    except Exception:
        return Refusal.LEDGER_DAMAGED  # nobody of this number lives here
    try:
        return device.answer(question)
    except LedgerDamaged:
        raise
    except Exception:
        return device.refuse_unknown()


def _first_answers(state: State, devices: Sequence[int], query: Query) -> dict[int, Report]:
    """Draw and enter the reports of devices that never answered, where their policy allows the question."""
    policy, ledger = state.policy, state.ledger(devices[0])
    try:
        nonces = {
            device: nonce
            for device, nonce in ledger.unanswered(devices).items()
            if device in state.lives_here
            and policy.allows(query, device=device)
            and policy.allows_total(0.0, query, device=device)
        }
        if not nonces:
            return {}
        hashes = KeyedHashes(state.secrets[list(nonces)])
        reports, digests = _draw(state, nonces, query, hashes)
        answers = FirstAnswers.to(query, list(nonces), reports, digests)
    except Exception:  # a ledger that cannot be read, a mechanism that fails: each device then answers alone
        return {}
    ledger.enter_first(answers, seal_keys=hashes.macs([SEAL] * len(nonces)))
    packed = pack_columns(list(reports.values()))
    return {device: Report(own, replayed=False) for device, own in zip(nonces, packed, strict=True)}


def _repeats(state: State, devices: Sequence[int], query: Query) -> dict[int, Report]:
    """Return the stored bytes of devices whose only answer was to this question, where their policy allows it."""
    policy = state.policy
    try:
        asked = [device for device in devices if device in state.lives_here and policy.allows(query, device=device)]
        if not asked:
            return {}
        found = state.ledger(asked[0]).repeats(
            query, asked, state.seal_keys(asked), replay=policy.on_requery == "replay"
        )
    except Exception:  # a ledger that cannot be read: each device then answers alone
        return {}
    kept = ((device, one) for device, one in zip(asked, found, strict=True) if one is not None)
    return {device: Report(pack_report(one.reports), replayed=True) for device, one in kept}


_Columns = dict[str, list[bytes]]  # one value for each device, by attribute


def _draw(state: State, nonces: Mapping[int, bytes], query: Query, hashes: KeyedHashes) -> tuple[_Columns, _Columns]:
    """Return reports and data digests of these devices, as :meth:`ldpsim.devices.device.Device.answer` draws them."""
    devices = list(nonces)
    records = records_of(state.population, devices)
    counted = [key_message(nonce) if nonce else b"" for nonce in nonces.values()]
    reports: _Columns = {}
    digests: _Columns = {}
    for ask in query.asks:
        read = {name: hashes.macs(data_messages(records, name)) for name in ask.attributes}
        digests |= read
        asked = key_message(b"noise", query.question(ask.attribute))
        own = [[key_message(digest) for digest in column] for column in read.values()]
        keys = hashes.macs([b"".join((asked, *parts)) for parts in zip(*own, counted, strict=True)])
        parts = [
            mechanism.respond(
                records, [NoiseStream(key, stream) for key in keys], devices=devices, grouping=query.grouping
            )
            for stream, mechanism in enumerate(ask.mechanisms)
        ]
        reports[ask.attribute] = pack_columns(parts)
    return reports, digests
