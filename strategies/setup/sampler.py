"""Version of the sampler that a run asks for.

Every version of a mechanism's sampler has the same law and the same loss. The bytes differ, so a question says which
version it means. A device answers each version that it knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from curator.methods.base import Method, Question
from devices import mechanisms


def chosen_sampler(wanted: int | None, method: Method) -> int:
    """Return the newest sampler version in a run's questions.

    Args:
        wanted: The version that the user wants; None for the default.
        method: The method. One in batches makes its questions while it asks, and they keep version 1.
    """
    version = 2 if wanted is None else wanted
    kinds = () if method.in_batches else [mechanisms.find(name) for name in method.mechanisms]
    return version if any(kind is not None and version in kind.samplers for kind in kinds) else 1


def drawn_by(questions: Sequence[Question], version: int) -> tuple[Question, ...]:
    """Return the questions with this sampler version."""
    return tuple(question.with_sampler(version) for question in questions)
