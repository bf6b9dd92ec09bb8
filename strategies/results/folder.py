"""Folder of a run: its name, its files, and the continuation of an interrupted run.

``<out>/<method>-<dataset>-<config_hash>-<seed>/`` has result.json, model.safetensors,
config.toml and log.txt, deployment.toml where the Flower app can ask the same, and the
devices unless ``--state`` names another folder. A run holds the lock of its folder. A folder
without a result and without a lock belongs to an interrupted run: the same command continues in
it. A folder with a result, or with a lock, is not changed: the next number is taken.
"""

from __future__ import annotations

import itertools
import json
import logging
import math
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.devices.atomic_files import exclusive_lock, read_file, write_atomically
from ldpsim.strategies.setup.disk_space import naming_full_disk

if TYPE_CHECKING:
    from ldpsim.strategies.results.outcome import Outcome

DEVICE_MODEL = "device-model.json"  # what devices predict from: `ldpsim device predict`
COMPARISON = "compare.json"  # summary in the folder of a comparison
log = logging.getLogger("ldpsim")


@contextmanager
def hold_folder(out: Path, *, method: str, dataset: str, digest: str, seed: int) -> Iterator[Path]:
    """Hold the folder of a run: that of an interrupted one of the same command, or the first free name.

    Raises:
        ValueError: if it cannot be written.
    """
    base = name_of(method=method, dataset=dataset, digest=digest, seed=seed)
    with ExitStack() as stack:
        for name in itertools.chain([base], (f"{base}-{number}" for number in itertools.count(2))):
            if _take(out / name, stack):
                yield out / name
                return


def _take(folder: Path, stack: ExitStack) -> bool:
    """Lock a folder that has no result and that no other process works in; return whether that was possible."""
    while not (folder / "result.json").exists():
        prepare(folder)
        with ExitStack() as attempt:
            try:
                handle = attempt.enter_context(exclusive_lock(folder, wait=False))
                same = os.path.samestat(os.fstat(handle), folder.stat())
            except BlockingIOError:
                return False
            except FileNotFoundError:
                continue  # its process was refused and removed it
            # The other process may have ended between the look and the lock.
            if same and not (folder / "result.json").exists():
                stack.enter_context(attempt.pop_all())
                return True
    return False


def finished(base: Path, options: Mapping[str, Any], defaults: Mapping[str, Any]) -> tuple[Path, dict[str, Any]] | None:
    """Return folder and result of a run of these options; None without one.

    Args:
        base: The first folder of such a run; later ones have a number after its name.
        options: The options that count, as result.json has them.
        defaults: Their defaults: in force where a result is older than the option.
    """
    for number in itertools.count(1):
        folder = base if number == 1 else base.with_name(f"{base.name}-{number}")
        if not (folder / "result.json").exists():
            return None
        with suppress(OSError, ValueError):
            record = read_result(folder / "result.json")
            if plain(options) == {name: record["config"].get(name, defaults[name]) for name in options}:
                return folder, record
    return None


def name_of(*, method: str, dataset: str, digest: str, seed: int) -> str:
    """Return the name of a run; of a file with the data it has the name without its folder."""
    return f"{method}-{name_of_data(dataset)}-{digest}-{seed}"


def name_of_data(dataset: str) -> str:
    """Return the name of a data set as part of a file name; of a file the name without its folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", Path(dataset).stem if "/" in dataset else dataset)


def is_name_of(name: str, digest: str) -> bool:
    """Return whether a run with this config hash may have given its folder this name; a copy usually has another.

    >>> is_name_of("raw-cora-0a1b-0-2", "0a1b"), is_name_of("raw-cora-0a1b-0.bak", "0a1b")
    (True, False)
    """
    return re.search(rf"-{re.escape(digest)}-\d+(-\d+)?\Z", name) is not None


def prepare(folder: Path) -> None:
    """Create the folder and check that it can be written.

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


