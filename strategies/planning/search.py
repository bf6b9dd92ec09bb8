"""Search for the smallest budget of each method that reaches a target, in miniature.

    bisection on small graphs -> the budget found, on larger graphs too -> what these add -> bisection again

The second bisection aims at the target less what these add, so that the budget is that of the larger graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from curator.methods import find
from strategies.planning.race import Race, Trialled
from strategies.planning.rows import PlanRow
from strategies.planning.worth import Worth
from strategies.setup.options import RunOptions

EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0)  # that a search for a target tries
NEAR = 0.15  # of accuracy: what is further from the target on a small graph is not tried on larger ones
_SEARCH, _LARGER = 0.6, 0.9  # parts of the time after which no further run of these is begun

Worths = Callable[[], Mapping[Trialled, Worth]]


def cheapest(
    race: Race, rows: Mapping[str, PlanRow], target: float, make: Callable[[RunOptions], PlanRow], worths: Worths
) -> tuple[dict[str, PlanRow], dict[str, Trialled]]:  # fmt: skip
    """Return each method's row at the smallest budget with the target, and the key of that setting in the race.

    A method that does not reach it has its largest budget.

    Args:
        race: The race.
        rows: Rows with any budget.
        target: The wanted accuracy.
        make: Makes the row of other options; ValueError for options that do not fit.
        worths: Returns the likely worth at the full size of all settings that were run.
    """
    made: dict[Trialled, PlanRow] = {}
    kept = dict(rows)
    for name, row in rows.items():
        own = find(name).own_budget
        for budget in EPSILONS if own is None else own.tried:
            try:
                made[name, budget] = make(_at(row.options, budget))
            except ValueError as error:
                kept[name] = row.with_reasons(f"no setting: {' '.join(str(error).split())}")
    aims = {name: target for name, _ in made}
    small, large = race.sizes[0], race.sizes[:2][-1]
    for _ in range(2):
        found = _bisected(race, made, aims, small)
        several = {found[name]: made[found[name]].options for name in found}
        near = {key for key in several if (race.mean(key) or 0.0) >= aims[key[0]] - NEAR}
        race.run(several, small, share=_LARGER)
        if large > small:
            race.run(several, large, near.__contains__, share=_LARGER)
        seen = worths()
        aims = {key[0]: target - (seen[key].test - (race.mean(key) or 0.0)) for key in near if key in seen}
    keys: dict[str, Trialled] = {}
    for name in rows:
        tried = sorted(key for key in worths() if key[0] == name and key in made and large in race.scores[key])
        tried = tried or sorted(key for key in race.scores if key[0] == name)
        if tried:
            reached = [key for key in tried if key in worths() and worths()[key].test >= target]
            keys[name] = reached[0] if reached else tried[-1]
            kept[name] = made[keys[name]]
    return kept, keys


def _bisected(
    race: Race, made: Mapping[Trialled, PlanRow], aims: Mapping[str, float], size: int
) -> dict[str, Trialled]:
    """Return each method's smallest budget whose mean on small graphs reaches its aim; the largest one if none does."""
    ladder = {name: [key for key in made if key[0] == name] for name in aims}
    span = {name: (0, len(keys) - 1) for name, keys in ladder.items()}
    best = {name: keys[-1] for name, keys in ladder.items()}
    first, again = True, set[str]()
    while span:
        tried = {name: ladder[name][high if first else (low + high) // 2] for name, (low, high) in span.items()}
        race.run({key: made[key].options for key in tried.values()}, size, graphs=1, share=_SEARCH)
        for name, key in tried.items():
            low, high = span[name]
            middle, mean = ladder[name].index(key), race.mean(key)
            if mean is not None and mean >= aims[name]:
                best[name], high = key, middle - 1
                low = 0 if name in again else low
                again.discard(name)
            elif first and mean is not None:
                low = high = (low + high) // 2  # some methods are worse with more: one try in the middle
                again.add(name)
            else:
                low = high + 1 if mean is None else middle + 1
            span[name] = low, high
        span = {name: (low, high) for name, (low, high) in span.items() if low <= high}
        first = False
    return best


def _at(options: RunOptions, budget: float) -> RunOptions:
    if (own := find(options.method).own_budget) is not None:
        return replace(options, settings={**options.settings, own.parameter: repr(budget)})
    return replace(options, epsilon=budget)
