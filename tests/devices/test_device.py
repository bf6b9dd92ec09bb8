"""Every row of the device's table, asked directly and through Flower; and what never shows."""

from __future__ import annotations

import hashlib
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpsim.devices.device
from ldpsim.devices.data.population import Population, Record
from ldpsim.devices.device import (
    Device,
    Refusal,
    Report,
    pack_parts,
    pack_report,
    unpack_parts,
    unpack_report,
)
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.mechanisms import GRR, OneBit, RandomizedResponse
from ldpsim.devices.policy.policy import Cap, Policy, policy_for
from ldpsim.devices.query import Ask, Query

PACKAGE = str(Path(ldpsim.devices.device.__file__).parent)


def stage_plan(ask_for: Callable[..., Query]) -> Query:
    """The label first, then label and features together."""
    features, label = ask_for(attributes="fl").asks
    return Query("first", ((label,), (features, label)))


# --- the table, row by row --------------------------------------------------------------


def test_malformed_questions(enrolled: Callable[..., Any], ask_for: Callable[..., Query]) -> None:
    devices = enrolled()
    good = ask_for().to_bytes()
    for data in (
        b"", b"{}", b"null", good + b" ", good[:-1], good.replace(b'"version":1', b'"version":2'),
        good.replace(b'"sampler":1', b'"sampler":2'), good.replace(b"grr", b"grs"), good.replace(b'{"', b'{"a":1,"', 1),
        b"\xff" * 100, b"[" * 10_000,
    ):  # fmt: skip
        assert devices.ask(data) is Refusal.UNKNOWN_QUERY
    assert devices.rows() == []


@pytest.mark.parametrize("kind", ["train", "evaluate", "train.fit", "evaluate.accuracy"])
def test_messages_of_another_mode(enrolled: Callable[..., Any], ask_for: Callable[..., Query], kind: str) -> None:
    devices = enrolled()
    assert devices.in_mode(kind) is Refusal.MODE_REFUSED
    devices.ask(ask_for())
    before = devices.rows()
    assert devices.in_mode(kind) is Refusal.MODE_REFUSED and devices.rows() == before


@pytest.mark.parametrize("mode", ["federated", "owner"])
def test_a_report_from_a_device_of_another_mode(
    enrolled: Callable[..., Any], ask_for: Callable[..., Query], mode: str
) -> None:
    devices = enrolled(mode=mode, on_requery="replay")
    assert devices.ask(ask_for()) is Refusal.MODE_REFUSED
    assert devices.ask(b"malformed") is Refusal.UNKNOWN_QUERY
    assert devices.rows() == []


def test_questions_outside_the_policy(enrolled: Callable[..., Any], ask_for: Callable[..., Query]) -> None:
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


def test_both_ends_asked_of_a_one_ended_device(enrolled: Callable[..., Any], ask_for: Callable[..., Query]) -> None:
    devices = enrolled(reporting="one-end")
    assert devices.ask(ask_for(attributes="a")) is Refusal.POLICY_REFUSED
    one_end = RandomizedResponse.from_epsilon(1.0, n=12, reporting="one-end")
    asked = Query("first", ((Ask("adjacency", (one_end,)),),))
    for index in (0, 1, 11):
        answer = devices.ask(asked, index)
        assert isinstance(answer, Report)
        ((row,),) = unpack_report(answer.data, asked).values()
        assert len(one_end.decode(row, device=index)) == index
        assert devices.rows(index)[0][4] == one_end.loss(device=index)


