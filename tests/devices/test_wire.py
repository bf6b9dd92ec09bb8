"""A query and a report on Flower's wire; nothing rides along, and refusals say fixed words."""

from __future__ import annotations

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict

from ldpsim.devices import wire
from ldpsim.devices.device import Refusal
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.report import Report, pack_parts, pack_report, unpack_report
from tests.devices.conftest import ask_for


def message(content: RecordDict) -> Message:
    return Message(content, 4, wire.QUERY_TYPE)


def test_a_query_travels_as_its_canonical_bytes() -> None:
    query = ask_for()
    assert wire.read_query(message(wire.query_content(query))) == query.to_bytes()
    assert wire.payload_bytes(wire.query_content(query)) >= len(query.to_bytes())


def contents() -> list[RecordDict]:
    good = ConfigRecord({"query": b"x"})
    return [
        RecordDict({}),
        RecordDict({"query": ConfigRecord({})}),
        RecordDict({"query": ConfigRecord({"query": "text"})}),
        RecordDict({"query": ConfigRecord({"query": [b"x"]})}),
        RecordDict({"query": ConfigRecord({"query": 1})}),
        RecordDict({"query": ConfigRecord({"query": b"x", "more": 1})}),
        RecordDict({"query": ConfigRecord({"other": b"x"})}),
        RecordDict({"other": good}),
        RecordDict({"query": good, "more": ConfigRecord({})}),
        RecordDict({"query": MetricRecord({"query": 1.0})}),
        RecordDict({"query": ArrayRecord([np.zeros(3)])}),
    ]


@pytest.mark.parametrize("content", contents())
def test_a_message_that_carries_anything_else_is_no_query(content: RecordDict) -> None:
    with pytest.raises(InvalidQuery):
        wire.read_query(message(content))


def test_a_report_is_read_back() -> None:
    for report in (Report(b"bits", replayed=False), Report(b"", replayed=True)):
        answer = wire.reply(report, message(RecordDict({})), device=3)
        assert wire.read_reply(answer) == (3, report)
        assert set(answer.content) == {"report"}
        assert set(answer.content["report"]) == {"report", "device", "replayed"}


def test_refusals_say_fixed_words_and_nothing_else() -> None:
    assert wire.TEXTS.keys() == set(Refusal)
    assert all(text.startswith(f"{refusal.name}: the ") for refusal, text in wire.TEXTS.items())
    for refusal in Refusal:
        answer = wire.reply(refusal, message(RecordDict({})), device=3)
        assert (answer.error.code, answer.error.reason) == (refusal.value, wire.TEXTS[refusal])
        assert not answer.has_content() and wire.read_reply(answer) is refusal


def test_codes_never_change() -> None:
    assert {r.name: r.value for r in Refusal} == {
        "UNKNOWN_QUERY": 4001, "MODE_REFUSED": 4002, "POLICY_REFUSED": 4003, "REPORT_COLLECTED": 4004,
        "LEDGER_DAMAGED": 4005, "COUNTER_MISMATCH": 4006, "COLLECTOR_REFUSED": 4007, "VAULT_BUSY": 4008,
    }  # fmt: skip


def test_an_introduction_is_public_and_read_back() -> None:
    answer = wire.introduction(message(RecordDict({})), device=5, own_state=True)
    assert wire.read_introduction(answer) == (5, True)
    ask = message(RecordDict({}))
    for record in ({}, {"device": -1, "own-state": True}, {"device": 1.0, "own-state": True}, {"device": 1}):
        assert wire.read_introduction(Message(RecordDict({"whoami": ConfigRecord(record)}), reply_to=ask)) is None
    assert wire.read_introduction(Message(Error(1, "x"), reply_to=ask)) is None


def test_a_message_to_many_devices_is_read_back_and_nothing_else_is_one() -> None:
    content = wire.query_content(ask_for())
    many = wire.batch_content(content, np.array([3, 5, 1 << 40]))
    assert wire.read_batch(message(many)) == (ask_for().to_bytes(), [3, 5, 1 << 40])
    question, numbers = ask_for().to_bytes(), bytes(8)
    for wrong in (
        content, RecordDict({}), RecordDict({"other": many["query"]}), RecordDict({**many, "more": ConfigRecord({})}),
        *(RecordDict({"query": ConfigRecord(given)}) for given in (
            {"query": question, "devices": b"1234"}, {"query": question, "devices": [1, 2]},
            {"query": 1, "devices": numbers}, {"query": question, "devices": numbers, "more": 1},
        )),
    ):  # fmt: skip
        with pytest.raises(InvalidQuery):
            wire.read_batch(message(wrong))  # type: ignore[arg-type]
    with pytest.raises(InvalidQuery):
        wire.read_query(message(many))


