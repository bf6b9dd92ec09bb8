from __future__ import annotations

from typing import Any

import pytest

from ldpsim.cli.report.badges import badge_of


@pytest.mark.parametrize(
    ("trust", "open_levels", "said"),
    [
        ("reports", [], ""),
        ("reports", ["relationship", "bit", "user"], "edges in clear"),
        ("reports", ["vector", "bit", "user"], "features in clear"),
        ("open", ["relationship", "vector", "bit", "user"], "edges and features in clear"),
        ("owner", ["vector", "user"], "in clear to the curator"),
        ("reports", ["user"], "part of the record in clear"),
    ],
)
def test_what_is_in_clear(trust: str, open_levels: list[str], said: str) -> None:
    levels: dict[str, Any] = {
        name: {"status": "unprotected" if name in open_levels else "bounded"}
        for name in ("bit", "relationship", "vector", "user")
    }
    assert badge_of({"trust": trust, "levels": levels}) == said
