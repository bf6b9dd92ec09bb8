from __future__ import annotations

from pathlib import Path

import pytest

from ldpsim.devices.atomic_files import exclusive_lock
from ldpsim.strategies.experiments.sweep import CELLS, hold_cells

A, B, C = {"hogs": "a1"}, {"raw": "b2"}, {"mlp": "c3"}


def test_the_cells_choose_the_folder(tmp_path: Path) -> None:
    def held(cells: dict[str, str | None]) -> str:
        with hold_cells(tmp_path / "of", cells) as folder:
            return folder.name

    assert [held(A), held(B), held(A), held(B | C), held(C)] == ["of", "of-2", "of", "of-2", "of-2"]
    assert held({"none": None}) == "of-3"


def test_a_killed_extension_leaves_the_folder_to_the_first_ones(tmp_path: Path) -> None:
    with hold_cells(tmp_path / "of", A):
        pass
    with pytest.raises(RuntimeError), hold_cells(tmp_path / "of", A | B):
        raise RuntimeError
    with hold_cells(tmp_path / "of", B) as folder:
        assert folder.name == "of-2"


def test_a_busy_folder_of_the_same_cells_is_a_mistake_and_one_of_others_is_passed(tmp_path: Path) -> None:
    with hold_cells(tmp_path / "of", A) as folder:
        with hold_cells(tmp_path / "of", B) as other:
            assert other.name == "of-2"
        with pytest.raises(ValueError, match="of: another sweep or comparison"), hold_cells(folder, A):
            pass
    with exclusive_lock(folder, wait=False), pytest.raises(ValueError, match="another"):
        hold_cells(folder, A).__enter__()


@pytest.mark.parametrize("damaged", ["{", "[]", "5"])
def test_a_folder_that_belongs_to_nobody_knows_whom_is_left_alone(damaged: str, tmp_path: Path) -> None:
    (tmp_path / CELLS).write_text(damaged)
    with pytest.raises(ValueError, match=r"cells.json: cannot be read"), hold_cells(tmp_path, A):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [CELLS]
