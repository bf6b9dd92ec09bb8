"""Runs in TensorBoard: the event file read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldpsim.strategies import simulate
from ldpsim.strategies.results.figures import figures
from ldpsim.strategies.tracking.targets import check_targets
from tests.strategies.tracking.conftest import needs, small


def test_a_run_is_read_back_from_its_event_file(tmp_path: Path) -> None:
    needs("tensorboard")
    result = simulate(small(tmp_path / "runs"), track=[f"tensorboard:{tmp_path / 'events'}"])
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert result.folder is not None
    folder = tmp_path / "events" / result.folder.name
    events = EventAccumulator(str(folder)).Reload()
    curve = events.Scalars("train/train_loss")
    assert [point.step for point in curve] == [1, 2, 3]
    for name, value in figures(result.record):
        assert events.Scalars(name)[0].value == pytest.approx(value, rel=1e-6), name
    shown = events.Tensors("options/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "| method | hogs |" in shown and "| parameters.epochs | 3 |" in shown
    assert (
        "| holds.relationship | bounded |"
        in events.Tensors("result/text_summary")[0].tensor_proto.string_val[0].decode()
    )
    assert "hparams" in events.PluginTagToContent("hparams").__repr__() or events.PluginTagToContent("hparams")
    record = json.loads((folder / "result.json").read_text())
    assert record["accuracy"] == json.loads(json.dumps(result.record["accuracy"]))


def test_the_same_run_again_has_a_folder_of_its_own(tmp_path: Path) -> None:
    needs("tensorboard")
    for _ in range(2):
        simulate(small(None), track=[f"tensorboard:{tmp_path}"])
    first, second = sorted(path.name for path in tmp_path.iterdir())
    assert second == f"{first}-2"


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    needs("tensorboard")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"^--track tensorboard:\S+file: .*exists"):
        check_targets([f"tensorboard:{tmp_path / 'file'}"])
