"""One telling in the life of a device: its guess to each friend, under the model of the curator whose key it pins.

A guess is in clear. A crafted model turns it into an answer about the person's list, so a device tells

- only under a model that its pinned curator signed, and a device that pins none tells nothing;
- once in its life: the row in its ledger names the model's digest and what is told, with an unbounded loss. The same
  model gets the same bytes again, and another model nothing (``REPORT_COLLECTED``), whatever the data are.

The row is committed before anything leaves. Caps count what a curator gets, so a telling is not under them. Nothing
carries these messages yet: an app of a deployment tells nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.curator_key import SIGNED_MODEL_BYTES, SignedModel
from ldpsim.devices.data.population import Records, records_of
from ldpsim.devices.device import DeviceStore, Refusal
from ldpsim.devices.draw import data_messages
from ldpsim.devices.friends.told_guesses import GUESS, LABEL, Guesses
from ldpsim.devices.ledger.ledger import CounterMismatch, LedgerDamaged
from ldpsim.devices.ledger.rows import TOLD, Answer, head_of, told_answer
from ldpsim.devices.prediction import DeviceModel, largest_device_model

_COUNT = struct.Struct("<I")


@dataclass(frozen=True, eq=False)
class Telling:
    """Guess of one device about its person, for each friend.

    Args:
        friends: int64 (friends,): numbers of the friends.
        levels: int64 (friends, classes): what each of them is told.
        replayed: Whether it is what was told before.
    """

    friends: IntArray
    levels: IntArray = field(repr=False)
    replayed: bool

    def to_bytes(self) -> bytes:
        """Return the bytes that the ledger keeps; :meth:`read` reads them back."""
        return (
            _COUNT.pack(len(self.friends)) + self.friends.astype("<i4").tobytes() + self.levels.astype("u1").tobytes()
        )

    @staticmethod
    def read(data: bytes) -> Telling:
        """Read :meth:`to_bytes` back."""
        (count,) = _COUNT.unpack_from(data)
        friends = np.frombuffer(data, "<i4", count, _COUNT.size).astype(np.int64)
        levels = np.frombuffer(data, "u1", offset=_COUNT.size + 4 * count).astype(np.int64)
        return Telling(friends, levels.reshape(count, -1), replayed=True)


def tell_friends(state: DeviceStore, device: int, file: bytes, *, kind: str = GUESS) -> Telling | Refusal:
    """Return what a device tells its friends; it is committed, and may leave.

    Args:
        state: The device's folder.
        device: Its public number.
        file: The signed model that the curator published (:class:`ldpsim.devices.curator_key.SignedModel`).
        kind: What is told, one of :data:`ldpsim.devices.friends.told_guesses.KINDS`.
    """
    if device not in state.lives_here:
        return Refusal.LEDGER_DAMAGED
    try:
        ledger, keys = state.ledger(device), state.seal_keys([device])
        with ledger.transaction([device]):
            chain = ledger.chains(keys)[device]
            if isinstance(chain, LedgerDamaged):
                return Refusal.of(chain)
            permit = _decide(state, device, chain, file, kind)
            if not isinstance(permit, DeviceModel):
                return permit
            records = records_of(state.population, [device])
            telling = _telling(permit, records, device, kind)
            secret = state.secrets[device].tobytes()
            digest = b"".join(hmac.digest(secret, data_messages(records, name)[0], "sha256") for name in _read_by(kind))
            head = head_of(chain)
            row = told_answer(device, head, fingerprint=_question(file, kind), told=telling.to_bytes(), digest=digest)
            ledger.enter([row], [head.seal], keys)
    except CounterMismatch:
        return Refusal.COUNTER_MISMATCH
    except (LedgerDamaged, ValueError, OSError):
        return Refusal.LEDGER_DAMAGED
    return telling


def _decide(
    state: DeviceStore, device: int, chain: Sequence[Answer], file: bytes, kind: str
) -> DeviceModel | Telling | Refusal:
    """Decide by model, ledger and policy alone; return the model to tell under, or what was told before."""
    policy = state.policy
    if policy.mode != "report":
        return Refusal.MODE_REFUSED
    if len(file) > SIGNED_MODEL_BYTES + largest_device_model(policy.facts):
        return Refusal.UNKNOWN_QUERY
    signed = SignedModel.split(file)
    if policy.collector is None or not signed.is_signed_by(policy.collector):
        return Refusal.COLLECTOR_REFUSED
    if policy.volunteers is not None and device in policy.volunteers:  # the table has the label
        return Refusal.POLICY_REFUSED
    for part in (part for answer in chain if answer.collection == TOLD for part in answer.parts):
        same = part.fingerprint == _question(file, kind)
        return Telling.read(part.report) if same else Refusal.REPORT_COLLECTED
    try:
        model = DeviceModel.read(signed.model)
    except ValueError:
        return Refusal.UNKNOWN_QUERY
    return model if model.is_about(policy.facts) and model.affinity else Refusal.UNKNOWN_QUERY


def _telling(model: DeviceModel, records: Records, device: int, kind: str) -> Telling:
    guesses = Guesses.of(model, records, np.array([device]), kind=kind, knowing=records.labels >= 0)
    near = records.neighbours.astype(np.int64)
    friends = near[(near >= 0) & (near < model.people) & (near != device)]
    return Telling(friends, guesses.levels(np.zeros(len(friends), np.int64), friends), replayed=False)


def _read_by(kind: str) -> tuple[str, ...]:
    return ("adjacency", "features", *(("label",) if kind == LABEL else ()))


def _question(file: bytes, kind: str) -> bytes:
    return hashlib.sha256(kind.encode() + b"\n" + file).digest()
