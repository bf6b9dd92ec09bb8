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

from curator.reports.decoding import FIELDS, sparse_ones, stack
from devices.facts import PublicFacts
from devices.query import Ask, Query

if TYPE_CHECKING:
    from curator.reports.question import Question

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
        features: Feature reports in the form of their mechanism (:mod:`curator.reports.decoding`):
            for 1-bit uint8 (n, ceil(d / 8)), packed as ``np.packbits`` gives them; or None.
            Rows of silent devices are zero.
        labels: int64 (n,), label reports, -1 where nothing came, or None.
        degrees: int64 (n,), noisy degrees, 0 where nothing came, or None.
        group_degrees: int64 (n, groups), noisy numbers of neighbours by group, or None.
        noisy_rows: int32 (n, n), noisy adjacency rows in steps of their grid, or None.
        plan: All that was or will be asked, by stage; left out: ``asks``, in one stage. Of an
            attribute that several stages ask about, ``asks`` and the reports are the latest.
        grouping: int64 (n,), everybody's public group in the stage that was asked last, or None.
    """

    facts: PublicFacts
    asks: Mapping[str, Ask]
    asked: Mapping[str, BoolArray] = field(repr=False)
    answered: BoolArray = field(repr=False)
    adjacency: csr_array | None = field(default=None, repr=False)
    features: Any = field(default=None, repr=False)
    labels: NDArray[np.int64] | None = field(default=None, repr=False)
    degrees: NDArray[np.int64] | None = field(default=None, repr=False)
    group_degrees: NDArray[np.int64] | None = field(default=None, repr=False)
    noisy_rows: NDArray[np.int32] | None = field(default=None, repr=False)
    plan: tuple[tuple[Ask, ...], ...] = field(default=(), repr=False)
    grouping: NDArray[np.int64] | None = field(default=None, repr=False)

    def query(self) -> Query:
        """Return the question that these are the answers to, under a collection id of its own."""
        plan = self.plan or (tuple(self.asks[attribute] for attribute in sorted(self.asks)),)
        if self.grouping is None:
            return Query("saved-reports", plan)
        return Query("saved-reports", plan, len(plan) - 1, tuple(self.grouping.tolist()))

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
            questions: What was asked and of whom, at the stage that was asked last.
            answers: ``answers[device][attribute]``: one ``bytes`` for each mechanism of the
                latest stage that asked about the attribute.

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
                name, array = stack(mechanism, facts.n, rows)
                decoded[name] = array
        return cls(facts, asks, asked, answered, **decoded, plan=_whole_plan(questions), grouping=_grouping(questions))

    def save(self, folder: Path) -> None:
        """Write the reports as plain ``.npy`` files; ``reports.json`` comes last."""
        folder.mkdir(parents=True, exist_ok=True)
        for attribute, who in self.asked.items():
            np.save(folder / f"asked_{attribute}.npy", who, allow_pickle=False)
        np.save(folder / "answered.npy", self.answered, allow_pickle=False)
        parts: dict[str, NDArray] = {}
        for name in FIELDS:
            array = getattr(self, name)
            if isinstance(array, csr_array):
                parts |= {f"{name}_indptr": array.indptr, f"{name}_indices": array.indices}
                if array.dtype != np.bool_:
                    parts[f"{name}_data"] = array.data
            elif array is not None:
                parts[name] = array
        for name, array in parts.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        query = self.query().to_bytes().decode("ascii")
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
        query = Query.from_bytes(head["query"].encode("ascii"))
        asks = {ask.attribute: ask for stage in query.plan for ask in stage}
        arrays = {name: _load(folder, name) for name in head["arrays"]}
        found = {name: arrays[name] for name in FIELDS if name in arrays}
        if "adjacency_indptr" in arrays:
            found["adjacency"] = sparse_ones(facts.n, arrays["adjacency_indptr"], arrays["adjacency_indices"])
        if "features_indptr" in arrays:
            parts = tuple(arrays[f"features_{part}"] for part in ("data", "indices", "indptr"))
            found["features"] = csr_array(parts, shape=(facts.n, facts.d))
        asked = {attribute: _load(folder, f"asked_{attribute}") for attribute in asks}
        grouping = None if query.grouping is None else np.array(query.grouping, np.int64)
        return cls(facts, asks, asked, _load(folder, "answered"), **found, plan=query.plan, grouping=grouping)


def _load(folder: Path, name: str) -> np.ndarray:
    return np.load(folder / f"{name}.npy", allow_pickle=False)


def _asked(n: int, questions: Iterable[Question]) -> tuple[dict[str, Ask], dict[str, BoolArray]]:
    asks: dict[str, Ask] = {}
    asked: dict[str, BoolArray] = {}
    for question in questions:
        so_far = question.query.plan[: question.query.stage + 1]
        for ask in {ask.attribute: ask for stage in so_far for ask in stage}.values():
            if asks.setdefault(ask.attribute, ask) != ask:
                raise ValueError(f"two questions ask differently about {ask.attribute}")
            who = asked.setdefault(ask.attribute, np.zeros(n, np.bool_))
            who[slice(None) if question.devices is None else question.devices] = True
    return asks, asked


def _whole_plan(questions: Sequence[Question]) -> tuple[tuple[Ask, ...], ...]:
    """Return what the questions' plans ask together, stage by stage."""
    stages: list[dict[str, Ask]] = [{} for _ in range(max((len(q.query.plan) for q in questions), default=0))]
    for question in questions:
        for together, stage in zip(stages, question.query.plan, strict=False):
            together.update({ask.attribute: ask for ask in stage})
    return tuple(tuple(stage[name] for name in sorted(stage)) for stage in stages)


def _grouping(questions: Iterable[Question]) -> NDArray[np.int64] | None:
    found = {question.query.grouping for question in questions} - {None}
    if len(found) > 1:
        raise ValueError("two questions group people differently")
    return np.array(found.pop(), np.int64) if found else None


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
