"""Adversaries that ask the same question again, to get fresh noise, on the same data or on changed ones."""

from __future__ import annotations

from ldpsim.devices.query import Query
from ldpsim.strategies.attacks.adversaries.attack_result import AttackResult
from ldpsim.strategies.attacks.adversaries.curator import AdversarialCurator, Runs, Shot, rebudgeted, recollected


class Repeats(AdversarialCurator):
    """Sends the same bytes T times, in T rounds of one run."""

    name = "repeats"
    description = "asks the same question T times in one run"

    def runs(self) -> Runs:
        yield [[Shot(self.target.query)]] * self.asks


class NewRuns(AdversarialCurator):
    """Asks the same question in T runs, each with a Grid and a Flower context of its own."""

    name = "new-runs"
    description = "asks the same question once in each of T runs"

    def runs(self) -> Runs:
        yield from ([[Shot(self.target.query)]] for _ in range(self.asks))


class NewCollections(AdversarialCurator):
    """Asks the same question under collection ids that no device has seen."""

    name = "new-collections"
    description = "asks the same question under T collection ids"

    def runs(self) -> Runs:
        yield [[Shot(recollected(self.target.query, f"collection-{number}"))] for number in range(self.asks)]


class OneBatch(AdversarialCurator):
    """Sends all questions at once, so that a device would answer before its ledger has a row."""

    name = "one-batch"
    description = "sends repeats, other collections and other budgets to a device in one batch of messages"

    def runs(self) -> Runs:
        query, facts = self.target.query, self.target.facts
        half, quarter = rebudgeted(query, 0.5, facts), rebudgeted(query, 0.25, facts)
        kinds = (query, recollected(query, "another"), half, recollected(quarter, "another"))
        yield [[Shot(kinds[number % len(kinds)]) for number in range(self.asks)]]


class RetryStorm(AdversarialCurator):
    """Repeats an answered question very often; each retry is answered from the ledger."""

    name = "retry-storm"
    description = "floods devices with retries, sixteen a device in every batch"

    def runs(self) -> Runs:
        yield [[Shot(self.target.query)] * 16 for _ in range(max(1, -(-self.asks // 16)))]


class ChangedData(AdversarialCurator):
    """Asks before and after everybody's data change; a fresh report of the new data would be a second release."""

    name = "changed-data"
    description = "asks again, in old and new collections and at other budgets, after everybody's data changed"

    def runs(self) -> Runs:
        query, facts = self.target.query, self.target.facts
        yield [[Shot(query)]]
        for number in range(max(1, self.asks // 4)):
            self.target.change_data()
            self.epoch += 1
            other = rebudgeted(query, 0.5, facts)
            yield [[Shot(question)] for question in (query, recollected(query, f"later-{number}"), other)]


class Sybils(AdversarialCurator):
    """Several curators with questions of their own that add up their results."""

    name = "sybils"
    description = "curators with their own ids, budgets, devices and attributes ask in turn and pool the answers"

    def attack(self) -> AttackResult:
        """Let each curator attack alone, and add up the results."""
        for rounds in self.runs():
            curator = type(self)(self.target, asks=self.asks)
            with self.target.run() as grid:
                curator.fire(grid, rounds)
            self.outcome.merge(curator.outcome)
        return self.outcome

    def runs(self) -> Runs:
        half = max(1, self.target.devices // 2)
        everybody = (range(half), range(half, self.target.devices), None)
        for number in range(self.asks):
            question = recollected(self._question(number), f"curator-{number}")
            yield [[Shot(question, devices=everybody[number % len(everybody)])]]

    def _question(self, number: int) -> Query:
        query = self.target.query
        if number % 2 == 0 or len(query.asks) == 1:
            return rebudgeted(query, (1.0, 0.5, 0.75)[number % 3], self.target.facts)
        only = query.asks[(number // 2) % len(query.asks)]
        return Query(query.collection, ((only,),))
