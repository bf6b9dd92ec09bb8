from __future__ import annotations

import json
import logging
import tomllib
from pathlib import Path

import pytest

from strategies.results.folder import choose_folder, log_file, prepare, write_config, write_result


def test_an_interrupted_run_is_found_again_and_a_finished_one_is_not(tmp_path: Path) -> None:
    name = {"method": "hogs", "dataset": "generated", "digest": "abc", "seed": 0}
    first = choose_folder(tmp_path, **name)
    assert first == tmp_path / "hogs-generated-abc-0"
    prepare(first)
    assert choose_folder(tmp_path, **name) == first
    write_result(first, {})
    second = choose_folder(tmp_path, **name)
    assert second.name == "hogs-generated-abc-0-2"
    prepare(second)
    write_result(second, {})
    assert choose_folder(tmp_path, **name).name == "hogs-generated-abc-0-3"


def test_a_path_as_data_set_gives_a_plain_name(tmp_path: Path) -> None:
    folder = choose_folder(tmp_path, method="hogs", dataset="/some/where/my graph.npz", digest="abc", seed=0)
    assert folder.name == "hogs-my_graph-abc-0"


def test_a_result_is_whole_or_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        write_result(tmp_path, {"x": float("nan")})
    assert list(tmp_path.iterdir()) == []
    write_result(tmp_path, {"x": 1})
    assert json.loads((tmp_path / "result.json").read_text()) == {"x": 1}


def test_config_leaves_out_what_was_not_given(tmp_path: Path) -> None:
    write_config(
        tmp_path, {"epsilon": 8.0, "state": None, "out": Path("runs"), "settings": {"tau": "0.9"}, "seeds": {}}
    )
    assert tomllib.loads((tmp_path / "config.toml").read_text()) == {
        "epsilon": 8.0, "out": "runs", "settings": {"tau": "0.9"},
    }  # fmt: skip


def test_log_lines_go_to_the_folder_and_stop_with_the_run(tmp_path: Path) -> None:
    log = logging.getLogger("ldpsim")
    with log_file(tmp_path):
        log.info("inside")
    log.info("outside")
    assert "inside" in (text := (tmp_path / "log.txt").read_text()) and "outside" not in text


def test_a_folder_below_a_file_cannot_be_prepared(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot be written"):
        prepare(tmp_path / "file" / "run")
