"""Frames: what is read whole, in time and within bounds; hostile frames and questions."""

from __future__ import annotations

import json
import random
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.mechanisms import NeighbourhoodVote
from ldpsim.devices.mechanisms.feature_model import FeatureModel
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report
from ldpsim.devices.vault import protocol as framing
from ldpsim.devices.vault.protocol import FrameError, FrameKind
from tests.devices.conftest import ask_for, policy_of, serving

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with left, right:
        yield left, right


def soon(seconds: float = 600.0) -> float:
    return time.monotonic() + seconds


@pytest.mark.parametrize("columns", [0, 300])
def test_the_longest_vote_is_read(columns: int) -> None:
    """It has 255 classes, 255 different rows and a model of all features."""
    people, classes = 2000, 255
    table = np.eye(classes)[np.arange(people) % classes]
    model = FeatureModel(np.full((columns, classes), 1), np.zeros(classes, np.int64)) if columns else None
    vote = NeighbourhoodVote.from_probabilities(table, 1.0, homophily=0.8, model=model)
    assert len(vote.score_table.rows) == 255
    data = Query("c", ((Ask("adjacency", (vote,)),),)).to_bytes()
    frame = framing.pack_question(FrameKind.REPORT, 7, data)
    assert len(vote.table) + len(vote.model) < len(frame) <= framing.question_limit(people, classes, columns)


