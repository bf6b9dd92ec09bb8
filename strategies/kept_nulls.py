"""Predictions of null models that runs of one comparison share, by the digest of all that they depend on."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from curator.linear.array_digest import array_digest
from curator.nulls.known import NullEvidence
from devices.array_types import checked_numbers
from devices.atomic_files import write_atomically
from devices.facts import IntArray


def kept_predictions(
    folder: Path | None, known: NullEvidence, settings: tuple[Any, ...], predict: Callable[[], IntArray | None]
) -> IntArray | None:
    """Return the stored predictions for this knowledge, or make and store them.

    Processes that make the same at once write the same bytes. A model without a result is not stored.

    Args:
        folder: Folder of the comparison; None stores nothing.
        known: Knowledge of the curator.
        settings: Everything else that the predictions depend on.
        predict: Makes the predictions.
    """
    if folder is None:
        return predict()
    path = folder / f"{_digest(known, settings)}.npy"
    if path.is_file():
        found, people = np.load(path, allow_pickle=False), len(known.labels.labels)
        return checked_numbers(str(path), found, known.labels.classes, first=-1, shape=(people,))
    made = predict()
    if made is not None:
        folder.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.save(content, made, allow_pickle=False)
        write_atomically(path, content.getvalue(), durable=False)
    return made


def _digest(known: NullEvidence, settings: tuple[Any, ...]) -> str:
    told, named = known.labels, () if known.labels.rows is None else (known.labels.rows,)
    start = repr((told.classes, known.taught_by_validation, sorted(known.reported), settings))
    split = (known.split.train, known.split.val)
    return array_digest(told.labels, *split, known.edges, known.features, *named, start=start)[:24]
