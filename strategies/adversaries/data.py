"""A curator who waits for people's data to change, and asks again."""

from __future__ import annotations

from collections.abc import Iterator

from strategies.adversaries.curator import AdversarialCurator, Shot, rebudgeted, recollected


class ChangedData(AdversarialCurator):
    """Between two asks everybody's data change; a fresh report of the new data would be a second release."""

    name = "changed-data"
    description = "asks again, in old and new collections and at other budgets, after everybody's data changed"

    def runs(self) -> Iterator[list[list[Shot]]]:
        query, facts = self.target.query, self.target.facts
        yield [[Shot(query)]]
        for number in range(max(1, self.asks // 4)):
            self.target.change_data()
            self.epoch += 1
            other = rebudgeted(query, 0.5, facts)
            yield [[Shot(question)] for question in (query, recollected(query, f"later-{number}"), other)]
