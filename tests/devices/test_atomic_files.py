"""Files of a device: private whatever the umask, and whole or not there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ldpsim.devices.atomic_files import (
    exclusive_lock,
    lock_file,
    made_once,
    private_file,
    private_folder,
    read_file,
    write_atomically,
)


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