def test_the_policy_is_asked_before_data_are_touched(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> object:
            pytest.fail(f"{name} was read")

    state = enrol(tmp_path / "s", population, policy_of(population, caps={}), seed=1)
    device = Device(3, Untouchable(), b"s" * 32, state.policy, state.ledger(3))  # type: ignore[arg-type]
    assert device.answer(ask_for()) is Refusal.POLICY_REFUSED
    assert device.answer(b"") is Refusal.UNKNOWN_QUERY and device.refuse_mode() is Refusal.MODE_REFUSED


def test_release_and_retry(enrolled: Callable[..., Any], ask_for: Callable[..., Query]) -> None:
    devices = enrolled()
    first = devices.ask(ask_for())
    assert isinstance(first, Report) and not first.replayed
    stored = devices.rows()
    assert [row[0] for row in stored] == ["adjacency", "features", "label"]
    again = devices.ask(ask_for())
    assert again == Report(first.data, replayed=True) and devices.rows() == stored
    assert isinstance(devices.ask(ask_for(), 4), Report)  # another device is another matter


@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
def test_another_collection(enrolled: Callable[..., Any], ask_for: Callable[..., Query], on_requery: str) -> None:
    devices = enrolled(on_requery=on_requery)
    first = devices.ask(ask_for())
    stored = devices.rows()
    again = devices.ask(ask_for("second"))
    assert again == (Refusal.REPORT_COLLECTED if on_requery == "refuse" else Report(first.data, replayed=True))
    assert devices.rows() == stored


@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
@pytest.mark.parametrize("collection", ["first", "second"])
def test_another_question_about_a_released_attribute(
    enrolled: Callable[..., Any], ask_for: Callable[..., Query], on_requery: str, collection: str
) -> None:
    devices = enrolled(on_requery=on_requery)
    devices.ask(ask_for(attributes="af"))
    stored = devices.rows()
    plan = replace(stage_plan(ask_for), collection=collection)
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


@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
def test_subsets_of_what_was_released(
    enrolled: Callable[..., Any], ask_for: Callable[..., Query], on_requery: str
) -> None:
    devices = enrolled(on_requery=on_requery)
    whole = ask_for()
    parts = unpack_parts(devices.ask(whole).data)
    for letters in ("a", "f", "l", "af", "al", "fl", "afl"):
        wanted = pack_report(tuple(parts["afl".index(letter)] for letter in letters))
        assert devices.ask(ask_for(attributes=letters)) == Report(wanted, replayed=True)
        other = devices.ask(ask_for("second", attributes=letters))
        assert other == (Refusal.REPORT_COLLECTED if on_requery == "refuse" else Report(wanted, replayed=True))


@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
def test_a_plan(enrolled: Callable[..., Any], ask_for: Callable[..., Query], on_requery: str) -> None:
    devices = enrolled(on_requery=on_requery)
    plan = stage_plan(ask_for)
    grouped, other_groups = plan.at_stage(1, (0,) * 12), plan.at_stage(1, (1,) * 12)
    assert devices.ask(grouped) is Refusal.REPORT_COLLECTED  # out of order
    assert devices.rows() == []
    first = devices.ask(plan)
    assert isinstance(first, Report) and not first.replayed
    assert {row[0]: row[4] for row in devices.rows()} == {name: plan.loss(name) for name in ("features", "label")}
    for asked in (ask_for(attributes="f"), ask_for(attributes="l"), ask_for(attributes="a")):
        answer = devices.ask(asked)
        assert (answer is Refusal.REPORT_COLLECTED) == ("adjacency" not in asked.attributes)
    second = devices.ask(grouped)
    assert isinstance(second, Report) and not second.replayed and len(unpack_report(second.data, grouped)) == 2
    stored = devices.rows()
    assert devices.ask(grouped) == Report(second.data, replayed=True)  # repeated
    assert devices.ask(plan) == Report(first.data, replayed=True)
    assert devices.ask(other_groups) is Refusal.REPORT_COLLECTED  # another grouping
    assert devices.ask(plan.at_stage(1)) is Refusal.REPORT_COLLECTED
    for asked, bytes_ in ((plan, first.data), (grouped, second.data)):
        elsewhere = devices.ask(replace(asked, collection="second"))
        assert elsewhere == (Refusal.REPORT_COLLECTED if on_requery == "refuse" else Report(bytes_, replayed=True))
    assert devices.rows() == stored


def test_stages_have_noise_of_their_own(enrolled: Callable[..., Any], ask_for: Callable[..., Query]) -> None:
    """The same mechanism on the same data in two stages: other bits, or stages could be subtracted."""
    devices = enrolled()
    features = ask_for(attributes="f").asks
    plan = Query("first", (features, features, features))
    answers = {devices.ask(plan.at_stage(stage), index).data for index in range(6) for stage in range(3)}
    assert len(answers) > 12


def spoil(devices: Any, kind: str, index: int) -> None:
    devices.state.close()
    path = devices.folder / "ledger.sqlite"
    if kind == "row":
        db = sqlite3.connect(path)
        db.execute("UPDATE query_answer SET packed_parts = x'00' WHERE device = ?", (index,))
        db.commit()
        db.close()
    else:
        data = path.read_bytes()
        path.write_bytes({"garbage": b"\x5a" * len(data), "truncated": data[:5000], "blank": b""}[kind])


@pytest.mark.parametrize("kind", ["garbage", "truncated", "blank", "row"])
def test_a_damaged_ledger_answers_everything_alike(
    enrolled: Callable[..., Any], ask_for: Callable[..., Query], kind: str
) -> None:
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


def test_a_ledger_that_cannot_be_written(enrolled: Callable[..., Any], ask_for: Callable[..., Query]) -> None:
    devices = enrolled()
    devices.state.ledger(3)._db.execute("PRAGMA query_only=1")
    assert devices.ask(ask_for()) is Refusal.LEDGER_DAMAGED
    devices.state.ledger(3)._db.execute("PRAGMA query_only=0")
    answer = devices.ask(ask_for())
    assert isinstance(answer, Report) and not answer.replayed


def test_an_answer_is_all_attributes_or_none(
    enrolled: Callable[..., Any], ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last attribute's mechanism fails: nothing of the others is released either."""

    def fail(*_: object) -> int:
        raise ValueError("the label was 2")

    devices = enrolled()
    with monkeypatch.context() as patch:
        patch.setattr(GRR, "perturb", fail)
        if devices.door == "direct":
            with pytest.raises(ValueError):
                devices.device(3).answer(ask_for())
        else:
            assert devices.ask(ask_for()) is Refusal.UNKNOWN_QUERY
    assert devices.rows() == []
    assert isinstance(devices.ask(ask_for()), Report)


def test_half_a_row_is_never_entered(enrolled: Callable[..., Any], ask_for: Callable[..., Query]) -> None:
    """SQLite fails after the row is in the table: it is taken back, and nobody gets a report."""
    devices = enrolled()
    db = devices.state.ledger(3)._db
    db.execute("CREATE TEMP TRIGGER t AFTER INSERT ON query_answer WHEN NEW.device = 3 "
               "BEGIN SELECT RAISE(FAIL, 'disk'); END")  # fmt: skip
    assert devices.ask(ask_for()) is Refusal.LEDGER_DAMAGED
    db.execute("DROP TRIGGER t")
    assert devices.rows() == []


# --- nothing depends on the present data ------------------------------------------------


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


def strange_record() -> Record:
    """Everything out of range at once."""
    return Record(
        np.array([-3, 2, 10, 99], np.int32), np.array([np.nan, np.inf, 7.0, -np.inf], np.float32),
        np.array([-1, 3, 12, 500], np.int32), -7,
    )  # fmt: skip


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
    assert changed.device(3)._record.label == record.label
    questions = [
        ask_for(attributes="al"), ask_for(attributes="a"), ask_for("second", attributes="al"), ask_for(eps=2.0),
        ask_for(attributes="af"), ask_for("second", attributes="l", eps=0.3), ask_for(n=13), b"", b"malformed",
        stage_plan(ask_for), stage_plan(ask_for).at_stage(1),
    ]  # fmt: skip
    for side in (kept, changed):  # what is opened once a process is opened now
        for question in questions:
            side.ask(question)
        side.in_mode("train")
    trace = Trace()
    for question in questions:
        left, lines_left = trace.of(lambda q=question: kept.ask(q))
        right, lines_right = trace.of(lambda q=question: changed.ask(q))
        assert left == right and not (isinstance(left, Report) and not left.replayed)
        assert lines_left == lines_right and len(lines_left) > 5
    for mode in ("train", "evaluate"):
        assert trace.of(lambda m=mode: kept.in_mode(m)) == trace.of(lambda m=mode: changed.in_mode(m))
    assert kept.rows() == changed.rows()


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
        device = Device(3, record, bytes([7]) * 32, state.policy, Ledger.create(tmp_path / f"l{number}"))
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
        device = Device(3, record, b"s" * 32, state.policy, Ledger.create(tmp_path / f"l{number}"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Device, "_data_digest", lambda *_: b"d" * 32)
            reports.append(device.answer(ask_for()))
    assert isinstance(reports[0], Report) and reports[0] == reports[1]
    assert capfd.readouterr() == ("", "") and caplog.text == ""


def test_a_digest_in_the_ledger_is_keyed(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    """Without the secret a label cannot be guessed from it; devices with one label have different digests."""
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    for index in range(12):
        state.device(index).answer(ask_for())
    digests = [part.data_digest for i in range(12) for a in state.ledger(0).answers(i) for part in a.parts]
    assert len(set(digests)) == 36 and all(len(d) == 32 for d in digests)
    plain = {hashlib.sha256(int(v).to_bytes(8, "little", signed=True)).digest() for v in range(-1, 4)}
    assert not plain & set(digests)


# --- what is entered, what is sent ------------------------------------------------------


def test_the_ledger_enters_the_mechanisms_own_loss(enrolled: Callable[..., Any], ask_for: Callable[..., Query]) -> None:
    devices = enrolled()
    query = ask_for(eps=1.7)
    devices.ask(query)
    losses = [row[4] for row in devices.rows()]
    assert losses == [ask.mechanisms[0].loss(device=3) for ask in query.asks]
    assert [loss.vector for loss in losses] == pytest.approx([11 * 1.7, 10 * 1.7, 1.7], abs=1e-8)


def test_several_mechanisms_of_one_attribute(enrolled: Callable[..., Any], ask_for: Callable[..., Query]) -> None:
    """Their losses add, and each has a stream of its own."""
    devices = enrolled()
    (ask,) = ask_for(attributes="f").asks
    query = Query("first", ((Ask("features", ask.mechanisms * 3),),))
    equal = 0
    for index in range(12):
        answer = devices.ask(query, index)
        parts = unpack_report(answer.data, query)["features"]
        assert len(parts) == 3
        equal += len(set(parts)) == 1
        assert devices.rows(index)[0][4] == query.loss("features") and query.loss("features").bit == 3.0
    assert equal < 3


def test_what_a_report_says(
    enrolled: Callable[..., Any], ask_for: Callable[..., Query], population: Population
) -> None:
    """At a budget where nothing flips, the report is the record: every bit stands in its place."""
    devices = enrolled()
    for index in range(12):
        query = ask_for(eps=43.0)
        parts = unpack_report(devices.ask(query, index).data, query)
        adjacency, features, label = (ask.mechanisms[0] for ask in query.asks)
        record = population.record(index)
        row = adjacency.decode(parts["adjacency"][0], device=index)
        assert adjacency.nodes(index, np.flatnonzero(row)).tolist() == record.neighbours.tolist()
        ones = np.flatnonzero(features.decode(parts["features"][0], device=index))
        assert ones.tolist() == record.feature_indices.tolist()
        assert label.decode(parts["label"][0], device=index) == record.label


def test_a_secret_and_a_question_fix_the_bytes_for_ever(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    record = Record(
        np.array([0, 4, 9], np.int32), np.array([1.0, 0.5, 1.0], np.float32), np.array([0, 4, 7], np.int32), 2
    )
    device = Device(3, record, b"s" * 32, state.policy, state.ledger(3))
    answer = device.answer(ask_for())
    adjacency, features, label = "0300000000fc00", "02000000c880", "020000000100"
    expected = "07000000" + adjacency + "06000000" + features + "06000000" + label
    assert isinstance(answer, Report) and answer.data.hex() == expected


def test_seeded_devices_differ_from_each_other(
    tmp_path: Path, people: Callable[..., Population], policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    population = people(n=40, d=200)
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    asked = ask_for(n=40, d=200, attributes="f", eps=0.01)
    answers = [state.device(i).answer(asked) for i in range(40)]
    assert len({a.data for a in answers if isinstance(a, Report)}) == 40


def test_parts_of_a_report() -> None:
    assert unpack_parts(pack_parts(iter([b"", b"abc"]))) == (b"", b"abc") and unpack_parts(b"") == ()
    for cut in (b"\1", b"\4\0\0\0abc", b"\0\0\0\0\1"):
        with pytest.raises(ValueError, match="cut off"):
            unpack_parts(cut)


def test_reports_that_do_not_fit_the_question(ask_for: Callable[..., Query]) -> None:
    query = ask_for(attributes="af")
    part = pack_parts(iter([b"x"]))
    assert unpack_report(pack_report((part, part)), query) == {"adjacency": (b"x",), "features": (b"x",)}
    for wrong in ((part,), (part, part, part), (part, b""), (part, part + part)):
        with pytest.raises(ValueError):
            unpack_report(pack_report(wrong), query)


def test_facts_of_a_population_without_labels(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    facts = PublicFacts(12, 10, 0)
    policy = Policy("report", {"label": Cap(9, 9, 9)}, frozenset({"grr"}), facts)
    record = Record(np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.int32), -1)
    device = Device(0, record, b"s" * 32, policy, Ledger.create(tmp_path / "l"))
    assert device.answer(ask_for(attributes="l")) is Refusal.POLICY_REFUSED


def test_inside_a_batch_damage_is_raised(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    """Whoever holds the transaction has to give it up whole."""
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    ledger = state.ledger(3)
    ledger._db.execute("PRAGMA query_only=1")
    with pytest.raises(LedgerDamaged), ledger.transaction():
        state.device(3).answer(ask_for())


def test_the_cap_of_a_user_holds_over_two_questions(
    tmp_path: Path, people: Callable[..., Population], ask_for: Callable[..., Query]
) -> None:
    """The second attribute is refused before data are touched, and nothing more is entered."""
    population = people()
    both = ask_for(attributes="af")
    adjacency, features = (both.loss(name).vector for name in ("adjacency", "features"))
    policy = policy_for([both], population.facts, caps={"user": adjacency + features - 0.5})
    state = enrol(tmp_path / "s", population, policy, seed=1)
    device = state.device(3)
    assert device.answer(both) is Refusal.POLICY_REFUSED
    assert isinstance(device.answer(ask_for("one", attributes="a")), Report)
    assert device.answer(ask_for("two", attributes="f")) is Refusal.POLICY_REFUSED
    assert [part.attribute for answer in state.ledger(3).answers(3) for part in answer.parts] == ["adjacency"]
