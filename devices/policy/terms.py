"""The terms of a collection: all that its curator may ask, signed once, where the curator's key lives.

Terms are JSON:

    {"v": 1, "collection": ID, "people": n, "facts": DIGEST, "questions": [
        {"plan": [[{"attribute": A, "mechanisms": [{"name": ..., ...}]}]],    all stages, in order
         "loss": {A: {"bit": x, "vector": x, "delta": x}},                    over all stages; null: not bounded
         "devices": "0-3,7"}]}                                                null: everybody

``facts`` is the SHA-256 of the file of public facts, which may name the node of each person
(:mod:`ldpsim.strategies.flower_app.deployed`). The server refuses other facts; a device does not read it. It is left
out where no file has the facts.

A question stays inside them if one of their questions has its collection, its stages, its mechanisms and
their parameters, at most its loss, and the device among its people. The terms leave open what follows from earlier
reports: a stage's public grouping, and the ``unpinned_parameters`` of a mechanism (a vote's table). Whoever fills
these in gains no more than the stated loss.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ldpsim.devices.array_types import BoolArray, IntArray
from ldpsim.devices.query import InvalidQuery, Query, canonical, malformed

FORMAT = 1
_LEVELS = ("bit", "vector", "delta")
# Tables of other sizes round a loss in another way; a question with a clearly smaller one is another question.
_LEAST_SHARE = 0.99


def terms_of(batches: Iterable[tuple[Query, IntArray | None]], people: int, *, facts: str | None = None) -> bytes:
    """Return the canonical bytes of terms for these questions, of one collection.

    Args:
        batches: Queries, and the devices that each one is for; None for everybody.
        people: Number n of people.
        facts: Digest of the file of public facts, hexadecimal; None without one.

    Raises:
        ValueError: for no question, or questions of several collections.
    """
    pairs = list(batches)
    collections = {query.collection for query, _ in pairs}
    if len(collections) != 1:
        raise ValueError(f"terms are those of one collection, not of {len(collections)}")
    merged: dict[bytes, tuple[Query, BoolArray]] = {}  # batches of one question differ in unpinned parameters
    for query, devices in pairs:
        asked = np.zeros(people, np.bool_)
        asked[slice(None) if devices is None else devices] = True
        key = canonical([_fixed(query), _loss(query)])
        merged[key] = query, asked | merged[key][1] if key in merged else asked
    questions = [
        {"plan": _fixed(query), "loss": _loss(query), "devices": None if asked.all() else _as_ranges(asked)}
        for query, asked in merged.values()
    ]
    head = {"v": FORMAT, "collection": collections.pop(), "people": people}
    bound = {} if facts is None else {"facts": facts}
    return canonical({**head, **bound, "questions": questions})


def collection_of(terms: bytes) -> str:
    """Return the collection's id; the terms must be of this version."""
    return str(json.loads(terms)["collection"])


def facts_of(terms: bytes) -> str | None:
    """Return the digest of the public facts that the terms name; the terms must be of this version."""
    digest: str | None = json.loads(terms).get("facts")
    return digest


def people_asked(terms: bytes, query: Query, people: int) -> BoolArray:
    """bool (people,): who may be asked this query; nobody where it is outside the terms, or they cannot be read.

    Raises:
        InvalidQuery: where a mechanism of another package fails on its loss.
    """
    asked = query.people_by_terms.get((terms, people))
    if asked is None:
        asked = query.people_by_terms[terms, people] = _people_asked(terms, query, people)
    return asked


def _people_asked(terms: bytes, query: Query, people: int) -> BoolArray:
    nobody = np.zeros(people, np.bool_)
    asked = nobody.copy()
    try:
        values = json.loads(terms)
        if (values["v"], values["collection"], values["people"]) != (FORMAT, query.collection, people):
            return nobody
        for agreed in values["questions"]:
            if canonical(agreed["plan"]) != canonical(_fixed(query)):
                continue
            with malformed("the question's loss"):
                loss = _loss(query)
            if _within(loss, agreed["loss"]):
                asked |= _from_ranges(agreed["devices"], people)
    except InvalidQuery:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return nobody  # signed, but of another version
    return asked


def _fixed(query: Query) -> list[Any]:
    """Return the plan as JSON values, without the parameters that follow from earlier reports."""
    return [
        [
            {"attribute": ask.attribute, "mechanisms": [
                {name: value for name, value in values.items()
                 if name not in getattr(mechanism, "unpinned_parameters", ())}
                for mechanism, values in zip(ask.mechanisms, ask.to_dict()["mechanisms"], strict=True)]}
            for ask in stage
        ]
        for stage in query.plan
    ]  # fmt: skip


def _loss(query: Query) -> dict[str, dict[str, float | None]]:
    """Return the largest loss of any device by attribute and level, None where nothing bounds it."""
    losses = {name: query.loss(name) for name in query.attributes}
    return {
        name: {level: value if math.isfinite(value := getattr(loss, level)) else None for level in _LEVELS}
        for name, loss in losses.items()
    }


def _within(losses: dict[str, dict[str, float | None]], agreed: dict[str, dict[str, float | None]]) -> bool:
    if set(losses) != set(agreed):
        return False
    for name, stated in losses.items():
        loss, bound = (np.array([math.inf if each[level] is None else each[level] for level in _LEVELS], np.float64)
                       for each in (stated, agreed[name]))  # fmt: skip
        if np.any(loss > bound) or loss[1] < _LEAST_SHARE * bound[1]:
            return False
    return True


def _as_ranges(devices: BoolArray) -> str:
    changes = np.flatnonzero(np.diff(np.concatenate([[False], devices, [False]]).astype(np.int8)))
    ranges: Sequence[Sequence[int]] = changes.reshape(-1, 2).tolist()
    return ",".join(str(first) if end == first + 1 else f"{first}-{end - 1}" for first, end in ranges)


def _from_ranges(text: str | None, people: int) -> BoolArray:
    devices = np.zeros(people, np.bool_)
    if text is None:
        return ~devices
    for part in text.split(","):
        first, _, last = part.partition("-")
        devices[int(first) : int(last or first) + 1] = True
    return devices
