"""Frames between a ClientApp and a vault: a length, then that many bytes; nothing is pickled.

One question is asked on a connection, and one answer comes back.

    frame      u32 length | payload
    question   "ldpv" | u8 version | u8 kind | u32 device | a query's canonical bytes
    answer     "ldpv" | u8 version | u16 code | the report's bytes, where code is 0 or 1

All numbers are little-endian. Code 0 is a report, 1 one that was released before, any
other the code of a refusal.
"""

from __future__ import annotations

import socket
import struct
import time
from enum import IntEnum

from ldpsim.devices.device import Refusal
from ldpsim.devices.query import MAX_BYTES
from ldpsim.devices.report import Report

VERSION = 1
MAGIC = b"ldpv"
# The largest answer a ClientApp takes: a device's own vault is honest, but it may be anybody's socket.
MAX_ANSWER = 1 << 26
_LENGTH = struct.Struct("<I")
_QUESTION = struct.Struct("<4sBBI")
_ANSWER = struct.Struct("<4sBH")
_CHUNK = 1 << 16
_REFUSALS = {refusal.value: refusal for refusal in Refusal}


class FrameError(Exception):
    """A frame is too long, cut off, late or malformed; the text is fixed and holds no data."""


class FrameKind(IntEnum):
    """Kind of a question in a frame."""

    REPORT = 1
    OTHER_MODE = 3
    UNKNOWN = 4


def question_limit(people: int, classes: int, columns: int = 0) -> int:
    """Return the longest question a vault reads, in bytes.

    A grouping grows with the population, by at most 11 digits and a comma a person. A vote's table has a byte for each
    person, and for each of its at most 255 rows two scores of two bytes for each class; its model of features has four
    bytes for each class and column, and for each class. In base64 that is 4/3 as much. The rest of a query is short,
    and so are its terms. Bytes that are not read cannot fill the memory.
    """
    table = 4 * (people + 256 * 4 * classes) // 3 + 4 * 4 * (columns + 1) * classes // 3
    return _QUESTION.size + min(MAX_BYTES, (1 << 17) + 12 * people + table)


def write_frame(connection: socket.socket, payload: bytes, *, deadline: float) -> None:
    """Send a frame before ``deadline`` (of ``time.monotonic``).

    Raises:
        FrameError: where the other side does not take it in time.
        OSError: where the connection breaks.
    """
    _wait(connection, deadline)
    try:
        connection.sendall(_LENGTH.pack(len(payload)) + payload)  # its timeout is for the whole frame
    except TimeoutError:
        raise FrameError("a frame was not taken in time") from None


def read_frame(connection: socket.socket, *, limit: int, deadline: float) -> bytes:
    """Read a frame of at most ``limit`` bytes before ``deadline`` (of ``time.monotonic``).

    The deadline is for the whole frame, so sending it drop by drop gains nothing; memory
    is taken as bytes arrive, not as the length promises.

    Raises:
        FrameError: for a frame that is too long, cut off or late.
        OSError: where the connection breaks.
    """
    (length,) = _LENGTH.unpack(_read(connection, _LENGTH.size, deadline))
    if length > limit:
        raise FrameError("a frame is too long")
    return _read(connection, length, deadline)


def _read(connection: socket.socket, size: int, deadline: float) -> bytes:
    data = bytearray()
    while len(data) < size:
        _wait(connection, deadline)
        try:
            chunk = connection.recv(min(_CHUNK, size - len(data)))
        except TimeoutError:
            raise FrameError("a frame came too late") from None
        if not chunk:
            raise FrameError("a frame is cut off")
        data += chunk
    return bytes(data)


def _wait(connection: socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise FrameError("a frame came too late")
    connection.settimeout(left)


def pack_question(kind: FrameKind, device: int, question: bytes = b"") -> bytes:
    """Return a question's payload."""
    return _QUESTION.pack(MAGIC, VERSION, kind, device) + question


def unpack_question(payload: bytes) -> tuple[FrameKind, int, bytes]:
    """Return a question's kind, device and query; a kind that is not known is an unknown question.

    Raises:
        FrameError: for bytes that are not of this form or version.
    """
    if len(payload) < _QUESTION.size:
        raise FrameError("a question is malformed")
    magic, version, kind, device = _QUESTION.unpack_from(payload)
    if (magic, version) != (MAGIC, VERSION):
        raise FrameError("a question is malformed")
    kind = kind if kind in FrameKind._value2member_map_ else FrameKind.UNKNOWN
    return FrameKind(kind), device, payload[_QUESTION.size :]


def pack_answer(answer: Report | Refusal) -> bytes:
    """Return an answer's payload."""
    if isinstance(answer, Refusal):
        return _ANSWER.pack(MAGIC, VERSION, answer.value)
    return _ANSWER.pack(MAGIC, VERSION, int(answer.replayed)) + answer.data


def unpack_answer(payload: bytes) -> Report | Refusal:
    """Read an answer's payload.

    Raises:
        FrameError: for bytes that are not of this form or version.
    """
    if len(payload) < _ANSWER.size:
        raise FrameError("an answer is malformed")
    magic, version, code = _ANSWER.unpack_from(payload)
    data = payload[_ANSWER.size :]
    if (magic, version) != (MAGIC, VERSION):
        raise FrameError("an answer is malformed")
    if code in (0, 1):
        return Report(data, replayed=bool(code))
    if data or code not in _REFUSALS:
        raise FrameError("an answer is malformed")
    return _REFUSALS[code]
