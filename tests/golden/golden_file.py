"""The golden file: its machine, and how it is read and written."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.golden.runs import Block

FILE = Path(__file__).with_name("golden.json")


def machine() -> Block:
    """Return what decides whether floating-point sums are the same as here."""
    return {
        "cpu": _cpu_model(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    wanted = ("vendor_id", "cpu family", "model", "model name")
    found = dict(line.split("\t", 1) for line in lines if "\t" in line)
    return " ".join(found[key].lstrip("\t: ") for key in wanted if key in found) or platform.machine()


def load() -> Block:
    """Read the golden file: ``machine`` and ``runs``."""
    return json.loads(FILE.read_text())


def save(content: Block) -> None:
    """Write the golden file, sorted: short values on one line each."""
    FILE.write_text(_text(content, "") + "\n")


def _text(value: Any, indent: str) -> str:
    flat = json.dumps(value, sort_keys=True)
    if not isinstance(value, dict) or not value or (len(flat) < 110 and len(indent) > 1):
        return flat
    rows = (f"{indent} {json.dumps(key)}: {_text(value[key], indent + ' ')}" for key in sorted(value))
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
