"""Errors of a disk that is full."""

from __future__ import annotations

import errno
import logging
import sqlite3
from pathlib import Path

import pytest
from safetensors import SafetensorError

from ldpsim.strategies.results.folder import log_file
from ldpsim.strategies.setup.disk_space import naming_full_disk


def sqlite_full() -> sqlite3.Error:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("38400 requested and 12288 written"),  # numpy's
        SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
        sqlite_full(),
    ],
)
def test_an_error_of_a_full_disk_without_a_path_gets_the_folder(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(OSError, match="No space left on device") as failed, naming_full_disk(tmp_path):
        raise error
    assert (failed.value.errno, failed.value.filename) == (errno.ENOSPC, str(tmp_path))


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space", "a/b"), PermissionError(13, "no"), ValueError("x"), OSError("other")]
)
def test_other_errors_stay_as_they_are(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as failed, naming_full_disk(tmp_path):
        raise error
    assert failed.value is error


def test_a_log_that_cannot_be_written_ends_the_run_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    (tmp_path / "log.txt").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as failed, log_file(tmp_path):
        logging.getLogger("ldpsim").info("a line")
    assert failed.value.filename == str(tmp_path / "log.txt")
    assert capsys.readouterr().err == ""
