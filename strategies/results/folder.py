"""The folder of a run: its name, its files, and how an interrupted run is found again.

``<out>/<method>-<dataset>-<config_hash>-<seed>/`` holds result.json, model.safetensors,
config.toml and log.txt, and the devices where ``--state`` named no other folder. A
folder without result.json belongs to a run that was interrupted: the same command goes
on in it. One that has a result is left alone.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devices.atomic_files import write_atomically

COMPARISON = "compare.json"  # what a comparison's folder says beside its results
log = logging.getLogger("ldpsim")


def choose_folder(out: Path, *, method: str, dataset: str, digest: str, seed: int) -> Path:
    """Return the folder of a run: an interrupted one of the same command, or the first free name."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", Path(dataset).stem if "/" in dataset else dataset)
    base = f"{method}-{plain}-{digest}-{seed}"
    number = 1
    while True:
        folder = out / (base if number == 1 else f"{base}-{number}")
        if not (folder / "result.json").exists():
            return folder
        number += 1


def prepare(folder: Path) -> None:
    """Make the folder and see that it can be written.

    Raises:
        ValueError: one line naming the folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(f"{folder} cannot be written: {error.strerror}") from None


def write_config(folder: Path, options: Mapping[str, Any]) -> None:
    """Write config.toml: ``ldpsim run --config`` runs the same again."""
    import tomli_w

    # TOML has no null: a noise seed of None is the word that the command line takes for it.
    seeds = {name: "os" if seed is None else seed for name, seed in options.get("seeds", {}).items()}
    write_atomically(folder / "config.toml", tomli_w.dumps(_toml({**options, "seeds": seeds})))


def _toml(values: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            if value:
                kept[key] = _toml(value)
        elif isinstance(value, Path):
            kept[key] = str(value)
        elif value is not None:
            kept[key] = value
    return kept


def write_result(folder: Path, record: Mapping[str, Any]) -> None:
    """Write result.json, whole or not at all."""
    write_atomically(folder / "result.json", json.dumps(plain(record), indent=1, allow_nan=False) + "\n")


def plain(value: Any) -> Any:
    """Return a record as JSON can say it: an infinite budget is the word ``inf``."""
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return "inf" if isinstance(value, float) and value == math.inf else value


def write_model(folder: Path, tensors: Mapping[str, Any]) -> None:
    """Write model.safetensors."""
    from safetensors.torch import save_file

    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")


class LogFile:
    """Collect the program's log lines in log.txt while a run goes on."""

    def __init__(self, folder: Path | None) -> None:
        self._handler: logging.Handler | None = None
        if folder is not None:
            self._handler = logging.FileHandler(folder / "log.txt")
            self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))

    def __enter__(self) -> LogFile:
        if self._handler is not None:
            log.setLevel(logging.INFO)
            log.propagate = False
            log.addHandler(self._handler)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            log.removeHandler(self._handler)
            self._handler.close()
