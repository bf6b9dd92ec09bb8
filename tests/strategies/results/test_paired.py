from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from strategies.results.averages import gain
from strategies.results.outcome import Score
from strategies.results.paired import FILE, SharedScores, paired_gain, read_scores, write_scores


def scores(*several: list[int]) -> list[Score]:
    return [Score(float(np.mean(right)) if right else None, np.array(right, bool)) for right in several]


def test_scores_come_back_from_a_run_s_folder(tmp_path: Path) -> None:
    assert read_scores(tmp_path) is None
    write_scores(tmp_path, SharedScores("abc", scores([1, 0, 1, 1], [0, 0, 1, 1])))
    found = read_scores(tmp_path)
    assert found is not None and found.collection == "abc" and (tmp_path / FILE).is_file()
    assert [score.test for score in found.scores] == [0.75, 0.5]
    assert [score.right.tolist() for score in found.scores if score.right is not None] == [
        [True, False, True, True], [False, False, True, True]
    ]  # fmt: skip
    write_scores(tmp_path, SharedScores("abc", scores([])))
    found = read_scores(tmp_path)
    assert found is not None and [score.test for score in found.scores] == [None]


def test_a_difference_is_paired_by_person_and_never_between_two_collections() -> None:
    right = [1] * 30 + [0] * 10
    better, same = SharedScores("abc", scores([1] * 32 + [0] * 8)), SharedScores("abc", scores(right))
    found = paired_gain(better, same)
    assert found is not None and found == gain(better.scores, same.scores)
    assert found.value == pytest.approx(0.05) and 0 <= found.low < found.value < found.high
    nothing = paired_gain(same, same)
    assert nothing is not None and (nothing.low, nothing.value, nothing.high) == (0, 0, 0)  # unpaired: not of width 0
    with pytest.raises(ValueError, match="two collections"):
        paired_gain(better, SharedScores("abd", scores(right)))
