"""A curator who takes a plan's stages out of order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devices.mechanisms import GroupDegrees
from devices.query import Ask, Query
from strategies.adversaries.curator import AdversarialCurator, Shot, recollected


def two_stages(query: Query, n: int, *, groups: tuple[int, int] = (2, 3)) -> Query:
    """Return a plan of two stages about the neighbour list: the honest one where it has two, else LDPGen's.

    (Qin et al. 2017: counts in a random grouping first, then in one that the curator names.)
    """
    if len(query.plan) > 1:
        return query.at_stage(0)
    first = GroupDegrees.from_epsilon(0.5, n=n, groups=groups[0], seed=4)
    second = GroupDegrees.from_epsilon(0.5, n=n, groups=groups[1])
    return Query(query.collection, ((Ask("adjacency", (first,)),), (Ask("adjacency", (second,)),)))


class BrokenPlans(AdversarialCurator):
    """Stages skipped, repeated with other groupings, swapped, and joined to other plans.

    Devices have to be enrolled for the plan, or they refuse all of it.
    """

    name = "broken-plans"
    description = "skips, repeats and swaps a plan's stages, fills in other groupings, changes the plan on the way"

    def runs(self) -> Iterator[list[list[Shot]]]:
        n = self.target.facts.n
        plan = two_stages(self.target.query, n)
        groups = max([getattr(m, "groups", 2) for ask in plan.plan[-1] for m in ask.mechanisms] or [2])
        groupings = [tuple((j + shift) % groups for j in range(n)) for shift in range(max(2, self.asks))]
        last = len(plan.plan) - 1
        swapped = replace(plan, plan=plan.plan[::-1])
        rounds = [
            [Shot(plan.at_stage(last, groupings[0]))],  # skipped: the last stage first
            [Shot(swapped.at_stage(last, groupings[0]))],
            [Shot(plan)],
            [Shot(swapped)],  # another plan about the same list
            [Shot(recollected(plan, "another"))],
            [Shot(recollected(plan, "another").at_stage(last, groupings[0]))],  # goes on with what another began
            [Shot(plan.at_stage(last, grouping)) for grouping in groupings[:2]],  # two groupings in one batch
        ]
        rounds += [[Shot(plan.at_stage(last, grouping))] for grouping in groupings]
        rounds += [[Shot(plan)], [Shot(replace(plan, plan=plan.plan[:1]))], [Shot(replace(plan, plan=plan.plan[1:]))]]
        yield rounds
        yield rounds[2:]
