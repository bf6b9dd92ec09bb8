"""Benchmarks: ratios of speed, and the papers' tables and figures."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"  # every page and table that a benchmark writes
