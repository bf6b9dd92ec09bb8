"""Documents for people, each from one template over the fields of a record: Markdown, its page, and YAML."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpsim.devices.atomic_files import PASSED_AROUND, write_atomically
from ldpsim.strategies.foreign_text import text
from ldpsim.strategies.results import in_words, numbers

if TYPE_CHECKING:
    from jinja2 import Environment

_SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>|#~&!"})

FORMS: dict[str, Callable[[Any], Any]] = {  # how people read a figure
    "text": str,
    "share": numbers.percent,
    "points": lambda value: f"{100 * value:+.1f}",
    "loss": numbers.epsilon,
    "bytes": numbers.bytes_,
    "count": lambda value: f"{value:,.0f}",
}


def markdown(name: str, **fields: Any) -> str:
    """Return a Markdown document; no field can write more than text into it.

    Raises:
        ValueError: one line, if the template needs a field that is not there, or is of another kind.
    """
    return _filled(name, _escaped, fields)


def yaml(name: str, **fields: Any) -> str:
    """Return a YAML document; each field fills one line of a block.

    Raises:
        ValueError: as :func:`markdown`.
    """
    return _filled(name, text, fields)


def page(made: str) -> str:
    """Return a Markdown document, which begins with its title, as one self-contained page without a script."""
    from markdown_it import MarkdownIt

    from ldpsim.cli.report.page import environment

    content = MarkdownIt("commonmark", {"html": False}).enable("table").render(made)
    title = content.partition("<h1>")[2].partition("</h1>")[0]
    return environment().get_template("document.html").render(content=content, title=title)


def write_document(path: Path, made: str) -> None:
    """Write a Markdown document, as a page if the name ends with .html: completely or not at all, for everybody."""
    write_atomically(path, page(made) if path.suffix == ".html" else made, mode=PASSED_AROUND)


def _filled(name: str, plain: Callable[[Any], str], fields: dict[str, Any]) -> str:
    from jinja2 import TemplateError

    try:
        return _environment(plain).get_template(name).render(**fields).strip() + "\n"
    except (TemplateError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"a part of the record cannot be read ({text(error)})") from None


@cache  # a template is compiled once
def _environment(plain: Callable[[Any], str]) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("ldpsim.cli.report"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        autoescape=True, finalize=lambda value: value if isinstance(value, Markup) else Markup(plain(value)),
    )  # fmt: skip
    made.filters |= {**FORMS, "of_100": in_words.of_100}
    return made


def _escaped(value: Any) -> str:
    return text(value).translate(_SIGNS)
