"""Sums over collections of the same people, by hand and against the run that makes the same collections."""

from __future__ import annotations

from typing import Any

import pytest

from ldpsim.curator.privacy.level import Level, OfOne
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies.outputs.sums import added, in_all, of_repeats


def result(method: str = "hogs", reports: str = "a", *, collections: int = 1, people: str = "mine.npz",
           digest: str = "d", seeded: bool = False, asked: int = 60, trust: str = "untrusted curator",
           noise: int | None = None, **holds: Level) -> dict[str, Any]:  # fmt: skip
    return {
        "method": method,
        "dataset": {"name": people, "digest": digest},
        "devices": {"asked": asked, "reports_sha256": reports},
        "simulation_seeded": seeded,
        "seeds": {"noise": noise},
        "privacy": {"trust": trust, "collections": collections,
                    "holds": {name: holds.get(name, Level("not asked")).to_dict() for name in LEVELS}},
    }  # fmt: skip


def test_losses_and_deltas_add_and_what_is_in_clear_once_stays_so() -> None:
    bounded, asked = Level("bounded", 0.1, 1e-6).to_dict(), Level("not asked").to_dict()
    rest = Level("unprotected", private_value=2.0, private_delta=1e-6, public=("features",)).to_dict()
    clear = Level("unprotected").to_dict()
    found = added([{"a": bounded, "b": bounded, "c": bounded, "d": asked, "e": clear},
                   {"a": bounded, "b": rest, "c": clear, "d": asked, "e": clear},
                   {"a": bounded, "b": asked, "c": bounded, "d": asked, "e": clear}])  # fmt: skip
    assert (found["a"]["value"], found["a"]["delta"], found["a"]["kind"]) == (0.3, pytest.approx(3e-6), "bound")
    assert (found["b"]["status"], found["b"]["value"], found["b"]["private_value"]) == ("unprotected", None, 2.1)
    assert [found[name]["status"] for name in "cde"] == ["unprotected", "not asked", "unprotected"]
    assert found["c"]["private_value"] is None


def test_collections_that_were_really_made_add_over_methods_and_repeats() -> None:
    one, more = Level("bounded", 2.0), Level("bounded", 6.0, of_one=OfOne(2.0, 0.0, 3))
    records = [
        result(user=one),
        result("sbp", "a", user=Level("bounded", 2.5)),  # reads the reports of the first one: they count once
        result("rgnn", "b", collections=3, user=more),
        result("privgnn", "", asked=0, trust="trusted curator", seeded=True, central_node=one),
        result("gap", "", asked=0, trust="trusted curator", seeded=True, central_node=one),
        result("raw", "", asked=0, trust="none", seeded=True, user=Level("unprotected")),  # asks nobody
        result("hogs", "c", seeded=True, noise=1, user=Level("unprotected")),  # a simulation
        result("gap", "", asked=0, trust="trusted curator", seeded=True, noise=1, central_node=one),
        result("hogs", "d", people="others.npz", user=one),
    ]
    (found,) = in_all(records).values()
    assert (found.people, found.collections, found.holds["user"]["value"]) == ("mine.npz", 6, 8.5)
    assert found.holds["central_node"]["value"] == 4.0
    assert found.text == ("6 collections asked the same people (mine.npz), and losses add: a person 8.5, "
                          "a person in owned data 4.")  # fmt: skip


def test_parts_of_one_data_set_may_share_people_and_made_up_people_have_a_seed() -> None:
    level = Level("bounded", 1.0)
    parts = [result(reports=name, digest=name, user=level) for name in "ab"]
    assert [found.collections for found in in_all(parts).values()] == [2]
    assert not in_all([{**each, "dataset": {**each["dataset"], "name": "generated"}} for each in parts])


@pytest.mark.parametrize("seeded", [False, True])
def test_the_sum_over_the_repeats_of_a_run(seeded: bool) -> None:
    level = Level("bounded", 6.0, of_one=OfOne(2.0, 0.0, 3))
    found = of_repeats(result(collections=3, seeded=seeded, user=level, label=Level("unprotected")))
    assert found is not None and found.text == (
        "If 3 collections asked the same people, losses would add: a person 6; in clear: a person's label."
        if seeded else
        "3 collections asked the same people (mine.npz), and losses add: a person 6; in clear: a person's label."
    )  # fmt: skip
    assert of_repeats(result(user=Level("bounded", 2.0))) is None
