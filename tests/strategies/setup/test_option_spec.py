"""An option is declared once: a copy of the packages gets one more field, and it is found everywhere."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.strategies.attacks.stress.campaign import StressOptions
from ldpsim.strategies.experiments.sweep_file import read_sweep
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.planning.plan import Wishes
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.option_spec import RUNNING, declared, option
from ldpsim.strategies.setup.options import RunOptions

ROOT = Path(__file__).parents[3]

# Runs where `strategies` is the copy; prints what was found.


def test_a_declaration_checks_values() -> None:
    @dataclass(frozen=True)
    class Few:
        pace: str = option("slow", "Speed.", RUNNING, values=("slow", "fast"))
        share: float | None = option(None, "Share.", RUNNING, "S", allows=lambda share: share > 0, must="above 0")

    pace, share = declared(Few).values()
    assert (pace.option, pace.types, pace.default) == ("--pace", (str,), "slow")
    assert (share.types, share.is_table) == ((float,), False)
    assert (share.read("0.5"), pace.read("0.5")) == ("0.5", "0.5")  # of a type of its own: read elsewhere
    mixed = replace(share, kind=float | str)
    assert (mixed.read("0.5"), mixed.read("auto"), mixed.read(None)) == (0.5, "auto", None)
    share.check(None)
    pace.check("fast")
    with pytest.raises(ValueError, match=r"^--pace swift: must be one of slow, fast$"):
        pace.check("swift")
    with pytest.raises(ValueError, match=r"^--share nan: above 0$"):
        share.check(float("nan"))


@pytest.mark.parametrize(
    ("name", "value", "own"),
    [
        ("clients", np.int64(100), 100), ("clients", 100.0, 100), ("seed", np.uint8(1), 1), ("epsilon", 4, 4.0),
        ("epsilon", np.float32(4), 4.0), ("epsilon", Fraction(1, 2), 0.5), ("label_rate", np.array(0.25), 0.25),
        ("feature_share", np.float64(0.5), 0.5), ("nulls", np.bool_(False), False), ("out", "folder", Path("folder")),
        ("state", Path("folder"), Path("folder")), ("dataset", Path("people.npz"), "people.npz"), ("out", None, None),
        ("settings", {"epochs": np.int64(5), "tau": np.float64(0.8), "loops": np.True_},
         {"epochs": "5", "tau": "0.8", "loops": "true"}),
        ("caps", {"bit": np.float64(2)}, {"bit": 2.0}), ("seeds", {"noise": None, "split": np.int64(7)},
                                                          {"noise": None, "split": 7}),
    ],
)  # fmt: skip
def test_values_of_numpy_and_paths_as_text_are_read(name: str, value: Any, own: Any) -> None:
    found = getattr(RunOptions(**{name: value}), name)
    assert found == own
    assert type(found) is type(own) or isinstance(own, Path)
    entries = list(found.values()) if isinstance(found, dict) else []
    assert [type(entry) for entry in entries] == [type(entry) for entry in (own.values() if entries else [])]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"epsilon": "4"}, "--epsilon 4: must be a number"),
        ({"clients": 100.5}, "--clients 100.5: must be a whole number"),
        ({"clients": True}, "--clients True: must be a whole number"),
        ({"seed": None}, "--seed None: must be a whole number"),
        ({"nulls": 1}, "--no-nulls 1: must be True or False"),
        ({"out": 3}, "--out 3: must be a path"),
        ({"method": ["hogs"]}, r"--method \['hogs'\]: must be text"),
        ({"settings": {"tau": [1]}}, r"--set tau \[1\]: must be text"),
        ({"settings": "tau=1"}, "--set tau=1: must be a table of names and values"),
        ({"caps": {"bit": "2"}}, "--cap bit 2: must be a number"),
    ],
)
def test_a_value_of_another_type_is_one_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=f"^{line}$"):
        RunOptions(**given)


def test_numpy_values_are_read_wherever_options_are_given() -> None:
    """One place converts them: runs, grids, wishes, imports and stress tests; 4 and 4.0 are one budget."""
    cells = read_sweep(None, {"epsilon": np.arange(3, 5), "settings.tau": [np.float64(0.7)]})
    assert [(cell.options.epsilon, cell.options.settings) for cell in cells] == [
        (3.0, {"tau": "0.7"}), (4.0, {"tau": "0.7"}),
    ]  # fmt: skip
    stress = StressOptions(clients=np.int64(40), asks=(np.int64(2), 1), epsilon_bit=np.float32(1))
    wishes = Wishes(holds=np.float32(4), max_bytes=np.int64(5))
    assert json.loads(json.dumps([vars(wishes), stress.clients, stress.asks]))[1:] == [40, [1, 2]]
    assert ImportOptions(feature_range=np.array([0, 2]), ignore=["a"]).feature_range == (0, 2)
    hashes = {setup.digest for setup in (set_up(RunOptions(clients=40, epsilon=value)) for value in (4, 4.0))}
    assert len(hashes) == 1
