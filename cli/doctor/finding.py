"""Finding of ``ldpsim doctor``: one line, its status, and a remedy where one is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "problem"]
SEVERITY: tuple[Status, ...] = ("ok", "warning", "problem")


@dataclass(frozen=True)
class Finding:
    """Result of one check.

    Args:
        name: Subject of the check, in one or two words.
        text: Plain statement of what was found.
        status: ``warning``: something works worse than it could; ``problem``: something does not work.
        remedy: Next step of the person; empty if ``ok``.
    """

    name: str
    text: str
    status: Status = "ok"
    remedy: str = ""


def worst(findings: Iterable[Finding]) -> Status:
    """Return the most severe status, ``ok`` if there is none."""
    return max((finding.status for finding in findings), key=SEVERITY.index, default="ok")


def checked(name: str, check: Callable[[], Finding]) -> Finding:
    """Return what a check finds. A check that fails is a problem of its own, never the end of the command."""
    try:
        return check()
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return Finding(name, f"this check failed: {reason}", "problem", "report this line with the output of --json")
