"""Adversary that waits until people's data change, and asks again."""

from __future__ import annotations

from strategies.attacks.adversaries.curator import AdversarialCurator, Runs, Shot, rebudgeted, recollected


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
