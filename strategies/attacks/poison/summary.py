"""The worst cost of lies: for each method and share of liars the worst attack, and the best defence against it.

The worst attack is the one after which accuracy is lowest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ldpsim.strategies.attacks.poison.lies import CHOSEN_PEOPLE, NONE, SILENT
from ldpsim.strategies.results.numbers import points
from ldpsim.strategies.results.rows import Row


@dataclass(frozen=True)
class Damage:
    """Damage of a share of liars to a method; a share of 0 is the method without liars.

    Args:
        name: The method, with its epsilon where it has several.
        honest: Row without liars.
        worst: Row of the worst attack without a defence; of no attack where nobody lies.
        chosen: Largest share of the chosen people who got the class that the liars want, over all attacks.
        defended: Row of the best defence against the worst attack; None where none was run.
    """

    name: str
    honest: Row
    worst: Row
    chosen: float | None
    defended: Row | None

    @property
    def lost(self) -> float:
        """Accuracy that the liars cost, as a share; below 0 where it rose."""
        return float(self.honest["accuracy"] - self.worst["accuracy"])

    @property
    def lost_by_silence(self) -> float | None:
        """Accuracy that as many silent people cost."""
        beside = self.worst["vs_silent"]
        return None if beside is None else self.lost + float(beside)


def damages(rows: Sequence[Row]) -> list[Damage]:
    """Return the damages of each method, share by share; a method without a row of honest people has none."""
    methods: dict[tuple[str, float | None], list[Row]] = {}
    for row in rows:
        methods.setdefault((row["method"], row["epsilon"]), []).append(row)
    budgets, found = Counter(method for method, _ in methods), list[Damage]()
    for (method, epsilon), of_method in methods.items():
        name = method if budgets[method] == 1 else f"{method} {epsilon:g}"
        honest = next((row for row in of_method if row["attack"] == row["defence"] == NONE), None)
        if honest is None:  # its cell failed
            continue
        found.append(Damage(name, honest, honest, honest["chosen"], None))
        for share in sorted({row["share"] for row in of_method}):
            lies = [row for row in of_method if row["share"] == share and row["attack"] not in (NONE, SILENT)]
            undefended = [row for row in lies if row["defence"] == NONE]
            if not undefended:
                continue
            worst = min(undefended, key=lambda row: float(row["accuracy"]))
            defended = [row for row in lies if row["defence"] != NONE and row["attack"] == worst["attack"]]
            chosen = max((row["chosen"] for row in undefended if row["chosen"] is not None), default=None)
            best = max(defended, key=lambda row: float(row["accuracy"]), default=None)
            found.append(Damage(name, honest, worst, chosen, best))
    return found


def damage_text(found: Sequence[Damage]) -> str:
    """Return the sentences about the largest damage: accuracy, chosen people, and what the best defence gives back."""
    lies = [each for each in found if each.worst is not each.honest]
    if not lies:
        return "No attack has a result."
    most = max(lies, key=lambda each: each.lost)
    row, after = most.worst, f"{points(most.honest['accuracy'])} to {points(most.worst['accuracy'])} %"
    who = f"{row['liars']:,} liars ({100 * row['share']:.3g} %)"
    cost = f"cost {most.name} {points(most.lost)} points of accuracy" if most.lost > 0 else "cost no accuracy"
    sentences = [f"At worst {who} {cost}: {after} ({row['attack']})."]
    moving = max(lies, key=lambda each: (each.chosen or 0.0) - (each.honest["chosen"] or 0.0))
    if moving.chosen is not None and moving.chosen > (moving.honest["chosen"] or 0.0):
        sentences.append(f"Of {CHOSEN_PEOPLE} chosen people, {points(moving.chosen, 0)} % get the liars' class in "
                         f"{moving.name} ({points(moving.honest['chosen'], 0)} % if nobody lies).")  # fmt: skip
    if most.defended is None:
        sentences.append("No defence was run (--defence all).")
    else:
        back, name = float(most.defended["accuracy"] - row["accuracy"]), most.defended["defence"]
        sentences.append(f"The best defence, {name}, gives back {points(back)} points." if back > 0 else
                         "No defence gives anything back.")  # fmt: skip
    return " ".join(sentences)