def test_a_reply_of_many_devices_is_read_back_and_nothing_else_is_one() -> None:
    answers = [Report(b"abc", False), *Refusal, Report(b"", True), Report(b"de", True)]
    count = len(answers)
    sent = wire.batch_reply(answers, message(wire.query_content(ask_for())))
    assert wire.read_batch_reply(sent, count) == answers
    assert wire.read_batch_reply(wire.batch_reply([], sent), 0) == []
    good = dict(sent.content["reports"])
    ends = np.frombuffer(good["ends"], "<i8")
    far = np.array([(1 << 63) - 1, 99 - (1 << 63), -1, *[len(good["data"])] * count])  # int64 cannot hold the fall
    wrongs: list[dict[str, object]] = [
        {"data": b"abcdef"}, {"data": b"abcd"}, {"data": 5}, {"ends": good["ends"][:-8]},
        {"ends": ends[::-1].tobytes()}, {"ends": (ends - 1).tobytes()}, {"statuses": good["statuses"][:-1]},
        {"ends": far[:count].tobytes(), "statuses": bytes(count)}, {"more": 1},
        {"statuses": b"\xff" + good["statuses"][1:]}, {"statuses": b"\x02" + good["statuses"][1:]},
    ]  # fmt: skip
    for wrong in wrongs:
        record = ConfigRecord({**good, **wrong})
        assert wire.read_batch_reply(Message(RecordDict({"reports": record}), reply_to=sent), count) is None
    for other in (RecordDict({}), RecordDict({"report": ConfigRecord(good)})):
        assert wire.read_batch_reply(Message(other, reply_to=sent), count) is None
    assert wire.read_batch_reply(sent, count + 1) is None
    assert wire.read_batch_reply(wire.reply(Refusal.UNKNOWN_QUERY, sent, device=1), count) is None


def test_a_payload_is_counted_as_flower_counts_it_also_where_it_holds_nothing() -> None:
    """A device may reply with empty values, of which Flower raises an error."""
    values = {"a": "text", "b": b"12", "c": True, "d": 5, "e": 0.5, "f": [1, 2], "g": ["a", "bcd"], "h": [True, False]}
    content = RecordDict({"one": ConfigRecord(values), "two": MetricRecord({"m": [1.0, 2.0]}), "three": ConfigRecord()})  # type: ignore[arg-type]
    assert wire.payload_bytes(content) == 3 + 3 + 5 + sum(record.count_bytes() for record in content.values())
    empty = RecordDict({"report": ConfigRecord({"report": b"", "device": 1, "more": "", "list": []})})
    assert wire.payload_bytes(empty) == 6 + len("reportdevicemorelist") + 8


def reports_of_many(reports: list[Report | Refusal]) -> Message:
    content = wire.batch_content(wire.query_content(ask_for()), np.arange(len(reports)))
    return wire.batch_reply(reports, Message(content, 1, wire.REPORTS_TYPE))


def test_reports_of_many_by_column_are_those_one_by_one() -> None:
    query, rng = ask_for(), np.random.default_rng(5)
    parts = [[rng.bytes(int(size)) for size in rng.integers(0, 9, len(query.asks))] for _ in range(20)]
    reports = [
        Report(pack_report(tuple(pack_parts([part]) for part in own)), bool(k % 3)) for k, own in enumerate(parts)
    ]
    devices = np.arange(100, 120)
    found = wire.read_batch_columns(reports_of_many([*reports]), devices, query)
    assert found is not None and found.reports == [report.data for report in reports]
    assert found.replays.tolist() == [100 + k for k in range(20) if k % 3]
    for place, report in enumerate(reports):
        own = {name: tuple(column[place] for column in columns) for name, columns in found.parts.items()}
        assert own == unpack_report(report.data, query)
    for below, count in ((0, 0), (100, 0), (101, 1), (113, 13), (119, 19), (120, 20), (500, 20)):
        first, second = found.cut(below)
        assert first.reports == found.reports[:count] and second.reports == found.reports[count:]
        assert [*first.devices, *second.devices] == devices.tolist()
        for name, columns in found.parts.items():
            for place, column in enumerate(columns):
                assert [side.parts[name][place] for side in (first, second) if side.reports] == [
                    piece for piece in (column[:count], column[count:]) if piece
                ]


def test_reports_of_which_one_is_no_report_are_not_read_by_column() -> None:
    query = ask_for()
    good = pack_report(tuple(pack_parts([b"x"]) for _ in query.asks))
    bad = [good[:-1], good + b"\0", good[:5], b"", pack_report((b"",) * len(query.asks)), good[:4] + b"\xff" + good[5:],
           pack_report(tuple(pack_parts([b"x", b"y"]) for _ in query.asks)), b"\xff" * len(good)]  # fmt: skip
    inner = pack_report(tuple(pack_parts([b"y"]) for _ in query.asks[1:]))  # the other attributes inside the first one
    bad.append(pack_report((pack_parts([b"x"]) + inner,)))
    for data in bad:
        with pytest.raises(ValueError, match="report"):
            unpack_report(data, query)
        answers: list[Report | Refusal] = [Report(good, False), Report(data, False), Report(good, False)]
        assert wire.read_batch_columns(reports_of_many(answers), np.arange(3), query) is None
    far = np.array([(1 << 63) - 1, 99 - (1 << 63), -1, len(good)]).tobytes()
    record = ConfigRecord({"data": good, "ends": far, "statuses": bytes(4)})
    sent = Message(RecordDict({"reports": record}), reply_to=message(wire.query_content(query)))
    assert wire.read_batch_columns(sent, np.arange(4), query) is None
    record = ConfigRecord({"data": good, "ends": np.array([len(good)]).tobytes(), "statuses": b"\x05"})
    sent = Message(RecordDict({"reports": record}), reply_to=message(wire.query_content(query)))
    assert wire.read_batch_columns(sent, np.arange(1), query) is None  # a refusal with a report
    refused = reports_of_many([Report(good, False), Refusal.LEDGER_DAMAGED])
    assert wire.read_batch_columns(refused, np.arange(2), query) is None
    assert wire.read_batch_columns(reports_of_many([Report(good, False)]), np.arange(2), query) is None
