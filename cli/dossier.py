"""``ldpsim dossier``: what an officer for data protection needs to read, as Markdown and as a page of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ldpsim.cli import options as o
from ldpsim.cli.output import echo, print_json
from ldpsim.strategies.setup.option_spec import OUTPUT

FILES = ("dossier.html", "dossier.md")
_WORDS = {"grr": "generalised randomised response", "adjacency": "lists of neighbours"}


def dossier(
    folder: Annotated[Path, typer.Argument(metavar="RUN|COMPARISON", help="Folder of a run or a comparison")],
    out: Annotated[
        Path | None, o.in_panel(OUTPUT, "--out", "Folder of the two files", "DIR", show_default="that of the result")
    ] = None,
    method: Annotated[
        str | None, o.in_panel(OUTPUT, "--method", "The method that it is about", "NAME", show_default="the first")
    ] = None,
    as_json: Annotated[bool, o.in_panel(OUTPUT, "--json", "Print the paths as one JSON document")] = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Write what a data protection officer needs, with sources.

    ldpsim dossier runs/compare-generated-0123456789ab
    """
    from ldpsim.cli.report.documents import write_document
    from ldpsim.strategies.results.folder import prepare

    made = made_of(folder, method)
    place = out or folder
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


def made_of(folder: Path, method: str | None = None) -> str:
    """Return the dossier of a run, or of a method of a comparison, as Markdown.

    Args:
        folder: Folder of the run or the comparison.
        method: Method of a comparison; None: its first one.

    Raises:
        ValueError: one line: no result, content that is none, or a method without a result there.
    """
    from ldpsim.devices.atomic_files import read_file
    from ldpsim.strategies.results.folder import COMPARISON, read_result

    place = folder / "result.json"
    try:
        files = ["result.json"]
        if not place.is_file():
            place = folder / COMPARISON
            files = [f"{name}/result.json" for name in json.loads(read_file(place))["folders"] if name is not None]
        records = {file: read_result(folder / file) for file in files}
        file = next((file for file, each in records.items() if method in (None, each["method"])), None)
        if file is None:
            raise ValueError(f"{folder}: it has no result" + (f" of {method}" if method else ""))
        return _filled(file, records.pop(file), records)
    except FileNotFoundError:
        raise ValueError(f"{folder}: no result.json or {COMPARISON} there; name the folder of a run or a comparison") \
            from None  # fmt: skip
    except (KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise ValueError(f"{place}: it lacks a part that a dossier needs") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{place}: it cannot be read ({error})") from None
    except OSError as error:
        raise ValueError(f"{place}: {error.strerror}") from None


def follow(document: Any, path: str) -> Any:
    """Return the value at a place of a record: names and numbers of entries, with dots. None if it is not there.

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


def _filled(file: str, record: dict[str, Any], others: Mapping[str, dict[str, Any]]) -> str:
    from ldpsim.cli.report.documents import FORMS, markdown
    from ldpsim.curator.methods import find
    from ldpsim.curator.privacy.level import NOT_COUNTED
    from ldpsim.curator.privacy.levels import LEVELS, compared_levels
    from ldpsim.strategies.estimate.asked import mechanisms_of_run
    from ldpsim.strategies.group_accuracy.group_rows import group_rows
    from ldpsim.strategies.results.in_words import NOT_HIDDEN, PROTECTIONS, privacy_in_words
    from ldpsim.strategies.results.levels_of_results import held
    from ldpsim.strategies.results.numbers import NONE
    from ldpsim.strategies.results.verdict import DEVICES, NULLS, SHUFFLED, no_reports

    holds = record["privacy"]["holds"]
    for level in compared_levels():
        held(holds, level)  # refuses what is no level
    left_out = dict.fromkeys(name for entry in holds.values() for name in entry["not_counted"])

    def shown(path: str, form: str, of: Mapping[str, Any] = record) -> Any:
        value = follow(of, path)
        return NONE if value is None else FORMS[form](value)

    def null(name: str) -> tuple[str, str]:
        """Return heading and place of the figure of a null model."""
        shuffled = name.startswith(SHUFFLED)
        place = f"shuffled.{name.removeprefix(SHUFFLED)}" if shuffled else name
        return {**NULLS, **DEVICES}[name].heading, f"nulls.{place}.test"

    best = no_reports(record)
    return markdown(
        "dossier.md", worth=_worth(record), no_reports=best and null(best),
        simpler=[null(name) for name in (*NULLS, *DEVICES) if follow(record, null(name)[1]) is not None],
        file=file, record=record, others=others, shown=shown, holds=holds, levels=LEVELS,
        method=find(str(record["method"])).spec, mechanisms=_plain(mechanisms_of_run(record)),
        groups=group_rows(record),
        words={level: each.word for each in privacy_in_words(record) for level in each.levels},
        weak=[NOT_HIDDEN, *(each.word for each in PROTECTIONS if each.tone == "bad")],
        left_out=[NOT_COUNTED[name] for name in left_out if name in NOT_COUNTED],
    )  # fmt: skip


def _worth(record: Mapping[str, Any]) -> str:
    """Return what asking gains, in the one sentence of the verdict, or why it is not known."""
    from ldpsim.strategies.results.verdict import WORDS_HINT, gains_of, shown_nulls_of

    if not record.get("verdict"):
        return "Not known: the run took no simpler models."
    words = gains_of(record["verdict"], shown_nulls_of(record), hint=WORDS_HINT)
    return f"{words[0].upper()}{words[1:]}." if words else "Not known: the run gives no interval."


def _plain(mechanisms: Iterable[str]) -> list[str]:
    """Return names of mechanisms and what they are on, in words."""
    return [" ".join(_WORDS.get(word, word) for word in name.replace("_", " ").split()) for name in mechanisms]
