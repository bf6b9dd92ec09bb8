"""Score of a result: accuracy on test people, or the AUC of test pairs in the task of links.

Everything that shows a score reads it here, and so does not depend on the task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ACCURACY, AUC = "accuracy", "AUC"


def score_name(record: Mapping[str, Any]) -> str:
    """Return the name of a result's score.

    >>> score_name({"accuracy": {"test": 0.5}})
    'accuracy'
    """
    return AUC if _links(record) else ACCURACY


def scores_of(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``test``, ``val``, ``macro_f1``, ``std`` and ``per_repeat`` of the score; None where there is none.

    >>> scores_of({"links": {"test": {"auc": 0.9}, "val": {"auc": 0.8}, "per_repeat": [0.9], "std": None}})["test"]
    0.9
    """
    links = _links(record)
    if not links:
        found: Mapping[str, Any] = record["accuracy"]
        return found
    return {"test": links["test"]["auc"], "val": links["val"]["auc"], "macro_f1": None,
            "std": links["std"], "per_repeat": links["per_repeat"]}  # fmt: skip


def about_links(record: Mapping[str, Any]) -> str | None:
    """Return what is protected in the task of links, as one sentence; None for another task."""
    if not _links(record):
        return None
    if record["privacy"]["holds"]["relationship"]["status"] == "unprotected":
        return "the edges are in clear: predicting links over them protects no link"
    return "what holds is about the reported edges; the validation pairs are public, as validation labels are"


def _links(record: Mapping[str, Any]) -> Mapping[str, Any]:
    found = record.get("links")
    return found if isinstance(found, Mapping) else {}
