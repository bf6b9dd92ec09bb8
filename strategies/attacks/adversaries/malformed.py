"""Malformed and hostile messages from a seeded source."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

from ldpsim.devices.query import InvalidQuery, Query
from ldpsim.devices.wire import HANDOVER_TYPE, QUERY_TYPE
from ldpsim.strategies.attacks.adversaries.curator import Shot

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 0.0, -0.0, 0.5, 1e308, "", "report", "adjacency",
    "\u0000", "\ud800", "../../etc", "a" * 300, [], [[]], {}, {"v": 1}, [None], [0] * 50, "NaN",
)  # fmt: skip

_KINDS = (
    HANDOVER_TYPE, "query", "query.other", "query.exchange", "query.receive", "train", "train.report", "evaluate",
)  # fmt: skip


def hostile_bytes(query: Query, rng: random.Random) -> bytes:
    """Return bytes that are no question for a device.

    They are random bytes, cut and damaged queries, queries with fields that are missing, unknown,
    of another type or out of range, other spellings of a query, and deep or long JSON.
    """
    makers = (
        lambda query, rng: rng.randbytes(rng.randrange(200)), _cut, _flipped, _changed_field, _changed_field,
        _changed_field, _unknown_field, _other_spelling, _deep, lambda query, rng: query.to_bytes()[:-1] + b',"v":1}',
        lambda query, rng: _spelled(rng.choice(_VALUES)),
    )  # fmt: skip
    while True:
        data: bytes = rng.choice(makers)(query, rng)
        try:
            Query.from_bytes(data)
        except InvalidQuery:
            return data  # else the change made another question


def _cut(query: Query, rng: random.Random) -> bytes:
    data = query.to_bytes()
    at, to = sorted(rng.sample(range(len(data) + 1), 2))
    return data[at:to] if to - at < len(data) else b""


def _flipped(query: Query, rng: random.Random) -> bytes:
    data = bytearray(query.to_bytes())
    data[rng.randrange(len(data))] = rng.randrange(0x20)  # a control character, which no canonical query has
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


def hostile_shot(query: Query, rng: random.Random) -> Shot:
    """Return a message with such bytes, or one that is malformed itself."""
    data = hostile_bytes(query, rng)
    good = query.to_bytes()
    records: tuple[dict[str, Any], ...] = (
        {"query": ConfigRecord({"query": data})},
        {},
        {"query": ConfigRecord({"query": good, "also": 1})},
        {"query": ConfigRecord({"query": good}), "also": ConfigRecord()},
        {"query": ConfigRecord({"query": good.decode()})},
        {"query": ConfigRecord({"query": [1, 2, 3]})},
        {"query": MetricRecord({"query": 1})},
        {"query": ArrayRecord({"query": Array("uint8", (1,), "numpy.ndarray", b"x")})},
        {"report": ConfigRecord({"query": good})},
    )
    kind = rng.choice((QUERY_TYPE,) * 5 + _KINDS)
    return Shot(content=RecordDict(rng.choice(records[:1] * 8 + records[1:])), kind=kind)
