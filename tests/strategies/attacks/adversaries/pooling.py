"""What several curators learned, put together."""

from __future__ import annotations

from collections.abc import Iterable

from ldpsim.strategies.attacks.adversaries.curator import AttackResult


def pooled(results: Iterable[AttackResult]) -> AttackResult:
    """Return the result of curators who share what they got."""
    together = AttackResult()
    for each in results:
        together = AttackResult(
            messages=together.messages + each.messages,
            answers=together.answers + each.answers,
            unasked=together.unasked + each.unasked,
            texts=together.texts | each.texts,
            releases=together.releases | each.releases,
        )
    return together
