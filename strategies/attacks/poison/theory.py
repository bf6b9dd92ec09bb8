"""Number of fake accounts that a gain takes, by theory.

share of a class     K accounts among N reports, of which a share f is of the class, raise its estimated share by
                     K (g - f) / (N + K), with g = 1 for a label in clear or by an input lie, and g = (1 - q) / (p - q)
                     by a response to GRR (Cao, Jia, Gong, USENIX Security 2021, for frequencies in general).
false neighbours     Each of K accounts names a person. Both ends must say 1: the honest one does with probability q, so
                     K q accounts are accepted by response, K p q by input. Where the later end alone reports a pair
                     (``one-end``), this is the account: K and K p are accepted.
one-hop vote         A person takes the class that most neighbours are of. M accounts of class c name the person, and
                     X ~ Bin(M, a) are accepted; c wins if X exceeds the margin by which it lies behind. In a public
                     graph a = 1. Derived here; a yardstick for the methods, none of which is this vote.
updates              K accounts send updates b times as long as the honest ones, the same way. N honest people, who
                     cannot agree more than fully, are outweighed from K = N / b on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from devices.array_types import BoolArray, IntArray
from devices.data.population import Population
from strategies.attacks.liars.accounts import Joining

POINT = 0.01
WITH_A_CLASS = ("join-class", "join-pairs", "join-flood")  # attacks whose accounts are all of the chosen class
_MOST = 1 << 20  # accounts that are looked at


def share_gain(accounts: int, reports: int, share: float, estimate: float = 1.0) -> float:
    """Return by how much accounts raise the estimated share of their class.

    Args:
        accounts: Their number K.
        reports: Number N of the other reports.
        share: Estimated share f of the class among these.
        estimate: The estimate g that each account's report counts as.

    >>> round(share_gain(20, 180, 0.1), 3)
    0.09
    """
    return accounts * (estimate - share) / (reports + accounts)


def accounts_for_share(gain: float, reports: int, share: float, estimate: float = 1.0) -> float:
    """Return the number of accounts that raise the share by ``gain``; infinity where no number does.

    >>> round(accounts_for_share(0.09, 180, 0.1), 6)
    20.0
    """
    room = estimate - share - gain
    return gain * reports / room if room > 0 else float("inf")


def accepted(flip: float, lie: str, *, one_end: bool = False) -> float:
    """Return the probability that an account's claim about an honest person is accepted as an edge."""
    told = 1.0 if lie == "response" else 1 - flip
    return told if one_end else told * flip


@dataclass(frozen=True, eq=False)
class OneHopVote:
    """Vote of the neighbours whose label is given, about each test person.

    Args:
        test: int64 (people,), the test persons.
        margins: int64 (people,), votes for the leading class minus those for the accounts' class.
        right: bool (people,), whether the leading class is the person's.
        of_class: bool (people,), whether the person is of the accounts' class.
        leads: bool (people,), whether the accounts' class is the leading one.
    """

    test: IntArray = field(repr=False)
    margins: IntArray = field(repr=False)
    right: BoolArray = field(repr=False)
    of_class: BoolArray = field(repr=False)
    leads: BoolArray = field(repr=False)

    @classmethod
    def among(cls, people: Population, given: IntArray, test: IntArray, label: int) -> OneHopVote:
        """Return the vote on the true graph of the honest people.

        Args:
            people: The honest people.
            given: Those whose label is given.
            test: Those who are predicted.
            label: Class of the accounts.
        """
        votes = np.zeros((len(people), people.facts.classes), np.int64)
        ends = np.concatenate([people.edges, people.edges[::-1]], axis=1)
        ends = ends[:, np.isin(ends[1], given)]
        np.add.at(votes, (ends[0], people.labels[ends[1]]), 1)
        common = np.bincount(people.labels[given], minlength=people.facts.classes) / (len(given) + 1)
        leading = (votes + common).argmax(axis=1)  # ties, and people without a vote: the class that more people have
        margins = votes.max(axis=1) - votes[:, label]
        return cls(test, margins[test], (leading == people.labels)[test], (people.labels == label)[test],
                   (leading == label)[test])  # fmt: skip

    def accuracy(self, named: IntArray, chance: float) -> float:
        """Return the expected accuracy among accounts; ties stay as they are.

        Args:
            named: int64 (n,), the number of accounts that name each person.
            chance: Probability that one such claim is accepted.
        """
        from scipy.stats import binom  # imported where it is needed: the import takes as long as a small run

        won = binom.sf(self.margins, named[self.test], chance)
        # more votes for a person's own class can only help
        return float(np.mean(np.where(self.of_class, np.where(self.right, 1.0, won), self.right * (1 - won))))

    def won(self, named: IntArray, chance: float) -> float:
        """Return the expected share of the people who get the accounts' class; ``named`` and ``chance`` as above."""
        from scipy.stats import binom

        return float(np.mean(np.where(self.leads, 1.0, binom.sf(self.margins, named[self.test], chance))))

    def accounts_for_a_point(self, attack: str, joining: Joining, chance: float) -> int | None:
        """Return the number of accounts that lowers the accuracy by a point, by halving; None: none does."""

        def lost(accounts: int) -> bool:
            named = naming(attack, replace(joining, accounts=accounts))
            return start - self.accuracy(named, chance) >= POINT

        start, high = self.accuracy(naming(attack, replace(joining, accounts=0)), chance), 1
        while high < _MOST and not lost(high):
            high *= 2
        if high >= _MOST:
            return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if lost(middle) else (middle, high)
        return high


def naming(attack: str, joining: Joining) -> IntArray:
    """int64 (n,): the number of accounts whose list has each honest person; :data:`WITH_A_CLASS` alone."""
    n, accounts = len(joining.people), joining.accounts
    if attack == "join-flood":
        return np.full(n, accounts)
    wanted = joining.wanted()
    whole, more = divmod(accounts * min(joining.links, len(wanted)), len(wanted))
    found = np.zeros(n, np.int64)
    found[wanted] = whole
    found[wanted[:more]] += 1
    return found
