"""Words about devices that tell their friends a guess: who is trusted, and what each party learns.

No sentence goes further than what holds (``docs/guarantees.md``, *Friends tell*).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsim.strategies.setup.options import LABEL, NOTHING

TRUSTED = "friends, carrier"
FRIENDS = "friends"  # ``privacy.trusted`` of a method whose devices tell friends alone
_GUESS = {
    "guess": "a guess in clear, which depends on features and list",
    "features": "a guess in clear, which depends on features",
    LABEL: "the label in clear where the person knows it, else a guess from features and list",
}
_OTHERS_LEARN = {
    "to friends of friends": "nothing by one message, as it is not passed on",
    "to the carrier": "who writes to whom; over Flower's Grid the carrier would be the curator's server",
    "to the curator": "nothing, if no friend and no carrier colludes with it",
}
# Where friends exchange predictions in many rounds (p2pgnn).
_EXCHANGE = {
    "to a friend": "values in clear, again and again, which depend on features and list, of people further away too",
    "to friends of friends": "values that depend on features and list, as friends pass on what they heard",
    "to the carrier": "who writes to whom; over Flower's Grid the carrier would be the curator's server",
    "to a friend with the curator": "what the friend learns, by a predictor that the curator chose",
    "to the curator": "nothing, if no friend and no carrier colludes with it",
}


def has_friends_figure(record: Mapping[str, Any]) -> bool:
    """Return whether a result has a figure of devices whose friends tell them a guess; older ones have none."""
    return record["accuracy"].get("device_with_friends") is not None


def learned_by_party(record: Mapping[str, Any]) -> dict[str, str]:
    """Return, by party, what it learns from the messages between friends; empty where there are none."""
    if record["privacy"].get("trusted") == FRIENDS:
        return dict(_EXCHANGE)
    if not has_friends_figure(record):
        return {}
    content = record["config"].get("friends_tell", NOTHING)
    return {"to a friend": _GUESS[content], **_OTHERS_LEARN}
