"""Decoded reports of all devices: the only private data that a local method reads.

Reports are kept as compactly as they came: adjacency rows as a sparse matrix of the ones,
feature bits packed. They can be saved and loaded, so that a method can run again without
asking anybody. Such post-processing costs no privacy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ldpsim.curator.reports.decoding import AnswersByDevice, Decoder, answers_to
from ldpsim.curator.reports.question import Question
from ldpsim.devices.array_types import BoolArray, IntArray, check_rows, checked_array, checked_numbers
from ldpsim.devices.atomic_files import private_file, private_folder
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRRFS, Mechanism
from ldpsim.devices.mechanisms.noisy_steps import NoisySteps
from ldpsim.devices.mechanisms.stacked_reports import CATEGORIES, ones_at, report_stack
from ldpsim.devices.query import Ask, Query

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of all devices.

    Each mechanism names the array that its reports fill (``Mechanism.field``), and makes their rows of it
    (``Mechanism.rows``). Rows of silent devices are zero, -1 in ``labels``.

    Args:
        facts: Sizes, ranges and domains.
        asks: Ask of each attribute.
        recipients: Attribute -> bool (n,), True for people who were asked about it.
        answered: bool (n,), True for people who answered.
        arrays: Field -> reports. ``adjacency``: bool CSR (n, n), row i the ones that i reported; ``features``: in the
            form of their mechanism, for 1-bit uint8 (n, ceil(d / 8)) as ``np.packbits`` gives them; ``labels``: int64
            (n,); ``degrees``: int64 (n,); ``group_degrees``: int64 (n, groups); ``noisy_rows``: int32 (n, n), in steps
            of their grid; ``votes``: int64 (n,); those of mechanisms of other packages under their own names.
        plan: All that was or will be asked, by stage; left out: ``asks``, in one stage. If
            several stages ask about an attribute, ``asks`` and the reports are the latest.
        grouping: int64 (n,), every person's public group in the latest stage, or None.
        parts: Reports of each part of a collection of several parts, else empty. ``asks`` are then those of
            the last part about each attribute, and the arrays hold the answers of all parts.
    """

    facts: PublicFacts
    asks: Mapping[str, Ask]
    recipients: Mapping[str, BoolArray] = field(repr=False)
    answered: BoolArray = field(repr=False)
    arrays: Mapping[str, Any] = field(default_factory=dict, repr=False)
    plan: tuple[tuple[Ask, ...], ...] = field(default=(), repr=False)
    grouping: NDArray[np.int64] | None = field(default=None, repr=False)
    parts: tuple[Reports, ...] = field(default=(), repr=False)

    @property
    def adjacency(self) -> csr_array | None:
        """The reported ones, or None."""
        return self.arrays.get("adjacency")

    @property
    def features(self) -> Any:
        """The feature reports, or None."""
        return self.arrays.get("features")

    @property
    def labels(self) -> NDArray[Any] | None:
        """The label reports, or None."""
        return self.arrays.get("labels")

    def of_people(self, people: IntArray, field: str) -> Reports:
        """Return what these people reported into one field, as if nobody else had been asked.

        Args:
            people: int64 (k,): their numbers.
            field: Name of the array, which has a row a person.
        """
        asks = {name: ask for name, ask in self.asks.items() if any(one.field == field for one in ask.mechanisms)}
        recipients = {name: self.recipients[name][people] for name in asks}
        facts, rows = replace(self.facts, n=len(people)), self.needed(field)[people]
        return Reports(facts, asks, recipients, self.answered[people], {field: rows})

    def with_arrays(self, **changed: Any) -> Reports:
        """Return the reports with these arrays in the place of theirs; None leaves one out."""
        arrays = {**self.arrays, **changed}
        return replace(self, arrays={name: array for name, array in arrays.items() if array is not None})

    def questions(self) -> tuple[Question, ...]:
        """Return the questions that were answered; those of several parts with the people of each."""
        if not self.parts:
            return (Question(self.query()),)
        people = [np.logical_or.reduce(list(part.recipients.values())) for part in self.parts]
        return tuple(
            Question(part.query(), np.flatnonzero(who), number)
            for number, (part, who) in enumerate(zip(self.parts, people, strict=True))
        )

    def query(self) -> Query:
        """Return the question that was answered, under the collection id ``saved-reports``."""
        plan = self.plan or (tuple(self.asks[attribute] for attribute in sorted(self.asks)),)
        if self.grouping is None:
            return Query("saved-reports", plan)
        return Query("saved-reports", plan, len(plan) - 1, tuple(self.grouping.tolist()))

    def reported(self, attribute: str) -> BoolArray:
        """bool (n,): True for people who were asked about the attribute and answered."""
        return self.recipients[attribute] & self.answered

    def of_field(self, field: str) -> tuple[Reports, ...]:
        """Return the parts whose reports fill this field; the reports themselves where there is one part."""
        return tuple(part for part in self.parts or (self,) if field in part.arrays)

    def needed(self, field: str) -> Any:
        """Return the reports of this field; ``grouping`` also; ValueError where there are none."""
        array = self.grouping if field == "grouping" else self.arrays.get(field)
        if array is None:
            held = ", ".join(sorted(self.arrays)) or "nothing"
            raise ValueError(f"the reports hold no {field.replace('_', ' ')}; their arrays: {held}")
        return array

    def source(self, field: str) -> Mechanism:
        """Return the mechanism whose reports fill this field; ValueError where none was asked."""
        for ask in self.asks.values():
            for mechanism in ask.mechanisms:
                if mechanism.field == field:
                    return mechanism
        raise ValueError(f"the reports hold no {field}")

    def with_answers_of(self, other: Reports, attribute: str) -> Reports:
        """Return these reports with the answers about one attribute of other people, who were asked the same."""
        names = [mechanism.field for mechanism in self.asks[attribute].mechanisms]
        return self.with_arrays(**{name: other.arrays[name] for name in names})

    @classmethod
    def from_bytes(cls, facts: PublicFacts, questions: Sequence[Question], answers: AnswersByDevice) -> Reports:
        """Decode answers.

        Args:
            facts: Sizes, ranges and domains.
            questions: The questions at their latest stage, of all parts.
            answers: ``answers[device][attribute]``: one ``bytes`` for each mechanism of the
                latest stage that asked about the attribute.

        Raises:
            ValueError: for two different asks about one attribute in one part, a report by a device
                that was not asked, malformed bytes, or two mechanisms that fill one field.
        """
        reports, wrong = cls.readable(facts, questions, answers)
        for device, error in sorted(wrong.items()):
            raise ValueError(f"device {device}: {error}") from error
        return reports

    @classmethod
    def readable(
        cls, facts: PublicFacts, questions: Sequence[Question], answers: AnswersByDevice
    ) -> tuple[Reports, dict[int, ValueError]]:
        """Decode answers, and return errors by device whose bytes are malformed.

        A mechanism's array leaves out a device whose bytes it cannot read; other arrays keep the device.
        The arguments are those of :meth:`from_bytes`.

        Raises:
            ValueError: for answers that are wrong in another way, as :meth:`from_bytes`.
        """
        numbers = sorted({question.part for question in questions})
        if len(numbers) > 1:
            parts = [[question for question in questions if question.part == number] for number in numbers]
            read = [cls.readable(facts, part, answers_to(part, answers)) for part in parts]
            errors = {device: error for _, wrong in reversed(read) for device, error in wrong.items()}
            return joined_reports([reports for reports, _ in read]), errors
        decoder = Decoder(facts, questions)
        decoder.add({device: answers[device] for device in sorted(answers)})
        return cls.decoded(decoder)

    @classmethod
    def decoded(cls, decoder: Decoder) -> tuple[Reports, dict[int, ValueError]]:
        """Return the reports that a decoder took, and errors by device whose bytes are malformed."""
        arrays, wrong = decoder.arrays()
        return cls(decoder.facts, decoder.asks, decoder.recipients, decoder.answered, arrays, decoder.plan,
                   decoder.grouping), wrong  # fmt: skip

    def save(self, folder: Path) -> None:
        """Write the reports as plain ``.npy`` files, for their owner alone; ``reports.json`` comes last.

        Each of several parts has a folder of its own in it. Reports in clear are a volunteer's record.
        """
        private_folder(folder)
        head: dict[str, Any] = {"format": FORMAT, "parts": len(self.parts)}
        for number, part in enumerate(self.parts):
            part.save(folder / f"part-{number}")
        if not self.parts:
            arrays: dict[str, NDArray[Any]] = {}
            for name, array in self.arrays.items():
                if isinstance(array, csr_array):
                    arrays |= {f"{name}_indptr": array.indptr, f"{name}_indices": array.indices}
                    if array.dtype != np.bool_:
                        arrays[f"{name}_data"] = array.data
                else:
                    arrays[name] = array
            people = {f"asked_{attribute}": who for attribute, who in self.recipients.items()}
            for name, array in {**arrays, **people, "answered": self.answered}.items():
                with private_file(folder / f"{name}.npy", exist_ok=True) as file:
                    np.save(file, array, allow_pickle=False)
            query = self.query().to_bytes().decode("ascii")
            head = {"format": FORMAT, "facts": self.facts.to_dict(), "query": query, "arrays": sorted(arrays)}
        with private_file(folder / "reports.json", exist_ok=True) as file:
            file.write(json.dumps(head, indent=1).encode())

    @classmethod
    def load(cls, folder: Path) -> Reports:
        """Read what :meth:`save` wrote.

        Raises:
            ValueError: where the folder holds no reports, or of another format.
        """
        if not (folder / "reports.json").is_file():
            raise ValueError(
                f"{folder} holds no saved reports (no reports.json); `ldpsim run --save-reports` writes "
                "them into the folder reports of the run"
            )
        try:
            return cls._read(folder, json.loads((folder / "reports.json").read_text()))
        except Exception as error:  # the files may be anybody's
            what = " ".join(str(error).split()) if isinstance(error, OSError | ValueError) else type(error).__name__
            raise ValueError(f"the reports in {folder} cannot be read: {what}") from error

    @classmethod
    def _read(cls, folder: Path, head: Mapping[str, Any]) -> Reports:
        """Read the arrays that ``reports.json`` names. They may be anybody's: all are checked."""
        if head["format"] != FORMAT:
            raise ValueError(f"they are of format {head['format']}, this version reads {FORMAT}")
        if "parts" in head:
            return joined_reports([cls.load(folder / f"part-{number}") for number in range(head["parts"])])
        facts = PublicFacts.from_dict(head["facts"])
        query = Query.from_bytes(head["query"].encode("ascii"))
        if query.grouping is not None and len(query.grouping) != facts.n:
            raise ValueError("the grouping is one of other people")
        grouping = None if query.grouping is None else np.array(query.grouping, np.int64)
        asks = {ask.attribute: ask for stage in query.plan for ask in stage}
        recipients = {name: checked_array(name, _load(folder, f"asked_{name}"), "b", (facts.n,)) for name in asks}
        answered = checked_array("answered", _load(folder, "answered"), "b", (facts.n,))
        arrays = {}
        for attribute, ask in asks.items():
            for mechanism in ask.mechanisms:
                if not mechanism.agrees_with(facts):
                    raise ValueError(f"the mechanism {mechanism.name} is one for other people")
                name = mechanism.field
                files = {each: _load(folder, each) for each in head["arrays"]
                         if each in (name, *(f"{name}_{part}" for part in _SPARSE))}  # fmt: skip
                arrays[name] = _reports_of(mechanism, files, facts, np.flatnonzero(recipients[attribute] & answered))
        return cls(facts, asks, recipients, answered, arrays, query.plan, grouping)


