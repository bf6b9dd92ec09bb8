"""What a device releases: never what the data say beyond the mechanism, entered with the mechanism's own loss."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
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
from ldpsim.devices.mechanisms import ClearFeatures, ClearLabel
from ldpsim.devices.policy.policy import Cap, Policy
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report, unpack_report
from tests.devices.conftest import CLASSES, DOORS, D, stage_plan
from tests.fleets import Untouchable, lone_device

HERE = [door for door in DOORS if door != "vault"]  # where a device answers in the test's own thread
PACKAGE = str(Path(ldpsim.devices.device.__file__).parent)


def strange_record() -> Record:
    """Everything out of range at once."""
    return Record(
        np.array([-3, 2, 10, 99], np.int32), np.array([np.nan, np.inf, 7.0, -np.inf], np.float32),
        np.array([-1, 3, 12, 500], np.int32), -7,
    )  # fmt: skip


def test_the_policy_is_asked_before_data_are_touched(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
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
    policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query],
    flipped: Callable[..., Record],
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
    policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query],
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


def test_a_secret_and_a_question_fix_the_bytes_for_ever(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
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


def change_data(devices: Any, population: Population, record: Record, index: int) -> None:
    """Give a device other data behind its back, in the files of the folder."""
    rows = [record if i == index else population.record(i) for i in range(len(population))]
    changed = {
        "feature_indptr": np.cumsum([0, *(len(r.feature_indices) for r in rows)]),
        "feature_indices": np.concatenate([r.feature_indices for r in rows]).astype(np.int32),
        "feature_values": np.concatenate([r.feature_values for r in rows]).astype(np.float32),
        "neighbour_indptr": np.cumsum([0, *(len(r.neighbours) for r in rows)]),
        "neighbour_indices": np.concatenate([r.neighbours for r in rows]).astype(np.int32),
        "labels": np.array([r.label for r in rows]),
    }
    for name, array in changed.items():
        np.save(devices.folder / "population" / f"{name}.npy", array)


@pytest.mark.parametrize("door", HERE)
@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
@pytest.mark.parametrize("new_data", ["opposite", "nothing", "strange"])
def test_after_the_report_the_data_change_nothing(
    enrolled: Callable[..., Any],
    ask_for: Callable[..., Query],
    population: Population,
    flipped: Callable[..., Record],
    tmp_path: Path,
    on_requery: str,
    new_data: str,
) -> None:
    """Two devices, alike but for their data after the report: same replies, same codes, the same lines run."""
    kept = enrolled(on_requery=on_requery)
    kept.ask(ask_for(attributes="al"))
    changed = kept.copy(tmp_path / "changed")
    nothing = Record(np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.int32), -1)
    record = {"opposite": flipped(population.record(3), 3), "nothing": nothing, "strange": strange_record()}[new_data]
    change_data(changed, population, record, 3)
    assert Population.load(changed.folder / "population").record(3).label == record.label
    questions = [
        ask_for(attributes="al"), ask_for(attributes="a"), ask_for("second", attributes="al"), ask_for(eps=2.0),
        ask_for(attributes="af"), ask_for("second", attributes="l", eps=0.3), ask_for(n=13), b"", b"malformed",
        stage_plan(), stage_plan().at_stage(1),
    ]  # fmt: skip
    for side in (kept, changed):  # what is opened once a process is opened now
        for question in questions:
            side.ask(question)
        side.in_mode("train")
    trace = Trace()
    for question in questions:
        kept.ask(question)  # a process reads a question once
        left, lines_left = trace.of(lambda q=question: kept.ask(q))
        right, lines_right = trace.of(lambda q=question: changed.ask(q))
        assert left == right and not (isinstance(left, Report) and not left.replayed)
        assert lines_left == lines_right and len(lines_left) > 5
    for mode in ("train", "evaluate"):
        assert trace.of(lambda m=mode: kept.in_mode(m)) == trace.of(lambda m=mode: changed.in_mode(m))
    assert kept.rows() == changed.rows()


# --- plans with a public grouping, several mechanisms in one question, reports in clear -----------------------


def test_what_goes_in_clear_is_entered_with_an_infinite_loss(
    enrolled: Callable[..., Any], population: Population
) -> None:
    query = Query("first", ((Ask("features", (ClearFeatures(D),)), Ask("label", (ClearLabel(CLASSES),))),))
    names = frozenset({"clear_features", "clear_label"})
    careful = enrolled("careful", mechanisms=names)
    assert careful.ask(query) is Refusal.POLICY_REFUSED
    bounds = dict.fromkeys(("features", "label"), Cap(math.inf, math.inf, math.inf))
    devices = enrolled("open", mechanisms=names, caps=bounds, on_requery="replay")
    answer = devices.ask(query)
    parts = unpack_report(answer.data, query)
    record = population.record(3)
    told = query.asks[0].mechanisms[0].decode(parts["features"][0], device=3)
    assert np.flatnonzero(told).tolist() == record.feature_indices.tolist()
    assert query.asks[1].mechanisms[0].decode(parts["label"][0], device=3) == record.label
    assert all(row[4].bit == row[4].vector == math.inf for row in devices.rows())
    devices.state.close()
    again = devices.ask(replace(query, collection="second"))  # read back from disk
    assert again == Report(answer.data, replayed=True)
