"""``ldpsim report``: a page of finished results."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ldpsim.cli import options as o
from ldpsim.cli.output import echo, print_json
from ldpsim.cli.progress import Progress
from ldpsim.cli.words import count
from ldpsim.strategies.foreign_text import text
from ldpsim.strategies.setup.option_spec import OUTPUT


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of results, or above them")],
    out: Annotated[
        Path | None,
        o.in_panel(OUTPUT, "--out", "The page", "FILE", show_default="DIR/report.html"),
    ] = None,
    latex: Annotated[
        Path | None, o.in_panel(OUTPUT, "--latex", "Write a LaTeX table of means, too", "FILE.tex")
    ] = None,
    figure: Annotated[
        Path | None, o.in_panel(OUTPUT, "--figure", "Write the first chart for a paper, too", "FILE.pdf|.svg|.png")
    ] = None,
    registry: Annotated[
        bool, o.in_panel(OUTPUT, "--registry", "Draft records for OpenDP's Deployments Registry")
    ] = False,
    as_json: Annotated[bool, o.in_panel(OUTPUT, "--json", "Print the results as one JSON document")] = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Write one HTML page of finished results; the page works offline.

    ldpsim report runs
    """
    with Progress(shown=not (quiet or as_json)) as progress:
        progress("reading", None)
        from ldpsim.cli.report.figure import chart_file, check_format
        from ldpsim.cli.report.gather import gather
        from ldpsim.cli.report.page import write_page
        from ldpsim.devices.atomic_files import PASSED_AROUND, write_atomically

        results = gather(folders)
        page = out or (folders[0] / "report.html" if len(folders) == 1 else Path("report.html"))
        wanted = {"latex": latex, "figure": figure}
        more = {name: file for name, file in wanted.items() if file is not None}
        _check_files({"--out": page, **{f"--{name}": file for name, file in more.items()}})
        if figure is not None:
            check_format(figure)
        drafts = _registry_drafts(list(results.records.values())) if registry else {}
        progress("drawing", None)
        write_page(page, results)
        if figure is not None:
            write_atomically(figure, chart_file(results, figure.suffix), mode=PASSED_AROUND)
        if latex is not None:
            from ldpsim.strategies.outputs.paper import latex_table
            from ldpsim.strategies.setup.fingerprint import ldpsim_version

            command = shlex.join(["ldpsim", "report", *map(str, folders), "--latex", str(latex)])
            write_atomically(latex, latex_table(results.groups, command=command, version=ldpsim_version()))
        if drafts:
            from ldpsim.cli.report.registry import write_registry

            write_registry(drafts, page.parent)
    others = [*more.values(), *(page.parent / name for name in drafts)]

    if as_json:
        files: dict[str, Any] = {name: str(file.absolute()) for name, file in {"html": page, **more}.items()}
        if drafts:
            files["registry"] = [str((page.parent / name).absolute()) for name in drafts]
        print_json({"results": list(results.records.values()), **files})
        return
    if quiet:
        echo(str(page))
        return
    data = dict.fromkeys(text(record["dataset"]["name"]) for record in results.records.values())
    echo(f"{count(len(results.records), 'result')} of {', '.join(data)}.")
    for entry in results.failed:
        echo(f"failed: {entry.what}: {entry.why}")
    for entry in results.left_out:
        echo(f"not shown: {entry.what}: {entry.why}")
    if figure is not None and len(data) > 1:
        echo(f"{figure.name} shows {next(iter(data))} alone: name folders of one data set for another figure.")
    echo(f"Written to {page}")
    for file in others:
        echo(f"       and {file}")


def _check_files(files: Mapping[str, Path]) -> None:
    """Check files that options name.

    Raises:
        ValueError: one line: a folder, a file in no folder, or one file for two options.
    """
    places = dict[Path, str]()
    for option, file in files.items():
        if file.is_dir() or not file.parent.is_dir():
            raise ValueError(f"{option} {file}: must name a file in a folder that is there")
        first = places.setdefault(file.resolve(), option)
        if first != option:
            raise ValueError(f"{option} {file}: is the file of {first} too; name another one")


def _registry_drafts(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the registry records of the one result, by file name.

    Raises:
        ValueError: one line, for several results, or for a run that protects nothing.
    """
    from ldpsim.cli.report.registry import registry_texts

    if len(records) != 1:
        raise ValueError(f"--registry: {len(records)} results are there; name the folder of one run")
    texts = registry_texts(records[0])
    if not texts:
        raise ValueError(f"--registry: {records[0]['method']} has no record, because no unit of privacy is "
                         "bounded")  # fmt: skip
    return texts