def joined_reports(parts: Sequence[Reports]) -> Reports:
    """Return the reports of all parts of a collection as one; each person is in one part for each attribute.

    A person answered if there is an answer to everything that the person was asked.

    Raises:
        ValueError: if somebody was asked twice about an attribute.
    """
    n = parts[0].facts.n
    asks: dict[str, Ask] = {}
    recipients: dict[str, BoolArray] = {}
    missed = np.zeros(n, np.bool_)
    arrays: dict[str, Any] = {}
    for number, part in enumerate(parts):
        asks.update(part.asks)
        for attribute, who in part.recipients.items():
            before = recipients.get(attribute, np.zeros(n, np.bool_))
            if np.any(before & who):
                person = int(np.flatnonzero(before & who)[0])
                raise ValueError(f"part {number} asks person {person} about {attribute} again")
            recipients[attribute] = before | who
            missed |= who & ~part.answered
            for mechanism in part.asks[attribute].mechanisms:
                name = mechanism.field
                arrays[name] = _merged(arrays.get(name), part.arrays[name], who)
    answered = np.logical_or.reduce(list(recipients.values())) & ~missed
    plan = (tuple(asks[attribute] for attribute in sorted(asks)),)
    return replace(parts[-1], asks=asks, recipients=recipients, answered=answered, arrays=arrays, plan=plan,
                   grouping=None, parts=tuple(parts))  # fmt: skip


