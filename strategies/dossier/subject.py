"""Subject of a dossier: the files of a run, a plan or a comparison, and the place of each figure in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from curator.methods import find
from curator.methods.base import Method
from curator.privacy.levels import LEVELS
from devices.atomic_files import read_file
from strategies.dossier.content import BEST_GUESS, Basis, SourcedFigure, by_rule, follow
from strategies.outputs.untrusted import number, text
from strategies.planning.registry import finished
from strategies.results.folder import COMPARISON, read_result
from strategies.results.in_words import guess
from strategies.results.levels import held
from strategies.results.numbers import bytes_, epsilon, guessed, percent

RUN, PLAN, COMPARED = "run", "plan", "comparison"
SHARE, POINTS, LOSS, BYTES, COUNT, WORDS = "share", "points", "loss", "bytes", "count", "words"


@dataclass(frozen=True)
class Subject:
    """One method of a run, a plan or a comparison.

    Args:
        kind: :data:`RUN`, :data:`PLAN` or :data:`COMPARED`.
        folder: Folder of the files.
        file: File of the method, below the folder.
        root: Place of the method in this file; empty, or with a dot at its end.
        files: Content of the files, by their names.
        others: (file, place) of the other methods of a plan or a comparison.
    """

    kind: str
    folder: Path
    file: str
    root: str
    files: Mapping[str, Any] = field(repr=False)
    others: tuple[tuple[str, str], ...] = ()

    @property
    def document(self) -> Any:
        """Content of the file of the method."""
        return self.files[self.file]

    @property
    def method(self) -> type[Method]:
        """Class of the method."""
        return find(str(self.get("method")))

    @property
    def holds(self) -> Mapping[str, Any]:
        """Guarantee at each level."""
        found: Mapping[str, Any] = self.get("holds" if self.kind == PLAN else "privacy.holds")
        return found

    def get(self, path: str) -> Any:
        """Return a value of the method; None if it is not there."""
        return follow(self.document, self.root + path)

    def figure(self, path: str, form: str, basis: Basis | None = None, *, whole: bool = False) -> SourcedFigure | None:
        """Return a figure of the method; None if the file has none.

        Args:
            path: Its place below the method.
            form: How people read it.
            basis: On what it rests; None: on the run or the plan.
            whole: Whether the place is one of the whole file.
        """
        return self.at(self.file, path if whole else self.root + path, form, basis)

    def at(self, file: str, path: str, form: str, basis: Basis | None = None) -> SourcedFigure | None:
        """Return the figure at a place of a file; None if there is none."""
        value = follow(self.files[file], path)
        value = value if form == WORDS else number(value)
        if value is None:
            return None
        return SourcedFigure(value, _FORMS[form](value), file, path, basis or ("plan" if self.kind == PLAN else "run"))

    def best_guess(self, path: str) -> SourcedFigure | None:
        """Return the chance of a right guess under the loss at a place of the method; None without a loss."""
        entry = self.get(path)
        if entry is None or number(entry["value"]) is None:
            return None
        place, shown = self.root + path, guessed(guess(entry["value"], entry["delta"] or 0.0))
        chance = by_rule(self.document, place, BEST_GUESS)
        return SourcedFigure(chance, shown, self.file, place, "theorem", BEST_GUESS)


_FORMS: dict[str, Callable[[Any], str]] = {
    SHARE: percent,
    POINTS: lambda value: f"{100 * value:+.1f}",
    LOSS: epsilon,
    BYTES: bytes_,
    COUNT: lambda value: f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}",
    WORDS: text,
}


def read_subject(path: Path, method: str | None = None) -> Subject:
    """Read the subject of a dossier.

    Args:
        path: Folder of a run, a plan or a comparison, or the file in it.
        method: Method of a comparison, or of a plan's rows; None: the first one of the comparison, the plan's choice.

    Raises:
        ValueError: one line: no such file, content that is none of the three, or a method that it does not have.
    """
    folder = path.parent if path.is_file() else path
    names = [path.name] if path.is_file() else ["result.json", "plan.json", COMPARISON]
    readers = {"result.json": _of_run, "plan.json": _of_plan, COMPARISON: _of_comparison}
    for name in names:
        if name in readers and (folder / name).is_file():
            try:
                found = readers[name](folder, method)
                _check(found)
            except (KeyError, TypeError, AttributeError, IndexError, RecursionError):
                raise ValueError(f"{folder / name}: it lacks a part that a dossier needs") from None
            except json.JSONDecodeError as error:
                raise ValueError(f"{folder / name}: it cannot be read ({error})") from None
            except OSError as error:
                raise ValueError(f"{folder / name}: {error.strerror}") from None
            return found
    raise ValueError(f"{path}: no result.json, plan.json or {COMPARISON} there; name the folder of a run, a plan or a "
                     "comparison")  # fmt: skip


def _check(subject: Subject) -> None:
    """Read once all that later code relies on."""
    for level in LEVELS:
        entry = subject.holds[level]
        for part in ("public", "not_counted", "detail", "private_value"):
            entry[part]
    for level in ("user", "node", "relationship", "vector", "label", "central_node"):
        held(subject.holds, level)
    assert subject.method is not None
    if subject.kind != PLAN:
        finished(subject.document)


def _of_run(folder: Path, method: str | None) -> Subject:
    record = read_result(folder / "result.json")
    if method is not None and method != record["method"]:
        raise ValueError(f"--method {method}: the run in {folder} is one of {text(record['method'])}")
    return Subject(RUN, folder, "result.json", "", {"result.json": record})


def _of_plan(folder: Path, method: str | None) -> Subject:
    plan = json.loads(read_file(folder / "plan.json"))
    rows = {row["name"]: f"rows.{place}." for place, row in enumerate(plan["rows"])}
    if method is None:
        if plan["choice"] is None:
            raise ValueError(f"{folder}: the plan has no choice ({text(plan['why'])}); name a method with --method")
        root, name = "choice.", plan["choice"]["name"]
    else:
        name = next((row["name"] for row in plan["rows"] if method in (row["name"], row["method"])), method)
        root = rows.get(name, "")
    if not root or not follow(plan, f"{root}holds"):
        raise ValueError(f"--method {method}: the plan in {folder} has no row of it with a loss")
    others = tuple(("plan.json", place) for other, place in rows.items() if other != name)
    return Subject(PLAN, folder, "plan.json", root, {"plan.json": plan}, others)


def _of_comparison(folder: Path, method: str | None) -> Subject:
    document = json.loads(read_file(folder / COMPARISON))
    found: dict[str, tuple[str, Any]] = {}
    for place in document["folders"]:
        if Path(place).name == place and (folder / place / "result.json").is_file():
            record = read_result(folder / place / "result.json")
            found[record["method"]] = (f"{place}/result.json", record)
    name = next(iter(found), None) if method is None else method
    if name is None or name not in found:
        what = "no result" if name is None else f"no result of {name}"
        raise ValueError(f"{folder}: the comparison has {what}")
    others = tuple((file, "") for other, (file, _) in found.items() if other != name)
    return Subject(COMPARED, folder, found[name][0], "", dict(found.values()), others)
