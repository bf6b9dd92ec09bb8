"""Options of `ldpsim poison`: mistakes in one line, and the cells that they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strategies.attacks.poison.campaign import all_cells
from strategies.attacks.poison.options import PoisonOptions, budgets

Asked = Callable[..., PoisonOptions]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"attacks": ("fake",)}, "--attack fake: must be one of .*, silent; did you mean fakes"),
        ({"shares": (0.0, 1.0)}, "--shares 1: a share of all people, 0 or more and below 1"),
        ({"shares": (-0.1,)}, "--shares -0.1: a share"),
        ({"shares": (0.0,)}, "--shares 0: at least one share above 0"),
        ({"targets": 0}, "--targets 0: must be 1 or more"),
        ({"lies": ("inputs",)}, "--lie inputs: .*did you mean input"),
        ({"goal": "infalte"}, "--goal infalte: .*did you mean inflate"),
        ({"knowledge": "some"}, "--knowledge some: must be one of none, own, neighbours, all"),
        ({"defences": ("both",)}, "--defence both: .*both-ends"),
        ({"epsilons": (0.0,)}, "--epsilon 0: the total budget must be a number above 0"),
        ({"false_alarm": 1.0}, "--false-alarm 1: must be above 0 and at most 0.5"),
        ({"run": {"engine": "flower"}}, "--engine flower: lying devices run on"),
        ({"run": {"dropout": 0.1}}, "--dropout 0.1: silent devices are the control"),
        ({"run": {"settings": {"nothing": "1"}}}, "--set nothing=1: hogs has no such parameter"),
    ],
)
def test_mistakes_are_one_line(asked: Asked, given: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line) as error:
        asked(**given)
    assert "\n" not in str(error.value)


def test_mistakes_that_need_the_people(asked: Asked) -> None:
    with pytest.raises(ValueError, match=r"--attack degree-cap: fits no report of hogs \(these do: all-ones, "):
        all_cells(asked(attacks=("degree-cap",)))
    with pytest.raises(ValueError, match="fits no report of raw"):
        all_cells(asked("raw"))
    with pytest.raises(ValueError, match="--target-class 9: the classes are 0 to 5"):
        all_cells(asked(target_class=9))


def test_the_control_is_always_there(asked: Asked) -> None:
    cells = all_cells(asked(attacks=("fakes",), shares=(0.1, 0.2), defences=("both-ends",)))
    kinds = [(cell.attack, cell.lie, cell.share, cell.defence) for cell in cells]
    assert len(set(kinds)) == len(kinds) == 2 + 2 * (1 + 2 + 2)
    assert kinds[:2] == [("none", "", 0.0, "none"), ("none", "", 0.0, "both-ends")]
    for share in (0.1, 0.2):
        assert ("silent", "", share, "none") in kinds
        assert ("fakes", "input", share, "both-ends") in kinds
    assert [cell.options.defence for cell in cells[:2]] == ["none", "both-ends"]


def test_each_method_has_the_attacks_that_fit_it(asked: Asked) -> None:
    def attacks(method: str) -> set[str]:
        return {cell.attack for cell in all_cells(asked(method))} - {"none", "silent"}

    assert attacks("hogs") == {"all-ones", "mimic", "fakes", "extreme-bit", "copy"}
    assert attacks("blink") == {"all-ones", "mimic", "fakes", "degree-cap"}
    assert attacks("lpgnn") == {"flip-label", "one-label", "extreme-feature", "copy"}
    assert attacks("ldpgen") == {"group-mass"}
    assert attacks("fedavg-mlp") == {"flip-label", "one-label", "same-direction"}
    assert attacks("vote") == {"flip-label", "one-label"}


def test_goals_about_edges_need_edges(asked: Asked) -> None:
    goals = {cell.options.method: cell.goal for cell in all_cells(asked("hogs", "lpgnn", attacks=("copy",)))
             if cell.attack == "copy"}  # fmt: skip
    assert goals == {"hogs": "connect", "lpgnn": "untargeted"}


def test_budgets(asked: Asked) -> None:
    both = asked("hogs", "fedavg-mlp", epsilons=(1.0, 4.0))
    assert [options.epsilon for options in budgets(both, "hogs")] == [1.0, 4.0]
    assert [options.epsilon for options in budgets(both, "fedavg-mlp")] == [None]  # its answers have no budget


def test_raw_records_have_one_kind_of_lie(asked: Asked) -> None:
    cells = all_cells(asked("silo-fedavg-gcn", run={"settings": {"silos": "3", "rounds": "2"}}))
    assert {(cell.attack, cell.lie) for cell in cells if cell.lie} == {
        ("fakes", "input"), ("flip-label", "input"), ("one-label", "input"), ("copy", "input"),
        ("same-direction", "response"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"inject": (-1.0,)}, "--inject -1: a share of the honest people, 0 or more and below 1, or a number"),
        ({"inject": (1.5,)}, "--inject 1.5: a share"),
        ({"inject": (1e15,)}, "--inject 1e\\+15: a share"),
        ({"inject": (0.0,)}, "--inject 0: at least one number above 0 is needed"),
        ({"inject": (0.1,), "attacks": ("fakes",)}, "--attack fakes: is a lie of people who are there"),
        ({"inject": (0.1,), "goal": "hide"}, "--goal hide: accounts that join have no edges"),
        ({"inject": (0.1,), "knowledge": "own"}, "--knowledge own: accounts that join copy people"),
        ({"inject": (0.1,), "run": {"volunteers": 0.1}}, "--volunteers: accounts that join are measured without"),
        ({"attacks": ("join-class",)}, "--attack join-class: is an attack of accounts that join, so it needs --inject"),
    ],
)
def test_mistakes_about_accounts_are_one_line(asked: Asked, given: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line) as error:
        asked(**given)
    assert "\n" not in str(error.value)


def test_accounts_that_cannot_join(asked: Asked) -> None:
    with pytest.raises(ValueError, match="privgnn: its records are in the hands of an owner"):
        asked("privgnn", inject=(0.1,))
    with pytest.raises(
        ValueError, match="--inject 61: at most as many accounts as honest people, of whom there are 60"
    ):
        all_cells(asked(inject=(61.0,)))
    with pytest.raises(ValueError, match="--attack join-flood: fits no report of fedavg-mlp .*join-random, join-class"):
        all_cells(asked("fedavg-mlp", inject=(0.1,), attacks=("join-flood",)))


def test_cells_of_accounts(asked: Asked) -> None:
    cells = all_cells(asked(inject=(6.0, 0.1), attacks=("join-class",)))
    kinds = [(cell.attack, cell.lie, cell.share) for cell in cells]
    assert kinds[0] == ("none", "", 0.0) and ("silent", "", 6.0) in kinds and ("join-class", "input", 0.1) in kinds
    assert len({cell.name for cell in cells}) == len(cells) == 1 + 2 * (1 + 2)
    plain = all_cells(asked(attacks=("fakes",), shares=(0.1,)))
    assert not {cell.name for cell in cells[1:]} & {cell.name for cell in plain}
    assert cells[0].name == plain[0].name  # nobody lies and nobody joins
