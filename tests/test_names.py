"""Names of the product: one name for one thing, one word for one thing, and docstrings that open plainly."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from typer.main import get_command

from docs.forbidden_words import synonyms
from ldpsim.cli.main import app

ROOT = Path(__file__).resolve().parents[1]
NAMED = ("devices", "curator", "strategies")
PACKAGES = (*NAMED, "cli", "benchmarks")
# Public names that two modules define, with the reason.
PARTS = {
    "Value": "of a person in an audit, and a type variable",
    "campaign_of": "the campaign of a command's options",
    "find": "a mechanism or a method by its name",
    "guarantee": "of a kind of run, in the module of each",
    "generate": "people or a key, of the module that names them",
    "log_probability": "of the distribution that is the module",
    "names": "of data sets, and of methods",
    "plan": "of a kind of run, in the module of each",
    "prepare": "a folder, and a run",
    "record_of": "the record that is sent, and a campaign's result.json",
    "reference": "of a kind of run, in the module of each",
    "rows_of": "of a matrix, and of a campaign's table",
    "sample": "of the distribution that is the module",
    "shuffled": "people, and the null models of a kind of run, in the module of each",
    "train": "a handler on the device, and the network's training",
    "work": "of a kind of run, in the module of each",
}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md",
         *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts
           and (page.parent.name != "methods" or page.name == "README.md"))]  # fmt: skip
# Words that the glossary does not use and that a page has all the same, with the reason.
STORED = {
    "dossier.md": {"law"},  # of a state
    "glossary.md": {
        "asking nobody",
        "attained",
        "collector",
        "floor",
        "law",
        "queries",
        "query",
        "relationship",
        "room",
        "silent",
        "witness",
    },  # the list itself
    "measures.md": {"queries"},
    "audit.md": {"ask nobody"},
    "stress.md": {"asking nobody"},
    "sweep.md": {"asking nobody"},
    "audits.md": {"law", "laws"},  # in stored rows
    "privgnn.md": {"queries", "query"},
}
# Words of that list that identifiers do not have; the others are also words of code (a query on the wire, a floor).
OF_IDENTIFIERS = {"attained", "bundle", "collector", "law", "laws", "scene", "witness", "witnesses"}
# Files whose identifiers or messages still have some of these words: what is stored or sent, or is not renamed yet.
STILL = {
    "attained": {"curator/privacy", "devices/mechanisms", "strategies/runs"},
    "law": {"cli", "curator/attacks", "strategies/attacks/audit"},  # of the option --law
    "collector": {"devices", "devices/policy", "strategies/setup"},
    "queries": {"curator/methods/owner", "strategies/runs/kinds"},
    "query": {"devices"},  # of the wire
    "asks nobody": {"curator/reports", "strategies/attacks/poison"},
    "silent": {"strategies/attacks/poison"},
}
QUESTIONS = {"What", "Who", "Whose", "How", "Where", "Which", "Say", "Says", "When"}


def modules(root: Path, packages: tuple[str, ...]) -> list[Path]:
    """Return the modules of the packages."""
    return sorted(path for package in packages for path in (root / package).rglob("*.py"))


def names_of(path: Path) -> set[str]:
    """Return the public classes, type aliases and functions of a module: a name in capitals alone is a constant."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            found.update(name for name in names if name[0].isupper() and not name.isupper())
    return {name for name in found if not name.startswith("_")}


def _with_docstrings(node: Any) -> Iterator[Any]:
    """Yield a module, and the classes and functions in it; expressions hold none."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        for inner in getattr(node, name, ()):
            yield from _with_docstrings(inner)


def _identifiers(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module defines: classes, functions, parameters, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def forbidden(tree: ast.AST) -> set[str]:
    """Return the words that the glossary does not use, in a module's identifiers and in the messages that it raises."""
    parts = (word.lower() for name in _identifiers(tree) for word in re.findall(r"[A-Z]?[a-z]+", name))
    texts = (text.value for node in ast.walk(tree) if isinstance(node, ast.Raise) for text in ast.walk(node)
             if isinstance(text, ast.Constant) and isinstance(text.value, str))  # fmt: skip
    return OF_IDENTIFIERS & set(parts) | {word.lower() for text in texts for word in synonyms(text)}


def questions(root: Path) -> list[str]:
    """Return the places of docstrings that open with a question word, and their first words."""
    found = []
    for path in modules(root, PACKAGES):
        for node in _with_docstrings(ast.parse(path.read_text())):
            text = (ast.get_docstring(node) or "").split()
            if text and text[0].strip(".,:'`") in QUESTIONS:
                line = getattr(node, "lineno", 1)
                found.append(f"{path.relative_to(root)}:{line} {' '.join(text[:6])}")
    return found


def test_a_name_is_one_thing() -> None:
    places = defaultdict(list)
    for path in modules(ROOT, NAMED):
        for name in names_of(path):
            places[name].append(str(path.relative_to(ROOT)))
    shared = {name: paths for name, paths in places.items() if len(paths) > 1}
    new = {name: paths for name, paths in shared.items() if name not in PARTS}
    assert not new, "\n".join(f"{name}: {', '.join(paths)}" for name, paths in new.items())
    assert set(PARTS) <= set(shared), "a name that is not shared any more"


def test_identifiers_and_messages_have_the_words_of_the_glossary() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for path in modules(ROOT, (*NAMED, "cli")):
        for word in forbidden(ast.parse(path.read_text())):
            found[word].add(str(path.relative_to(ROOT).parent))
    new = {word: folders - STILL.get(word, set()) for word, folders in found.items()}
    assert not any(new.values()), {word: folders for word, folders in new.items() if folders}


def test_a_forbidden_word_is_seen() -> None:
    text = "class BundleParts:\n    def f(self, law_of_a):\n        raise ValueError('the collector is gone')\n"
    assert forbidden(ast.parse(text)) == {"bundle", "law", "collector"}
    assert not forbidden(ast.parse("flaw = lawn = 'a law'"))


def test_no_docstring_opens_with_a_question_word() -> None:
    found = questions(ROOT)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_the_words_of_the_glossary(page: Path) -> None:
    assert set(synonyms(page.read_text())) <= STORED.get(page.name, set())


def test_help_texts_have_the_words_of_the_glossary() -> None:
    def texts(command: click.Command) -> Iterator[str]:
        yield from (command.help or "", *(getattr(parameter, "help", None) or "" for parameter in command.params))
        for below in command.commands.values() if isinstance(command, click.Group) else ():
            yield from texts(below)

    unused = {word for text in texts(get_command(app)) for word in synonyms(text)}
    assert not unused and synonyms("the law of a query")
