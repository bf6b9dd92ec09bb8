"""Chain of a device's answers: each seal covers the row, its table and the seal before it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ldpsim.devices.ledger.chain import checked, head_of, seal_of
from ldpsim.devices.ledger.columns import LedgerDamaged
from ldpsim.devices.ledger.rows import Answer, Head, QueryAnswer, TrainingAnswer

KEY = b"k" * 32


def sealed(*answers: Answer, key: bytes = KEY) -> list[Answer]:
    chain: list[Answer] = []
    for answer in answers:
        chain.append(replace(answer, seal=seal_of(answer, chain[-1].seal if chain else b"", key)))
    return chain


def query(number: int, text: str = "c") -> QueryAnswer:
    return QueryAnswer(3, number, text, 0, b"", b"", 1.0)


def training(number: int) -> TrainingAnswer:
    return TrainingAnswer(3, number, "t", "update", "label", b"f", 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, b"d", 5, 1.0)


CHAIN = sealed(query(0), training(1), query(2), training(3))


def test_a_whole_chain_is_read() -> None:
    assert list(checked(CHAIN, KEY)) == CHAIN and head_of(CHAIN) == Head(4, CHAIN[-1].seal)
    assert list(checked([], KEY)) == [] and head_of([]) == Head()
    assert len({answer.seal for answer in CHAIN}) == 4


@pytest.mark.parametrize("at", range(4))
def test_an_edited_missing_repeated_or_moved_answer_breaks_it(at: int) -> None:
    before, answer, after = CHAIN[:at], CHAIN[at], CHAIN[at + 1 :]
    edited = replace(answer, collection="other")
    alone = replace(answer, seal=seal_of(edited, b"", KEY))
    broken = [
        [*before, edited, *after],
        [*before, answer, answer, *after],
        [*before, replace(answer, device=4), *after],
        [*before, replace(edited, seal=seal_of(edited, before[-1].seal if before else b"", b"x" * 32)), *after],
        [*before, alone, *after],
    ]
    if after:
        broken += [[*before, *after], [*before, *after, answer]]
        renumbered: list[Answer] = [replace(later, number=later.number - 1) for later in after]
        broken.append([*before, *renumbered])
    for answers in broken:
        with pytest.raises(LedgerDamaged):
            list(checked(answers, KEY))
    if after:
        # an honest seal in the middle does not help: the one after it covers another
        honest = replace(edited, seal=seal_of(edited, before[-1].seal if before else b"", KEY))
        with pytest.raises(LedgerDamaged):
            list(checked([*before, honest, *after], KEY))


def test_what_stands_before_the_break_is_told() -> None:
    seen = []
    with pytest.raises(LedgerDamaged, match="answer 2 of device 3"):
        for answer in checked([*CHAIN[:2], replace(CHAIN[2], stage=1), CHAIN[3]], KEY):
            seen.append(answer)
    assert seen == CHAIN[:2]


def test_a_seal_names_its_table() -> None:
    """Rows of two tables whose packed bytes agree have different seals."""
    assert seal_of(query(0), b"", KEY) != seal_of(training(0), b"", KEY)
    assert seal_of(query(0), b"", KEY) != seal_of(query(0), b"s" * 32, KEY)
