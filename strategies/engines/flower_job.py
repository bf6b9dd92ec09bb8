"""Folder that exchanges one collection with Flower's own runtime.

The caller and the ``ServerApp`` are different processes, so they exchange files:

    job.json        the questions and their devices (written by the caller)
    collected.npz   the result (written by the ServerApp, as a whole or not at all)
    failed.json     or one line with the reason for a failure
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curator.methods.base import Question
from curator.reports.reports import AnswersByDevice
from devices.query import ATTRIBUTES
from devices.raw_record import read_question
from strategies.rounds.collect_once import Collected
from strategies.rounds.stages import Stages

FORMAT = 1
_COUNTS = (
    "asked", "reported", "replayed", "silent", "failed", "rounds", "messages", "downlink_bytes", "uplink_bytes",
    "seconds",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Job:
    """Collection to run.

    Args:
        questions: The queries, and the devices that each one is for.
        devices: Number of enrolled devices.
        silent: Devices that are asked and never answer (a simulated dropout).
        timeout: Seconds after which devices that have not answered count as silent.
        stages: Makes the questions of later stages; required for a query of several stages.
    """

    questions: tuple[Question, ...]
    devices: int
    silent: frozenset[int] = frozenset()
    timeout: float = 3600.0
    stages: Stages | None = None

    @property
    def alike(self) -> bool:
        """Whether all nodes get the same message. Then the server need not know the device of a node."""
        return not self.silent and len(self.questions) == 1 and self.questions[0].devices is None

    def save(self, folder: Path) -> None:
        """Write the job to its folder."""
        asked = [
            {
                "query": question.query.to_bytes().decode("ascii"),
                "devices": None if question.devices is None else question.devices.tolist(),
            }
            for question in self.questions
        ]
        head = {"format": FORMAT, "devices": self.devices, "timeout": self.timeout, "silent": sorted(self.silent)}
        stages = None if self.stages is None else self.stages.to_dict()
        _replace(folder / "job.json", json.dumps({**head, "questions": asked, "stages": stages}).encode())

    @classmethod
    def load(cls, folder: Path) -> Job:
        """Read a job.

        Raises:
            ValueError: if the folder has no job of this version.
        """
        try:
            head = json.loads((folder / "job.json").read_bytes())
            if head["format"] != FORMAT:
                raise ValueError("unknown format")
            questions = tuple(
                Question(
                    read_question(asked["query"].encode("ascii")),
                    None if asked["devices"] is None else np.array(asked["devices"], np.int64),
                )
                for asked in head["questions"]
            )
            stages = None if head["stages"] is None else Stages.from_dict(head["stages"])
            return cls(questions, int(head["devices"]), frozenset(head["silent"]), float(head["timeout"]), stages)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder} holds no job for this version: {error}") from error


def save_collected(folder: Path, collected: Collected) -> None:
    """Write the result of a collection, as a whole or not at all."""
    counts = {name: getattr(collected, name) for name in _COUNTS} | {"refused": dict(collected.refused)}
    parts = [
        (device, ATTRIBUTES.index(attribute), part)
        for device, attributes in sorted(collected.answers.items())
        for attribute, given in attributes.items()
        for part in given
    ]
    devices = sorted(collected.reports)
    arrays: dict[str, NDArray[Any]] = {
        "counts": np.frombuffer(json.dumps({"format": FORMAT, **counts}).encode(), np.uint8),
        "report_device": np.array(devices, np.int64),
        "answer_device": np.array([device for device, _, _ in parts], np.int64),
        "answer_attribute": np.array([attribute for _, attribute, _ in parts], np.int64),
        **_join("report", [collected.reports[device] for device in devices]),
        **_join("answer", [part for _, _, part in parts]),
        **({} if collected.grouping is None else {"grouping": np.array(collected.grouping, np.int64)}),
    }
    handle, name = tempfile.mkstemp(dir=folder, prefix=".collected-")
    with os.fdopen(handle, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # keywords are arrays
    os.replace(name, folder / "collected.npz")


def load_collected(folder: Path) -> Collected:
    """Read the result of a collection.

    Raises:
        FileNotFoundError: if there is no result.
        ValueError: if the file has another format.
    """
    with np.load(folder / "collected.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    counts = json.loads(arrays["counts"].tobytes())
    if counts.pop("format") != FORMAT:
        raise ValueError(f"{folder} holds a collection of another version")
    refused = Counter({str(code): int(number) for code, number in counts.pop("refused").items()})
    reports = dict(zip(arrays["report_device"].tolist(), _split("report", arrays), strict=True))
    answers: AnswersByDevice = {}
    who, what = arrays["answer_device"].tolist(), arrays["answer_attribute"].tolist()
    for device, attribute, part in zip(who, what, _split("answer", arrays), strict=True):
        given = answers.setdefault(device, {})
        given[ATTRIBUTES[attribute]] = (*given.get(ATTRIBUTES[attribute], ()), part)
    grouping = tuple(arrays["grouping"].tolist()) if "grouping" in arrays else None
    return Collected(reports=reports, answers=answers, refused=refused, grouping=grouping, **counts)


def save_failure(folder: Path, line: str) -> None:
    """Write the reason for a failed collection, one line."""
    _replace(folder / "failed.json", json.dumps({"line": line}).encode())


def load_failure(folder: Path) -> str | None:
    """Return the reason for a failed collection; None if there is none."""
    try:
        return str(json.loads((folder / "failed.json").read_bytes())["line"])
    except FileNotFoundError:
        return None


def _join(name: str, parts: Sequence[bytes]) -> dict[str, NDArray[Any]]:
    return {
        f"{name}_bytes": np.frombuffer(b"".join(parts), np.uint8),
        f"{name}_length": np.array([len(part) for part in parts], np.int64),
    }


def _split(name: str, arrays: dict[str, NDArray[Any]]) -> Iterable[bytes]:
    data, at = arrays[f"{name}_bytes"].tobytes(), 0
    for length in arrays[f"{name}_length"].tolist():
        yield data[at : at + length]
        at += length


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(name, path)