def _merged(old: Any, new: Any, who: BoolArray) -> Any:
    """Return the array of earlier parts with the rows of the people of a later one."""
    if old is None:
        return new
    if isinstance(new, csr_array):
        return csr_array(old + new)  # rows of people who were not asked are empty
    return np.where(who.reshape(-1, *[1] * (new.ndim - 1)), new, old)


_SPARSE = ("indptr", "indices", "data")


def _reports_of(mechanism: Mechanism, files: Mapping[str, NDArray], facts: PublicFacts, reported: NDArray) -> Any:
    """Check the arrays of a mechanism's reports, and return them as the mechanism decodes reports.

    Args:
        mechanism: The mechanism.
        files: Its arrays by name.
        facts: Sizes, ranges and domains.
        reported: Who reported.

    Raises:
        ValueError: for arrays that no reports make.
    """
    name, nothing = mechanism.field, report_stack(mechanism, facts.n).done()
    if issparse(nothing):
        starts, columns, values = (files.get(f"{name}_{part}") for part in _SPARSE)
        if starts is None or columns is None or (np.bool_ if values is None else values.dtype) != nothing.dtype:
            raise ValueError(f"{name}: a part of the matrix is missing, or of another type")
        check_rows(name, nothing.shape, starts, columns, values)
        ones = ones_at(nothing.shape, starts, columns)
        return ones if values is None else csr_array((values, columns, starts), shape=nothing.shape)
    array = checked_array(name, files[name], "biuf", nothing.shape)
    wider = np.dtype(np.int64) if isinstance(mechanism, NoisySteps) else nothing.dtype  # it takes 32 bits if they do
    if array.dtype not in (nothing.dtype, wider):
        raise ValueError(f"{name}: the reports are of another type")
    if name in CATEGORIES and array.ndim == 1:
        checked_numbers(name, array[reported], facts.classes if name == "labels" else cast(Any, mechanism).choices)
    if isinstance(mechanism, GRRFS) and np.any(array >= np.array(mechanism.domains)):
        raise ValueError(f"{name}: a category that there is not")
    return array


def _load(folder: Path, name: str) -> np.ndarray:
    return np.load(folder / f"{name}.npy", allow_pickle=False)
