from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ldpsim.curator.methods import Question
from ldpsim.strategies.engines.flower_job import Job, load_collected, load_failure, save_collected, save_failure
from ldpsim.strategies.rounds.collect_once import Collected

Ask = Callable[..., tuple[Question, ...]]


def test_a_job_is_read_as_it_was_written(tmp_path: Path, ask: Ask) -> None:
    questions = (Question(ask()[0].query), Question(ask("other")[0].query, np.array([1, 4])))
    Job(questions, 40, frozenset({3, 9}), 12.5).save(tmp_path)
    job = Job.load(tmp_path)
    assert [q.query for q in job.questions] == [q.query for q in questions]
    assert job.questions[0].devices is None and job.questions[1].devices.tolist() == [1, 4]  # type: ignore[union-attr]
    assert (job.devices, job.silent, job.timeout, job.alike) == (40, frozenset({3, 9}), 12.5, False)
    assert Job(questions[:1], 40).alike
    assert not Job(questions[1:], 40).alike


@pytest.mark.parametrize("text", [None, "{", '{"format": 1}', '{"format": 2}'])
def test_no_job_is_one_line(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "job.json").write_text(text)
    with pytest.raises(ValueError, match="holds no job") as caught:
        Job.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_collection_is_read_as_it_was_written(tmp_path: Path) -> None:
    collected = Collected(
        reports={7: b"", 2: b"\x00\x01", 5: b"abc"},
        answers={2: {"adjacency": (b"\x00", b""), "features": (b"xy",)}, 5: {"label": (b"z",)}},
        asked=6, reported=2, replayed=1, refused=Counter(REPORT_COLLECTED=2), silent=1, failed=0, rounds=1,
        messages=11, downlink_bytes=600, uplink_bytes=50, seconds=0.25,
    )  # fmt: skip
    save_collected(tmp_path, collected)
    read = load_collected(tmp_path)
    assert read == collected
    assert read.reports_sha256 == collected.reports_sha256
    assert [path.name for path in tmp_path.iterdir()] == ["collected.json"]


def test_nothing_collected(tmp_path: Path) -> None:
    save_collected(tmp_path, Collected(asked=3, silent=3))
    assert load_collected(tmp_path) == Collected(asked=3, silent=3)


def test_a_failure_is_one_line(tmp_path: Path) -> None:
    assert load_failure(tmp_path) is None
    save_failure(tmp_path, "2 of 6 nodes are connected")
    assert load_failure(tmp_path) == "2 of 6 nodes are connected"
    with pytest.raises(FileNotFoundError):
        load_collected(tmp_path)
