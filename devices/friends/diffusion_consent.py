"""Consent of a device to a diffusion over friends: a row in its ledger, before the first message.

A diffusion (:mod:`ldpsim.devices.friends.diffusion`) repeats: each exchange tells a friend other values, in clear. That
is the protocol, so one row stands for all messages. It names the digest of the published terms, the friends and the
number of rounds, with an unbounded loss. The rules are those of one telling (:mod:`ldpsim.devices.friends.telling`):
only under terms that the pinned curator signed, and once in a device's life, whatever it tells. The same terms
again get the same row and no further rounds; anything else ``REPORT_COLLECTED``.

Only tests call this module, too: a simulation of ``p2pgnn`` exchanges values without it, and a deployment has no
diffusion.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.curator_key import SIGNED_MODEL_BYTES, SignedModel
from ldpsim.devices.data.records import Records
from ldpsim.devices.device import DeviceStore, Refusal
from ldpsim.devices.friends.telling import ContentSource, friends_of, tell_once
from ldpsim.devices.network import Shape
from ldpsim.devices.policy.policy import Policy

DIFFUSION = "diffusion"
MOST_HIDDEN, MOST_ROUNDS = 1 << 10, 1 << 20
_HEAD = struct.Struct("<III")  # rounds, hidden units, people


@dataclass(frozen=True, eq=False)
class DiffusionTerms:
    """Published terms of a diffusion: a predictor of two layers, and the number of rounds.

    Args:
        people: Number of people.
        rounds: Number of rounds of exchanges, 1 or more.
        shape: Sizes of the predictor.
        weights: float32 (size,).
    """

    people: int
    rounds: int
    shape: Shape
    weights: np.ndarray = field(repr=False)

    def to_bytes(self) -> bytes:
        """Return the bytes that a curator signs; :meth:`read` reads them back."""
        return _HEAD.pack(self.rounds, self.shape.hidden, self.people) + self.weights.astype("<f4").tobytes()

    @staticmethod
    def read(data: bytes, policy: Policy) -> DiffusionTerms:
        """Read :meth:`to_bytes` back; ValueError for terms that are not about the people of the policy."""
        facts = policy.facts
        if len(data) < _HEAD.size:
            raise ValueError("terms of a diffusion have a head")
        rounds, hidden, people = _HEAD.unpack_from(data)
        if not (1 <= rounds <= MOST_ROUNDS and 1 <= hidden <= MOST_HIDDEN and people == facts.n):
            raise ValueError("terms of a diffusion are about other people, or out of range")
        shape = Shape(max(facts.d, 1), hidden, facts.classes)
        if len(data) != _HEAD.size + 4 * shape.size:
            raise ValueError("a predictor of other people")
        weights = np.frombuffer(data, "<f4", offset=_HEAD.size)
        if not np.isfinite(weights).all():
            raise ValueError("a predictor has numbers alone")
        return DiffusionTerms(people, rounds, shape, weights)


@dataclass(frozen=True)
class DiffusionConsent:
    """Consent of one device to a diffusion.

    Args:
        friends: int64 (friends,): friends with whom it exchanges, in each round one of them at most.
        rounds: Number of rounds.
        replayed: Whether it agreed before; it then exchanges nothing more.
    """

    friends: IntArray
    rounds: int
    replayed: bool

    def to_bytes(self) -> bytes:
        """Return the bytes that the ledger keeps; :meth:`read` reads them back."""
        return DIFFUSION.encode() + struct.pack("<I", self.rounds) + self.friends.astype("<i4").tobytes()

    @staticmethod
    def read(data: bytes) -> DiffusionConsent:
        """Read :meth:`to_bytes` back."""
        (rounds,), start = struct.unpack_from("<I", data, len(DIFFUSION)), len(DIFFUSION) + 4
        return DiffusionConsent(np.frombuffer(data, "<i4", offset=start).astype(np.int64), rounds, replayed=True)


def agree_to_diffusion(state: DeviceStore, device: int, file: bytes) -> DiffusionConsent | Refusal:
    """Agree to a diffusion; the row is committed before the first message.

    Args:
        state: The device's folder.
        device: Its public number.
        file: The signed terms.
    """

    def prepare(signed: SignedModel, policy: Policy) -> ContentSource[DiffusionConsent]:
        terms = DiffusionTerms.read(signed.model, policy)

        def consent(records: Records) -> DiffusionConsent:
            return DiffusionConsent(friends_of(records, device, terms.people), terms.rounds, replayed=False)

        return ContentSource(consent, ("adjacency", "features"))

    facts = state.policy.facts
    largest = SIGNED_MODEL_BYTES + _HEAD.size + 4 * Shape(max(facts.d, 1), MOST_HIDDEN, facts.classes).size
    return tell_once(state, device, file, kind=DIFFUSION, largest=largest, prepare=prepare, read=DiffusionConsent.read)
