"""Folder and socket of a vault: a state folder that it alone serves, and a socket that it alone opens."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ldpsim.devices.enrolment.state import used_alone

_LONGEST = 107  # bytes of a socket's path that every Unix takes
BACKLOG = 1024


def harden() -> None:
    """Make new files private and switch core dumps off."""
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@contextmanager
def served_alone(folder: Path) -> Iterator[None]:
    """Hold a state folder for this process; the lock ends with the process.

    Raises:
        ValueError: where another process works with the folder, it is another user's, or others may enter it.
        OSError: where it cannot be made or opened.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    there = folder.stat()
    if there.st_uid != os.geteuid():
        raise ValueError(f"--state {folder}: it is another user's, who could read it and put back what was there")
    if stat.S_IMODE(there.st_mode) & 0o077:
        raise ValueError(f"--state {folder}: other users may enter it, and it holds secrets (chmod 700 {folder})")
    with used_alone(folder):
        yield


@contextmanager
def listening(path: Path, *, group: int | None = None) -> Iterator[socket.socket]:
    """Open a socket for this user alone, or for a group too; it is removed at the end.

    A socket that nobody listens on any more, left by a process that was killed, is replaced.

    Args:
        path: Path of the socket.
        group: Id of the group whose members may talk to it too.

    Raises:
        ValueError: where something else lies there, another process listens, the path is too long, or the
            group is none that this user may give it to.
        OSError: where the folder is missing or cannot be written.
    """
    check_socket_path(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        made = _listen(listener, path, group)
        try:
            yield listener
        finally:
            listener.close()
            _remove_own(path, made)


def _listen(listener: socket.socket, path: Path, group: int | None) -> os.stat_result:
    """Give a socket its path, and return what lies there."""
    # Two vaults that start at once must not remove each other's socket.
    parent = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(parent, fcntl.LOCK_EX)
        _remove_stale(path)
        # Never open to others, not even between two calls. Nobody can connect before `listen`.
        before = os.umask(0o177 if group is None else 0o117)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        made = path.lstat()
        try:
            if group is not None:
                os.chown(path, -1, group, follow_symlinks=False)
            listener.listen(BACKLOG)
        except PermissionError:
            path.unlink()
            raise ValueError(f"--socket {path}: this user may not give it to group {group}") from None
        except BaseException:
            path.unlink()
            raise
        return made
    finally:
        os.close(parent)


def check_socket_path(path: Path) -> None:
    """Raise ValueError where a socket cannot be made at a path, before anything else is done."""
    if len(os.fsencode(path)) > _LONGEST:
        raise ValueError(f"--socket {path}: the path of a socket has at most {_LONGEST} bytes")
    if not path.parent.is_dir():
        raise ValueError(f"--socket {path}: no such folder: {path.parent}")
    if os.path.lexists(path) and not stat.S_ISSOCK(path.lstat().st_mode):
        raise ValueError(f"--socket {path}: something else than a socket lies there")


def _remove_stale(path: Path) -> None:
    if not os.path.lexists(path):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # a full queue is somebody listening, too
        failed = probe.connect_ex(str(path))
    if failed == errno.ENOENT:
        return
    if failed != errno.ECONNREFUSED:
        raise ValueError(f"--socket {path}: another process listens there")
    path.unlink()


def _remove_own(path: Path, made: os.stat_result) -> None:
    try:
        there = path.lstat()
        if (there.st_dev, there.st_ino) == (made.st_dev, made.st_ino):
            path.unlink()
    except FileNotFoundError:
        pass
