"""Pictures of the documentation: a run's screens, and what asking again recovers.

    python -m benchmarks.papers.picture docs/images [--clients 3000] [--only stress]

A run is simulated and what it prints becomes ``run.svg``, with ``--details``, and ``verdict.svg``, the first screen
alone. No web font is named in them: a picture of a result should fetch nothing. ``stress.png`` has the charts of the
page of ``ldpsim stress``, from ``docs/results/stress.csv``.
"""

from __future__ import annotations

import argparse
import io
import json
import re
from dataclasses import replace
from pathlib import Path

from rich.console import Console, RenderableType

from benchmarks import RESULTS
from ldpsim.cli.output import WIDTH
from ldpsim.cli.report.page import SCHEMA
from ldpsim.cli.report.stress import chart
from ldpsim.cli.summary import first_screen, summary
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.attacks.stress.summary import Summary
from ldpsim.strategies.outputs.shell import comparison_of
from ldpsim.strategies.palette import ON_WHITE, SERIES


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clients", type=int, default=3000)
    parser.add_argument("--only", choices=("run", "stress"))
    arguments = parser.parse_args()
    if arguments.only != "run":
        (arguments.folder / "stress.png").write_bytes(stress_picture(RESULTS / "stress.csv"))
    if arguments.only != "stress":
        write_screens(arguments.folder, clients=arguments.clients)


def write_screens(folder: Path, *, clients: int) -> None:
    """Run a simulation, and write its screens."""
    options = RunOptions(method="hogs", clients=clients, feature_share=0.3)
    record = simulate(replace(options, out=None)).record
    result = Path("runs") / f"hogs-generated-{record['config_hash']}-0"
    following = comparison_of(options, record)
    title = f"ldpsim run --clients {clients} --method hogs --feature-share 0.3"
    for name, shown in (
        ("run", summary(record, folder=result, next_command=following)),
        ("verdict", first_screen(record, folder=result, next_command=following, more=True)),
    ):
        command = f"{title} --details" if name == "run" else title
        (folder / f"{name}.svg").write_text(picture(shown, title=command, name=name))


def stress_picture(table: Path) -> bytes:
    """Return the charts of a stress test's table as one PNG, side by side on white paper.

    Numbers of questions of which something was not counted are left out.
    """
    import pandas as pd
    import vl_convert

    frame = pd.read_csv(table)
    counted = frame.found.notna().groupby(frame.asks).transform("all")
    summary = Summary.of(frame[counted].to_dict("records"))
    charts = [chart(summary, attribute, SERIES) for attribute in summary.no_reports]
    soft, line = ON_WHITE["soft"], ON_WHITE["line"]
    axis = {"labelColor": soft, "titleColor": soft, "gridColor": ON_WHITE["grid"], "domainColor": line,
            "tickColor": line, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}  # fmt: skip
    picture = {
        "$schema": SCHEMA,
        "background": "white",
        "padding": 10,
        "hconcat": [{**each, "width": 260, "autosize": "pad"} for each in charts],
        "config": {"view": {"stroke": None}, "axis": axis,
                   "legend": {"labelColor": soft, "labelFontSize": 12, "title": None, "orient": "bottom"}},
    }  # fmt: skip
    return bytes(vl_convert.vegalite_to_png(json.dumps(picture), scale=2))


def picture(shown: RenderableType, *, title: str, name: str) -> str:
    """Return a terminal's output as SVG."""
    screen = Console(record=True, width=WIDTH, highlight=False, file=io.StringIO(), force_terminal=True)
    screen.print(shown)
    svg = screen.export_svg(title=title, unique_id=name)
    svg = re.sub(r"\s*@font-face \{[^}]*\}", "", svg).replace("Fira Code, monospace", "Menlo, Consolas, monospace")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


if __name__ == "__main__":
    main()
