"""All that arrived at the curator, decoded: what a local method may look at.

Reports are kept as compactly as they came: adjacency rows as a sparse matrix of the ones,
feature bits packed. They can be saved and loaded, so that a method can be run again
(post-processing costs no privacy) without asking anybody.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from devices.facts import PublicFacts
from devices.mechanisms import GRR, OneBit, RandomizedResponse
from devices.mechanisms.bits import unpack_positions
from devices.query import Ask, Query

if TYPE_CHECKING:
    from curator.methods.base import Question

BoolArray = NDArray[np.bool_]
FORMAT = 1
Answers = Mapping[int, Mapping[str, tuple[bytes, ...]]]


@dataclass(frozen=True, eq=False)
class Reports:
    """Everybody's answers.

    Args:
        facts: Sizes, ranges and domains.
        asks: What was asked about each attribute.
        asked: bool (n,) an attribute: who was asked about it.
        answered: bool (n,): who answered.
        adjacency: bool (n, n), row i the ones that i reported, or None where the
            adjacency was not asked. Rows of silent devices are empty.
        features: uint8 (n, ceil(d / 8)), packed 1-bit reports as ``np.packbits`` gives
            them, or None. Rows of silent devices are zero.
        labels: int64 (n,), GRR reports, -1 where nothing came, or None.
    """

    facts: PublicFacts
    asks: Mapping[str, Ask]
    asked: Mapping[str, BoolArray] = field(repr=False)
    answered: BoolArray = field(repr=False)
    adjacency: csr_array | None = field(default=None, repr=False)
    features: NDArray[np.uint8] | None = field(default=None, repr=False)
    labels: NDArray[np.int64] | None = field(default=None, repr=False)

    def reported(self, attribute: str) -> BoolArray:
        """bool (n,): who was asked about the attribute and answered."""
        return self.asked[attribute] & self.answered

    def mechanism(self, attribute: str, kind: type) -> Any:
        """Return the mechanism of this kind that was asked about the attribute.

        Raises:
            ValueError: where none was.
        """
        for mechanism in self.asks[attribute].mechanisms if attribute in self.asks else ():
            if isinstance(mechanism, kind):
                return mechanism
        raise ValueError(f"the reports hold no {getattr(kind, 'name', kind)} of {attribute}")

    @classmethod
    def from_bytes(cls, facts: PublicFacts, questions: Sequence[Question], answers: Answers) -> Reports:
        """Decode what came in.

        Args:
            facts: Sizes, ranges and domains.
            questions: What was asked and of whom.
            answers: ``answers[device][attribute]``: one ``bytes`` for each mechanism.

        Raises:
            ValueError: for two different asks about one attribute, a report by a device
                that was not asked, or bytes that no report of this query has.
        """
        asks, asked = _asked(facts.n, questions)
        answered = np.zeros(facts.n, np.bool_)
        answered[list(answers)] = True
        decoded: dict[str, Any] = {}
        for attribute, ask in asks.items():
            payloads = _payloads(attribute, ask, asked[attribute], answers)
            for place, mechanism in enumerate(ask.mechanisms):
                rows = {device: payload[place] for device, payload in payloads.items()}
                if isinstance(mechanism, RandomizedResponse):
                    decoded["adjacency"] = _adjacency(mechanism, rows)
                elif isinstance(mechanism, OneBit):
                    decoded["features"] = _feature_bits(mechanism, facts.n, rows)
                elif isinstance(mechanism, GRR):
                    labels = np.full(facts.n, -1, np.int64)
                    for device, data in rows.items():
                        labels[device] = mechanism.decode(data, device=device)
                    decoded["labels"] = labels
                else:
                    raise ValueError(f"reports of {mechanism.name} cannot be read by this version")
        return cls(facts, asks, asked, answered, **decoded)

    def save(self, folder: Path) -> None:
        """Write the reports as plain ``.npy`` files; ``reports.json`` comes last."""
        folder.mkdir(parents=True, exist_ok=True)
        for attribute, who in self.asked.items():
            np.save(folder / f"asked_{attribute}.npy", who, allow_pickle=False)
        np.save(folder / "answered.npy", self.answered, allow_pickle=False)
        parts = {name: getattr(self, name) for name in ("features", "labels") if getattr(self, name) is not None}
        if self.adjacency is not None:
            parts |= {"adjacency_indptr": self.adjacency.indptr, "adjacency_indices": self.adjacency.indices}
        for name, array in parts.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        plan = tuple(self.asks[attribute] for attribute in sorted(self.asks))
        query = Query("saved-reports", (plan,)).to_bytes().decode("ascii")
        head = {"format": FORMAT, "facts": self.facts.to_dict(), "query": query, "arrays": sorted(parts)}
        (folder / "reports.json").write_text(json.dumps(head, indent=1))

    @classmethod
    def load(cls, folder: Path) -> Reports:
        """Read what :meth:`save` wrote.

        Raises:
            ValueError: where the folder holds no reports, or of another format.
        """
        if not (folder / "reports.json").is_file():
            raise ValueError(f"{folder} holds no saved reports (no reports.json)")
        head = json.loads((folder / "reports.json").read_text())
        if head["format"] != FORMAT:
            raise ValueError(f"{folder} holds reports of format {head['format']}, this version reads {FORMAT}")
        facts = PublicFacts.from_dict(head["facts"])
        asks = {ask.attribute: ask for ask in Query.from_bytes(head["query"].encode("ascii")).asks}
        arrays = {name: _load(folder, name) for name in head["arrays"]}
        adjacency = None
        if "adjacency_indptr" in arrays:
            adjacency = _ones(facts.n, arrays["adjacency_indptr"], arrays["adjacency_indices"])
        asked = {attribute: _load(folder, f"asked_{attribute}") for attribute in asks}
        return cls(
            facts, asks, asked, _load(folder, "answered"), adjacency, arrays.get("features"), arrays.get("labels")
        )


def _load(folder: Path, name: str) -> np.ndarray:
    return np.load(folder / f"{name}.npy", allow_pickle=False)


def _asked(n: int, questions: Iterable[Question]) -> tuple[dict[str, Ask], dict[str, BoolArray]]:
    asks: dict[str, Ask] = {}
    asked: dict[str, BoolArray] = {}
    for question in questions:
        for ask in question.query.asks:
            if asks.setdefault(ask.attribute, ask) != ask:
                raise ValueError(f"two questions ask differently about {ask.attribute}")
            who = asked.setdefault(ask.attribute, np.zeros(n, np.bool_))
            who[slice(None) if question.devices is None else question.devices] = True
    return asks, asked


def _payloads(attribute: str, ask: Ask, asked: BoolArray, answers: Answers) -> dict[int, tuple[bytes, ...]]:
    """Return the attribute's bytes by device, in rising order of devices."""
    payloads = {}
    for device in sorted(answers):
        given = answers[device].get(attribute)
        if (given is not None) != bool(asked[device]):
            which = "without being asked" if given is not None else "nothing, though asked"
            raise ValueError(f"device {device} reported {attribute} {which}")
        if given is not None:
            if len(given) != len(ask.mechanisms):
                raise ValueError(
                    f"device {device} reported {len(given)} parts of {attribute}, not {len(ask.mechanisms)}"
                )
            payloads[device] = given
    return payloads


