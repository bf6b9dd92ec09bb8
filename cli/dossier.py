"""``ldpsim dossier``: what an officer for data protection needs to read, as Markdown and as a page of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ldpsim.cli import options as o
from ldpsim.cli.output import echo, print_json
from ldpsim.strategies.setup.option_spec import OUTPUT

FILES = ("dossier.html", "dossier.md")
RUN, PLAN = "run", "plan"
Part = tuple[str, str, Any]  # file, place in it (empty, or with a dot at its end), and what stands there


def dossier(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN|PLAN|COMPARISON", help="Folder of a run, a plan or a comparison.")
    ],
    out: Annotated[
        Path | None, o.in_panel(OUTPUT, "--out", "Folder of the two files.", "DIR", show_default="that of the subject")
    ] = None,
    method: Annotated[
        str | None,
        o.in_panel(
            OUTPUT, "--method", "The method that it is about.", "NAME", show_default="the first; of a plan its choice"
        ),
    ] = None,
    as_json: Annotated[bool, o.in_panel(OUTPUT, "--json", "The files' paths as one JSON document.")] = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Write a dossier: data, necessity, risks, measures, what remains, with the source of each figure."""
    from ldpsim.cli.documents import write_document
    from ldpsim.strategies.results.folder import prepare

    made = made_of(folder, method)
    place = out or (folder.parent if folder.is_file() else folder)
    prepare(place)
    for name in FILES:
        write_document(place / name, made)
    files = {name: str((place / name).absolute()) for name in FILES}
    if as_json:
        print_json(files)
    elif quiet:
        echo(str(place / FILES[0]))
    else:
        echo("Written to " + "\n       and ".join(str(place / name) for name in FILES))