@pytest.mark.parametrize("size", [0, 1, 7, 65_536, 1_000_003])
def test_what_is_written_is_read(pair: Pair, size: int) -> None:
    payload = bytes(range(256)) * (size // 256 + 1)
    writer = threading.Thread(target=framing.write_frame, args=(pair[0], payload[:size]), kwargs={"deadline": soon()})
    writer.start()
    assert framing.read_frame(pair[1], limit=1 << 20, deadline=soon()) == payload[:size]
    writer.join()


def test_a_length_takes_no_memory(pair: Pair) -> None:
    """A frame that promises half a gigabyte and brings ten bytes."""
    pair[0].sendall(struct.pack("<I", 1 << 29) + b"x" * 10)
    pair[0].shutdown(socket.SHUT_WR)
    tracemalloc.start()
    with pytest.raises(FrameError, match="cut off"):
        framing.read_frame(pair[1], limit=1 << 30, deadline=soon())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize("length", [101, 1 << 20, (1 << 32) - 1])
def test_more_than_the_limit_is_not_read(pair: Pair, length: int) -> None:
    pair[0].sendall(struct.pack("<I", length) + b"x" * 200)
    with pytest.raises(FrameError, match="too long"):
        framing.read_frame(pair[1], limit=100, deadline=soon())


def test_drop_by_drop_gains_no_time(pair: Pair) -> None:
    """Power: a timeout for each byte, not for the frame, would go on without an end."""
    stop = threading.Event()

    def drip() -> None:
        pair[0].sendall(struct.pack("<I", 1 << 24))
        while not stop.wait(0.1):
            pair[0].sendall(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    end = soon(0.5)
    with pytest.raises(FrameError, match="late"):
        framing.read_frame(pair[1], limit=1 << 24, deadline=end)
    assert time.monotonic() >= end
    stop.set()
    thread.join()


def test_nothing_is_read_or_written_from_the_deadline_on(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair[0].sendall(struct.pack("<I", 12) + b"all is there")
    monkeypatch.setattr(framing.time, "monotonic", lambda: 100.0)  # type: ignore[attr-defined]
    for deadline in (100.0, 99.0):
        with pytest.raises(FrameError, match="late"):
            framing.read_frame(pair[1], limit=100, deadline=deadline)
        with pytest.raises(FrameError, match="late"):
            framing.write_frame(pair[1], b"x", deadline=deadline)
    assert framing.read_frame(pair[1], limit=100, deadline=101.0) == b"all is there"
    pair[0].setblocking(False)
    with pytest.raises(BlockingIOError):
        pair[0].recv(1)


def test_a_question_and_its_bytes() -> None:
    payload = framing.pack_question(FrameKind.REPORT, 77, b'{"v":1}')
    assert framing.unpack_question(payload) == (FrameKind.REPORT, 77, b'{"v":1}')
    unknown = bytearray(payload)
    unknown[5] = 250
    assert framing.unpack_question(bytes(unknown))[0] is FrameKind.UNKNOWN
    for bad in (b"", payload[:9], b"ldpw" + payload[4:], payload[:4] + b"\x02" + payload[5:]):
        with pytest.raises(FrameError):
            framing.unpack_question(bad)


@pytest.mark.parametrize("answer", [*Refusal, Report(b"", False), Report(b"\x00\x01" * 50, True)])
def test_an_answer_and_its_bytes(answer: Report | Refusal) -> None:
    payload = framing.pack_answer(answer)
    assert framing.unpack_answer(payload) == answer
    if isinstance(answer, Refusal):
        assert len(payload) == 7  # a code, and room for nothing else
        with pytest.raises(FrameError):
            framing.unpack_answer(payload + b"x")


FEW = 1_200
NUMBERS: list[Any] = [
    -1, 0, 1, 2**31, 2**32, 2**63, 2**64, 10**400, 1e308, 5e-324, -0.0, True, None, "1", [], {}, float("inf"),
    float("nan"), [[1]], {"name": "grr"},
]  # fmt: skip
JUNK = [b"", b"\x00", b"null", b"[]", b"{}", b"0", b'"query"', b"[" * 100_000, b"{" * 3_000, b'{"v":' * 2_000,
        b"\xff\xfe{}", b"1" * 60_000, b'{"a":1,"a":2}', b"{}" * 30_000]  # fmt: skip


def hostile_question(rng: random.Random, question: bytes) -> bytes:
    """A question that somebody tampered with; it may still be a good one. ``test_query.py`` has every wrong field."""
    way = rng.randrange(5)
    if way == 0:
        return rng.choice(JUNK)
    if way == 1:
        return rng.randbytes(rng.randrange(400))
    if way == 2:  # a byte changed, cut out or put in
        data = bytearray(question)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(2)] = rng.randbytes(rng.randrange(2))
        return bytes(data)
    if way == 3:
        return question[: rng.randrange(len(question))]
    document = json.loads(question)  # a value of another kind, canonical again
    document[rng.choice(sorted(document))] = rng.choice(NUMBERS)
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def hostile_stream(rng: random.Random, question: bytes) -> bytes:
    """Bytes on the wire: frames that lie, break off, or hold a hostile question."""
    payload = framing.pack_question(FrameKind.REPORT, 3, hostile_question(rng, question))
    way = rng.randrange(8)
    if way == 0:
        return rng.randbytes(rng.randrange(60))
    if way == 1:  # a length that is not the frame's
        return struct.pack("<I", rng.choice([0, 1, 9, len(payload) + 5, 2**20, 2**31, 2**32 - 1])) + payload
    if way == 2:  # another header
        magic = rng.choice([b"ldpv", b"ldpv", b"ldpv", b"LDPV", b"\x80\x04\x95c"])
        kind, device = rng.choice([0, 1, 2, 3, 4, 255]), rng.choice([3, 3, 3, 12, 2**31, 2**32 - 1])
        head = struct.pack("<4sBBI", magic, rng.choice([1, 1, 1, 0, 2, 255]), kind, device)
        payload = head + payload[10:]
    frame = struct.pack("<I", len(payload)) + payload
    if way == 3:
        return frame[: rng.randrange(len(frame))]
    if way == 4:
        return frame + rng.randbytes(rng.randrange(1, 300))
    return frame


class Watched:
    """A device that reported, one that did not, and what stands in their ledger."""

    def __init__(self, state: State, question: Query, outside: Query) -> None:
        self.state = state
        self.question = question
        self.outside = outside  # a good question which the policy does not allow
        first = state.device(3).answer(question)
        assert isinstance(first, Report)
        self.stored = first.data
        self.before = state.ledger(0).answers()

    def check(self, answer: Report | Refusal) -> None:
        # One who tampers with a good question may hit upon one that is good: its answer is the stored one.
        if isinstance(answer, Report):
            assert answer.replayed and (answer.data == self.stored or answer.data in self.stored)

    def check_ledger(self) -> None:
        assert self.state.ledger(0).answers() == self.before


@pytest.fixture
def watched(tmp_path: Path, population: Population) -> Watched:
    state = enrol(tmp_path / "state", population, policy_of(population), seed=7)
    return Watched(state, ask_for(eps=1.0), ask_for(eps=1.0, n=13))


def send(path: Path, stream: bytes) -> Report | Refusal | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(600)
        connection.connect(str(path))
        try:
            connection.sendall(stream)
            connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass
        found = b""
        try:
            while chunk := connection.recv(1 << 16):
                found += chunk
        except ConnectionResetError:
            pass
    if not found:
        return None
    (length,) = struct.unpack_from("<I", found)
    assert len(found) == 4 + length  # one answer, whole, and nothing after it
    return framing.unpack_answer(found[4:])


def frame_of(question: bytes, device: int = 3) -> bytes:
    payload = framing.pack_question(FrameKind.REPORT, device, question)
    return struct.pack("<I", len(payload)) + payload


def test_hostile_messages_to_the_vault(watched: Watched, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(20)
    question = watched.question.to_bytes()
    with serving(watched.state, tmp_path / "v", seconds=600.0) as vault:
        refused = set()
        for _ in range(FEW):
            answer = send(tmp_path / "v", hostile_stream(rng, question))
            assert answer is not None
            watched.check(answer)
            refused.add(answer if isinstance(answer, Refusal) else None)
        watched.check_ledger()
        assert {Refusal.UNKNOWN_QUERY, Refusal.MODE_REFUSED, Refusal.REPORT_COLLECTED} <= refused
        assert sum(vault.counts.values()) >= FEW
        # the vault is as well as before
        again = send(tmp_path / "v", frame_of(question))
        assert isinstance(again, Report) and again.data == watched.stored
    assert "failed" not in caplog.text


def test_a_device_that_never_answered_is_not_made_to(watched: Watched) -> None:
    """The same, made from a good question that its policy does not allow: nothing is released at all."""
    rng = random.Random(22)
    fresh = watched.state.device(5)
    question = watched.outside.to_bytes()
    for _ in range(FEW // 2):
        assert isinstance(fresh.answer(hostile_question(rng, question)), Refusal)
    watched.check_ledger()
