"""Rows of the result: cells of the same lies in several repeats, beside share 0 and beside silence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from devices.array_types import IntArray
from strategies.attacks.campaign import AttackRow
from strategies.attacks.liars.attacks import SILENT
from strategies.attacks.poison.cell import honest_of, liars_of, set_up_cell, targets_of, unpacked_classes
from strategies.attacks.poison.joined import Joined
from strategies.attacks.poison.laws import laws_of, rare_events
from strategies.attacks.poison.options import NONE, PoisonCell

BREAKDOWN = 0.05  # of accuracy less than with silent liars
HALF_A_POINT = 0.005
CellResults = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class _Repeat:
    """One cell of a row, with what it is compared with."""

    cell: PoisonCell
    now: Mapping[str, Any]
    clean: Mapping[str, Any]
    silent: Mapping[str, Any] | None
    bare: Mapping[str, Any] | None  # the same lies without the defence
    labels: IntArray
    honest: IntArray  # test people who do not lie
    others: IntArray  # people who do not lie
    liars: IntArray
    targets: IntArray
    yardstick: Mapping[str, float | None]  # of :meth:`strategies.attacks.poison.joined.Joined.one_hop`

    def accuracy(self, result: Mapping[str, Any]) -> float:
        """Return the accuracy of honest test people."""
        return float(np.mean(unpacked_classes(result["predictions"])[self.honest] == self.labels[self.honest]))

    @property
    def honest_reports(self) -> Mapping[str, Any]:
        """The result with the same people and noise, in which nobody lies."""
        return self.silent if self.cell.joins and self.silent is not None else self.clean

    def one_hop(self, name: str) -> float | None:
        """Return a figure of the vote of the true neighbours; None where theory has none."""
        found = self.yardstick.get(name)
        return None if found is None else float(found)

    def edges(self, result: Mapping[str, Any], name: str) -> float | None:
        found = result.get("edges", {}).get(self.cell.amount, {}).get(name)
        return None if found is None else float(found)

    def goal(self, result: Mapping[str, Any]) -> float | None:
        """Return the measure of the goal; that of a cell without lies is its value at share 0."""
        goal, chosen = self.cell.goal, self.cell.asked.target_class
        predicted = unpacked_classes(result["predictions"])
        if goal == "untargeted":
            return self.accuracy(result)
        if goal == "misclassify":
            return float(np.mean(predicted[self.targets] == chosen)) if len(self.targets) else None
        if goal == "inflate":
            return float(np.mean(predicted[self.others] == chosen))
        if goal == "influence":
            rank = result.get("rank", {}).get("rank")
            return None if rank is None else float(rank)
        if goal == "connect":
            return self.edges(result, "connected")
        lost, true = self.edges(result, "true_lost"), self.edges(result, "true")
        return None if lost is None or not true else lost / true

    def flagged(self) -> tuple[float | None, float | None]:
        """Return the shares of the liars and of the honest whom the defence flagged."""
        who = self.now["flagged"]
        if who is None:
            return None, None
        found = np.isin(self.liars, who).mean() if len(self.liars) else None
        return None if found is None else float(found), float(np.isin(self.others, who).mean())


def poison_rows(cells: Sequence[PoisonCell], results: CellResults) -> list[dict[str, Any]]:
    """Return a row for each kind of cell that has a result, in the order of the cells."""
    together: dict[tuple[Any, ...], list[PoisonCell]] = {}
    for cell in cells:
        if cell.name in results:
            together.setdefault(_key(cell), []).append(cell)
    return [_row(group, results) for group in together.values()]


def _key(cell: PoisonCell) -> tuple[Any, ...]:
    return (cell.options.method, cell.options.epsilon, cell.attack, cell.lie, cell.goal, cell.share, cell.defence)


def _beside(cell: PoisonCell, attack: str, share: float) -> str:
    """Return the name of the cell of the same people without these lies and without a defence."""
    return replace(cell, attack=attack, lie="", goal="untargeted", share=share, defence=NONE).name


def _repeat(cell: PoisonCell, results: CellResults) -> _Repeat | None:
    clean = results.get(_beside(cell, NONE, 0.0))
    if clean is None:
        return None
    setup = set_up_cell(cell)
    everybody = np.arange(len(setup.population))
    liars = liars_of(cell, len(everybody))
    return _Repeat(
        cell, results[cell.name], clean, results.get(_beside(cell, SILENT, cell.share)),
        None if cell.defence == NONE else results.get(replace(cell, defence=NONE).name), setup.population.labels,
        np.setdiff1d(setup.repeats[cell.number].split.test, liars), np.setdiff1d(everybody, liars), liars,
        targets_of(cell, setup), Joined(cell, honest_of(cell)).one_hop(setup) if cell.joins and cell.share else {},
    )  # fmt: skip


def _row(cells: Sequence[PoisonCell], results: CellResults) -> dict[str, Any]:
    repeats = [found for cell in cells if (found := _repeat(cell, results)) is not None]
    first = cells[0]
    accuracies = [part.accuracy(part.now) for part in repeats]
    laws = [laws_of(part.now["reports"], part.honest_reports["reports"], first.asked.target_class)
            for part in repeats if "reports" in part.now and "reports" in part.honest_reports]  # fmt: skip
    main = [found[0] for found in laws if found]
    laws += [[law] for part in repeats if (law := _alarms(part)) is not None]
    alarms = [part.flagged() for part in repeats]
    clean = [part.accuracy(part.clean) for part in repeats]
    silent = [(part.accuracy(part.now) - part.accuracy(part.silent)) for part in repeats if part.silent is not None]
    bare = [part.accuracy(part.now) - part.accuracy(part.bare) for part in repeats if part.bare is not None]
    goal = _mean(part.goal(part.now) for part in repeats)
    false_alarms = _mean(honest for _, honest in alarms)
    all_laws = [law for found in laws for law in found]
    return {
        "method": first.options.method, "attack": first.attack, "goal": first.goal, "share": _share(first),
        "defence": first.defence, "accuracy": _mean(accuracies), "target_success": goal,
        "bound": _mean(law["bound"] for law in main), "honest_rejected": false_alarms,
        "epsilon": first.options.epsilon, "lie": first.lie, "knowledge": first.asked.knowledge,
        "liars": len(repeats[0].liars) if repeats else None,
        "accounts": len(repeats[0].liars) if repeats and first.joins else None,
        "per_point": _per_point(len(repeats[0].liars), _mean(silent)) if repeats and first.joins else None,
        "one_hop_lost": _mean(part.one_hop("lost") for part in repeats),
        "one_hop_per_point": _mean(part.one_hop("per_point") for part in repeats),
        "one_hop_goal": _mean(part.one_hop("goal") for part in repeats),
        "honest_test": len(repeats[0].honest) if repeats else None, "repeats": len(repeats),
        "std": _std(accuracies), "vs_clean": _mean(a - b for a, b in zip(accuracies, clean, strict=True)),
        "vs_silent": _mean(silent), "vs_silent_std": _std(silent),
        "vs_undefended": _mean(bare), "goal_value": goal,
        "goal_clean": _mean(part.goal(part.clean) for part in repeats),
        "fakes_accepted": _mean(part.edges(part.now, "fakes_accepted") for part in repeats),
        "true_lost": _mean(part.edges(part.now, "true_lost") for part in repeats),
        "found": _mean(found for found, _ in alarms), "false_alarms": false_alarms,
        "law": main[0]["law"] if main else None, "measured": _mean(law["found"] for law in main),
        "theory": _mean(law["expected"] for law in main),
        "passed": all(law["passed"] for law in all_laws) if all_laws else None,
        "failed_laws": sorted({law["law"] for law in all_laws if not law["passed"]}),
        "nulls": repeats[0].now["nulls"] if repeats else {},
    }  # fmt: skip


def _share(cell: PoisonCell) -> float:
    """Return the share of liars; of accounts that were given as a number, the share of the honest people."""
    return cell.share if cell.share < 1 else cell.share / len(honest_of(cell))


def _per_point(accounts: int, gained: float | None) -> float | None:
    """Return the number of accounts for each point of accuracy that honest people lose; None below half a point."""
    return None if gained is None or gained > -HALF_A_POINT else accounts / (-100 * gained)


def _alarms(part: _Repeat) -> dict[str, Any] | None:
    """Return the law of false alarms: an honest population raises no more than is stated."""
    if part.now["flagged"] is None or part.cell.share:
        return None  # where somebody lies, honest people differ from what others say as well
    defences = part.cell.options.defences()
    return rare_events("false alarms", len(part.now["flagged"]), part.cell.options.false_alarm * len(defences))


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _std(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def breakdown(rows: Sequence[AttackRow]) -> dict[str, float | None]:
    """Return, for each kind of lie, the smallest share that costs 5 points more than silence; None: no such share."""
    found: dict[str, float | None] = {}
    for row in rows:
        if row["attack"] in (NONE, SILENT):
            continue
        name = kind_of(row)
        found.setdefault(name, None)
        if row["vs_silent"] is not None and row["vs_silent"] <= -BREAKDOWN:
            found[name] = min(row["share"], found[name] or 1.0)
    return found


def kind_of(row: AttackRow) -> str:
    """Return a row's method, budget, attack, lie and defence in one line."""
    defence = "" if row["defence"] == NONE else row["defence"]
    parts = (row["method"], budget_in_words(row["epsilon"]), row["attack"], row["lie"], defence)
    return " ".join(part for part in parts if part)


def budget_in_words(epsilon: float | None) -> str:
    """Return a budget in a few letters, nothing for a method's own."""
    return "" if epsilon is None else f"eps {epsilon:g}"
