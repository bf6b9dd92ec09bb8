"""Arrays and files of strangers, public facts, and files that are written whole."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ldpsim.devices.array_types import check_rows, checked_numbers
from ldpsim.devices.atomic_files import (
    exclusive_lock,
    lock_file,
    made_once,
    private_file,
    private_folder,
    read_file,
    write_atomically,
)
from ldpsim.devices.facts import PublicFacts

STARTS, COLUMNS, VALUES = np.array([0, 2, 2, 3]), np.array([0, 4, 1]), np.array([0.5, 1.0, 2.0])

WRONG_ROWS: list[dict[str, Any]] = [
    *({"columns": np.array([0, wrong, 1])} for wrong in (-1, 5, 200, 2_000_000_000, -(1 << 40))),
    {"columns": np.array([0, (1 << 64) - 1, 1], np.uint64)},
    *({"columns": COLUMNS.astype(kind)} for kind in (np.float64, bool, object, "<U4", "S2", "datetime64[s]", ">i8")),
    {"columns": COLUMNS[None]}, {"columns": COLUMNS[:2]}, {"columns": np.array(3)},
    *({"starts": np.array(wrong)} for wrong in ([0, 3, 2, 3], [1, 2, 2, 3], [0, 2, 2, 2], [0, 2, 2, 4], [0, -1, 2, 3],
                                                [0, 2, 3], [0, 2, 2, 3, 3], [], [0, 1 << 40, 2, 3])),
    {"starts": STARTS.astype(float)}, {"starts": STARTS.astype(object)}, {"starts": STARTS[:, None]},
    *({"values": np.array([1.0, wrong, 2.0])} for wrong in (np.nan, np.inf, -np.inf)),
    {"values": VALUES[:2]}, {"values": VALUES[None]}, {"values": VALUES.astype(object)},
    {"values": VALUES.astype("<U4")}, {"values": VALUES.astype(complex)},
    {"shape": (2, 5)}, {"shape": (4, 5)}, {"shape": (3, 4)}, {"shape": (3, 0)},
]  # fmt: skip


def test_rows_that_are_a_matrix_are_accepted() -> None:
    for kind in (np.int32, np.int64, np.uint8):
        check_rows("rows", (3, 5), STARTS.astype(kind), COLUMNS.astype(kind), VALUES)
    check_rows("rows", (0, 0), np.array([0]), np.zeros(0, np.int64))


@pytest.mark.parametrize("wrong", WRONG_ROWS, ids=str)
def test_rows_that_are_no_matrix_are_refused(wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"shape": (3, 5), "starts": STARTS, "columns": COLUMNS, "values": VALUES, **wrong}
    with pytest.raises(ValueError, match="^rows") as caught:
        check_rows("rows", **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [
    np.array([3]), np.array([-2]), np.array([1.0]), np.array([[1]]), np.array(1), np.array(["1"]), np.array([None]),
    np.array([True]), np.array([1], ">i4"), np.array([(1,)], [("a", "i4")]),
], ids=repr)  # fmt: skip
def test_numbers_that_are_no_places_are_refused(wrong: NDArray[Any]) -> None:
    assert checked_numbers("labels", np.array([-1, 2], np.int8), 3, first=-1).dtype == np.int64
    with pytest.raises(ValueError, match="^labels: "):
        checked_numbers("labels", wrong, 3, first=-1)


def test_json_and_back() -> None:
    facts = PublicFacts(3, 4, 2, feature_low=-1.0, feature_high=2.5, domains=(2, 3), class_names=("a", "b"))
    assert PublicFacts.from_dict(json.loads(json.dumps(facts.to_dict()))) == facts


@pytest.mark.parametrize("wrong", [
    {"n": 0}, {"d": -1}, {"classes": -1}, {"feature_low": 1.0}, {"feature_high": float("nan")},
    {"feature_high": float("inf")}, {"feature_low": -1.7e308, "feature_high": 1.7e308}, {"class_names": ("a",)},
    {"class_names": (1, 2)}, {"class_names": "ab"}, {"domains": (0, 3)}, {"domains": "ab"}, {"domains": (1.5,)},
    {"n": 4.0}, {"d": 4.5}, {"classes": True}, {"n": "3"}, {"feature_low": "0"}, {"feature_low": False},
    {"feature_low": None}, {"domains": None},
])  # fmt: skip
def test_impossible_facts(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        PublicFacts(**{"n": 3, "d": 4, "classes": 2, **wrong})


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0, 0o277, 0o377])
def test_files_and_folders_have_their_modes(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        private_folder(tmp_path / "f")
        private_folder(tmp_path / "f")
        write_atomically(tmp_path / "f" / "atomic", "text")
        with private_file(tmp_path / "f" / "new") as file:
            file.write(b"first")
    assert mode(tmp_path / "f") == 0o700
    assert {mode(path) for path in (tmp_path / "f").iterdir()} == {0o600}
    with pytest.raises(FileExistsError):
        private_file(tmp_path / "f" / "new").__enter__()
    (tmp_path / "f" / "new").chmod(0o644)  # left over, with another mode
    with private_file(tmp_path / "f" / "new", exist_ok=True) as file:
        file.write(b"2nd")
    assert (tmp_path / "f" / "new").read_bytes() == b"2nd" and mode(tmp_path / "f" / "new") == 0o600


def test_a_file_is_made_once_and_on_the_disk_before_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process may have named it without waiting for the disk, so who finds it waits too."""
    synced: list[Path] = []
    monkeypatch.setattr("ldpsim.devices.atomic_files.make_durable", synced.append)
    texts = iter(("one", "other"))
    assert [made_once(tmp_path / "file", lambda: next(texts)) for _ in range(2)] == ["one", "one"]
    assert synced == [tmp_path, tmp_path] and next(texts) == "other"


def test_a_lock_is_held_by_one_and_ends_with_its_holder(tmp_path: Path) -> None:
    with exclusive_lock(tmp_path), pytest.raises(BlockingIOError), exclusive_lock(tmp_path, wait=False):
        pass
    with exclusive_lock(tmp_path, wait=False):
        pass
    lock = tmp_path / "lock"
    with lock_file(lock):
        assert mode(lock) == 0o600
        with pytest.raises(BlockingIOError, match=f"process {os.getpid()}"), lock_file(lock):
            pass
    with lock_file(lock):  # the file stays; the number in it is for people
        pass
    lock.unlink()
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"), lock_file(lock):
        pass


def test_a_file_of_somebody_else_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    assert read_file(tmp_path / "link") == read_file(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="it has more than 4 bytes"):
        read_file(tmp_path / "file", 4)
    for path in (Path("/dev/zero"), Path("/dev/full"), tmp_path / "pipe", tmp_path):
        with pytest.raises(OSError, match="regular file|directory"):
            read_file(path)
