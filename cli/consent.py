"""Text of consent for each role: who volunteers gives label and features in clear, everybody else one answer.

The text follows from the policy and the question alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cli.words import GUESS, best_guess
from curator.methods.base import Question
from curator.privacy.guarantee import Claim, local_guarantee
from curator.privacy.levels import LEVELS
from devices.policy.policy import Policy

if TYPE_CHECKING:
    from devices.query import Query

_ATTRIBUTES = {"label": "the label", "features": "all features", "adjacency": "the list of neighbours"}
_SHOWN = 8  # public numbers of volunteers
_WIDTH = 80


def consent_text(policy: Policy, questions: Sequence[Question]) -> str:
    """Return the text about both roles, with a line break at its end.

    Args:
        policy: The policy; it names volunteers.
        questions: The questions of the collection: in clear for volunteers, else for everybody else.

    Raises:
        ValueError: where nobody volunteers, so that there is one role.
    """
    if policy.volunteers is None:
        raise ValueError("the facts name no volunteers, so there are no two roles to consent to")
    volunteers = sorted(policy.volunteers)
    numbers = ", ".join(map(str, volunteers[:_SHOWN])) + (", ..." if len(volunteers) > _SHOWN else "")
    clear = [question.query for question in questions if question.query.in_clear]
    private = [question.query for question in questions if question.query.in_clear is False]
    parts = [
        f"A volunteer ({len(volunteers):,} of {policy.facts.n:,} people, by public number: {numbers})",
        *_points(
            f"is asked once, for {_asked(clear)}.",
            f"gives that in clear, {_receiver(policy)}. Nothing protects it, and nobody can take it back: whoever has "
            "it may keep it and pass it on.",
            f"is not asked for {_not_asked(clear)}. Others may have the volunteer in their lists, and answer about "
            "these lists.",
            _again(policy),
        ),
        "",
        "Everybody else",
        *_points(
            f"is asked once, for {_asked(private)} together. One answer with noise in it leaves the device.",
            f"is not asked for {_not_asked(private)}, and gives nothing in clear.",
            "loses at most this, by all answers together:",
        ),
        *_levels(policy, questions),
        textwrap.fill(GUESS, _WIDTH, initial_indent="  ", subsequent_indent="  "),
        *_points(_again(policy), *_refused(policy, private)),
    ]
    return "\n".join(parts) + "\n"


def _levels(policy: Policy, questions: Sequence[Question]) -> list[str]:
    holds = local_guarantee(policy.facts, questions, claim=Claim("", None), volunteers=True).holds
    rows = {LEVELS[name].words: best_guess(level.value, level.delta)
            for name, level in holds.items() if level.value is not None}  # fmt: skip
    width = max(map(len, rows))
    return [f"    {words:<{width}}  best guess {chance}" for words, chance in rows.items()]


def _receiver(policy: Policy) -> str:
    if policy.collector is None:
        return "to any collector who asks first, because none is pinned (--collector-key)"
    return "to the pinned collector alone"


def _again(policy: Policy) -> str:
    if policy.on_requery == "replay":
        return "answers nothing else. The same question again gets the same bytes, and any other one a refusal."
    return "answers nothing else. A second question gets a refusal."


def _refused(policy: Policy, queries: Iterable[Query]) -> list[str]:
    """Return a line where the caps of a policy do not allow the question."""
    assert policy.volunteers is not None
    device = next(person for person in range(policy.facts.n) if person not in policy.volunteers)
    fits = all(policy.allows(query, device=device) and policy.allows_total(0.0, query, device=device)
               for query in queries)  # fmt: skip
    return [] if fits else ["refuses this question all the same: it goes beyond a cap of the policy."]


def _asked(queries: Sequence[Query]) -> str:
    return " and ".join(_ATTRIBUTES[name] for name in _ATTRIBUTES if _asks(queries, name))


def _not_asked(queries: Sequence[Query]) -> str:
    return " or ".join(_ATTRIBUTES[name] for name in _ATTRIBUTES if not _asks(queries, name))


def _asks(queries: Sequence[Query], attribute: str) -> bool:
    return any(attribute in query.attributes for query in queries)


def _points(*texts: str) -> list[str]:
    return [textwrap.fill(text, _WIDTH, initial_indent="- ", subsequent_indent="  ") for text in texts]
