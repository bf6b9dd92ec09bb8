"""Numbers as people read them, on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsim.curator.shown import shown_delta
from ldpsim.strategies.results.numbers import IN_CLEAR as IN_CLEAR
from ldpsim.strategies.results.numbers import NONE as NONE
from ldpsim.strategies.results.numbers import bytes_ as bytes_
from ldpsim.strategies.results.numbers import count as count
from ldpsim.strategies.results.numbers import difference as difference
from ldpsim.strategies.results.numbers import epsilon as epsilon
from ldpsim.strategies.results.numbers import guessed as guessed
from ldpsim.strategies.results.numbers import percent as percent
from ldpsim.strategies.results.numbers import planned_loss as planned_loss
from ldpsim.strategies.results.numbers import plus_minus as plus_minus
from ldpsim.strategies.results.numbers import points as points
from ldpsim.strategies.results.numbers import seconds as seconds
from ldpsim.strategies.results.numbers import share as share
from ldpsim.strategies.results.numbers import size as size
from ldpsim.strategies.results.numbers import word_of as word_of

TONES = {"good": "green", "open": "yellow", "bad": "red"}  # colours of the terminal
GUESS = "best guess: chance of identifying which of two possible values is yours (50 %: pure chance)"


def level(entry: Mapping[str, Any]) -> str:
    """The loss that holds at one level with its further figures, or the word for its status.

    A public part of a record leaves the level in clear; then the loss of the private rest stands beside the word.

    >>> level({"status": "bounded", "value": 10.8, "delta": 0.0, "of_one": {"value": 3.6, "delta": 0.0, "of": 3}})
    '3.6; in all 3: 10.8'
    """
    one, words, whole = entry.get("of_one"), [word_of(entry["status"])], list[str]()
    if entry["status"] == "bounded":
        words, whole = [], [loss_at_delta(entry["value"], entry["delta"])]
    elif (rest := entry.get("private_value")) is not None:
        whole = [f"the rest {loss_at_delta(rest, entry['private_delta'])}"]
    if entry.get("own") is not None and entry.get("per_list") is not None:
        whole.append(f"{epsilon(entry['own'])} + {epsilon(entry['per_list'])} D where D lists hold the person")
    if one is None:
        return ", ".join([*words, *whole])
    words.append(f"{'the rest ' if words else ''}{loss_at_delta(one['value'], one['delta'])}")
    return f"{', '.join(words)}; in all {one['of']}: {', '.join(whole)}"


def loss_at_delta(value: float | None, delta: float | None) -> str:
    """A loss and the delta at which it holds, if it is not 0; None is in clear.

    >>> loss_at_delta(1.0, 1e-2), loss_at_delta(0.0, 0.0), loss_at_delta(None, None)
    ('1 (δ 1e-2)', '0', 'in clear')
    """
    if value is None:
        return IN_CLEAR
    return epsilon(value) + (f" (δ {shown_delta(delta)})" if delta else "")


def best_guess(value: float, delta: float = 0.0) -> str:
    """Chance of identifying which of two possible values is yours, at most."""
    from ldpsim.strategies.results.in_words import guess

    return guessed(guess(value, delta))
