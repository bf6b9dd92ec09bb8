"""Frames: what is read whole, in time and within bounds, and what is not read at all."""

from __future__ import annotations

import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from ldpsim.devices.device import Refusal
from ldpsim.devices.report import Report
from ldpsim.devices.vault import protocol as framing
from ldpsim.devices.vault.protocol import FrameError, FrameKind

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with left, right:
        yield left, right


def soon(seconds: float = 600.0) -> float:
    return time.monotonic() + seconds


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
