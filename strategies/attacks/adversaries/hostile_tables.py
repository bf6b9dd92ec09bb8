"""An adversary that asks for one neighbour at a time, with the public table of a vote.

A vote's table may say whatever its author likes. One that knows a single person, and nothing
of anybody else, asks "is that person in your list?". The answer is right with probability
e^eps / (1 + e^eps) for two values, 98 % at epsilon 4 and 88 % at 2. This is what epsilon
means, and no table can do better. n such questions would give the whole list, so a device
answers one, whatever the table.
"""

from __future__ import annotations

import numpy as np

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import NeighbourhoodVote, Reporting
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.attacks.adversaries.curator import AdversarialCurator, Runs, Shot

_MOST = 40.0  # a little below what a threshold can hold


def about(person: int, epsilon: float, facts: PublicFacts, *, reporting: Reporting = "both") -> NeighbourhoodVote:
    """Return the vote that asks whether one person is in the list: answer 1 means yes.

    Raises:
        ValueError: for a population with fewer than two classes.
    """
    known = np.zeros((facts.n, facts.classes))
    if facts.classes > 1:
        known[person, 1] = 1.0
    return NeighbourhoodVote.from_probabilities(known, epsilon, homophily=0.9, candidates=2, reporting=reporting)


class HostileTables(AdversarialCurator):
    """Asks with T tables, each of which knows one person alone."""

    name = "hostile-tables"
    description = "asks votes over T tables, each of which knows one person alone: is that one in your list?"

    def runs(self) -> Runs:
        query, facts = self.target.query, self.target.facts
        asked = [ask for ask in query.asks if ask.attribute == "adjacency"]
        rounds: list[list[Shot]] = []
        if facts.classes > 1 and asked:
            (honest,) = asked
            epsilon = min(honest.loss().vector, _MOST)
            for number in range(self.asks):
                vote = about(number % facts.n, epsilon, facts, reporting=honest.mechanisms[0].reporting)
                rounds.append([Shot(Query(f"table-{number}", ((Ask("adjacency", (vote,)),),)))])
        yield [*rounds, [Shot(query)]]
