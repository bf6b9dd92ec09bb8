"""Runs in Weights & Biases, in its offline mode: the file that ``wandb sync`` would send, read back."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ldpsim.strategies import simulate
from ldpsim.strategies.results.figures import figures
from ldpsim.strategies.tracking.targets import check_targets
from tests.strategies.tracking.conftest import needs, small


def chunks(content: bytes) -> Iterator[bytes]:
    """Yield the entries of LevelDB's log format, after the file's header of 7 bytes."""
    place, entry = 7, b""
    while place + 7 <= len(content):
        if (left := 32768 - place % 32768) < 7:  # too short for the head of another part of an entry
            place += left
            continue
        _, size, kind = struct.unpack_from("<IHB", content, place)
        entry += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield entry
            entry = b""


def stored(folder: Path) -> list[Any]:
    """Return the records of the only offline run below a folder."""
    import wandb
    from wandb.proto import wandb_internal_pb2

    wandb.teardown()  # ends its process, which writes the file
    (path,) = folder.rglob("run-*.wandb")
    return [wandb_internal_pb2.Record.FromString(entry) for entry in chunks(path.read_bytes())]


def test_a_run_is_read_back_from_its_offline_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR", "WANDB_ARTIFACT_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    result = simulate(small(tmp_path / "runs"), track=["wandb:trial"])
    records = stored(tmp_path / "WANDB_DIR")
    assert result.folder is not None
    run = next(record.run for record in records if record.HasField("run"))
    assert run.project == "trial" and run.display_name == result.folder.name
    config = {entry.key: json.loads(entry.value_json) for entry in run.config.update}
    assert config["method"] == "hogs" and config["parameters.epochs"] == "3"
    rows = [{item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            for record in records if record.HasField("history")]  # fmt: skip
    assert [row["train/step"] for row in rows if "train/val_loss" in row] == [1, 2, 3]
    summary = {item.key or "/".join(item.nested_key): json.loads(item.value_json)
               for record in records if record.HasField("summary") for item in record.summary.update}  # fmt: skip
    for name, value in figures(result.record):
        assert summary[name] == pytest.approx(value), name
    artifacts = [record.artifact for record in records if record.HasField("artifact")]
    artifacts += [record.request.log_artifact.artifact for record in records if record.request.HasField("log_artifact")]
    assert [entry.path for entry in artifacts[0].manifest.contents] == ["result.json"]
    # nothing about the machine: no host, no command, no system figures, no output, no environment, no packages
    assert run.host == "ldpsim" and not run.git.commit and not run.git.remote_url
    kinds = {record.WhichOneof("record_type") for record in records}
    assert not kinds & {"stats", "output", "output_raw"}, kinds
    assert not any(record.request.HasField("python_packages") for record in records)
    assert not any(record.HasField("environment") for record in records)


def test_without_a_key_it_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    needs("wandb")
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with pytest.raises(
        ValueError, match="^--track wandb: no API key: `wandb login`, or set WANDB_API_KEY, or WANDB_MODE=offline$"
    ):
        check_targets(["wandb"])
