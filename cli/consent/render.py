"""Consent sheet as text and as a page: a .txt or .html file, or lines for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from cli.consent.sheet import Section, Sheet
from cli.output import WIDTH
from devices.atomic_files import PASSED_AROUND, write_atomically

_TIMES = 7  # columns of a number of times
_SUFFIXES = (".txt", ".html")


def check_file(path: Path) -> None:
    """Refuse a file of another kind.

    Raises:
        ValueError: unless the name ends with .txt or .html.
    """
    if path.suffix not in _SUFFIXES:
        raise ValueError(f"--sheet {path}: the name of a sheet ends with {' or '.join(_SUFFIXES)}")


def write_sheet(path: Path, sheet: Sheet) -> None:
    """Write a sheet, completely or not at all; the end of the name says as what.

    Raises:
        ValueError: as :func:`check_file`, or where it cannot be written.
    """
    check_file(path)
    text = as_page(sheet) if path.suffix == ".html" else as_text(sheet)
    try:
        write_atomically(path, text, mode=PASSED_AROUND)
    except OSError as error:
        raise ValueError(f"--sheet {path}: {error.strerror}") from error


def as_text(sheet: Sheet, width: int = WIDTH) -> str:
    """Return a sheet as lines, with a line break at the end.

    Args:
        sheet: The sheet.
        width: Columns.
    """
    lines = [*_wrapped(sheet.title.upper(), width), *_wrapped(sheet.lead, width)]
    for part in sheet.parts:
        lines += ["", *_wrapped(part.heading, width)]
        lines += ["=" * min(len(part.heading), width), *_wrapped(part.lead, width)]
        for section in part.sections:
            lines += ["", *_wrapped(section.heading, width), *_section(section, sheet.columns[-1], width)]
    return "\n".join(lines) + "\n"


def _wrapped(text: str, width: int, *, initial_indent: str = "", subsequent_indent: str = "") -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False, initial_indent=initial_indent,
                         subsequent_indent=subsequent_indent)  # fmt: skip


def _section(section: Section, heading: str, width: int) -> Iterator[str]:
    yield from _wrapped(section.note, width)
    if section.odds:
        yield from _wrapped(f"{heading}:", width)
    for row in section.odds:
        about = f"{row.warning}: {row.about}" if row.warning else row.about
        yield from _wrapped(f"{about[:1].upper()}{about[1:]}. {row.guess}", width,
                                 initial_indent=f"{row.times:>5}  ", subsequent_indent=" " * _TIMES)  # fmt: skip
    for point in section.points:
        yield from _wrapped(point, width, initial_indent="- ", subsequent_indent="  ")


def as_page(sheet: Sheet) -> str:
    """Return a sheet as one self-contained page without a script."""
    from cli.report.page import environment

    return environment().get_template("sheet.html").render(sheet=sheet)
