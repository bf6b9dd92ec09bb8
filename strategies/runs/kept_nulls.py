"""Predictions of null models that runs of one comparison share, by the digest of all that they depend on."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from curator.nulls.known import NullEvidence
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
        found: IntArray = np.load(path, allow_pickle=False)
        return found
    made = predict()
    if made is not None:
        folder.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.save(content, made, allow_pickle=False)
        write_atomically(path, content.getvalue(), durable=False)
    return made


def _digest(known: NullEvidence, settings: tuple[Any, ...]) -> str:
    features = known.features
    rows = (features.indptr, features.indices, features.data) if issparse(features) else (features,)
    state = hashlib.sha256(repr((known.classes, known.taught_by_validation, settings)).encode())
    named = () if known.named is None else (known.named,)
    for array in (known.labels, known.split.train, known.split.val, known.edges, *rows, *named):
        if array is not None:
            whole = np.ascontiguousarray(array)
            state.update(f"{whole.dtype.str}{whole.shape}".encode())
            state.update(whole.data)
        state.update(b"|")
    return state.hexdigest()[:24]
