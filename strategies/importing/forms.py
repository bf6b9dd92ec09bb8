"""Forms of files by the ends of their names, and their texts, unpacked where a name ends with ``.gz``."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from ldpsim.devices.array_types import FREE_SIZE

_MOST_PACKED = 100  # times that a text is longer than packed; lists of edges reach 5 to 20


def form_of(path: Path) -> str:
    """Return the end of a name in small letters, that before ``.gz`` where it is packed.

    >>> form_of(Path("a.TXT.gz")), form_of(Path("a.csv")), form_of(Path("a.gz"))
    ('.txt', '.csv', '')
    """
    end = path.suffix.lower()
    return Path(path.stem).suffix.lower() if end == ".gz" else end


def bytes_of(path: Path) -> bytes:
    """Return a file's content, unpacked; ValueError, one line, where it is no gzip file or would fill the memory."""
    if path.suffix.lower() != ".gz":
        return path.read_bytes()
    most = FREE_SIZE + _MOST_PACKED * path.stat().st_size
    try:
        with gzip.open(path) as file:
            content = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} cannot be unpacked: {' '.join(str(error).split())}") from error
    if len(content) > most:
        raise ValueError(f"{path.name} has more than {most:,} bytes unpacked: too many for a file of this size")
    return content


def unpacked_text(path: Path) -> str:
    """Return a text in UTF-8 without a byte order mark, its lines end with ``\\n``; UnicodeDecodeError for another."""
    return bytes_of(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
