from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from ldpsim.devices.query import MAX_BYTES
from ldpsim.strategies.planning.in_clear import PublicData
from ldpsim.strategies.planning.rows import PlanRow
from ldpsim.strategies.planning.wishes import Wishes, chosen, judged, missed_on_paper, ranked
from ldpsim.strategies.planning.worth import Worth
from ldpsim.strategies.setup.options import RunOptions


def row(method: str, value: float | None, test: float | None, size: float = 100.0, **more: Any) -> PlanRow:
    entry = {"status": "unprotected" if value is None else "bounded", "value": value, "delta": 0.0, "detail": "",
             "level": "user"}  # fmt: skip
    figures = {"bytes_per_device": size, "fits": True, "memory_bytes": 1e9, "question_bytes": 100.0, **more}
    over = None if test is None else {"value": test - 0.25, "low": test - 0.3, "high": test - 0.2}
    worth = None if test is None else Worth(test, None, "chance", 0.25, over)
    return PlanRow(RunOptions(method=method), figures, entry, worth=worth)


def test_a_chance_of_a_right_guess_is_a_loss() -> None:
    assert Wishes(max_attack=0.9).loss == pytest.approx(math.log(9))
    assert Wishes(max_attack=0.9, holds=1.0).loss == 1.0
    assert Wishes().loss is None and Wishes(level="central-node").level == "central_node"


@pytest.mark.parametrize(("given", "why"), [
    (row("rr", 5.0, 0.6), "5 holds at the level of a person, above 4"),
    (row("rr", None, 0.6), "unprotected at the level of a person"),
    (row("rr", 4.0, 0.6, size=2000), "more than 1,000 bytes a device"),
    (row("rr", 4.0, 0.6, fits=False), "does not fit the memory of this machine"),
    (row("rr", 4.0, 0.6, question_bytes=5e6), "its question has 5.0 MB, and a device reads 4.2"),
    (row("rr", 4.0, 0.2), "not better than asking nobody (chance: 25 %)"),
    (row("rr", 4.0, 0.28), "not measurably better than asking nobody (chance: 25 %)"),
])  # fmt: skip
def test_every_wish_that_is_missed_has_its_reason(given: PlanRow, why: str) -> None:
    wishes = Wishes(holds=4.0, max_bytes=1000)
    assert any(why in said for said in judged(given, wishes).why)
    assert judged(row("rr", 4.0, 0.6), wishes).meets


def test_what_is_missed_on_paper_needs_no_rehearsal() -> None:
    wishes = Wishes(holds=4.0, max_bytes=1000)
    assert missed_on_paper(row("rr", 4.0, 0.1, fits=False), wishes) == []
    assert len(missed_on_paper(row("rr", 5.0, None, size=2000, question_bytes=5e6), wishes)) == 3


def test_a_level_about_which_nothing_is_asked_loses_nothing() -> None:
    given = row("ldp-fedavg", None, 0.6)
    given = replace(given, at_level={**given.at_level, "status": "not asked"})
    assert given.loss == 0.0 and missed_on_paper(given, Wishes(holds=1.0)) == []
    assert missed_on_paper(row("rr", None, 0.6), Wishes(holds=1.0))


def test_the_choice_has_the_best_rehearsal_or_without_any_the_least_loss() -> None:
    rows = [row("rr", 4.0, 0.6), row("vote", 2.0, 0.55), row("hogs", 8.0, 0.9).with_reasons("too slow")]
    assert chosen(rows, Wishes(), "on these") == (rows[0], "60 % (on these), the best of 2 that meet the wishes")
    assert [each.method for each in ranked(rows, Wishes())] == ["rr", "vote"]
    bare = [replace(each, worth=None) for each in rows]
    assert chosen(bare, Wishes()) == (
        bare[1], "the least loss at the level of a person, then the fewest bytes; nothing was rehearsed"
    )  # fmt: skip


def test_no_choice_names_the_nearest() -> None:
    rows = [row("rr", 4.0, 0.6).with_reasons("a", "b"), row("vote", 2.0, 0.5).with_reasons("too large")]
    said = "none, because no method meets every wish; the nearest is vote: too large"
    assert chosen(rows, Wishes()) == (None, said)
    assert chosen([], Wishes()) == (None, "none, because no method can be asked like that")


VOLUNTEERS, LABELS = PublicData(volunteers=True, share=0.1), PublicData(labels=True, share=0.75)
FEATURES = PublicData(("features",), labels=True, share=0.75)


