"""Rows of the ledger, their canonical bytes and their chain: each seal covers the row and the seal before it."""

from __future__ import annotations

import hmac
import struct
from collections.abc import Callable

import pytest

from ldpsim.devices.ledger import rows
from ldpsim.devices.ledger.chain import seals, sound
from ldpsim.devices.ledger.rows import Answer, Head, head_of, reports_of, training_answer
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.query import Query
from tests.devices.ledger.entries import KEY, report_after, training_after

KEYS = {3: KEY, 4: KEY}


def trained(scope: tuple[str, ...], spent: Loss = Loss(1.0, 2.0, 0.25)) -> Answer:  # noqa: B008
    return training_answer(
        3, Head(1, b"s"), spent, collection="c", kind="update", scope=scope, fingerprint=b"f",
        loss=Loss(0.5, 1.0, 0.5), data_digest=b"d", size=9,
    )  # fmt: skip


def test_the_bytes_of_a_row_and_its_seal_never_change(
    ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that hold them are read for ever; ``test_ledger_damage.py`` has a whole file."""
    monkeypatch.setattr(rows.time, "time", lambda: 1.5)
    query = ask_for(attributes="l")
    (report,) = reports_of(query, {3: Head()}, {"label": [b"\x02\x00"]}, {"label": [b"d" * 32]})
    body = struct.pack("<dIB", 1.5, 0, 0) + struct.pack("<3d4I", 1.0, 1.0, 0.0, 5, 32, 2, 32)
    body += b"label" + query.fingerprint("label") + b"\x02\x00" + b"d" * 32
    assert report == (3, 0, "report", "first", body, b"")
    (first,) = seals([report], [b""], [KEY])
    assert first == hmac.digest(KEY, struct.pack("<qq3I", 3, 0, 6, 5, 0) + b"reportfirst" + body, "sha256")
    assert first.hex() == "4b80ed56eb28695ab39383c7df421b776656a04b78ab7aa1f878246ea9d31974"
    training = trained(("features", "label"))
    body = struct.pack("<dQ3dB", 1.5, 9, 1.5, 3.0, 0.75, 14) + b"features,label"
    body += struct.pack("<3d4I", 0.5, 1.0, 0.5, 8, 1, 0, 1) + b"training" + b"f" + b"d"
    assert training == (3, 1, "update", "c", body, b"")
    (second,) = seals([training], [first], [KEY])
    assert second == hmac.digest(KEY, struct.pack("<qq3I", 3, 1, 6, 1, 32) + b"updatec" + first + body, "sha256")
    assert second.hex() == "e98be339f76c7cc83e4215de815439063f9cfe35c36c732a7c94fdaa3a41cd59"
    staged = Query("first", (query.asks, query.asks)).at_stage(1, (0,) * 12)
    (later,) = reports_of(staged, {3: Head(2, second)}, {"label": [b"x"]}, {"label": [b""]})
    assert later.body[:45] == struct.pack("<dIB", 1.5, 1, 32) + staged.grouping_digest and later.number == 2


def test_an_answer_to_a_query_holds_its_attributes(ask_for: Callable[..., Query]) -> None:
    query = ask_for(attributes="al")
    reports, digests = {"adjacency": [b"aa"], "label": [b"l"]}, {"adjacency": [b"x"], "label": [b"y"]}
    (answer,) = reports_of(query, {3: Head(4, b"s")}, reports, digests)
    assert (*answer[:4], answer.stage, answer.grouping, answer.seal) == (3, 4, "report", "first", 0, b"", b"")
    assert [(p.attribute, p.fingerprint, p.report, p.data_digest, p.loss) for p in answer.parts] == [
        ("adjacency", query.fingerprint("adjacency"), b"aa", b"x", query.loss("adjacency")),
        ("label", query.fingerprint("label"), b"l", b"y", query.loss("label")),
    ]  # fmt: skip
    assert answer.size == 3 and answer.releases == answer.parts and not answer.is_training


# --- the chain ----------------------------------------------------------------------------------------------


def chained(ask_for: Callable[..., Query]) -> list[Answer]:
    answers: list[Answer] = []
    for letter in ("a", "", "l", ""):
        row = report_after(answers, ask_for(attributes=letter)) if letter else training_after(answers)
        (seal,) = seals([row], [answers[-1].seal if answers else b""], [KEY])
        answers.append(row._replace(seal=seal))
    return answers


def test_a_whole_chain_is_sound(ask_for: Callable[..., Query]) -> None:
    chain = chained(ask_for)
    assert sound(chain, KEYS) == [True] * 4 and head_of(chain) == Head(4, chain[-1].seal)
    assert sound([], KEYS) == [] and head_of([]) == Head()
    assert sound(chain, {3: b"x" * 32}) == [False] * 4
    other = report_after([], ask_for(), 4)
    both = [*chain, other._replace(seal=seals([other], [b""], [KEY])[0])]
    assert sound(both, KEYS) == [True] * 5 and sound([*chain[:2], both[-1]], KEYS) == [True] * 3


@pytest.mark.parametrize("at", range(4))
def test_an_edited_missing_repeated_or_moved_answer_breaks_it(ask_for: Callable[..., Query], at: int) -> None:
    chain = chained(ask_for)
    before, answer, after = chain[:at], chain[at], chain[at + 1 :]
    last = before[-1].seal if before else b""
    edited = answer._replace(collection="other")
    (honest,), (foreign,), (alone,) = (
        seals([edited], [seal], [key]) for seal, key in ((last, KEY), (last, b"x" * 32), (b"no", KEY))
    )
    broken = [
        [*before, edited, *after],
        [*before, answer, answer, *after],
        [*before, answer._replace(device=4), *after],
        [*before, answer._replace(kind="exchange"), *after],
        [*before, edited._replace(seal=foreign), *after],
        [*before, edited._replace(seal=alone), *after],
    ]
    if after:
        broken += [[*before, *after], [*before, *after, answer]]
        broken.append([*before, *(later._replace(number=later.number - 1) for later in after)])
        # an honest seal in the middle does not help: the one after it covers another
        broken.append([*before, edited._replace(seal=honest), *after])
    for answers in broken:
        told = sound(answers, KEYS)
        assert told[:at] == [True] * at and not all(told)
