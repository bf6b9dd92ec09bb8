"""Completion of values in a shell (``ldpsim --install-completion``).

The names come from the registries when a shell asks for them. No method's module is imported, so
neither is torch. Values without a list of names, such as paths, are left to the shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

Completion = Callable[[str], list[str]]  # the text so far -> values that begin with it
_WORD = re.compile(r"[a-z][a-z0-9_-]*")


def from_names(names: Callable[[], Iterable[str]], *, end: str = "") -> Completion:
    """Return the completion of a value that is one of several names.

    Args:
        names: Returns the names; called when a shell asks.
        end: Text after a name.

    >>> from_names(lambda: ["local", "ray"])("r")
    ['ray']
    """
    return lambda incomplete: [name + end for name in names() if name.startswith(incomplete)]


def from_metavar(metavar: str | None) -> Completion | None:
    """Return the completion of a value whose form in ``--help`` lists words, as ``refuse|replay``; else None."""
    words = [word for word in (metavar or "").split("|") if _WORD.fullmatch(word)]
    return from_names(lambda: words) if words and metavar != words[0] else None


def _methods() -> Iterable[str]:
    from ldpsim.curator.methods import names

    return sorted(names())


def _datasets() -> Iterable[str]:
    from ldpsim.devices.datasets import names

    return names()


def _audited() -> Iterable[str]:
    from ldpsim.devices.mechanisms import BUILT_IN

    return sorted({*BUILT_IN, *_methods(), "noise"})


def _levels() -> Iterable[str]:
    from ldpsim.curator.privacy.levels import level_words

    return level_words()


def _adversaries() -> Iterable[str]:
    from ldpsim.strategies.attacks.adversaries.table import ADVERSARIES, PLAIN

    return (*PLAIN, *ADVERSARIES, "help")


def _protections() -> Iterable[str]:
    from ldpsim.strategies.attacks.stress.campaign import PROTECTIONS

    return PROTECTIONS


def _attacks() -> Iterable[str]:
    from ldpsim.strategies.attacks.poison.lies import ATTACKS

    return (*ATTACKS, "help")


def _defences() -> Iterable[str]:
    from ldpsim.curator.defences import ALL, DEFENCES, NONE

    return (NONE, ALL, *DEFENCES)


methods, datasets, audited = from_names(_methods), from_names(_datasets), from_names(_audited)
levels, caps = from_names(_levels), from_names(lambda: ("bit", "all-features", "person"), end="=")
adversaries, protections = from_names(_adversaries), from_names(_protections)
attacks, defences = from_names(_attacks), from_names(_defences)
# Option of a run -> its completion.
OF_A_RUN = {"method": methods, "dataset": datasets, "caps": caps, "defence": defences}