def _ones(n: int, indptr: np.ndarray, indices: np.ndarray) -> csr_array:
    return csr_array((np.ones(len(indices), np.bool_), indices, indptr), shape=(n, n))


def _adjacency(mechanism: RandomizedResponse, rows: Mapping[int, bytes]) -> csr_array:
    n = mechanism.n
    indptr = np.zeros(n + 1, np.int64)
    chosen = []
    for device, data in rows.items():
        positions = unpack_positions(data, mechanism.targets(device))
        chosen.append(mechanism.nodes(device, positions).astype(np.int32))
        indptr[device + 1] = len(positions)
    indices = np.concatenate(chosen) if chosen else np.zeros(0, np.int32)
    indptr = np.cumsum(indptr)
    return _ones(n, indptr.astype(np.int32) if indptr[-1] < 2**31 else indptr, indices)


def _feature_bits(mechanism: OneBit, n: int, rows: Mapping[int, bytes]) -> NDArray[np.uint8]:
    width = (mechanism.d + 7) // 8
    bits = np.zeros((n, width), np.uint8)
    for device, data in rows.items():
        if len(data) != width:
            raise ValueError(f"device {device} reported {len(data)} bytes of features, not {width}")
        bits[device] = np.frombuffer(data, np.uint8)
    if mechanism.d % 8:  # what follows the last feature carries nothing and may be anything
        bits[:, -1] &= np.uint8((0xFF00 >> mechanism.d % 8) & 0xFF)
    return bits
