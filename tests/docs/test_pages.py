"""Pages for readers: links, files, modules, commands and options that they name exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from click.core import Group
from typer.main import get_command

from docs.layers import ROOT
from ldpsim.cli.main import app

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(path for folder in ("", "api", "commands", "gallery") for path in sorted((ROOT / "docs" / folder).glob("*.md"))),
    ROOT / "docs" / "methods" / "README.md",
]
every = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
FOLDERS = "devices|curator|strategies|cli|benchmarks|tests|docs"


@cache
def commands() -> dict[str, set[str]]:
    """Return the options of every command, by its words."""
    found: dict[str, set[str]] = {}

    def walk(command: object, words: tuple[str, ...]) -> None:
        options = [o for p in command.params for o in (*p.opts, *p.secondary_opts)]  # type: ignore[attr-defined]
        found[" ".join(words)] = {*options, "--help"}
        if isinstance(command, Group):
            for name, below in command.commands.items():
                walk(below, (*words, name))

    walk(get_command(app), ())
    return found


def wrong_commands(text: str) -> list[str]:
    """Return the `ldpsim` commands of a page that do not exist, and options that their command does not have."""
    wrong = []
    code = "\n".join([*re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S), *re.findall(r"`([^`\n]+)`", text)])
    for given in re.findall(r"^(?:\.venv/bin/)?ldpsim ([a-z-][^\n#|]*)", code, re.M):
        words = given.split()
        name = next((" ".join(words[:k]) for k in (2, 1, 0) if " ".join(words[:k]) in commands()), "")
        if not name and not words[0].startswith("-") and words[0] not in ("COMMAND",):
            wrong.append(f"ldpsim {words[0]}")
        options = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
        wrong += [f"ldpsim {name} {option}" for option in sorted(options - commands()[name] - {"--version"})]
    return wrong


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.M) if page.is_file() else []
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def missing(text: str, folder: Path) -> list[str]:
    """Return links, files and modules of a page that do not exist."""
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if not link.startswith("http")]
    wrong = [link for link in links if not (folder / link).exists()]
    for link, anchor in re.findall(r"\]\(([^)#\s]+\.md)#([^)\s]+)\)", text):
        wrong += [] if anchor in anchors(folder / link) else [f"{link}#{anchor}"]
    files = re.findall(rf"\b((?:{FOLDERS})/[\w./-]*\w)", text)
    for name in files:
        path = ROOT / name
        built = "NAME" in name or name.startswith("docs/_build/")
        if not built and not (path.exists() or path.with_suffix(".py").exists()):
            wrong.append(name)
    for module in re.findall(r"python -m ((?:" + FOLDERS + r")[\w.]*\w)", text):
        path = ROOT / module.replace(".", "/")
        if "NAME" not in module and not path.with_suffix(".py").is_file():
            wrong.append(module)
    return wrong


@every
def test_commands_and_options_exist(page: Path) -> None:
    assert wrong_commands(page.read_text()) == []


@every
def test_options_in_its_words_exist(page: Path) -> None:
    """A page of a command, README and the first page name options of some command of ours alone."""
    if page.parent.name in ("commands", "methods") or page.name in ("README.md", "start.md"):
        ours = set().union(*commands().values(), {"--disable-runtime-dependency-installation"})
        assert set(re.findall(r"--[a-z][a-z-]+", page.read_text())) <= ours


@every
def test_links_files_and_modules_exist(page: Path) -> None:
    assert missing(page.read_text(), page.parent) == []


def test_every_command_has_its_page() -> None:
    """Each command has a page that the list names, and a subcommand stands in its heading; its interruption is told."""
    folder = ROOT / "docs" / "commands"
    listed = (folder / "README.md").read_text()
    kept = (folder / "interrupted.md").read_text()
    for name in filter(None, commands()):
        group, _, last = name.partition(" ")
        page = folder / f"{group}.md"
        assert page.is_file() and f"[`{group}`]({page.name})" in listed, name
        assert (last or group) in page.read_text().splitlines()[0], name
        if name not in ("ledger", "device"):
            assert f"`{name}`" in kept, name
