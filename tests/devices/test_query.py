"""Only canonical bytes of a known question are a question; everything else is InvalidQuery."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsim.devices import query
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, GRRFS, OneBit, RandomizedResponse
from ldpsim.devices.query import MAX_BYTES, MAX_NUMBERS, Ask, InvalidQuery, Query

RR = RandomizedResponse.from_epsilon(2.0, n=9)
BITS = OneBit.from_epsilon(1.0, d=4)
LABEL = GRR.from_epsilon(1.0, categories=3)
FULL = Query("c-1", ((Ask("adjacency", (RR,)), Ask("features", (BITS,)), Ask("label", (LABEL,))),))
PLAN = Query("c-1", ((Ask("adjacency", (RR,)),), (Ask("adjacency", (RR,)), Ask("label", (LABEL,)))))


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def tree(of: Query = FULL) -> dict[str, Any]:
    return json.loads(of.to_bytes())


@pytest.mark.parametrize("asked", [FULL, PLAN, PLAN.at_stage(1), PLAN.at_stage(1, (0, 1, 2, 0))])
def test_canonical_bytes_are_read_back(asked: Query) -> None:
    data = asked.to_bytes()
    assert Query.from_bytes(data) == asked and Query.from_bytes(data).to_bytes() == data
    assert data == canonical(json.loads(data))


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths(value[key], (*at, key))


def changed(value: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> bytes:
    top = [copy.deepcopy(value)]
    holder, key = top, 0
    for step in path:
        holder, key = holder[key], step  # type: ignore[assignment]
    change(holder, key)
    return canonical(top[0]) if top else b""


STRANGE = (None, True, False, 0, 1, -1, 1.0, 1.5, 10**40, "", "x", [], {}, [1], {"a": 1}, [None], 2**64, -0.0)


@pytest.mark.parametrize("asked", [FULL, PLAN.at_stage(1, (0, 1))])
def test_a_value_of_another_kind_anywhere_is_another_question_or_none(asked: Query) -> None:
    """Every node of the tree is replaced by every strange value: InvalidQuery, or a query with exactly these bytes."""
    refused = accepted = 0
    for path in paths(tree(asked)):
        for strange in STRANGE:
            data = changed(tree(asked), path, lambda holder, key, s=strange: holder.__setitem__(key, s))
            try:
                read = Query.from_bytes(data)
            except InvalidQuery:
                refused += 1
                continue
            accepted += 1
            assert read.to_bytes() == data
    assert refused > 400 and 0 < accepted < refused / 4


def test_every_missing_and_every_unknown_field_is_refused() -> None:
    for path in paths(tree()):
        if path and isinstance(path[-1], str):
            with pytest.raises(InvalidQuery):
                Query.from_bytes(changed(tree(), path, lambda holder, key: holder.pop(key)))
    for path in paths(tree()):

        def add(holder: Any, key: Any) -> None:
            if isinstance(holder[key], dict):
                holder[key]["extra"] = 1

        data = changed(tree(), path, add)
        if data != FULL.to_bytes():
            with pytest.raises(InvalidQuery):
                Query.from_bytes(data)


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", "nobody"), ("version", 2), ("version", 0), ("sampler", 4), ("sampler", 0), ("sampler", None)],
)
def test_unknown_mechanisms_versions_and_samplers_are_refused(field: str, value: object) -> None:
    for place in range(3):
        data = tree()
        data["plan"][0][place]["mechanisms"][0][field] = value
        with pytest.raises(InvalidQuery):
            Query.from_bytes(canonical(data))


def forms_that_are_not_canonical() -> list[bytes]:
    data = FULL.to_bytes()
    again = b'"v":1}'
    assert data.endswith(again)
    return [
        b" " + data, data + b"\n", data + b" ", data + data, data[:-1], data[1:], b"\xef\xbb\xbf" + data,
        json.dumps(tree()).encode(), json.dumps(tree(), indent=1).encode(),
        data.decode().encode("utf-16"), data.decode().encode("utf-32-le"),
        data.replace(b'"v":1', b'"v":2'), data.replace(again, b'"v":2,"v":1}'), data.replace(again, b'"v":1,"v":1}'),
        data.replace(b'"c-1"', b'"c\\u002d1"'), data.replace(b":0.0", b":0.00"), data.replace(b":0.0", b":0e0"),
        data.replace(b":1.0", b":1.0000000000000000001"), data.replace(b':0,"v', b':-0,"v'),
    ]  # fmt: skip


@pytest.mark.parametrize("data", forms_that_are_not_canonical())
def test_other_spellings_are_refused(data: bytes) -> None:
    assert data != FULL.to_bytes()
    with pytest.raises(InvalidQuery):
        Query.from_bytes(data)


@pytest.mark.parametrize("data", [
    b"", b"null", b"[]", b"{}", b"0", b"NaN", b"Infinity", b'"', b"\x00", b"\xff\xfe", b"[" * 100_000,
    b'{"a":' * 50_000, b"[" * 500 + b"]" * 500, b"1" * 10_000, b"-" + b"9" * 5000, b"x" * (MAX_BYTES + 1),
    b'{"collection":"c","grouping":null,"plan":[],"stage":0,"v":1}',
    b'{"collection":"c","grouping":null,"plan":[[]],"stage":0,"v":1}',
])  # fmt: skip
def test_what_is_no_question_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidQuery):
        Query.from_bytes(data)


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    with pytest.raises(InvalidQuery):
        Query.from_bytes(data)


def test_a_question_that_is_too_long_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query.json, "loads", lambda data: pytest.fail("it was parsed"))
    with pytest.raises(InvalidQuery, match="too long"):
        Query.from_bytes(b"0" * (MAX_BYTES + 1))


@pytest.mark.parametrize("collection", ["", "a" * 65, "a b", "a/b", "ä", "a\n", "a\x00", None, 7])
def test_collection_ids(collection: object) -> None:
    with pytest.raises(InvalidQuery):
        replace(FULL, collection=collection)  # type: ignore[arg-type]
    data = tree()
    data["collection"] = collection
    with pytest.raises(InvalidQuery):
        Query.from_bytes(canonical(data))


def test_asks_that_cannot_be() -> None:
    for attribute, given_ in [("adjacency", (BITS,)), ("degree", (RR,)), ("label", ()), ("adjacency", (RR,) * 5)]:
        with pytest.raises(InvalidQuery):
            Ask(attribute, given_)
    a, f = Ask("adjacency", (RR,)), Ask("features", (BITS,))
    for plan in ((), ((),), ((a,), ()), ((f, a),), ((a, a),), ((a,),) * 9):
        with pytest.raises(InvalidQuery):
            Query("c", plan)
    for stage in (-1, 1):
        with pytest.raises(InvalidQuery):
            Query("c", ((a,),), stage=stage)
    with pytest.raises(InvalidQuery, match="first stage"):
        Query("c", ((a,),), grouping=(0,))


@pytest.mark.parametrize("grouping", [[-1], [0, -1], [0, 1 << 31], [0, True], [0, 0.0], [0, "0"], {}, "00", 0, [[0]]])
def test_a_malformed_grouping_is_refused(grouping: object) -> None:
    data = tree(PLAN.at_stage(1, (0, 1)))
    data["grouping"] = grouping
    with pytest.raises(InvalidQuery):
        Query.from_bytes(canonical(data))


def test_the_fingerprint_covers_what_is_asked_and_nothing_else() -> None:
    base = FULL.fingerprint("adjacency")
    assert len(base) == 32
    # Not the collection, not the other attributes.
    assert replace(FULL, collection="other").fingerprint("adjacency") == base
    assert Query("c", ((Ask("adjacency", (RR,)),),)).fingerprint("adjacency") == base
    # The mechanism, its parameters, the number of mechanisms, the plan.
    others = [
        Query("c", ((Ask("adjacency", (RandomizedResponse.from_epsilon(2.0, n=10),)),),)),
        Query("c", ((Ask("adjacency", (RandomizedResponse.from_epsilon(2.5, n=9),)),),)),
        Query("c", ((Ask("adjacency", (RandomizedResponse(RR.flip + 1, 9),)),),)),
        Query("c", ((Ask("adjacency", (RandomizedResponse.from_epsilon(2.0, n=9, reporting="one-end"),)),),)),
        Query("c", ((Ask("adjacency", (RR, RR)),),)),
        Query("c", ((Ask("adjacency", (RR,)),), (Ask("label", (LABEL,)),))),
        PLAN,
    ]
    prints = {q.fingerprint("adjacency") for q in others} | {base, FULL.fingerprint("features")}
    assert len(prints) == len(others) + 2


def test_fingerprints_mean_what_they_always_meant() -> None:
    """Ledgers in the field hold them."""
    assert {name: FULL.fingerprint(name).hex()[:16] for name in FULL.attributes} == {
        "adjacency": "4a61f891e34870a3", "features": "2c5cd599700aa5cc", "label": "9422c08574916286",
    }  # fmt: skip
    older = tree(FULL)  # of before noise was made by SHAKE
    for ask in older["plan"][0]:
        for mechanism in ask["mechanisms"]:
            mechanism["sampler"] -= 1
    before = Query.from_bytes(canonical(older))
    assert {name: before.fingerprint(name).hex()[:16] for name in FULL.attributes} == {
        "adjacency": "787ebb1c1c532481", "features": "a5327d4f65ba374c", "label": "963d77c337d434f4",
    }  # fmt: skip


def test_noise_is_bound_to_stage_and_grouping() -> None:
    later = [PLAN.at_stage(1), PLAN.at_stage(1, (0, 1)), PLAN.at_stage(1, (1, 0))]
    questions = {q.question("adjacency") for q in (PLAN, *later)}
    assert len(questions) == 4
    assert PLAN.question("adjacency") == PLAN.fingerprint("adjacency") == later[2].fingerprint("adjacency")


def costly(d: int, stages: int, *, changed: int = 0) -> Query:
    """A question of GRR-FS over d columns in several stages, each of which takes a loss of its own."""
    facts = PublicFacts(n=4, d=d, classes=2)
    budgets = [(1 + (stage + changed) / 100, d - stage) for stage in range(stages)]
    plan = tuple((Ask("features", (GRRFS.from_epsilon(eps, facts=facts, m=m),)),) for eps, m in budgets)
    return Query("costly", plan)


def test_long_lists_are_refused_before_they_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    top = json.loads(costly(16, 1).to_bytes())
    top["plan"][0][0]["mechanisms"][0]["domains"] = [2] * (MAX_NUMBERS + 1)
    monkeypatch.setattr("ldpsim.devices.query._mechanism", None)
    with pytest.raises(InvalidQuery, match="too long"):
        Query.from_bytes(canonical(top))


def test_the_price_of_judging_is_bounded_before_anything_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """60 KB of GRR-FS in 8 stages took 35.6 seconds: each mechanism alone is inside the bound, all of them are not."""
    top = json.loads(costly(3703, 8).to_bytes())
    for stage in top["plan"]:
        stage[0]["mechanisms"] *= 4
    monkeypatch.setattr(GRRFS, "loss", None)
    with pytest.raises(InvalidQuery, match="cost too much"):
        Query.from_bytes(canonical(top))
