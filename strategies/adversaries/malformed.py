"""Bytes that are no question: a seeded source of malformed and hostile messages, and the curator who sends them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

from devices.query import InvalidQuery, Query
from devices.wire import HANDOVER_TYPE, QUERY_TYPE
from strategies.adversaries.curator import AdversarialCurator, Shot

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 0.0, -0.0, 0.5, 1e308, "", "report", "adjacency",
    "\u0000", "\ud800", "../../etc", "a" * 300, [], [[]], {}, {"v": 1}, [None], [0] * 50, "NaN",
)  # fmt: skip

_KINDS = (
    HANDOVER_TYPE, "query", "query.other", "query.exchange", "query.receive", "train", "train.report", "evaluate",
)  # fmt: skip


def hostile_bytes(query: Query, rng: random.Random) -> bytes:
    """Return bytes that no device may take for a question.

    Raw noise, cut and spliced queries, fields that are missing, unknown, of another type or
    out of range, spellings that mean the same but are not canonical, deep and long JSON.
    """
    kinds: tuple[Callable[[Query, random.Random], bytes], ...] = (
        _noise, _cut, _flipped, _changed_field, _changed_field, _changed_field, _unknown_field, _other_spelling, _deep,
        _repeated_key, _foreign_json,
    )  # fmt: skip
    while True:
        data = rng.choice(kinds)(query, rng)
        try:
            Query.from_bytes(data)
        except InvalidQuery:
            return data  # a change that happens to make another question is no malformed one


def _noise(query: Query, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(200))


def _cut(query: Query, rng: random.Random) -> bytes:
    data = query.to_bytes()
    at, to = sorted(rng.sample(range(len(data) + 1), 2))
    return data[at:to] if to - at < len(data) else b""


def _flipped(query: Query, rng: random.Random) -> bytes:
    data = bytearray(query.to_bytes())
    # a control character, which no canonical query holds
    data[rng.randrange(len(data))] = rng.randrange(0x20)
    return bytes(data)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


def _changed_field(query: Query, rng: random.Random) -> bytes:
    top = json.loads(query.to_bytes())
    path = rng.choice([p for p in _paths(top) if p != ("collection",)])
    holder = top
    for key in path[:-1]:
        holder = holder[key]
    if rng.random() < 0.3:
        del holder[path[-1]]
    else:
        holder[path[-1]] = rng.choice(_VALUES)
    return _spelled(top)


def _unknown_field(query: Query, rng: random.Random) -> bytes:
    top = json.loads(query.to_bytes())
    holders = [top, top["plan"][0][0], top["plan"][0][0]["mechanisms"][0]]
    rng.choice(holders)[rng.choice(("also", "version2", "seed0", "device", "raw", ""))] = rng.choice(_VALUES)
    return _spelled(top)


def _spelled(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _other_spelling(query: Query, rng: random.Random) -> bytes:
    data = query.to_bytes()
    changed = (b" " + data, data + b"\n", data.replace(b":", b": ", 1), data + b"\0", b"\xef\xbb\xbf" + data,
               data.replace(b"v", b"\\u0076"), data.decode().encode("utf-16"), data[:-1] + b",}", data * 2)  # fmt: skip
    return rng.choice(changed)


def _deep(query: Query, rng: random.Random) -> bytes:
    size = rng.choice((10, 1_000, 100_000))
    return rng.choice((b"[" * size, b"[" * size + b"]" * size, b'{"v":' * size, b"9" * size, b'{"v":1e' + b"9" * size))


def _repeated_key(query: Query, rng: random.Random) -> bytes:
    return query.to_bytes()[:-1] + b',"v":1}'


def _foreign_json(query: Query, rng: random.Random) -> bytes:
    return _spelled(rng.choice(_VALUES))


def hostile_shot(query: Query, rng: random.Random) -> Shot:
    """Return a message that carries such bytes, or that is malformed itself."""
    data = hostile_bytes(query, rng)
    good = query.to_bytes()
    contents: tuple[Callable[[], RecordDict], ...] = (
        lambda: RecordDict({"query": ConfigRecord({"query": data})}),
        lambda: RecordDict(),
        lambda: RecordDict({"query": ConfigRecord({"query": good, "also": 1})}),
        lambda: RecordDict({"query": ConfigRecord({"query": good}), "also": ConfigRecord()}),
        lambda: RecordDict({"query": ConfigRecord({"query": good.decode()})}),
        lambda: RecordDict({"query": ConfigRecord({"query": [1, 2, 3]})}),
        lambda: RecordDict({"query": MetricRecord({"query": 1})}),
        lambda: RecordDict({"query": ArrayRecord({"query": Array("uint8", (1,), "numpy.ndarray", b"x")})}),
        lambda: RecordDict({"report": ConfigRecord({"query": good})}),
    )
    kind = rng.choice((QUERY_TYPE,) * 5 + _KINDS)
    return Shot(content=rng.choice(contents[:1] * 8 + contents[1:])(), kind=kind)


class Malformed(AdversarialCurator):
    """Unknown fields, wrong types, cut and spliced questions, foreign records and message types."""

    name = "malformed"
    description = "sends unknown or malformed fields, foreign records and unknown message types, before and after"

    def runs(self) -> Iterator[list[list[Shot]]]:
        rng = random.Random(self.asks)
        before = [[hostile_shot(self.target.query, rng)] for _ in range(self.asks)]
        after = [[hostile_shot(self.target.query, rng)] for _ in range(self.asks)]
        yield [*before, [Shot(self.target.query)], *after]
