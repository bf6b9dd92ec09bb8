"""Curators who ask the same question again, hoping for fresh noise on the same data."""

from __future__ import annotations

from collections.abc import Iterator

from devices.query import Query
from strategies.adversaries.curator import AdversarialCurator, Shot, rebudgeted, recollected
from strategies.adversaries.outcome import Outcome

Runs = Iterator[list[list[Shot]]]


class Repeats(AdversarialCurator):
    """The same bytes T times, one round after another in one run."""

    name = "repeats"
    description = "asks the same question T times in one run"

    def runs(self) -> Runs:
        yield [[Shot(self.target.query)]] * self.asks


class NewRuns(AdversarialCurator):
    """The same question in run after run, each with a Grid and a Flower context of its own."""

    name = "new-runs"
    description = "asks the same question once in each of T runs"

    def runs(self) -> Runs:
        yield from ([[Shot(self.target.query)]] for _ in range(self.asks))


class NewCollections(AdversarialCurator):
    """The same question under collection ids that no device has seen."""

    name = "new-collections"
    description = "asks the same question under T collection ids"

    def runs(self) -> Runs:
        yield [[Shot(recollected(self.target.query, f"collection-{number}"))] for number in range(self.asks)]


class OneBatch(AdversarialCurator):
    """All the questions at once, so that a device would have to answer before it has committed anything."""

    name = "one-batch"
    description = "sends repeats, other collections and other budgets to a device in one batch of messages"

    def runs(self) -> Runs:
        query, facts = self.target.query, self.target.facts
        kinds = (
            query,
            recollected(query, "another"),
            rebudgeted(query, 0.5, facts),
            recollected(rebudgeted(query, 0.25, facts), "another"),
        )
        yield [[Shot(kinds[number % len(kinds)]) for number in range(self.asks)]]


class RetryStorm(AdversarialCurator):
    """Retries of an answered question, in floods: each is answered from the ledger."""

    name = "retry-storm"
    description = "floods devices with retries, sixteen a device in every batch"

    def runs(self) -> Runs:
        yield [[Shot(self.target.query)] * 16 for _ in range(max(1, -(-self.asks // 16)))]


class Sybils(AdversarialCurator):
    """Several curators with questions of their own who put together what each of them learned."""

    name = "sybils"
    description = "curators with their own ids, budgets, devices and attributes ask in turn and pool the answers"

    def attack(self) -> Outcome:
        """Let each curator attack by itself, then pool."""
        pooled = Outcome(self.name)
        for rounds in self.runs():
            curator = type(self)(self.target, asks=self.asks)
            with self.target.run() as grid:
                curator.fire(grid, rounds)
            pooled.merge(curator.outcome)
        self.outcome = pooled
        return pooled

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
