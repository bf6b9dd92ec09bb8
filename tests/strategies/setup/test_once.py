"""A run is set up once: its settings and budget, and the questions of each repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from ldpsim.curator.methods import find
from ldpsim.devices.facts import PublicFacts
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.setup import run_setup

PEOPLE = 700  # questions on paper are made for 600 people, and for these, to see how they grow


@pytest.mark.usefixtures("short_perceptron")
@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.parametrize("method", ["hogs", "rgnn", "ldpgen"])
def test_budget_settings_and_questions_are_made_once(
    method: str, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()

    def counted(name: Callable[..., str], made: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            calls[name(*given)] += 1
            return made(*given, **named)

        return call

    kind = find(method)

    def of_whom(method: object, facts: PublicFacts, *_: object) -> str:
        return f"questions for {facts.n}"

    monkeypatch.setattr(kind, "questions", counted(of_whom, kind.questions))  # type: ignore[attr-defined]
    for name in ("budget_of", "resolve"):
        monkeypatch.setattr(run_setup, name, counted(lambda *_, name=name: name, getattr(run_setup, name)))
    simulate(RunOptions(method=method, clients=PEOPLE, repeats=repeats, settings={"epochs": "1"}, out=None,
                        reference=False, nulls=False, groups=False))  # fmt: skip
    # Whether it fits this machine is known before its people are made: from 600 of them, and from as many as there are.
    assert calls == {"budget_of": 1, "resolve": 1, "questions for 600": 1, f"questions for {PEOPLE}": repeats + 1}
