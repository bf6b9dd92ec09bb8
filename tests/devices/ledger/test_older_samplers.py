"""A folder of devices that answered before noise was made by SHAKE: what is stored is replayed, nothing is drawn anew.

``sampler-1.zip`` was made by the version before: six generated people, four of whom answered ``question.json``;
``answers.json`` has what left.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from ldpsim.devices.device import Refusal, answer
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.query import InvalidQuery, Query
from ldpsim.devices.report import Report

ANSWERED = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with zipfile.ZipFile(Path(__file__).with_name("sampler-1.zip")) as archive:
        archive.extractall(tmp_path)
    for file in (tmp_path / "state").rglob("*"):
        file.chmod(0o700 if file.is_dir() else 0o600)
    (tmp_path / "state").chmod(0o700)
    return tmp_path / "state"


def test_what_was_stored_is_given_as_it_was_stored(folder: Path) -> None:
    question, stored = (folder / "question.json").read_bytes(), json.loads((folder / "answers.json").read_text())
    state = State(folder)
    for _ in range(2):
        found = answer(state, range(6), question)
        assert [each.data.hex() for each in found[:ANSWERED] if isinstance(each, Report) and each.replayed] == stored
        assert found[ANSWERED:] == [Refusal.UNKNOWN_QUERY] * 2  # they have no answer, and none is drawn that way now
    state.close()


def test_the_same_question_under_new_noise_is_another_one(folder: Path) -> None:
    plain = json.loads((folder / "question.json").read_text())
    older = Query.from_bytes(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode())
    for ask in plain["plan"][0]:
        for mechanism in ask["mechanisms"]:
            mechanism["sampler"] += 1
    newer = Query.from_bytes(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode())
    assert not older.drawable and newer.drawable
    assert all(older.question(name) != newer.question(name) for name in older.attributes)
    state = State(folder)
    found = answer(state, range(6), newer.to_bytes())
    state.close()
    assert found[:ANSWERED] == [Refusal.REPORT_COLLECTED] * ANSWERED
    assert all(isinstance(each, Report) and not each.replayed for each in found[ANSWERED:])


@pytest.mark.parametrize("sampler", [0, 4, True, 1.0, "1", None])
def test_a_sampler_that_there_never_was_is_no_question(folder: Path, sampler: object) -> None:
    plain = json.loads((folder / "question.json").read_text())
    plain["plan"][0][0]["mechanisms"][0]["sampler"] = sampler
    with pytest.raises(InvalidQuery):
        Query.from_bytes(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode())
