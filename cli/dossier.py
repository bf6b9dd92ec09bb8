"""``ldpsim dossier``: what an officer for data protection needs to read, as a page and as text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import options as o
from cli.output import echo, print_json
from strategies.setup.option_spec import OUTPUT

PAGE, TEXT = "dossier.html", "dossier.md"


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
    from cli.report.dossier_page import render_dossier
    from devices.atomic_files import PASSED_AROUND, write_atomically
    from strategies.dossier.making import make_dossier
    from strategies.dossier.markdown import to_markdown
    from strategies.dossier.subject import read_subject
    from strategies.results.folder import prepare

    subject = read_subject(folder, method)
    made = make_dossier(subject)
    place = out or subject.folder
    texts = {PAGE: render_dossier(made), TEXT: to_markdown(made)}
    prepare(place)
    for name, text in texts.items():
        write_atomically(place / name, text, mode=PASSED_AROUND)
    if as_json:
        print_json({name: str((place / name).absolute()) for name in texts})
        return
    if quiet:
        echo(str(place / PAGE))
        return
    echo(f"Dossier of {made.title}.")
    for each in made.not_protected:
        echo(f"not protected, or hardly: {each}")
    echo(f"Written to {place / PAGE}")
    echo(f"       and {place / TEXT}")
