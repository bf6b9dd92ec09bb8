from __future__ import annotations

import pytest

from ldpsim.curator.names import check_known, nearest


def test_a_close_name_is_offered_and_a_far_one_is_not() -> None:
    assert nearest("hgos", ["hogs", "lpgnn"]) == "; did you mean hogs?"
    assert nearest("zzz", ["hogs", "lpgnn"]) == ""


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    check_known("lie", "input", ("input", "response"))
    with pytest.raises(ValueError, match="^--lie inputs: must be one of input, response; did you mean input[?]$"):
        check_known("lie", "inputs", ("input", "response"))