@pytest.mark.parametrize("level", ["user", "node"])
def test_where_a_loss_is_wished_for_a_whole_record_less_in_clear_comes_before_accuracy(level: str) -> None:
    def at(method: str, test: float, public: PublicData, held: str = level) -> PlanRow:
        made = row(method, 4.0, test)
        return replace(made, in_clear=public, at_level={**made.at_level, "level": held})

    rows = [at("blink", 0.9, FEATURES), at("sbp", 0.8, LABELS), at("vote", 0.6, VOLUNTEERS),
            at("ldp-fedavg", 0.5, PublicData()), at("pate-m", 0.95, PublicData(), "central_node")]  # fmt: skip
    wished = Wishes(level, holds=4.0)
    assert [each.method for each in ranked(rows, wished)] == ["vote", "ldp-fedavg", "sbp", "blink", "pate-m"]
    assert chosen(rows, wished, "here") == (
        rows[2], "60 % (here), the best of 2 that meet the wishes with the least in clear"
    )  # fmt: skip
    only = "80 % (here), the only one that meets the wishes with the least in clear"
    assert chosen(rows[:2], wished, "here") == (rows[1], only)
    bare = [replace(each, worth=None) for each in rows]
    assert chosen(bare, wished)[0] is bare[2] and chosen(bare, wished)[1].startswith("the least in clear, then the ")
    # Otherwise accuracy alone decides: nothing is wished for the rest of the record.
    for other in (Wishes(level), Wishes("relationship", holds=4.0)):
        assert [each.method for each in ranked(rows, other)] == ["pate-m", "blink", "sbp", "vote", "ldp-fedavg"]


def test_a_row_that_says_no_more_than_asking_nobody_gives_way_to_one_with_more_in_clear() -> None:
    silent, wished = replace(row("vote", 4.0, 0.28), in_clear=VOLUNTEERS), Wishes(holds=4.0)
    rows = [judged(each, wished) for each in (silent, replace(row("blink", 4.0, 0.9), in_clear=FEATURES))]
    assert chosen(rows, wished)[0] is rows[1]


@pytest.mark.parametrize(("name", "taken", "refused"), [
    ("holds", 1e-9, 0.0), ("holds", 1e300, math.inf),
    ("max_bytes", 0.0, -1e-9), ("max_attack", 0.5001, 0.5), ("max_attack", 0.9999, 1.0), ("level", "user", "users"),
])  # fmt: skip
def test_the_limits_of_the_wishes(name: str, taken: Any, refused: Any) -> None:
    assert getattr(Wishes(**{name: taken}), name) == taken
    with pytest.raises(ValueError, match="--"):
        Wishes(**{name: refused})


@pytest.mark.parametrize(("given", "wishes", "why"), [
    (row("rr", 4.039, None), Wishes(holds=4.0), ()),
    (row("rr", 4.041, None), Wishes(holds=4.0), ("4.041 holds at the level of a person, above 4",)),
    (row("rr", math.log(9) * 1.005, None), Wishes(max_attack=0.9), ("a guess is right with a chance of 90.1 %",)),
    (row("rr", math.log(9) * 1.005, None), Wishes(holds=math.log(9)), ()),
    (row("rr", math.log(9) + 0.0005, None), Wishes(max_attack=0.9), ()),
    (row("rr", None, None).with_reasons("no setting"), Wishes(holds=1.0), ("no setting",)),
    (row("rr", 1.0, None, size=1000), Wishes(max_bytes=1000), ()),
    (row("rr", 1.0, None, size=1001), Wishes(max_bytes=1000), ("more than 1,000 bytes a device",)),
    (row("rr", 1.0, None, size=1e9), Wishes(), ()),
    (row("rr", 1.0, None, question_bytes=MAX_BYTES), Wishes(), ()),
    (row("rr", 1.0, None, fits=None), Wishes(), ()),
    (row("rr", 1.0, 0.31), Wishes(), ()),
    (row("rr", 1.0, 0.25), Wishes(), ("not better than asking nobody (chance: 25 %)",)),
    (replace(row("rr", 1.0, 0.2), worth=Worth(0.2)), Wishes(), ()),
])  # fmt: skip
def test_the_reasons_of_a_row_at_the_limits(given: PlanRow, wishes: Wishes, why: tuple[str, ...]) -> None:
    found = judged(given, wishes)
    assert found.why == why


def test_losses_that_are_alike_are_ordered_by_bytes_and_the_nearest_by_reasons_then_worth() -> None:
    rows = [row("rr", 2.004, 0.6, 300.0), row("vote", 1.996, 0.5, 400.0), row("hogs", 1.98, 0.4, 900.0),
            row("sbp", None, 0.9, 1.0)]  # fmt: skip
    bare = [replace(each, worth=None) for each in rows]
    assert [each.method for each in ranked(bare, Wishes())] == ["hogs", "rr", "vote", "sbp"]
    assert [each.method for each in ranked(rows, Wishes())] == ["sbp", "rr", "vote", "hogs"]
    rows[1] = bare[1]
    assert [each.method for each in ranked(rows, Wishes())] == ["sbp", "rr", "hogs"]
    assert [each.method for each in ranked([rows[1], rows[2].with_reasons("x")], Wishes())] == ["vote"]
    missed = [row("rr", 1.0, 0.4).with_reasons("a"), row("vote", 1.0, 0.6).with_reasons("b"),
              row("hogs", 1.0, 0.9).with_reasons("c", "d"),
              replace(row("sbp", 1.0, 0.9).with_reasons("e"), worth=None)]  # fmt: skip
    assert chosen(missed, Wishes())[1] == "none, because no method meets every wish; the nearest is vote: b"
