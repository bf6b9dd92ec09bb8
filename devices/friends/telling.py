"""One telling in the life of a device: its guess to each friend, under the model of the curator whose key it pins.

A guess is in clear. A crafted model makes it a report about the person's list, so a device tells

- only under a model that its pinned curator signed, and a device that pins none tells nothing;
- once in its life: the row in its ledger names the model's digest and what is told, with an unbounded loss. The same
  model gets the same bytes again, and another model nothing (``REPORT_COLLECTED``), whatever the data are.

The row is committed before anything leaves. Caps count what a curator gets, so a telling is not under them.

Only tests call this module: it is the device's side of a real deployment, and ``docs/guarantees.md`` names its tests.
Nothing carries these messages yet, so a deployment refuses ``--friends-tell``, and a simulation computes what friends
are told without it (:mod:`ldpsim.devices.friends.told_guesses`).
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.curator_key import SIGNED_MODEL_BYTES, SignedModel
from ldpsim.devices.data.population import records_of
from ldpsim.devices.data.records import Records
from ldpsim.devices.device import DeviceStore, Refusal
from ldpsim.devices.draw import data_messages
from ldpsim.devices.friends.told_guesses import GUESS, LABEL, Guesses
from ldpsim.devices.ledger.ledger import CounterMismatch, LedgerDamaged
from ldpsim.devices.ledger.rows import TO_FRIENDS, answer_to_friends, head_of
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.prediction import DeviceModel, largest_device_model

_COUNT = struct.Struct("<I")


class LedgerContent(Protocol):
    """Content of a row in a ledger."""

    def to_bytes(self) -> bytes: ...


Content = TypeVar("Content", bound=LedgerContent)


@dataclass(frozen=True, eq=False)
class ContentSource(Generic[Content]):
    """Content of a telling, before the device's record is read.

    Args:
        make: Makes the content from the record.
        reads: Attributes that it depends on.
    """

    make: Callable[[Records], Content]
    reads: Sequence[str]


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

    def prepare(signed: SignedModel, policy: Policy) -> ContentSource[Telling]:
        model = DeviceModel.read(signed.model)
        if not (model.is_about(policy.facts) and model.affinity):
            raise ValueError("a device model about other people, or without an affinity")
        return ContentSource(partial(_telling, model, device=device, kind=kind), _read_by(kind))

    largest = SIGNED_MODEL_BYTES + largest_device_model(state.policy.facts)
    return tell_once(state, device, file, kind=kind, largest=largest, prepare=prepare, read=Telling.read)


def tell_once(
    state: DeviceStore, device: int, file: bytes, *, kind: str, largest: int,
    prepare: Callable[[SignedModel, Policy], ContentSource[Content]], read: Callable[[bytes], Content],
) -> Content | Refusal:  # fmt: skip
    """Return what a device tells its friends, once in its life; its row in the ledger is committed before.

    Args:
        state: The device's folder.
        device: Its public number.
        file: The file that the curator published and signed.
        kind: What is told; with the file it is the question.
        largest: Number of bytes above which the file is not read.
        prepare: Reads the file under the device's policy and returns the content's source; ValueError for another form.
        read: Reads back the content that a ledger keeps.
    """
    if device not in state.lives_here:
        return Refusal.LEDGER_DAMAGED
    try:
        ledger, keys = state.ledger(device), state.seal_keys([device])
        with ledger.transaction([device]):
            chain = ledger.chains(keys)[device]
            if isinstance(chain, LedgerDamaged):
                return Refusal.of(chain)
            question = hashlib.sha256(kind.encode() + b"\n" + file).digest()
            refusal = _refusal(state, device, file, largest)
            if refusal is not None:
                return refusal
            for part in (part for answer in chain if answer.collection == TO_FRIENDS for part in answer.parts):
                return read(part.report) if part.fingerprint == question else Refusal.REPORT_COLLECTED
            try:
                source = prepare(SignedModel.split(file), state.policy)
            except ValueError:
                return Refusal.UNKNOWN_QUERY
            records = records_of(state.population, [device])
            content, secret = source.make(records), state.secrets[device].tobytes()
            digest = b"".join(hmac.digest(secret, data_messages(records, name)[0], "sha256") for name in source.reads)
            head = head_of(chain)
            row = answer_to_friends(device, head, fingerprint=question, content=content.to_bytes(), digest=digest)
            ledger.enter([row], [head.seal], keys)
    except CounterMismatch:
        return Refusal.COUNTER_MISMATCH
    except (LedgerDamaged, ValueError, OSError):
        return Refusal.LEDGER_DAMAGED
    return content


def _refusal(state: DeviceStore, device: int, file: bytes, largest: int) -> Refusal | None:
    """Decide by file and policy alone; None where the device may tell."""
    policy = state.policy
    if policy.mode != "report":
        return Refusal.MODE_REFUSED
    if len(file) > largest:
        return Refusal.UNKNOWN_QUERY
    if policy.collector is None or not SignedModel.split(file).is_signed_by(policy.collector):
        return Refusal.COLLECTOR_REFUSED
    if policy.volunteers is not None and device in policy.volunteers:  # the table has the label
        return Refusal.POLICY_REFUSED
    return None


def _telling(model: DeviceModel, records: Records, *, device: int, kind: str) -> Telling:
    guesses = Guesses.of(model, records, np.array([device]), kind=kind, knowing=records.labels >= 0)
    friends = friends_of(records, device, model.people)
    return Telling(friends, guesses.levels(np.zeros(len(friends), np.int64), friends), replayed=False)


def friends_of(records: Records, device: int, people: int) -> IntArray:
    """int64 (friends,): the other people in the list of one device, among so many people."""
    friends = records.neighbours.astype(np.int64)
    return np.asarray(friends[(friends >= 0) & (friends < people) & (friends != device)])


def _read_by(kind: str) -> tuple[str, ...]:
    return ("adjacency", "features", *(("label",) if kind == LABEL else ()))