def remove_unfinished(folder: Path) -> None:
    """Remove what a run keeps to be continued, after its result is written: nothing that predicts a draw is left."""
    for path in [each for name in ("checkpoint", "noise-secret", "teachers") for each in folder.glob(f"{name}-*")]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def finished_rounds(folder: Path) -> int:
    """Return the number of rounds in the checkpoints of a folder, of all repeats; 0 where none can be read."""
    done = 0
    for path in folder.glob("checkpoint-*.npz"):
        # A damaged file raises many kinds of error: zip, JSON, missing names.
        with suppress(Exception), np.load(path, allow_pickle=False) as arrays:
            done += int(json.loads(arrays["head"].tobytes())["done"])
    return done


def write_config(folder: Path, options: Mapping[str, Any]) -> None:
    """Write config.toml: ``ldpsim run --config`` runs the same again."""
    import tomli_w

    # TOML has no null: a noise seed of None is the word that the command line takes for it.
    seeds = {name: "os" if seed is None else seed for name, seed in options.get("seeds", {}).items()}
    written = {**options, "seeds": seeds}
    if (file := Path(options["dataset"])).suffix and file.is_file() and not file.is_absolute():
        written["dataset"] = os.path.relpath(file, folder)  # a configuration's data set lies relative to it
    write_atomically(folder / "config.toml", tomli_w.dumps(_toml(written)))


def _toml(values: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            if value:
                table[key] = _toml(value)
        elif isinstance(value, Path):
            table[key] = str(value)
        elif value is not None:
            table[key] = value
    return table


def write_result(folder: Path, record: Mapping[str, Any]) -> None:
    """Write result.json, whole or not at all."""
    write_atomically(folder / "result.json", text_of(record))


def read_result(path: Path) -> dict[str, Any]:
    """Return the content of a result.json.

    Raises:
        OSError, ValueError: for a file that cannot be read, is no JSON object, or lacks a level of guarantee.
    """
    record = json.loads(read_file(path))
    if not isinstance(record, dict):
        raise ValueError(f"{path.name} is no JSON object")
    privacy = record.get("privacy")
    holds = privacy.get("holds") if isinstance(privacy, Mapping) else None
    missing = [name for name in LEVELS if name not in holds] if isinstance(holds, Mapping) else []
    if missing:
        raise ValueError(f"privacy.holds has no {', '.join(missing)}: the run was made without it; run it again")
    return record


def text_of(record: Mapping[str, Any]) -> str:
    """Return the text of result.json."""
    return json.dumps(plain(record), indent=1, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Return a record as JSON can say it: an infinite budget is the word ``inf``."""
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return "inf" if isinstance(value, float) and value == math.inf else value


def write_outcome(folder: Path, outcome: Outcome) -> None:
    """Write the network of an outcome, and what devices predict from, where it has them."""
    if outcome.model is not None:
        write_model(folder, outcome.model.state_dict())
    if outcome.device_models is not None:
        write_atomically(folder / DEVICE_MODEL, outcome.device_models[0].as_text().encode())


def write_model(folder: Path, tensors: Mapping[str, Any]) -> None:
    """Write model.safetensors."""
    from safetensors.torch import save

    data = save({name: tensor.contiguous() for name, tensor in tensors.items()})
    write_atomically(folder / "model.safetensors", data)


class _LogFile(logging.FileHandler):
    """Log file whose failure, as that of a full disk, ends the run; logging itself would print a traceback."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Raise the error of the write, with the file's path."""
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, self.baseFilename)
        super().handleError(record)


@contextmanager
def log_file(folder: Path | None) -> Iterator[None]:
    """Collect the program's log lines in log.txt during a run; None collects nothing."""
    if folder is None:
        yield
        return
    handler = _LogFile(folder / "log.txt")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        with naming_full_disk(folder / "log.txt"):  # it writes what is left
            handler.close()
