from __future__ import annotations

import importlib

import pytest

from curator.names import nearest


def test_a_close_name_is_offered_and_a_far_one_is_not() -> None:
    assert nearest("hgos", ["hogs", "lpgnn"]) == "; did you mean hogs?"
    assert nearest("zzz", ["hogs", "lpgnn"]) == ""


@pytest.mark.parametrize(
    ("old", "name", "home"),
    [
        ("curator.guarantee", "Claim", "curator.privacy.guarantee"),
        ("curator.propagation", "agreed_pairs", "curator.reports.agreed_pairs"),
        ("curator.propagation", "label_propagation", "curator.linear.propagation"),
        ("curator.methods.links", "labelled_graph", "curator.methods.local.links"),
    ],
)
def test_a_moved_name_is_found_and_its_new_home_is_told(old: str, name: str, home: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"import it from {home}"):
        found = getattr(importlib.import_module(old), name)
    assert found is getattr(importlib.import_module(home), name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = importlib.import_module(old).nothing
