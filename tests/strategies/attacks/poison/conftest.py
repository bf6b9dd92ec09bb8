"""Cells of a small generated population."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ldpsim.strategies.attacks.poison.campaign import PoisonOptions, campaign_of
from ldpsim.strategies.attacks.poison.cell import PoisonCell
from ldpsim.strategies.setup.options import RunOptions

SMALL = 60


@pytest.fixture(scope="session")
def asked() -> Callable[..., PoisonOptions]:
    """Return options of a small measurement."""

    def options(*methods: str, run: dict[str, Any] | None = None, **given: Any) -> PoisonOptions:
        settings = {"rounds": "2"} if "fed" in " ".join(methods) else {"epochs": "3"}
        one = RunOptions(**{"clients": SMALL, "seed": 3, "nulls": False, "settings": settings, "workers": 1,
                            **(run or {})})  # fmt: skip
        return PoisonOptions(methods=methods or ("hogs",), run=one, **{"shares": (0.2,), **given})

    return options


@pytest.fixture(scope="session")
def cells(asked: Callable[..., PoisonOptions]) -> Callable[..., dict[tuple[str, str], PoisonCell]]:
    """Return cells by attack and defence."""

    def found(*methods: str, **given: Any) -> dict[tuple[str, str], PoisonCell]:
        return {
            (cell.attack, cell.options.defence): cell for cell in campaign_of(asked(*methods, **given)).cells.values()
        }

    return found
