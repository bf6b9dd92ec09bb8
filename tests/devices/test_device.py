"""Every row of the device's table, through each door; what it releases is never more than its mechanism says."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpsim.devices.device
import ldpsim.devices.draw
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.records import Record
from ldpsim.devices.device import Refusal, answer
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.mechanisms import GRR, GroupDegrees, OneBit, RandomizedResponse
from ldpsim.devices.mechanisms.mechanism import one_report
from ldpsim.devices.policy.policy import Cap
from ldpsim.devices.query import Ask, Query, _parse
from ldpsim.devices.report import Report, unpack_report
from tests.devices.conftest import DOORS, ask_for, flipped, people, policy_of, stage_plan
from tests.fleets import Untouchable, lone_device


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_malformed_questions(enrolled: Callable[..., Any]) -> None:
    devices = enrolled()
    good = ask_for().to_bytes()
    for data in (
        b"", b"{}", b"null", good + b" ", good[:-1], good.replace(b'"version":1', b'"version":2'),
        good.replace(b'"sampler":2', b'"sampler":4'), good.replace(b"grr", b"grs"), good.replace(b'{"', b'{"a":1,"', 1),
        b"\xff" * 100, b"[" * 10_000,
    ):  # fmt: skip
        assert devices.ask(data) is Refusal.UNKNOWN_QUERY
    assert devices.rows() == []


@pytest.mark.parametrize(
    ("kind", "refusal"),
    [
        *((kind, Refusal.MODE_REFUSED) for kind in ("train", "evaluate", "train.fit", "evaluate.accuracy")),
        *((kind, Refusal.MODE_REFUSED) for kind in ("query.exchange", "query.receive")),
        *((kind, Refusal.UNKNOWN_QUERY) for kind in ("query", "query.other", "system")),
    ],
)
def test_messages_of_another_mode_or_kind(enrolled: Callable[..., Any], kind: str, refusal: Refusal) -> None:
    devices = enrolled()
    assert devices.in_mode(kind) is refusal
    devices.ask(ask_for())
    before = devices.rows()
    assert devices.in_mode(kind) is refusal and devices.rows() == before


@pytest.mark.parametrize("mode", ["federated", "owner"])
def test_a_report_from_a_device_of_another_mode(enrolled: Callable[..., Any], mode: str) -> None:
    devices = enrolled(mode=mode, on_requery="replay")
    if (devices.door, mode) == ("vault", "federated"):  # no vault serves them
        return
    assert devices.ask(ask_for()) is Refusal.MODE_REFUSED
    assert devices.ask(b"malformed") is Refusal.UNKNOWN_QUERY
    assert devices.rows() == []


def test_questions_outside_the_policy(enrolled: Callable[..., Any]) -> None:
    cap = Cap(1.0, 11.0, 11.0)
    devices = enrolled(
        caps={"adjacency": cap, "features": cap}, mechanisms=frozenset({"randomized_response", "one_bit"})
    )
    outside = [
        ask_for(attributes="l"),  # an attribute and mechanism not agreed to
        ask_for(attributes="afl"),
        ask_for(attributes="a", eps=1.01),  # loss
        ask_for(attributes="a", n=13),  # facts
        ask_for(attributes="f", d=11),
        Query("c", ((Ask("features", (OneBit.from_epsilon(0.5, d=10, low=-1.0),)),),)),
        Query("c", ((Ask("adjacency", ask_for().asks[0].mechanisms * 2),),)),
    ]
    for asked in outside:
        assert devices.ask(asked) is Refusal.POLICY_REFUSED
    assert devices.rows() == []
    assert isinstance(devices.ask(ask_for(attributes="af")), Report)
    for asked in outside:  # the same word after a release
        assert devices.ask(asked) is Refusal.POLICY_REFUSED


def test_both_ends_asked_of_a_one_ended_device(enrolled: Callable[..., Any]) -> None:
    devices = enrolled(reporting="one-end")
    assert devices.ask(ask_for(attributes="a")) is Refusal.POLICY_REFUSED
    one_end = RandomizedResponse.from_epsilon(1.0, n=12, reporting="one-end")
    asked = Query("first", ((Ask("adjacency", (one_end,)),),))
    for index in (0, 1, 11):
        answer = devices.ask(asked, index)
        assert isinstance(answer, Report)
        ((row,),) = unpack_report(answer.data, asked).values()
        assert len(one_report(one_end, row, index)) == index
        assert devices.rows(index)[0][4] == one_end.loss(device=index)


def test_release_and_retry(enrolled: Callable[..., Any]) -> None:
    devices = enrolled()
    first = devices.ask(ask_for())
    assert isinstance(first, Report) and not first.replayed
    stored = devices.rows()
    assert [row[0] for row in stored] == ["adjacency", "features", "label"]
    again = devices.ask(ask_for())
    assert again == Report(first.data, replayed=True) and devices.rows() == stored
    assert isinstance(devices.ask(ask_for(), 4), Report)  # another device is another matter


@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
def test_another_collection(enrolled: Callable[..., Any], on_requery: str) -> None:
    devices = enrolled(on_requery=on_requery)
    first = devices.ask(ask_for())
    stored = devices.rows()
    again = devices.ask(ask_for("second"))
    assert again == (Refusal.REPORT_COLLECTED if on_requery == "refuse" else Report(first.data, replayed=True))
    assert devices.rows() == stored


@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
@pytest.mark.parametrize("collection", ["first", "second"])
def test_another_question_about_a_released_attribute(
    enrolled: Callable[..., Any], on_requery: str, collection: str
) -> None:
    devices = enrolled(on_requery=on_requery)
    devices.ask(ask_for(attributes="af"))
    stored = devices.rows()
    plan = replace(stage_plan(), collection=collection)
    for asked in (
        ask_for(collection, eps=2.0),  # another budget
        ask_for(collection, eps=0.5, attributes="a"),  # a smaller one too
        ask_for(collection, attributes="afl"),  # released and never released
        ask_for(collection, attributes="al"),
        ask_for(collection, eps=2.0, attributes="fl"),
        Query(collection, ((Ask("adjacency", ask_for().asks[0].mechanisms * 2),),)),
        plan,  # a plan whose later stage asks a released attribute
        plan.at_stage(1),
    ):
        assert devices.ask(asked) is Refusal.REPORT_COLLECTED
    assert devices.rows() == stored
    assert isinstance(devices.ask(ask_for(collection, attributes="l")), Report)  # never released: one release


def test_a_later_stage_that_comes_first_is_refused_and_enters_nothing(enrolled: Callable[..., Any]) -> None:
    devices, plan = enrolled(), stage_plan()
    assert devices.ask(plan.at_stage(1)) is Refusal.REPORT_COLLECTED and devices.rows() == []
    assert isinstance(devices.ask(ask_for("before", attributes="a")), Report)  # nor is it after another answer
    assert devices.ask(plan.at_stage(1)) is Refusal.REPORT_COLLECTED
    assert isinstance(devices.ask(plan), Report) and isinstance(devices.ask(plan.at_stage(1)), Report)
    told = [(attribute, stage, loss.vector) for attribute, stage, _, _, loss in devices.rows()[1:]]
    # all stages are paid for with the first: features 10, the label once in each of two stages
    assert told == [("features", 0, 10.0), ("label", 0, 2.0), ("features", 1, 0.0), ("label", 1, 0.0)]


def test_a_stage_without_the_grouping_that_it_needs_is_no_question(enrolled: Callable[..., Any]) -> None:
    """Whatever else would be wrong with it: the policy knows no such mechanism, and the list was released before."""
    devices = enrolled()
    counts = GroupDegrees.from_epsilon(1.0, n=12, groups=2)
    plan = Query("first", (ask_for(attributes="a").asks, (Ask("adjacency", (counts,)),)))
    for _ in range(2):
        assert devices.ask(plan.at_stage(1)) is Refusal.UNKNOWN_QUERY
        assert devices.ask(plan.at_stage(1, (0, 1) * 6)) is Refusal.POLICY_REFUSED
        assert isinstance(devices.ask(ask_for(attributes="a")), Report)


def spoil(devices: Any, kind: str, index: int) -> None:
    devices.state.close()
    path = devices.folder / "ledger.sqlite"
    if kind == "row":
        db = sqlite3.connect(path)
        db.execute("UPDATE answer SET body = x'00' WHERE device = ?", (index,))
        db.commit()
        db.close()
    else:
        data = path.read_bytes()
        path.write_bytes({"garbage": b"\x5a" * len(data), "truncated": data[:5000], "blank": b""}[kind])


@pytest.mark.parametrize("kind", ["garbage", "truncated", "blank", "row"])
def test_a_damaged_ledger_answers_everything_alike(enrolled: Callable[..., Any], kind: str) -> None:
    devices = enrolled(on_requery="replay")
    for index in range(12):
        devices.ask(ask_for(), index)
    spoil(devices, kind, 3)
    hit = [3] if kind == "row" else list(range(12))
    for index in hit:
        for question in (
            ask_for(), ask_for("second"), ask_for(eps=2.0), ask_for(attributes="a"), ask_for(n=13), b"", b"malformed",
        ):  # fmt: skip
            assert devices.ask(question, index) is Refusal.LEDGER_DAMAGED
        for mode in ("train", "evaluate", "train.fit", "query.other", "query"):
            assert devices.in_mode(mode, index) is Refusal.LEDGER_DAMAGED
    if kind == "row":
        assert isinstance(devices.ask(ask_for(), 4), Report)  # others are not harmed


def test_a_ledger_that_cannot_be_written(enrolled: Callable[..., Any]) -> None:
    devices = enrolled()
    devices.state.ledger(3)._db.execute("PRAGMA query_only=1")
    assert devices.ask(ask_for()) is Refusal.LEDGER_DAMAGED
    devices.state.ledger(3)._db.execute("PRAGMA query_only=0")
    answer = devices.ask(ask_for())
    assert isinstance(answer, Report) and not answer.replayed


def test_an_answer_is_all_attributes_or_none(enrolled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The last attribute's mechanism fails: nothing of the others is released either."""

    def fail(*_: object) -> int:
        raise ValueError("the label was 2")

    devices = enrolled()
    with monkeypatch.context() as patch:
        patch.setattr(GRR, "respond", fail)
        assert devices.ask(ask_for()) is Refusal.UNKNOWN_QUERY
    assert devices.rows() == []
    assert isinstance(devices.ask(ask_for()), Report)


