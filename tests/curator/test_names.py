from __future__ import annotations

from curator.names import nearest


def test_a_close_name_is_offered_and_a_far_one_is_not() -> None:
    assert nearest("hgos", ["hogs", "lpgnn"]) == "; did you mean hogs?"
    assert nearest("zzz", ["hogs", "lpgnn"]) == ""
