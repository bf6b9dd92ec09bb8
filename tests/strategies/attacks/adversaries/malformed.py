"""Malformed and hostile messages from a seeded source."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

from ldpsim.devices.query import InvalidQuery, Query
from ldpsim.devices.wire import QUERY_TYPE
from ldpsim.strategies.attacks.adversaries.curator import Shot

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 0.0, -0.0, 0.5, 1e308, "", "report", "adjacency",
    "\u0000", "\ud800", "../../etc", "a" * 300, [], [[]], {}, {"v": 1}, [None], [0] * 50, "NaN",
)  # fmt: skip

_KINDS = (
    "query.handover", "query", "query.other", "query.exchange", "query.receive", "train", "train.report", "evaluate",
)  # fmt: skip


def hostile_bytes(query: Query, rng: random.Random) -> bytes:
    """Return bytes that are no question for a device.

    They are random bytes, cut and damaged queries, queries with fields that are missing, unknown,
    of another type or out of range, other spellings of a query, and deep or long JSON.
    """
    makers = (_damaged, _changed_field, _changed_field, _changed_field, _other_spelling, _deep)
    while True:
        data = rng.choice(makers)(query, rng)
        try:
            Query.from_bytes(data)
        except InvalidQuery:
            return data  # else the change made another question


def _damaged(query: Query, rng: random.Random) -> bytes:
    data = bytearray(query.to_bytes())
    at, to = sorted(rng.sample(range(len(data) + 1), 2))
    cut = bytes(data[at:to])
    data[at % len(data)] = rng.randrange(0x20)  # a control character, which no canonical query has
    return rng.choice((cut, bytes(data), rng.randbytes(rng.randrange(200)), _spelled(rng.choice(_VALUES))))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (holder, key) of every field, however deep."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    for key, inner in items:
        yield value, key
        yield from _places(inner)


def _changed_field(query: Query, rng: random.Random) -> bytes:
    top = json.loads(query.to_bytes())
    holder, key = rng.choice([(top, "") if key == "collection" else (holder, key) for holder, key in _places(top)])
    if isinstance(holder, dict) and rng.random() < 0.3:
        key = rng.choice(("also", "version2", "seed0", "device", "raw", ""))
    if rng.random() < 0.3 and key != "" and (not isinstance(holder, dict) or key in holder):
        del holder[key]
    else:
        holder[key] = rng.choice(_VALUES)
    return _spelled(top)


def _spelled(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _other_spelling(query: Query, rng: random.Random) -> bytes:
    data = query.to_bytes()
    changed = (b" " + data, data + b"\n", data.replace(b":", b": ", 1), data + b"\0", b"\xef\xbb\xbf" + data,
               data.replace(b"v", b"\\u0076"), data.decode().encode("utf-16"), data[:-1] + b",}", data * 2,
               data[:-1] + b',"v":1}')  # fmt: skip
    return rng.choice(changed)


def _deep(query: Query, rng: random.Random) -> bytes:
    size = rng.choice((10, 1_000, 100_000))
    return rng.choice((b"[" * size, b"[" * size + b"]" * size, b'{"v":' * size, b"9" * size, b'{"v":1e' + b"9" * size))


def hostile_shot(query: Query, rng: random.Random) -> Shot:
    """Return a message with such bytes, or one that is malformed itself."""
    good = query.to_bytes()
    records: tuple[dict[str, Any], ...] = (
        {},
        {"query": ConfigRecord({"query": good, "also": 1})},
        {"query": ConfigRecord({"query": good}), "also": ConfigRecord()},
        {"query": ConfigRecord({"query": good.decode()})},
        {"query": ConfigRecord({"query": [1, 2, 3]})},
        {"query": MetricRecord({"query": 1})},
        {"query": ArrayRecord({"query": Array("uint8", (1,), "numpy.ndarray", b"x")})},
        {"report": ConfigRecord({"query": good})},
    )
    hostile = {"query": ConfigRecord({"query": hostile_bytes(query, rng)})}
    kind = rng.choice((QUERY_TYPE,) * 5 + _KINDS)
    return Shot(content=RecordDict(rng.choice((hostile,) * 8 + records)), kind=kind)
