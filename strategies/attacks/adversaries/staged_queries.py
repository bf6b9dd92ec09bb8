"""Adversary that asks the stages of a query out of order."""

from __future__ import annotations

from dataclasses import replace

from ldpsim.devices.mechanisms import GroupDegrees
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.attacks.adversaries.curator import AdversarialCurator, Runs, Shot, recollected


def two_stages(query: Query, n: int, *, groups: tuple[int, int] = (2, 3)) -> Query:
    """Return a query of two stages about the neighbour list: the given one if it has two, else LDPGen's.

    LDPGen (Qin et al. 2017, https://doi.org/10.1145/3133956.3134086) asks for counts in a random
    grouping first, then in one that the curator names.
    """
    if len(query.plan) > 1:
        return query.at_stage(0)
    first = GroupDegrees.from_epsilon(0.5, n=n, groups=groups[0], seed=4)
    second = GroupDegrees.from_epsilon(0.5, n=n, groups=groups[1])
    return Query(query.collection, ((Ask("adjacency", (first,)),), (Ask("adjacency", (second,)),)))


class BrokenStages(AdversarialCurator):
    """Skips stages, repeats them with other groupings, swaps them, and joins them to other queries.

    The devices must be enrolled for the query, or they refuse all of it.
    """

    name = "broken-plans"
    description = "skips, repeats and swaps the stages of a query, sends other groupings, changes the query in between"

    def runs(self) -> Runs:
        n = self.target.facts.n
        staged = two_stages(self.target.query, n)
        groups = max([getattr(m, "groups", 2) for ask in staged.plan[-1] for m in ask.mechanisms] or [2])
        groupings = [tuple((j + shift) % groups for j in range(n)) for shift in range(max(2, self.asks))]
        last = len(staged.plan) - 1
        swapped = replace(staged, plan=staged.plan[::-1])
        rounds = [
            [Shot(staged.at_stage(last, groupings[0]))],  # skipped: the last stage first
            [Shot(swapped.at_stage(last, groupings[0]))],
            [Shot(staged)],
            [Shot(swapped)],  # another query about the same list
            [Shot(recollected(staged, "another"))],
            [Shot(recollected(staged, "another").at_stage(last, groupings[0]))],  # continues another collection
            [Shot(staged.at_stage(last, grouping)) for grouping in groupings[:2]],  # two groupings in one batch
        ]
        rounds += [[Shot(staged.at_stage(last, grouping))] for grouping in groupings]
        rounds += [
            [Shot(staged)],
            [Shot(replace(staged, plan=staged.plan[:1]))],
            [Shot(replace(staged, plan=staged.plan[1:]))],
        ]
        yield rounds
        yield rounds[2:]
