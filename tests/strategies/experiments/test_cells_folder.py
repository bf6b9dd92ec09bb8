from __future__ import annotations

from pathlib import Path

import pytest

from ldpsim.devices.atomic_files import exclusive_lock
from ldpsim.strategies.experiments.cells_folder import CELLS, anything, has_all_of, has_some_of, hold_cells

A, B, C = {"hogs": "a1"}, {"raw": "b2"}, {"mlp": "c3"}


def test_the_cells_choose_the_folder(tmp_path: Path) -> None:
    def held(cells: dict[str, str | None], goes_on: object = has_all_of) -> str:
        with hold_cells(tmp_path / "of", cells, goes_on) as folder:  # type: ignore[arg-type]
            return folder.name

    assert [held(A), held(B), held(A), held(B | C), held(B)] == ["of", "of-2", "of", "of-2", "of-3"]
    assert [held(A | C, has_some_of), held({"none": None}, has_some_of)] == ["of", "of-4"]
    assert held({"hogs": None}, anything) == "of"


def test_a_cell_that_could_not_run_may_run_later() -> None:
    assert has_all_of({"hogs": None}, A) and not has_all_of(A, {"hogs": None}) and not has_all_of({"raw": None}, A)
    assert not has_some_of({"hogs": None}, {"hogs": None})


def test_a_killed_extension_leaves_the_folder_to_the_first_ones(tmp_path: Path) -> None:
    with hold_cells(tmp_path / "of", A, has_all_of):
        pass
    with pytest.raises(RuntimeError), hold_cells(tmp_path / "of", A | B, has_all_of) as folder:
        assert folder.name == "of"
        raise RuntimeError
    with hold_cells(tmp_path / "of", A, has_all_of) as folder:
        assert folder.name == "of"


def test_a_busy_folder_of_the_same_cells_is_a_mistake_and_one_of_others_is_passed(tmp_path: Path) -> None:
    with hold_cells(tmp_path / "of", A, has_all_of) as folder:
        with hold_cells(tmp_path / "of", B, has_all_of) as other:
            assert other.name == "of-2"
        with pytest.raises(ValueError, match="of: another sweep or comparison"), hold_cells(folder, A, has_all_of):
            pass
    with exclusive_lock(folder, wait=False), pytest.raises(ValueError, match="another"):
        hold_cells(folder, A, has_all_of).__enter__()


@pytest.mark.parametrize("damaged", ["{", "[]", "5"])
def test_a_folder_that_belongs_to_nobody_knows_whom_is_left_alone(damaged: str, tmp_path: Path) -> None:
    (tmp_path / CELLS).write_text(damaged)
    with pytest.raises(ValueError, match=r"cells.json: cannot be read"), hold_cells(tmp_path, A, has_all_of):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [CELLS]
