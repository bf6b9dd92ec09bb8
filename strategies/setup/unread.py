"""Why nothing reads an option beside the other options of a run: declared with the options.

Each function takes the options (:class:`ldpsim.strategies.setup.options.RunOptions`) and the method with its
parameters. It returns the reason in words, or an empty text if something reads the option.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldpsim.curator.methods.base import Method

_CLEAR = "features are public beside --public-features"


def epsilon(run: Any, method: Method) -> str:
    """Epsilon is divided among parts; each finer budget stands in the place of one."""
    parts = [part for part in method.in_force().finer if part != "eps_features" or _asks_features(run, method)]
    given = [part for part in parts if getattr(run, part) is not None]
    return "" if not parts or len(given) < len(parts) else f"no part of it is left beside {_flags(given)}"


def feature_share(run: Any, method: Method) -> str:
    """A share divides epsilon as long as a part of it is left."""
    if run.public_features:
        return _CLEAR
    if run.feature_share == "auto" and not method.in_force().auto_share:
        return f"{method.spec.name} has no rule for its share; give a number"
    parts = method.in_force().finer
    whole = parts and all(getattr(run, part) is not None for part in parts)
    return f"nothing is left to divide beside {_flags(parts)}" if whole else ""


def eps_features(run: Any, method: Method) -> str:
    """Public features are not asked."""
    return _CLEAR if run.public_features else ""


def eps_labels(run: Any, method: Method) -> str:
    """Public labels are not asked."""
    asked = run.private_labels or method.in_force().asks_labels
    return "" if asked else f"{method.spec.name} asks nobody for a label without --private-labels"


def private_labels(run: Any, method: Method) -> str:
    """A method that asks no volunteers takes their labels as public, and knows no other label."""
    alone = run.volunteers is not None and not method.spec.asks_volunteers
    return f"{method.spec.name} takes the labels of volunteers alone" if alone else ""


def label_mechanism(run: Any, method: Method) -> str:
    """Public labels, and labels in clear, need no mechanism."""
    clear = "labels are asked in clear beside --eps-labels inf" if run.eps_labels == math.inf else ""
    return eps_labels(run, method) or clear


def false_alarm(run: Any, method: Method) -> str:
    """Only a defence can raise a false alarm."""
    return "" if run.defence != "none" else "there is no --defence"


def repeats_vary(run: Any, method: Method) -> str:
    """One repeat varies nothing."""
    return "" if run.repeats > 1 else "there is one repeat (--repeats)"


def _asks_features(run: Any, method: Method) -> bool:
    """Return whether a part of epsilon goes to features unless it has a budget of its own."""
    if run.public_features:
        return False
    if run.eps_features is not None:
        return True
    if run.feature_share is None and method.in_force().auto_share:
        return run.eps_adjacency is None  # beside a finer budget there is no whole to choose a share of
    return run.feature_share != 0 or "feature_share" not in method.in_force().options_read


def _flags(names: object) -> str:
    return " and ".join(f"--{str(name).replace('_', '-')}" for name in names)  # type: ignore[attr-defined]
