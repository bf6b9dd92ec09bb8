"""Words about devices that tell their friends a guess: who is trusted, and what each party learns.

No sentence goes further than what holds (``docs/guarantees.md``, *Friends tell*).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsim.strategies.setup.options import LABEL, NOTHING

TRUSTED = "friends, carrier"
FRIENDS = "friends"  # ``privacy.trusted`` of a method whose devices tell friends alone
_TOLD = {
    "guess": "a guess in clear, which depends on features and list",
    "features": "a guess in clear, which depends on features",
    LABEL: "the label in clear where the person knows it, else a guess from features and list",
}
_TO_OTHERS = {
    "to friends of friends": "nothing by one message, as it is not passed on",
    "to the carrier": "who writes to whom; over Flower's Grid the carrier would be the curator's server",
    "to the curator": "nothing, if no friend and no carrier colludes with it",
}
# Where friends exchange predictions again and again (p2pgnn).
_EXCHANGED = {
    "to a friend": "values in clear, again and again, which depend on features and list, of people further away too",
    "to friends of friends": "values that depend on features and list, as friends pass on what they heard",
    "to the carrier": "who writes to whom; over Flower's Grid the carrier would be the curator's server",
    "to a friend with the curator": "what the friend learns, by a predictor that the curator chose",
    "to the curator": "nothing, if no friend and no carrier colludes with it",
}


def has_friends_figure(record: Mapping[str, Any]) -> bool:
    """Return whether a result has a figure of devices whose friends tell them a guess; older ones have none."""
    return record["accuracy"].get("device_with_friends") is not None


def what_is_learned(record: Mapping[str, Any]) -> dict[str, str]:
    """Return by party what it learns from what friends tell each other; nothing where nobody tells."""
    if record["privacy"].get("trusted") == FRIENDS:
        return dict(_EXCHANGED)
    tell = record["config"].get("friends_tell", NOTHING)
    if not has_friends_figure(record):
        return {}
    return {"to a friend": _TOLD[tell], **_TO_OTHERS}
