"""Base class of methods.

It covers all modules below ``ldpsim.curator.methods`` in what all methods have alike, and
``ldpsim.curator.reports.question`` too.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields, make_dataclass
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from ldpsim.curator import methods
from ldpsim.curator.methods import Budget, HoGS, Method
from ldpsim.curator.methods.base import LocalMethod, MethodSpec, option_in_errors
from ldpsim.curator.names import paper_name
from ldpsim.curator.setting_error import SettingError


def test_an_unknown_method_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"unknown method 'hog'; did you mean hogs\?"):
        methods.find("hog")
    with pytest.raises(ValueError, match="`ldpsim methods` lists all"):
        methods.find("qqqq")


@dataclass(frozen=True)
class _Own(LocalMethod):
    spec = MethodSpec(name="own")


def test_a_method_of_ones_own_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry(EntryPoint):
        def load(self) -> type[Method]:
            return _Own

    monkeypatch.setattr(methods, "entry_points", lambda **_: [Entry("own", "x:y", "ldpsim.methods")])
    assert methods.find("own") is _Own and "hogs" in methods.table()


def test_settings_are_read_by_the_fields_type() -> None:
    method = HoGS.from_settings({"tau": "0.7", "l": "2", "topology": "and"})
    assert method == HoGS(tau=0.7, l=2, topology="and")
    assert HoGS.from_settings({"l": 0}) == HoGS(l=0)
    with pytest.raises(ValueError, match=r"--set tua: hogs has no such parameter; did you mean tau\?"):
        HoGS.from_settings({"tua": "1"})
    with pytest.raises(ValueError, match="--set l=two: not a value of type int"):
        HoGS.from_settings({"l": "two"})
    with pytest.raises(ValueError, match="tau=.*: must lie"):
        HoGS.from_settings({"tau": "nan"})


def test_shares_and_reporting() -> None:
    assert Budget(feature_share=0.0).feature_share == 0  # features are not asked
    for share in (1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="--feature-share"):
            Budget(feature_share=share)
    with pytest.raises(ValueError, match="--reporting"):
        Budget(reporting="neither")  # type: ignore[arg-type]


def test_settings_are_read_where_annotations_are_not_deferred() -> None:
    """A method of somebody else's may have classes where ours have text."""
    given = [("share", float, 0.5), ("hops", int, 2), ("deep", bool, False)]
    made = make_dataclass("Other", given, bases=(Method,), frozen=True)
    made.spec = MethodSpec(name="other")  # type: ignore[attr-defined]
    method = made.from_settings({"share": ".25", "hops": "3", "deep": "true"})  # type: ignore[attr-defined]
    assert (method.share, method.hops, method.deep) == (0.25, 3, True)
    with pytest.raises(ValueError, match="--set hops=x: not a value of type int"):
        made.from_settings({"hops": "x"})  # type: ignore[attr-defined]
    for text, deep in (("true", True), ("1", True), ("False", False), ("0", False)):
        assert made.from_settings({"share": 1, "hops": 1, "deep": text}).deep is deep  # type: ignore[attr-defined]


def test_an_error_names_the_budget_unless_it_names_an_option() -> None:
    budget = Budget(epsilon=4.0)
    for given, value, said in ((3.0, 3.0, "--eps-features 3: no"), (None, 4.0, "--epsilon 4: no"),
                               (None, 2.0, "--epsilon 4 (here 2 of it for one entry): no")):  # fmt: skip
        with (
            pytest.raises(ValueError, match=f"^{re.escape(said)}$"),
            option_in_errors("--eps-features", given, budget, value),
        ):
            raise ValueError("no")
    with pytest.raises(ValueError, match="^--set m=9: no$"), option_in_errors("--eps-features", 3.0, budget, 3.0):
        raise SettingError("m=9", "no")


_WRONG: dict[type, tuple[Any, ...]] = {str: ("?",), int: (-(10**9), 10**10), float: (math.nan, -1.0)}


@pytest.mark.parametrize("name", methods.BUILT_IN)
def test_a_setting_outside_its_range_is_one_clear_line(name: str) -> None:
    """Every setting but seeds, and the numbers of queries and neighbours, which data bound."""
    kind = methods.find(name)
    usual = kind()
    for setting in fields(kind):  # type: ignore[arg-type]
        option, written = setting.name.rstrip("_").replace("_", "-"), paper_name(setting.name)
        if setting.metadata.get("unused"):
            continue
        for value in _WRONG.get(type(getattr(usual, setting.name)), ()):
            if setting.name.endswith("seed") or (setting.name in ("queries", "K") and value > 0):
                continue
            with pytest.raises(ValueError, match=rf"^--(set {written}=|{option} )[^\n]*$"):
                kind(**{setting.name: value})  # type: ignore[call-arg]
