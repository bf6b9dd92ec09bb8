"""Features brought into the public range."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.devices.data.population import WrongFeature

FROM_DATA = (
    "--scale minmax: each feature's smallest and largest value is computed from the data, which is itself a release "
    "that no epsilon covers; state a public range with --feature-range where you can"
)


def rescaled(file: str, arrays: dict[str, Any], scale: str, low: float, high: float) -> dict[str, Any]:
    """Return arrays with other feature values.

    ``clip`` and ``binary`` change each value on its own, so that nothing of others' data is in
    it. ``minmax`` moves each column's smallest value to 0 and its largest to 1; a column of
    one value becomes 0.

    Args:
        file: Name of the file.
        arrays: Arrays of a graph; its features are CSR parts.
        scale: ``minmax``; ``clip``: cut at ``low`` and ``high``; ``binary``: 1 where a value is not 0.
        low, high: Public range.

    Raises:
        WrongFeature: for the first value that is not a finite number.
    """
    starts, columns, values = (arrays[name] for name in ("indptr", "indices", "values"))
    values = np.asarray(values, np.float64)
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        row = int(np.searchsorted(starts, wrong[0], side="right")) - 1
        raise WrongFeature(file, row, int(columns[wrong[0]]), "feature that is not a finite number")
    if scale == "clip":
        return {**arrays, "values": np.clip(values, low, high)}
    if scale == "binary":
        return {**arrays, "values": (values != 0).astype(np.float32)}
    shape = (len(starts) - 1, int(arrays["num_features"]))
    if not values.size:
        return arrays
    matrix = csr_array((values, columns, starts), shape=shape)
    least, most = (np.asarray(end.todense()).ravel() for end in (matrix.min(axis=0), matrix.max(axis=0)))
    width = np.where(most > least, most - least, 1)
    if least.any():  # zeros move: nothing stays sparse
        dense = ((matrix.toarray() - least) / width).astype(np.float32)
        matrix = csr_array(dense)
        return {**arrays, "indptr": matrix.indptr, "indices": matrix.indices, "values": matrix.data}
    return {**arrays, "values": values / width[columns]}
