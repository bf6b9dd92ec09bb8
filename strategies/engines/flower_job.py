"""Folder that exchanges one collection with Flower's own runtime.

The caller and the ``ServerApp`` are different processes, so they exchange files:

    job.json        the questions and their devices (written by the caller)
    collected.json  the result (written by the ServerApp, as a whole or not at all)
    failed.json     or one line with the reason for a failure
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ldpsim.curator.methods.base import Question
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.collector import SignedTerms
from ldpsim.strategies.rounds.batches import questions_from_json, questions_to_json
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.rounds.stages import Stages

FORMAT = 2
JOB = "LDPSIM_JOB"  # in the environment of Flower's processes: the folder
RESULT, FAILURE = "collected.json", "failed.json"


@dataclass(frozen=True, eq=False)
class Job:
    """Collection to run.

    Args:
        questions: The queries, and the devices that each one is for.
        devices: Number of enrolled devices.
        silent: Devices that are asked and never answer (a simulated dropout).
        timeout: Seconds after which devices that have not answered count as silent.
        stages: Makes the questions of later stages; required for a query of several stages.
        terms: Signed terms that go with the questions.
    """

    questions: tuple[Question, ...]
    devices: int
    silent: frozenset[int] = frozenset()
    timeout: float = 3600.0
    stages: Stages | None = None
    terms: SignedTerms | None = None

    @property
    def alike(self) -> bool:
        """Whether all nodes get the same message. Then the server need not know the device of a node."""
        return not self.silent and len(self.questions) == 1 and self.questions[0].devices is None

    def save(self, folder: Path) -> None:
        """Write the job to its folder."""
        head = {
            "format": FORMAT, "devices": self.devices, "timeout": self.timeout, "silent": sorted(self.silent),
            "questions": questions_to_json(self.questions),
            "stages": None if self.stages is None else self.stages.to_dict(),
            "terms": None if self.terms is None else self.terms.to_text(),
        }  # fmt: skip
        write_atomically(folder / "job.json", json.dumps(head, default=np.ndarray.tolist))

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
            questions = questions_from_json(head["questions"])
            stages = None if head["stages"] is None else Stages.from_dict(head["stages"])
            terms = None if head["terms"] is None else SignedTerms.from_text(head["terms"])
            return cls(
                questions, int(head["devices"]), frozenset(head["silent"]), float(head["timeout"]), stages, terms
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder} holds no job for this version: {error}") from error


def save_collected(folder: Path, collected: Collected) -> None:
    """Write the result of a collection, as a whole or not at all; bytes are hexadecimal text."""
    text = json.dumps({"format": FORMAT, **vars(collected)}, default=bytes.hex)
    write_atomically(folder / RESULT, text)


def load_collected(folder: Path) -> Collected:
    """Read the result of a collection.

    Raises:
        FileNotFoundError: if there is no result.
        ValueError: if the file has another format.
    """
    found = json.loads((folder / RESULT).read_bytes())
    if found.pop("format") != FORMAT:
        raise ValueError(f"{folder} holds a collection of another version")
    found["refused"] = Counter(found["refused"])
    found["reports"] = {int(device): bytes.fromhex(report) for device, report in found["reports"].items()}
    found["answers"] = {
        int(device): {attribute: tuple(map(bytes.fromhex, parts)) for attribute, parts in given.items()}
        for device, given in found["answers"].items()
    }
    found["grouping"] = None if found["grouping"] is None else tuple(found["grouping"])
    return Collected(**found)


def save_failure(folder: Path, line: str) -> None:
    """Write the reason for a failed collection, one line."""
    write_atomically(folder / FAILURE, json.dumps({"line": line}))


def load_failure(folder: Path) -> str | None:
    """Return the reason for a failed collection; None if there is none."""
    try:
        return str(json.loads((folder / FAILURE).read_bytes())["line"])
    except FileNotFoundError:
        return None
