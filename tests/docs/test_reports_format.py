"""Page about saved reports: its reader is run, and its table is compared with what mechanisms make."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from docs.layers import ROOT
from ldpsim.curator.attacks.examples import examples
from ldpsim.curator.reports.reports import FORMAT, Reports
from ldpsim.devices.data.records import Record
from ldpsim.devices.mechanisms import BUILT_IN, ClearAdjacency, ClearFeatures, ClearLabel, Mechanism
from ldpsim.devices.mechanisms.stacked_reports import stacked
from ldpsim.devices.noise import Noise
from ldpsim.strategies import RunOptions, simulate

PAGE = (ROOT / "docs" / "reports-format.md").read_text()
SNIPPET = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]
QUICK: dict[str, Any] = {"clients": 60, "reference": False, "nulls": False, "save_reports": True}


def reader() -> Any:
    """Return the function that the page has."""
    names: dict[str, Any] = {}
    exec(SNIPPET, names)
    return names["read_reports"]


@pytest.mark.parametrize("method, given", [
    ("hogs", {"private_labels": True, "eps_labels": 2.0, "dropout": 0.1}),  # bits, packed bits, labels, silent people
    ("lpgnn", {}),                                                           # values that are not sampled
    ("vote", {"public_features": True, "settings": {"batches": "2"}}),      # parts
])  # fmt: skip
def test_the_pages_reader_reads_what_the_product_reads(method: str, given: Any, tmp_path: Path) -> None:
    settings = given.pop("settings", {} if method == "vote" else {"epochs": "1"})
    result = simulate(RunOptions(method=method, out=tmp_path, settings=settings, **QUICK, **given))
    assert result.folder is not None
    ours = Reports.load(result.folder / "reports")
    found = reader()(result.folder / "reports")
    pairs = list(zip(found, ours.parts, strict=True)) if isinstance(found, list) else [(found, ours)]
    assert len(pairs) == (1 if method != "vote" else len(ours.parts)) and (method != "vote" or len(pairs) > 1)
    for (head, arrays), reports in pairs:
        compare(head, arrays, reports)


def compare(head: Any, arrays: dict[str, np.ndarray], reports: Reports) -> None:
    """Compare the head and every array with the product's."""
    n, d = head["facts"]["n"], head["facts"]["d"]
    assert head["format"] == FORMAT and head["facts"] == reports.facts.to_dict()
    assert head["query"] == reports.query().to_bytes().decode()
    assert set(head["arrays"]) | {"answered"} | {f"asked_{name}" for name in reports.recipients} == set(arrays)
    np.testing.assert_array_equal(arrays["answered"], reports.answered)
    for name, who in reports.recipients.items():
        np.testing.assert_array_equal(arrays[f"asked_{name}"], who)
    assert all(array.dtype.byteorder in "=|<" for array in arrays.values())
    if reports.adjacency is not None:
        ones = csr_array((np.ones(len(arrays["adjacency_indices"]), bool), arrays["adjacency_indices"],
                          arrays["adjacency_indptr"]), shape=(n, n))  # fmt: skip
        assert (ones != reports.adjacency).nnz == 0
    if issparse(reports.features):
        values = csr_array((arrays["features_data"], arrays["features_indices"], arrays["features_indptr"]), (n, d))
        assert values.dtype == np.int8 and (values != reports.features).nnz == 0
    elif reports.features is not None:
        bits = np.unpackbits(arrays["features"], axis=1)[:, :d]
        np.testing.assert_array_equal(np.packbits(bits, axis=1), reports.features)
    for name in ("labels", "votes"):
        if name in reports.arrays:
            np.testing.assert_array_equal(arrays[name], reports.arrays[name])


def instance(name: str) -> tuple[Mechanism, int, Any]:
    """Return a small mechanism, a device, and its public grouping."""
    clear = {"clear_adjacency": ClearAdjacency(n=4), "clear_features": ClearFeatures(d=3), "clear_label": ClearLabel(3)}
    if name in clear:
        return clear[name], 3, None
    example = examples(BUILT_IN[name])[0][0]
    return example.mechanism, example.device, example.grouping


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_the_table_has_every_mechanism_as_it_is(name: str) -> None:
    row = re.search(rf"^\| `{name}` \| `(\w+)` \| (\w+) \| \((.*?)\) \| (\w+) \|", PAGE, re.MULTILINE)
    assert row, f"the page has no row about {name}"
    field, kind, shape, form = row.groups()
    mechanism, device, grouping = instance(name)
    nobody = np.zeros(0, np.int32)
    record = Record(nobody, np.zeros(0, np.float32), nobody, 0)
    data = mechanism.respond([record], Noise([bytes(32)]), devices=[device], grouping=grouping)[0]
    made = stacked(mechanism, device + 1, {device: data})
    assert (mechanism.field, str(made.dtype), "CSR" if issparse(made) else "dense") == (field, kind, form)
    assert made.shape[0] == (device + 1 if shape.startswith("n") else mechanism.d + 1) and made.ndim == len(
        [part for part in shape.split(",") if part.strip()]
    )
