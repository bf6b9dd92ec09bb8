"""Every parameter of every method: one that is declared as read changes a small run, and one that is not does not."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import OwnerMethod, find, table
from ldpsim.curator.reports.question import keys_of
from ldpsim.strategies.results.outcome import Repeat
from ldpsim.strategies.runs import set_up as setting_up
from ldpsim.strategies.runs import simulate as simulation
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import SET, unread
from ldpsim.strategies.setup.settings import TRAINING

FEW = {"rgnn": {"C": "4"}, "privgnn": {"queries": "20", "K": "20"}, "pate-g": {"queries": "6", "teachers": "4"},
       "pate-m": {"queries": "6", "teachers": "4"}, "ldp-fedavg": {"rounds": "10"}}  # fmt: skip
# Values with an effect on so few people; for other parameters another choice, or a number beside the default.
OTHER = {"m": "3", "candidates": "3", "sampling": "once", "tau": "0.3",
         "local_steps": "1", "K": "5", "batch": "4", "patience": "1", "beta": "0.1",
         "delta": "0.001", "gamma": "0.9", "silos": "4"}  # fmt: skip
# The value does not fit alone (a budget is needed, or another network), or changes no figure: another path to the same
# numbers, or one that others of these few people outvote.
UNFIT = {("lpgnn", "version"), ("lpgnn", "adjacency"), ("ldp-fedavg", "evaluate_every")}
SAME = {("privgnn", "distance"), ("ohd", "scaling"), ("isolate", "scaling")}


def options(name: str, **settings: str) -> RunOptions:
    kind = find(name)
    own = {entry.name for entry in fields(kind) if not entry.metadata.get("unused")}  # type: ignore[arg-type]
    short = {"rounds": "3"} if "rounds" in own else {"epochs": "6"} if "epochs" in _training(name) else {}
    few = {"silos": "3"} if "silos" in own else FEW.get(name, {})
    return RunOptions(method=name, clients=200 if issubclass(kind, OwnerMethod) else 80, reference=False, nulls=False,
                      settings={**short, **few, **settings}, out=None, device="cpu")  # fmt: skip


def _training(name: str) -> frozenset[str] | set[str]:
    kind = find(name)
    return (kind.spec.training_read or TRAINING) if kind().in_force().trains_network else set()


def another(name: str, entry: Any) -> str | None:
    """Return another value of a parameter; None where there is one choice."""
    given = options(name).settings.get(entry.name)
    if entry.name in OTHER and given != OTHER[entry.name]:
        return OTHER[entry.name]
    if isinstance(entry.default, bool):
        return str(not entry.default).lower()
    if isinstance(entry.default, int):
        return str(int(given or entry.default) + 1)
    if isinstance(entry.default, float):
        return str(entry.default / 2 or 0.25)
    with pytest.raises(ValueError) as caught:
        find(name).from_settings({entry.name: "?"})
    choices = re.split(r", | or ", str(caught.value).partition("must be one of ")[2] or str(caught.value))
    return next((choice for choice in reversed(choices) if choice != entry.default), None)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(table()))
def test_a_parameter_changes_a_run_if_it_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Repeat] = []
    repeat = simulation._repeat
    monkeypatch.setattr(simulation, "_repeat", lambda *given, **more: done.append(repeat(*given, **more)) or done[-1])
    monkeypatch.setattr(setting_up, "check_read", lambda options, method: None)

    def figures(given: RunOptions) -> str:
        setup = setting_up.set_up(given)
        asked = keys_of(setting_up.run_of(setup.method).questions(setup, setup.repeats[0].split, "c"))
        record = simulation.simulate(given).record
        digest, outcome = hashlib.sha256(), done[-1].outcome
        for values in outcome.model.state_dict().values() if outcome.model is not None else ():
            digest.update(np.asarray(values).tobytes())
        if outcome.predictions is not None:
            digest.update(np.asarray(outcome.predictions).tobytes())
        kept = {part: record.get(part) for part in ("accuracy", "privacy", "reconstruction", "federated", "teachers")}
        return json.dumps([kept, str(asked), record["devices"], digest.hexdigest()], sort_keys=True, default=str)

    usual = figures(options(name))
    assert figures(options(name)) == usual
    for entry in fields(find(name)):  # type: ignore[arg-type]
        value = another(name, entry)
        if (name, entry.name) in UNFIT | SAME or value is None:
            continue
        given = options(name, **{entry.name: value})
        try:
            method = find(name).from_settings(
                {key: value for key, value in given.settings.items() if key not in TRAINING}
            )
        except ValueError:
            continue  # refused
        read = SET + entry.name not in unread(replace(given), method)
        try:
            changed = figures(given) != usual
        except ValueError:
            assert read
            continue
        assert changed == read, entry.name