def made_of(path: Path, method: str | None = None) -> str:
    """Return the dossier of a method of a run, a plan or a comparison, as Markdown.

    Args:
        path: Folder of a run, a plan or a comparison, or the file in it.
        method: Method of a comparison, or of a plan's rows; None: the first one of the comparison, the plan's choice.

    Raises:
        ValueError: one line: no such file, content that is none of the three, or a method that it does not have.
    """
    from ldpsim.strategies.results.folder import COMPARISON

    folder = path.parent if path.is_file() else path
    names = [path.name] if path.is_file() else ["result.json", "plan.json", COMPARISON]
    readers = {"result.json": _of_run, "plan.json": _of_plan, COMPARISON: _of_comparison}
    name = next((name for name in names if name in readers and (folder / name).is_file()), None)
    if name is None:
        raise ValueError(f"{path}: no result.json, plan.json or {COMPARISON} there; name the folder of a run, a plan "
                         "or a comparison")  # fmt: skip
    try:
        return _filled(*readers[name](folder, method))
    except (KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise ValueError(f"{folder / name}: it lacks a part that a dossier needs") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{folder / name}: it cannot be read ({error})") from None
    except OSError as error:
        raise ValueError(f"{folder / name}: {error.strerror}") from None


def follow(document: Any, path: str) -> Any:
    """Return the value at a place of a file: names and numbers of entries, with dots. None if it is not there.

    >>> follow({"a": [{"b": 3}]}, "a.0.b"), follow({}, "a.b")
    (3, None)
    """
    for name in path.split("."):
        if isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        elif isinstance(document, dict) and name in document:
            document = document[name]
        else:
            return None
    return document


def _filled(kind: str, whole: Any, subject: Part, others: list[Part]) -> str:
    from ldpsim.cli.documents import markdown
    from ldpsim.curator.methods import find
    from ldpsim.curator.privacy.level import NOT_COUNTED
    from ldpsim.curator.privacy.levels import LEVELS
    from ldpsim.strategies.estimate.asked import mechanisms_of_run
    from ldpsim.strategies.group_accuracy.section import group_rows
    from ldpsim.strategies.planning.on_paper import asks_of
    from ldpsim.strategies.results.in_words import NOT_HIDDEN, PROTECTIONS, compared_levels, held, privacy_in_words

    file, root, record = subject
    at, config = ("holds", record["settings"]) if kind == PLAN else ("privacy.holds", record["config"])
    holds: Mapping[str, Any] = follow(record, at)
    for level in compared_levels():
        held(holds, level)  # refuses what is no level
    measured = {"privacy": {"holds": holds}, "reconstruction": record.get("reconstruction") or {}}
    labels = config.get("private_labels") if kind == PLAN else config["budget"]["private_labels"]
    return markdown(
        "dossier.md",
        kind=kind,
        file=file,
        root=root,
        record=record,
        whole=whole,
        people=whole["facts"]["n"] if kind == PLAN else record["dataset"]["nodes"],
        method=find(str(record["method"])).spec,
        asks=asks_of(record["method"], volunteers=config.get("volunteers") is not None, labels=bool(labels)),
        mechanisms=record["mechanisms"] if kind == PLAN else mechanisms_of_run(record),
        holds=holds,
        at=at,
        levels=LEVELS,
        words={level: said.word for said in privacy_in_words(measured) for level in said.levels},
        weak=[NOT_HIDDEN, *(each.word for each in PROTECTIONS if each.tone == "bad")],
        left_out=_left_out(holds, NOT_COUNTED),
        groups=() if kind == PLAN else group_rows(record),
        others=[{"name": each["name" if kind == PLAN else "method"], "file": place, "root": inside.rstrip("."),
                 "shown": _shown(each)}
                for place, inside, each in others],
        shown=_shown(record),
    )  # fmt: skip


def _shown(record: Any) -> Any:
    from ldpsim.cli.documents import FORMS
    from ldpsim.strategies.results.numbers import NONE

    def shown(path: str, form: str) -> Any:
        value = follow(record, path)
        return NONE if value is None else FORMS[form](value)

    return shown


def _left_out(holds: Mapping[str, Any], words: Mapping[str, str]) -> Iterator[str]:
    names = dict.fromkeys(name for entry in holds.values() for name in entry["not_counted"])
    return (words[name] for name in names if name in words)


def _of_run(folder: Path, method: str | None) -> tuple[str, Any, Part, list[Part]]:
    from ldpsim.strategies.results.folder import read_result

    record = read_result(folder / "result.json")
    if method is not None and method != record["method"]:
        raise ValueError(f"--method {method}: the run in {folder} is one of another method")
    return RUN, record, ("result.json", "", record), []


def _of_plan(folder: Path, method: str | None) -> tuple[str, Any, Part, list[Part]]:
    from ldpsim.devices.atomic_files import read_file

    plan = json.loads(read_file(folder / "plan.json"))
    if method is None and plan["choice"] is None:
        raise ValueError(f"{folder}: the plan has no choice; name a method with --method")
    wished = method or plan["choice"]["name"]
    rows = [("plan.json", f"rows.{place}.", row) for place, row in enumerate(plan["rows"])]
    found = [part for key in ("name", "method") for part in rows if wished == part[2][key] and part[2]["holds"]]
    own = next(iter(found), None)
    if own is None:
        raise ValueError(f"--method {wished}: the plan in {folder} has no row of it with a loss")
    return PLAN, plan, own, [part for part in rows if part is not own]


def _of_comparison(folder: Path, method: str | None) -> tuple[str, Any, Part, list[Part]]:
    from ldpsim.devices.atomic_files import read_file
    from ldpsim.strategies.results.folder import COMPARISON, read_result

    document = json.loads(read_file(folder / COMPARISON))
    places = [place for place in document["folders"]
              if Path(place).name == place and (folder / place / "result.json").is_file()]  # fmt: skip
    runs = [(f"{place}/result.json", "", read_result(folder / place / "result.json")) for place in places]
    own = next((part for part in runs if method in (None, part[2]["method"])), None)
    if own is None:
        raise ValueError(f"{folder}: the comparison has no result" + (f" of {method}" if method else ""))
    return RUN, own[2], own, [part for part in runs if part is not own]