@pytest.mark.parametrize("error", [ValueError, UnicodeError, OSError, MemoryError, sqlite3.Error, KeyError])
def test_a_mechanism_that_fails_on_its_loss_is_an_unknown_question(
    enrolled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """A mechanism of another package may raise anything. The ledger is sound, and a damaged one still says so."""

    def fail(*_: object, **__: object) -> float:
        raise error("no table for so many categories")

    devices = enrolled(on_requery="replay")
    assert isinstance(devices.ask(ask_for(attributes="f"), 5), Report)
    _parse.cache_clear()  # a question keeps its losses
    with monkeypatch.context() as patch:
        patch.setattr(GRR, "loss_of", fail)
        for asked in (ask_for(), ask_for("second"), ask_for(attributes="l")):
            assert devices.ask(asked) is Refusal.UNKNOWN_QUERY
        spoil(devices, "row", 5)
        assert devices.ask(ask_for(), 5) is Refusal.LEDGER_DAMAGED
    assert devices.rows() == []
    assert isinstance(devices.ask(ask_for("third")), Report)


def test_it_fails_for_one_device_of_a_batch_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of one end has a loss for each device."""
    one_end = RandomizedResponse.from_epsilon(1.0, n=12, reporting="one-end")
    asked = Query("first", ((Ask("adjacency", (one_end,)),),))
    exact = RandomizedResponse.loss_of

    def fail(self: Any, changed: int | None = None, *, device: int | None = None) -> float:
        if device == 4:
            raise ValueError("a row of 4")
        return exact(self, changed, device=device)

    population = people()
    state = enrol(tmp_path / "s", population, policy_of(population, reporting="one-end"), seed=1)
    monkeypatch.setattr(RandomizedResponse, "loss_of", fail)
    answers = answer(state, [3, 4, 5, 99], asked.to_bytes())
    assert answers[1::2] == [Refusal.UNKNOWN_QUERY, Refusal.LEDGER_DAMAGED]
    assert all(isinstance(one, Report) for one in answers[::2])
    state.close()


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


def test_a_release_takes_one_path_whatever_the_data(tmp_path: Path, population: Population) -> None:
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
    tmp_path: Path, population: Population, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
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
    adjacency, features, label = "03000000009280", "020000009240", "020000000200"  # samplers 3, 2 and 2
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
