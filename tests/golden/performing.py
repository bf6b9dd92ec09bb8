"""Make a golden run and pick the figures of it that a refactoring must not change.

Runs are started through public entry points only: ``simulate``, the Flower ServerApp on a
Grid, and ``flwr run .``. One thing inside a run is replaced: :func:`_noting_edges` listens to a
method.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from flwr.app import Context, RecordDict
from safetensors.numpy import load_file

from ldpsim.curator.methods import find
from ldpsim.strategies import Refused, RunOptions, simulate
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.flower_app.simulation import run_on_grid
from tests.flower_processes import Flower
from tests.golden.runs import DEFAULTS, Block, Golden

ROOT = Path(__file__).resolve().parents[2]
SUPERNODES = 30


def perform(golden: Golden, folder: Path) -> Block:
    """Make a run in an empty folder and return its block of the golden file."""
    started = {"simulate": _simulate, "facts": _serve_public_facts, "flwr": _flwr_run}[golden.how]
    return {**golden.described(), **started(golden, folder)}


def _options(given: Mapping[str, Any], folder: Path) -> RunOptions:
    values = {**DEFAULTS, "out": folder / "out", **given}
    for name in ("state", "from_reports"):
        if values.get(name) is not None:
            values[name] = folder / values[name]
    if "dataset" in given:
        values["data_dir"] = Path(os.environ["LDPSIM_DATA"])
    return RunOptions(**values)


def _simulate(golden: Golden, folder: Path) -> Block:
    if golden.first is not None:
        result = simulate(_options({**golden.options, **golden.first}, folder))
        assert result.folder is not None
        (folder / "first").symlink_to(result.folder)
    options = _options(golden.options, folder)
    with _noting_edges(options.method) as edges:
        try:
            result = simulate(options)
        except Refused as refusal:
            return {"refused": dict(re.findall("([A-Z_]{2,}) ([0-9,]+)", str(refusal)))}
    return figures(result.record, edges(), result.folder)


@contextmanager
def _noting_edges(method: str) -> Iterator[Callable[[], str | None]]:
    """Note the graphs that a method makes; the function given returns the digest of their edges.

    It wraps the functions of a method that make a :class:`ldpsim.curator.methods.Graph`. A run calls one of them.
    """
    digest, kind = hashlib.sha256(), find(method)
    empty = digest.hexdigest()

    def noted(original: Callable[..., Any]) -> Callable[..., Any]:
        def make(*args: Any, **kwargs: Any) -> Any:
            graph = original(*args, **kwargs)
            pairs = np.asarray(graph.edge_index, "<i8")
            digest.update(pairs[:, np.lexsort(pairs[::-1])].tobytes())
            return graph

        return make

    made = {name: noted(getattr(kind, name)) for name in ("from_owned", "reconstruct") if hasattr(kind, name)}
    with patch.multiple(kind, **made) if made else nullcontext():
        yield lambda: None if digest.hexdigest() == empty else digest.hexdigest()


def _serve_public_facts(golden: Golden, folder: Path) -> Block:
    """The curator of ``facts`` asks devices that replay what they told a simulation."""
    simulate(_options(golden.options, folder))
    state = folder / "state"
    facts = json.loads((state / "enrolment.json").read_text())["policy"]["facts"]
    labels = np.load(state / "population" / "labels.npy")
    public = {"facts": facts, "labels": {str(node): int(labels[node]) for node in range(0, len(labels), 2)}}
    config = {"facts": json.dumps(public), "collection": "golden"}
    with _noting_edges("hogs") as edges, patch.dict(os.environ, {"LDPSIM_HOME": str(folder)}):
        run_on_grid(LocalGrid(state, len(labels)), Context(1, 0, {}, RecordDict(), config))  # type: ignore[arg-type]
    record = json.loads((folder / "flwr" / "hogs-golden" / "result.json").read_text())
    predictions = np.load(folder / "flwr" / "hogs-golden" / "predictions.npy", allow_pickle=False)
    return {
        "accuracy": {"test": float(np.mean(predictions == labels)), "val": record["accuracy"]["val"]},
        "nodes": len(labels), "split": {"test": len(labels), "val": len(labels) // 2 // 3},
        "reports_sha256": record["devices"]["reports_sha256"],
        "devices": {name: count for name, count in record["devices"].items() if isinstance(count, int)},
        **_privacy(record["privacy"]), "edges_sha256": edges(),
    }  # fmt: skip


def _flwr_run(golden: Golden, folder: Path) -> Block:
    """``flwr run .`` on the simulation runtime; its log has one result line, which names the file."""
    home = {"OMP_NUM_THREADS": "1", "LDPSIM_HOME": str(folder / "home")}
    with patch.dict(os.environ, home), Flower(simulation=True, log=folder / "flower.log") as flower:
        federation = f"num-supernodes={SUPERNODES} client-resources-num-cpus=1 init-args-num-cpus=2"
        flower.start_run(ROOT, {"dataset": DEFAULTS["dataset"], **golden.options}, federation=federation).wait(200)
    results, log = list((folder / "home").glob("flwr/run-*/*/result.json")), (folder / "flower.log").read_text()
    assert len(results) == 1 and json.loads(results[0].read_text())["engine"] == "flower", log
    lines = [line for line in log.splitlines() if "result: " in line]
    assert len(lines) == 1 and "accuracy" in lines[0] and str(results[0]) in lines[0], log
    return figures(json.loads(results[0].read_text()), None, results[0].parent)


def figures(record: Mapping[str, Any], edges: str | None, folder: Path | None) -> Block:
    """Return what the golden file keeps of a result: no times, no memory, no words, no ids."""
    assert folder is not None
    teachers, devices = record.get("teachers"), record["devices"]
    in_rounds = "federated" in record and "handover" not in record["communication"]["by_phase"]
    block: Block = {
        "config_hash": record["config_hash"],
        "nodes": record["dataset"]["nodes"],
        "split": record["dataset"]["split"],
        # Devices that train in rounds send weights: their digest is that of floating-point numbers.
        "weights_sha256" if in_rounds else "reports_sha256": devices["reports_sha256"],
        "edges_sha256": edges,
        "model_sha256": _model_digest(folder / "model.safetensors"),
        "devices": {name: devices[name] for name in ("asked", "reported", "replayed", "refused_by_code", "silent",
                                                     "failed")},
        "accuracy": record["accuracy"],
        "reference": record["reference"]["nonprivate_test"],
        "communication": {name: value for name, value in record["communication"].items() if "per_device" not in name},
        "reconstruction": {name: record["reconstruction"][name] for name in ("edges", "feature_mae")},
        **_privacy(record["privacy"]),
        **_lifetime(record["privacy"]["lifetime_per_device"]),
    }  # fmt: skip
    if teachers is not None:
        block["labels_sha256"] = teachers["labels_sha256"]
        block["teachers"] = {name: teachers[name] for name in ("epsilon", "epsilon_in_all", "delta", "delta_printed")}
    if record["nulls"] is not None:
        block["nulls"] = record["nulls"]
    return json.loads(json.dumps(block))


def _model_digest(file: Path) -> str | None:
    """Digest of a network's weights, whatever they are called and in whatever order they are."""
    if not file.is_file():
        return None
    parts = sorted(hashlib.sha256(tensor.tobytes()).digest() for tensor in load_file(file).values())
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _privacy(privacy: Mapping[str, Any]) -> Block:
    levels = {name: {key: level[key] for key in ("value", "status", "delta")}
              for name, level in privacy["holds"].items()}  # fmt: skip
    return {"claimed": privacy["claimed"]["value"], "holds": levels, "trust": privacy["trust"],
            "collections": privacy["collections"]}  # fmt: skip


def _lifetime(found: Mapping[str, Any]) -> Block:
    levels = sorted(name for name in found if name != "complete")
    return {"ledgers_complete": found["complete"],
            **{f"ledgers_{end}": {name: found[name][end] for name in levels} for end in ("max", "mean")}}  # fmt: skip
