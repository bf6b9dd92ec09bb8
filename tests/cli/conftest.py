"""A result made by hand, and the digests of a folder."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS

RECORD: dict[str, Any] = {
    "schema": 2,
    "ldpsim_version": "0.1.0",
    "method": "hogs",
    "gnn": "gcn",
    "seeds": {"population": 1, "split": 2, "noise": 3, "training": 4},
    "simulation_seeded": True,
    "engine": "local",
    "device": "cpu",
    "config_hash": "0123456789ab",
    "dataset": {
        "name": "generated", "digest": "ab" * 32, "nodes": 3000, "edges": 10500, "features": 256, "classes": 5,
        "homophily": 0.62, "split": {"train": 1500, "val": 750, "test": 750},
        "scored_sha256": ["ef" * 32],
    },
    "devices": {
        "asked": 3000, "reported": 2890, "replayed": 10, "refused": 50, "silent": 49, "failed": 1,
        "refused_by_code": {"REPORT_COLLECTED": 50}, "reports_sha256": "cd" * 32,
    },
    "accuracy": {"test": 0.6124, "val": 0.6052, "macro_f1": 0.604, "per_repeat": [0.6124], "std": None,
                 "curator": 0.6124, "device": 0.7, "device_std": None},
    "reference": {"nonprivate_test": 0.8511},
    "privacy": {
        "trust": "untrusted curator",
        "claimed": {"statement": "epsilon-LDP of links and features, epsilon = 8 (Theorem 4)", "value": 8.0},
        "holds": {name: Level("not asked").to_dict() for name in LEVELS} | {
            "bit_adjacency": Level("bounded", 7.2).to_dict(),
            "bit_feature": Level("bounded", 0.8).to_dict(),
            "relationship": Level("bounded", 14.4).to_dict(),
            "vector": Level("bounded", 204.8).to_dict(),
            "label": Level("unprotected", public=("label",)).to_dict(),
            "user": Level("bounded", 21797.6).to_dict(),
            "node": Level("bounded", 43390.4).to_dict(),
        },
        "collections": 1, "repeats": None, "searched": 0,
        "lifetime_per_device": {
            "bit_adjacency": {"max": 7.2, "mean": 7.2}, "bit_feature": {"max": 0.8, "mean": 0.8},
            "vector": {"max": 204.8, "mean": 204.8}, "label": {"max": 0.0, "mean": 0.0},
            "user": {"max": 21797.6, "mean": 21797.6}, "complete": True,
        },
        "why_they_differ": [
            "Theorem 4 adds one bit of a list and one feature of one person; Definition 1 (any two inputs) needs the "
            "whole record, the row 'a person'",
            "an undirected edge stands in both ends' lists: its loss is what both ends spend on it",
        ],
    },
    "communication": {
        "rounds": 1, "messages": 5951, "downlink_bytes": 1200000, "uplink_bytes": 1230000,
        "downlink_bytes_per_device": 400.0, "uplink_bytes_per_device": 410.0, "by_phase": {},
    },
    "seconds": {"population": 0.31, "collect": 0.42, "reconstruct": 0.97, "train": 8.13, "total": 14.2},
    "memory": {"peak_rss_bytes": 612000000},
    "reconstruction": {"edge_precision": 0.81, "edge_recall": 0.79, "edges": 10238.0, "feature_mae": 0.31},
    "config": {"method": "hogs", "dataset": "generated", "seed": 0,
               "budget": {"epsilon": 8.0, "feature_share": 0.1}, "parameters": {}},
}  # fmt: skip


# Sections that a result of an earlier version, or of a run with --no-nulls, does not have.
WITH_NULLS: dict[str, Any] = {
    "nulls": {
        "chance": {"test": 0.3013},
        "graph_alone": {"test": 0.7884, "std": 0.003},
        "features_alone": {"test": 0.5502, "std": 0.011},
        "shuffled": {
            "features": {"test": 0.6093, "std": 0.004},
            "adjacency": {"test": 0.3311, "std": 0.006},
            "all": {"test": 0.3021, "std": 0.0},
        },
    },
    "verdict": {
        "above_chance": True, "above_nulls": False, "margin": {"value": -0.176, "low": -0.189, "high": -0.162},
        "over_chance": None, "over": {}, "best_null": "graph_alone", "interval": {"of": "repeats", "repeats": 5},
        "ask_nobody": ["chance", "shuffled_all"],
        "bought": {"features": {"value": 0.0031, "low": -0.009, "high": 0.0152},
                   "adjacency": {"value": 0.2813, "low": 0.27, "high": 0.292}},
        "text": "Labels on the graph alone are 17.6 points above the method.",
    },
    "reference": {"nonprivate_test": 0.8511, "nonprivate_test_own_settings": 0.8622},
    "seconds/nulls": 12.4,
}  # fmt: skip
ABOVE_NULLS: dict[str, Any] = {
    "nulls": {"chance": {"test": 0.3013}, "graph_alone": None, "features_alone": {"test": 0.62, "std": 0.002},
              "shuffled": {"features": {"test": 0.4, "std": 0.02}}},
    "verdict": {"above_chance": True, "above_nulls": True, "margin": {"value": 0.09, "low": 0.07, "high": 0.11},
                "over_chance": None, "over": {}, "best_null": "features_alone",
                "interval": {"of": "repeats", "repeats": 5}, "ask_nobody": ["chance"],
                "bought": {"features": {"value": 0.31, "low": 0.28, "high": 0.34}},
                "text": "On these people the private features gained 31.0 ± 1.5 points."},
}  # fmt: skip


@pytest.fixture
def record() -> dict[str, Any]:
    """A result of its own for each test."""
    return copy.deepcopy(RECORD)


@pytest.fixture
def with_nulls(record: dict[str, Any]) -> dict[str, Any]:
    """A result with null models, one of which is above the method."""
    return _changed(record, copy.deepcopy(WITH_NULLS))


def _changed(record: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    for path, value in changes.items():
        *above, last = path.split("/")
        part = record
        for name in above:
            part = part[name]
        part[last] = value
    return record


@pytest.fixture
def write_result() -> Callable[..., Path]:
    """Write a result below a folder, with fields changed by their path (``accuracy/test``)."""

    def write(folder: Path, name: str, changes: dict[str, Any] | None = None) -> Path:
        run = folder / name
        run.mkdir(parents=True)
        changed = _changed(copy.deepcopy(RECORD), changes or {})
        (run / "result.json").write_text(json.dumps(changed))
        (run / "config.toml").write_text("")
        return run

    return write


OPEN = Level("unprotected", reason="raw data, no noise").to_dict()
UNASKED = Level("not asked").to_dict()


@pytest.fixture
def comparison(tmp_path: Path, write_result: Callable[..., Path]) -> Path:
    """Return a folder with results of five methods: bounded, in clear, central, not asked, and with no bytes."""
    holds = RECORD["privacy"]["holds"]
    public_edges = {**holds, **dict.fromkeys(("bit_adjacency", "relationship", "user", "node"), OPEN)}
    nothing_sent = {"communication/downlink_bytes_per_device": 0, "communication/uplink_bytes_per_device": 0}
    no_noise = {"privacy/trust": "none", "communication/rounds": 0, **nothing_sent,
                "privacy/claimed": {"statement": "none: a reference without noise", "value": None}}  # fmt: skip
    results: dict[str, dict[str, Any]] = {
        "hogs": {"accuracy/std": 0.011, "accuracy/per_repeat": [0.6, 0.62, 0.61], **WITH_NULLS},
        "lpgnn": {"accuracy/test": 0.71, "accuracy/std": 0.02, "privacy/holds": public_edges,
                  "privacy/claimed": {"statement": "1-LDP of features", "value": 1.0}, "reconstruction/edges": 10500,
                  **ABOVE_NULLS},
        "dp-fedavg": {"accuracy/test": 0.45, "accuracy/curator": None, "accuracy/device": 0.45,
                      "privacy/trust": "trusted curator", "communication/rounds": 200, "seconds/train": 140.0,
                      "privacy/holds": {**dict.fromkeys(holds, OPEN),
                                        "central_node": {**holds["user"], "value": 3.2, "delta": 1e-5}},
                      "communication/downlink_bytes_per_device": 9.1e6, "communication/uplink_bytes_per_device": 9.0e6,
                      "reconstruction": dict.fromkeys(("edge_precision", "edge_recall", "edges", "feature_mae"))},
        "mlp": {"accuracy/test": 0.52, **no_noise,
                "verdict": {**WITH_NULLS["verdict"], "above_chance": None, "margin": None, "text": ""},  # as of isolate
                "privacy/holds": {**dict.fromkeys(holds, OPEN), "relationship": UNASKED, "bit_adjacency": UNASKED}},
        "raw": {"accuracy/test": 0.85, **no_noise, "privacy/holds": dict.fromkeys(holds, OPEN)},
    }  # fmt: skip
    for name, changes in results.items():
        write_result(tmp_path / "compare", f"{name}-0", {"method": name, "config/method": name, **changes})
    return tmp_path / "compare"


@pytest.fixture
def listing() -> Callable[[Path], dict[str, str]]:
    """Return every file below a folder with its digest, and every folder."""

    def look(folder: Path) -> dict[str, str]:
        return {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
            for path in sorted(folder.rglob("*"))
        }

    return look


@pytest.fixture(autouse=True)
def no_progress_on_a_slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in the tests' own process show no progress, however long they take."""
    monkeypatch.setattr("ldpsim.cli.progress.PATIENCE", 3600.0)
