"""What a device releases: never what the data say beyond the mechanism, entered with the mechanism's own loss."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpsim.devices.device
import ldpsim.devices.draw
from ldpsim.devices.data.population import Population, Record
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.report import Report
from tests.devices.conftest import ask_for, flipped, policy_of, stage_plan
from tests.fleets import Untouchable, lone_device

PACKAGE = str(Path(ldpsim.devices.device.__file__).parent)


def strange_record() -> Record:
    """Everything out of range at once."""
    return Record(
        np.array([-3, 2, 10, 99], np.int32), np.array([np.nan, np.inf, 7.0, -np.inf], np.float32),
        np.array([-1, 3, 12, 500], np.int32), -7,
    )  # fmt: skip


def test_the_policy_is_asked_before_data_are_touched(tmp_path: Path, population: Population) -> None:
    """So is the ledger: the record is read for a new report alone."""
    policy, ledger = policy_of(population), Ledger.create(tmp_path / "l")
    first = lone_device(3, population.record(3), b"s" * 32, policy, ledger).answer(ask_for(attributes="al"))
    assert isinstance(first, Report)
    device = lone_device(3, Untouchable(), b"s" * 32, policy, ledger)
    assert device.answer(ask_for(attributes="al")) == Report(first.data, replayed=True)
    for asked in (ask_for("second", attributes="a"), ask_for(eps=2.0), stage_plan()):
        assert device.answer(asked) is Refusal.REPORT_COLLECTED
    assert device.answer(ask_for(n=13)) is Refusal.POLICY_REFUSED
    assert device.answer(b"") is Refusal.UNKNOWN_QUERY and device.refuse(Refusal.MODE_REFUSED) is Refusal.MODE_REFUSED
    with pytest.raises(pytest.fail.Exception, match="was read"):
        device.answer(ask_for(attributes="f"))


def test_a_release_takes_one_path_whatever_the_data(
    tmp_path: Path,
    population: Population,
) -> None:
    """Same lines for any data. Left out: bits.py, which sees the noisy report alone, and rejected draws in noise.py."""
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    own = population.record(3)
    empty = Record(own.feature_indices[:0], own.feature_values[:0], own.neighbours[:0], -1)
    trace = Trace(but=("bits.py", "noise.py"))
    lines, answers = [], []
    for number, record in enumerate((own, own, flipped(own, 3), empty, strange_record())):
        device = lone_device(3, record, bytes([7]) * 32, state.policy, Ledger.create(tmp_path / f"l{number}"))
        answer, path = trace.of(lambda d=device: d.answer(ask_for()))
        lines.append(path)
        answers.append(answer)
    assert all(isinstance(answer, Report) and not answer.replayed for answer in answers)
    assert all(path == lines[1] for path in lines[2:]) and len(lines[1]) > 50


@pytest.mark.filterwarnings("error")
def test_data_out_of_range_are_brought_in_silently(
    tmp_path: Path,
    population: Population,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The same report as of the clamped record, but for the key: here the digest is held still."""
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    # Values, columns and nodes count as the nearest one that exists; the device itself is dropped; category 0.
    clamped = Record(np.array([2], np.int32), np.array([1.0], np.float32), np.array([0, 11], np.int32), 0)
    reports = []
    for number, record in enumerate((strange_record(), clamped)):
        device = lone_device(3, record, b"s" * 32, state.policy, Ledger.create(tmp_path / f"l{number}"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ldpsim.devices.draw, "data_messages", lambda *_: [b"d" * 32])
            reports.append(device.answer(ask_for()))
    assert isinstance(reports[0], Report) and reports[0] == reports[1]
    assert capfd.readouterr() == ("", "") and caplog.text == ""


def test_a_secret_and_a_question_fix_the_bytes_for_ever(tmp_path: Path, population: Population) -> None:
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    record = Record(
        np.array([0, 4, 9], np.int32), np.array([1.0, 0.5, 1.0], np.float32), np.array([0, 4, 7], np.int32), 2
    )
    device = lone_device(3, record, b"s" * 32, state.policy, state.ledger(3))
    answer = device.answer(ask_for())
    adjacency, features, label = "0300000000fc00", "02000000c880", "020000000100"
    expected = "07000000" + adjacency + "06000000" + features + "06000000" + label
    assert isinstance(answer, Report) and answer.data.hex() == expected


class Trace:
    """The lines of ``devices`` that a call runs, in order."""

    def __init__(self, but: tuple[str, ...] = ()) -> None:
        self.lines: list[tuple[str, int]] = []
        self.but = but

    def __call__(self, frame: Any, event: str, _: object) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or name.endswith(self.but):
            return None
        if event == "line":
            self.lines.append((name, frame.f_lineno))
        return self

    def of(self, call: Callable[[], object]) -> tuple[object, list[tuple[str, int]]]:
        self.lines = []
        old = sys.gettrace()
        sys.settrace(self)
        try:
            result = call()
        finally:
            sys.settrace(old)
        return result, self.lines


# --- plans with a public grouping, several mechanisms in one question, reports in clear -----------------------
