"""The public model of words: its numbers, its text, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.devices.mechanisms.word_model import UNIT, WordModel, read_model

RNG = np.random.default_rng(4)
WEIGHTS, WORDS = RNG.normal(0, 0.6, (30, 4)), RNG.uniform(0.1, 5, 30)
MEANS = np.array([0.1, 0.4, 0.3, 0.2])


def _whole(numbers: Any) -> Any:
    return np.rint(np.asarray(numbers) * UNIT).astype(np.int64)


MODEL = WordModel(_whole(WORDS[:, None] * WEIGHTS), _whole(WORDS**2), _whole(MEANS), (700, 300))


def test_the_numbers_are_those_of_the_formula() -> None:
    rows = RNG.random((50, 30)) < 0.3
    rows[0] = False  # nobody's words: the means
    shares, evidence = MODEL.shares(rows.astype(np.int64)), MODEL.evidence(MODEL.shares(rows.astype(np.int64)))
    for words, found, said in zip(rows, shares, evidence, strict=True):
        length = math.sqrt((WORDS[words] ** 2).sum()) or 1
        f = MEANS + (WORDS[words, None] * WEIGHTS[words]).sum(axis=0) / length
        assert found / UNIT == pytest.approx(f, abs=0.02)
        e = 700 / 256 * found / UNIT + 300 / 256 * np.log(np.maximum(found / UNIT, 0.01))
        assert said / UNIT == pytest.approx(e, abs=1e-3)
    assert (shares[0] == MODEL.means).all()


def test_rows_of_either_kind_say_the_same() -> None:
    rows = (RNG.random((20, 30)) < 0.3).astype(np.int64)
    assert (MODEL.shares(csr_array(rows)) == MODEL.shares(rows)).all()


def test_the_text_is_read_back() -> None:
    again = read_model(MODEL.as_text(), 30, 4, (700, 300))
    for name in ("weights", "squares", "means"):
        assert np.array_equal(getattr(again, name), getattr(MODEL, name))
    assert again.as_text() == MODEL.as_text()


def test_the_largest_numbers_stay_inside_64_bits() -> None:
    most = (1 << 31) - 1
    loud = WordModel(np.full((500, 2), [most, -most]), np.zeros(500, np.int64), np.array([most, -most]), (1 << 16,) * 2)
    shares = loud.shares(np.ones((1, 500), np.int64))
    assert shares.tolist() == [[1 << 31, -(1 << 31)]]
    assert loud.evidence(shares)[0, 0] > 0 > loud.evidence(shares)[0, 1]


@pytest.mark.parametrize(("text", "exponents"), [
    ("", (1, 1)), (MODEL.as_text()[:-4], (1, 1)), (MODEL.as_text(), (1,)), (MODEL.as_text(), (1, 2, 3)),
    (MODEL.as_text(), (1, (1 << 16) + 1)), (MODEL.as_text(), (1.0, 1)), (MODEL.as_text(), (True, 1)), (7, (1, 1)),
])  # fmt: skip
def test_other_texts_and_exponents_are_refused(text: Any, exponents: Any) -> None:
    with pytest.raises(ValueError):
        read_model(text, 30, 4, exponents)


def test_impossible_models_are_refused() -> None:
    nothing = np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="negative"):
        WordModel(np.zeros((2, 2), np.int64), np.array([0, -1]), nothing, (1, 1))
    with pytest.raises(ValueError, match="beyond 32 bits"):
        WordModel(np.full((2, 2), 1 << 31), nothing, nothing, (1, 1)).as_text()
    corner = WordModel(np.zeros((2, 2), np.int64), nothing, nothing, (1, 1)).as_text()
    with pytest.raises(ValueError, match="last number"):
        read_model(corner[:-4] + "AAAB", 2, 2, (1, 1))
