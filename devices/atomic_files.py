"""Files that are written whole or not at all and that only their owner reads, files of others, locks on folders.

The modes are 0600 and 0700, whatever the umask of the process is. A mode is set on what is open, never by name:
whoever may write in the folder could put a link there in between.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)  # the disk, or the user's share of it


PASSED_AROUND = 0o644  # the mode of pages and tables for everybody


def write_atomically(path: Path, content: str | bytes, *, durable: bool = True, mode: int = 0o600) -> None:
    """Replace a file as a whole, readable by its owner alone; ``durable`` waits until it is on the disk.

    Raises:
        OSError: where it cannot be written. That of a full disk names the path and the bytes that are needed.
    """
    data = content.encode() if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)  # a umask may take more than the mode of mkstemp leaves
            file.write(data)
            file.flush()
            if durable:
                os.fsync(handle)
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise OSError(error.errno, f"{error.strerror}, {len(data):,} bytes are needed", str(path)) from error
        raise
    if durable:
        make_durable(path.parent)


def read_file(path: Path, most: int = 1 << 30) -> bytes:
    """Return the content of a file that somebody named; a device or a pipe may never end, so it is not read.

    Args:
        path: The file.
        most: Bytes that it may have.

    Raises:
        OSError: where it cannot be read, is no regular file or has more bytes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe without a writer is opened, too
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


def made_once(path: Path, make: Callable[[], str]) -> str:
    """Return the text of a file that is made where it is missing, and that is on the disk before anybody uses it.

    A process may have been killed after it named the file and before it waited for the disk. Who finds it waits.

    Args:
        path: The file, in a folder that is there.
        make: Makes the text of a file that is missing.

    Raises:
        OSError: as :func:`write_atomically`.
    """
    if path.is_file():
        make_durable(path.parent)
    else:
        write_atomically(path, make())
    return path.read_text()


@contextmanager
def private_file(path: Path, *, exist_ok: bool = False) -> Iterator[BinaryIO]:
    """Open a new file to be written, readable by its owner alone; ``exist_ok`` empties one that is there."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if exist_ok else os.O_EXCL), 0o600)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, 0o600)
        yield file


def ldpsim_home() -> Path:
    """Return the folder of this machine for devices and results without a folder of their own."""
    return Path(os.environ.get("LDPSIM_HOME", Path.home() / ".ldpsim"))


def private_folder(path: Path) -> None:
    """Make a folder that its owner alone may enter. One that is there, and its mode, stay as they are."""
    if not path.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another process was first
            path.mkdir(0o700)
            close_to_others(path)


def close_to_others(folder: Path) -> None:
    """Let the owner alone enter a folder; OSError where a link or something else lies there."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchmod(handle, 0o700)
    finally:
        os.close(handle)


def make_durable(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def exclusive_lock(folder: Path, *, wait: bool = True) -> Iterator[int]:
    """Hold an flock on a folder and yield its handle. The lock ends with the process.

    Args:
        folder: The folder.
        wait: Whether to wait for another process that holds the lock.

    Raises:
        BlockingIOError: if another process holds the lock and ``wait`` is false.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield handle
    finally:
        os.close(handle)


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold a file that is there for its flock alone. The lock ends with the process.

    Raises:
        BlockingIOError: if another process holds it; the text says which one.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(handle, 20).decode(errors="replace").strip() or "unknown"
            raise BlockingIOError(error.errno, f"process {holder}") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)  # for the message alone: the lock is the kernel's
        yield
    finally:
        os.close(handle)
