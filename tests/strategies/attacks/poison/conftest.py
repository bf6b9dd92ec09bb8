"""Cells of a small generated population."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strategies.attacks.poison.campaign import all_cells
from strategies.attacks.poison.options import PoisonCell, PoisonOptions
from strategies.setup.options import RunOptions

SMALL = 60


@pytest.fixture(scope="session")
def asked() -> Callable[..., PoisonOptions]:
    """Return options of a small measurement."""

    def options(*methods: str, run: dict[str, Any] | None = None, **given: Any) -> PoisonOptions:
        short = {} if "fed" in " ".join(methods) else {"epochs": "3"}  # these tests are about reports
        one = RunOptions(**{"clients": SMALL, "seed": 3, "nulls": False, "settings": short, **(run or {})})
        given.setdefault("shares", (0.0, 0.2))
        return PoisonOptions(methods=methods or ("hogs",), run=one, workers=1, **{"targets": 4, "fakes": 8, **given})

    return options


@pytest.fixture(scope="session")
def cells(asked: Callable[..., PoisonOptions]) -> Callable[..., dict[tuple[str, str, float], PoisonCell]]:
    """Return cells by attack, lie and share."""

    def found(*methods: str, **given: Any) -> dict[tuple[str, str, float], PoisonCell]:
        return {(cell.attack, cell.lie, cell.share): cell for cell in all_cells(asked(*methods, **given))
                if cell.defence == "none"}  # fmt: skip

    return found
