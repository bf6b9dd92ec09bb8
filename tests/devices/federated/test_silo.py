"""Messages to a silo: a malformed training is refused (computations: tests/strategies/runs/test_silos.py)."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType

from ldpsim.devices.device import Refusal
from ldpsim.devices.federated.exchange import kept_sums
from ldpsim.devices.federated.members import Members
from ldpsim.devices.federated.participation import answer_as_silo
from ldpsim.devices.federated.wire import record_of, round_content, weights_record
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import Task
from ldpsim.devices.wire import RECEIVE_TYPE

ROOT = Path(__file__).resolve().parents[3]
TASK = Task("first", "own", 3, 2, 2, 0.5, 2, scaling="none", seed=1)
SUMS = replace(TASK, sees="sums")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    whole, few = np.arange(3), np.zeros(0, np.int64)
    silo = Members(np.arange(2), whole, np.arange(2), np.ones(2, np.float32), np.zeros(3, np.int64), few,
                np.arange(2), np.ones(2, bool))  # fmt: skip
    silo.save(tmp_path / "silo-0")
    return tmp_path / "silo-0"


def asked(of: Task = TASK, *, weights: bool = True, **config: float | str | bytes) -> Message:
    record = ConfigRecord({"task": of.to_bytes(), "server-round": 1, **config})
    arrays = weights_record(of.shape.initial(3)) if weights else None
    return Message(round_content(arrays, record), 1, MessageType.TRAIN)


WRONG_TASKS: list[dict[str, Any]] = [
    *({size: wrong} for size in ("d", "hidden", "classes", "steps") for wrong in (0, -1, 1.0, True, "2")),
    *({rate: wrong} for rate in ("lr", "weight_decay", "dropout") for wrong in (-0.1, math.nan, 1, "0.5", None)),
    {"dropout": 1.0}, {"seed": 1.0}, {"seed": "1"}, {"lr": 0.0}, {"sees": "ego"},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_TASKS, ids=str)
def test_a_task_of_another_form_is_refused(folder: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidQuery):
        replace(TASK, **wrong)
    told = json.dumps({**json.loads(TASK.to_bytes()), **wrong}, sort_keys=True, separators=(",", ":")).encode()
    reply = answer_as_silo(folder, asked(task=told), "update")
    assert reply.has_error() and reply.error.code == Refusal.UNKNOWN_QUERY.value


def sums(
    ids: Sequence[int] = (0, 1), starts: Sequence[int] = (0, 1, 2), degrees: Sequence[int] = (1, 1),
    columns: Sequence[int] = (0, 2), values: Sequence[float] = (1.0, 1.0),
) -> ArrayRecord:  # fmt: skip
    """Sums, sound ones by default."""
    numbers = {"ids": ids, "starts": starts, "degrees": degrees, "columns": columns}
    whole = {name: np.array(given, np.int32) for name, given in numbers.items()}
    return record_of(**whole, values=np.array(values, np.float32))


def receive(folder: Path, own: ArrayRecord | None) -> int:
    """Send a silo its sums; return the refusal's code, 0 where it keeps them."""
    message = Message(round_content(None, ConfigRecord({"task": SUMS.to_bytes()}), own), 1, RECEIVE_TYPE)
    reply = answer_as_silo(folder, message, None)
    return reply.error.code if reply.has_error() else 0


@pytest.mark.parametrize("wrong", [
    {"columns": (0, 3)}, {"columns": (0, 200)}, {"columns": (0, 2_000_000_000)}, {"columns": (0, -1)},
    {"starts": (0, 2, 1)}, {"starts": (0, 1, 3)}, {"starts": (0, 1, 1)}, {"starts": (0, 1, -1)}, {"starts": (1, 1, 2)},
    {"starts": ()}, {"values": (1.0, math.nan)}, {"values": (1.0, -math.inf)}, {"values": (1.0, 3e38)},
    {"values": (1.0,)}, {"ids": (1, 0)}, {"ids": (0, 0)},
    {"degrees": (1,)}, {"degrees": (1, 1, 1)}, {"degrees": (1, -1)},
    {"ids": (), "starts": (0,), "degrees": (), "columns": (), "values": ()},
], ids=str)  # fmt: skip
def test_sums_that_are_no_matrix_of_the_members_are_refused(folder: Path, wrong: dict[str, Any]) -> None:
    """A product with columns outside the matrix would read and write memory of something else."""
    assert receive(folder, sums(**wrong)) == Refusal.UNKNOWN_QUERY.value and kept_sums(folder, SUMS, 0) is None


NARROW = """
import sys
from dataclasses import replace
from pathlib import Path
from ldpsim.strategies.engines.flower_private import assume_identity
from tests.devices.federated.test_silo import TASK, answer_as_silo, asked, receive, sums

assume_identity(run_id=1)
folder = Path(sys.argv[1])
receive(folder, sums())
for d in (1, 2):
    for sees in ("own", "sums"):
        task = replace(TASK, d=d, sees=sees)
        for kind in ("update", "evaluation", "exchange"):
            weights = kind != "exchange" or sees == "own"
            print(d, sees, kind, answer_as_silo(folder, asked(task, weights=weights), kind).has_error())
"""


def test_a_task_of_fewer_columns_than_the_members_have_is_refused(folder: Path) -> None:
    """In a process of its own, which would crash, or read memory of something else."""
    ran = subprocess.run([sys.executable, "-c", NARROW, str(folder)], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    answers = [line.split() for line in ran.stdout.splitlines()]
    wrong = {tuple(answer[:3]) for answer in answers if answer[3] == "True"}
    assert len(answers) == 12
    assert {("1", sees, kind) for sees in ("own", "sums") for kind in ("update", "evaluation", "exchange")} <= wrong
    assert ("2", "own", "update") not in wrong  # power
    # The sums have a column 2, the members do not.
    assert {("2", "sums", "update"), ("2", "sums", "evaluation")} <= wrong
