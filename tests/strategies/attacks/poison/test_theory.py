"""Theory of fake accounts, against what small collections and enumerations measure."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from devices.data.splits import make_split
from devices.datasets.generated import generate
from devices.mechanisms import GRR, RandomizedResponse
from devices.noise import NoiseStream, derive_key
from strategies.attacks.liars.accounts import Joining, claims_of
from strategies.attacks.poison.theory import (
    WITH_A_CLASS,
    OneHopVote,
    accepted,
    accounts_for_share,
    naming,
    share_gain,
)

SD = norm.isf(5e-7)  # two-sided: one false alarm in a million
PEOPLE = generate(300, seed=4)
SPLIT = make_split("random", PEOPLE, 1)


def joining(accounts: int) -> Joining:
    return Joining(PEOPLE, accounts, "inflate", SPLIT.test[:5], 1, 3)


@pytest.mark.parametrize("lie", ["input", "response"])
def test_share_of_a_class(lie: str) -> None:
    """Estimates of GRR reports with and without accounts."""
    grr, people, accounts = GRR.from_epsilon(1.0, categories=5), 4000, 400
    p, q = grr.channel
    noise = NoiseStream(derive_key(bytes(32), b"reports"))
    honest = np.array([grr.perturb(person % 5, noise) for person in range(people)])
    before = (np.mean(honest == 1) - q) / (p - q)
    fake = np.ones(accounts) if lie == "response" else np.array([grr.perturb(1, noise) for _ in range(accounts)])
    after = (np.mean(np.concatenate([honest, fake]) == 1) - q) / (p - q)
    expected = share_gain(accounts, people, before, (1 - q) / (p - q) if lie == "response" else 1.0)
    sd = 0.0 if lie == "response" else np.sqrt(p * (1 - p) * accounts) / (p - q) / (people + accounts)
    assert abs(after - before - expected) <= SD * sd + 1e-12


def test_accounts_for_a_share_are_its_inverse() -> None:
    for estimate in (1.0, 2.5):
        accounts = accounts_for_share(0.05, 1000, 0.2, estimate)
        assert share_gain(accounts, 1000, 0.2, estimate) == pytest.approx(0.05)  # type: ignore[arg-type]
    assert accounts_for_share(0.9, 1000, 0.2) == float("inf")


@pytest.mark.parametrize("lie", ["input", "response"])
def test_false_neighbours(lie: str) -> None:
    """Accounts that name a person, by real reports of both ends."""
    size, accounts = 40, 39
    row = RandomizedResponse.from_epsilon(1.0, n=size)
    found, trials = 0, 300
    for trial in range(trials):
        noise = NoiseStream(derive_key(bytes(32), b"rows", trial.to_bytes(4, "little")))
        honest = row.perturb(np.zeros(size - 1, bool), noise)  # an honest person with no neighbour
        claims = np.ones(accounts, bool)
        if lie == "input":
            claims = np.array([row.perturb(np.ones(size - 1, bool), noise)[0] for _ in range(accounts)])
        found += int((honest & claims).sum())
    chance = accepted(row.flip_probability, lie)
    mean = trials * accounts * chance
    assert abs(found - mean) <= SD * np.sqrt(mean * (1 - chance))
    assert accepted(0.25, "response", one_end=True) == 1.0 and accepted(0.25, "input", one_end=True) == 0.75


@pytest.mark.parametrize("attack", WITH_A_CLASS)
def test_naming_counts_the_lists(attack: str) -> None:
    for accounts in (0, 7, 60):
        where = joining(accounts)
        lists = claims_of(attack, where).lists
        counted = np.bincount(np.concatenate([np.zeros(0, np.int64), *lists]), minlength=len(PEOPLE))[: len(PEOPLE)]
        assert naming(attack, where).tolist() == counted.tolist()


def test_one_hop_vote_by_enumeration() -> None:
    """Two accounts name each person: all four patterns of acceptance."""
    vote = OneHopVote.among(PEOPLE, SPLIT.labelled, SPLIT.test, 1)
    named, chance = np.full(len(PEOPLE), 2), 0.3
    total = 0.0
    for pattern in product((0, 1), repeat=2):
        weight = np.prod([chance if bit else 1 - chance for bit in pattern])
        taken = sum(pattern) > vote.margins
        total += weight * np.mean(np.where(taken, vote.of_class | (vote.right & vote.of_class), vote.right))
    assert vote.accuracy(named, chance) == pytest.approx(total)
    # the share who get the class: those of the class who are right, the others who are taken
    taken = [sum(chance ** sum(bits) * (1 - chance) ** (2 - sum(bits)) for bits in product((0, 1), repeat=2)
                 if sum(bits) > margin) for margin in vote.margins]  # fmt: skip
    assert vote.won(named, chance) == pytest.approx(np.mean(np.where(vote.leads, 1.0, taken)))
    assert vote.won(named, 0.0) == pytest.approx(np.mean(vote.leads))


@pytest.mark.parametrize("attack", ["join-class", "join-flood"])
def test_one_hop_vote_by_simulation(attack: str) -> None:
    """The vote itself, on the graph with the accounts that are accepted."""
    where, chance, trials = joining(40), 0.2, 400
    vote = OneHopVote.among(PEOPLE, SPLIT.labelled, SPLIT.test, 1)
    rng, lists = np.random.default_rng(9), claims_of(attack, where).lists
    names = np.zeros((where.accounts, len(PEOPLE)), bool)
    for account, named in enumerate(lists):
        names[account, named[named < len(PEOPLE)]] = True
    votes = np.zeros((len(PEOPLE), PEOPLE.facts.classes))
    given = np.isin(np.arange(len(PEOPLE)), SPLIT.labelled)
    for low, high in PEOPLE.edges.T.tolist():
        votes[low, PEOPLE.labels[high]] += given[high]
        votes[high, PEOPLE.labels[low]] += given[low]
    common = np.bincount(PEOPLE.labels[SPLIT.labelled], minlength=PEOPLE.facts.classes) / len(PEOPLE)
    found = []
    for _ in range(trials):
        more = (names & (rng.random(names.shape) < chance)).sum(axis=0)
        now, lead = votes.copy(), (votes + common).argmax(axis=1)
        now[:, 1] += more
        best = np.where(now[:, 1] > now[np.arange(len(now)), lead], 1, lead)
        found.append(np.mean(best[SPLIT.test] == PEOPLE.labels[SPLIT.test]))
    expected = vote.accuracy(naming(attack, where), chance)
    assert abs(np.mean(found) - expected) <= SD * np.std(found, ddof=1) / np.sqrt(trials) + 1e-12
    assert expected < vote.accuracy(naming(attack, joining(0)), chance)


def test_accounts_for_a_point() -> None:
    vote = OneHopVote.among(PEOPLE, SPLIT.labelled, SPLIT.test, 1)
    found = vote.accounts_for_a_point("join-flood", joining(0), 0.05)
    assert found is not None and found > 1
    lost = [vote.accuracy(naming("join-flood", joining(0)), 0.05)
            - vote.accuracy(naming("join-flood", joining(number)), 0.05) for number in (found - 1, found)]  # fmt: skip
    assert lost[0] < 0.01 <= lost[1]
    assert vote.accounts_for_a_point("join-flood", joining(0), 0.0) is None
    sure = replace(vote, of_class=np.ones_like(vote.of_class))  # more votes for the own class
    assert sure.accounts_for_a_point("join-flood", joining(0), 0.5) is None
