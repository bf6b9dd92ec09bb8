"""Run a simulation and write what it prints as pictures: with ``--details``, and the first screen alone.

    python -m benchmarks.papers.picture docs/images [--clients 3000]

The pictures are ``run.svg`` and ``verdict.svg``. No web font is named in them: a picture of a result
should fetch nothing.
"""

from __future__ import annotations

import argparse
import io
import re
from dataclasses import replace
from pathlib import Path

from rich.console import Console, RenderableType

from ldpsim.cli.output import WIDTH
from ldpsim.cli.summary import first_screen, summary
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.outputs.shell import comparison_of


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clients", type=int, default=3000)
    arguments = parser.parse_args()
    options = RunOptions(method="hogs", clients=arguments.clients, feature_share=0.3)
    record = simulate(replace(options, out=None)).record
    folder = Path("runs") / f"hogs-generated-{record['config_hash']}-0"
    following = comparison_of(options, record)
    title = f"ldpsim run --clients {arguments.clients} --method hogs --feature-share 0.3"
    for name, shown in (
        ("run", summary(record, folder=folder, next_command=following)),
        ("verdict", first_screen(record, folder=folder, next_command=following, more=True)),
    ):
        command = f"{title} --details" if name == "run" else title
        (arguments.folder / f"{name}.svg").write_text(picture(shown, title=command, name=name))


def picture(shown: RenderableType, *, title: str, name: str) -> str:
    """Return a terminal's output as SVG."""
    screen = Console(record=True, width=WIDTH, highlight=False, file=io.StringIO(), force_terminal=True)
    screen.print(shown)
    svg = screen.export_svg(title=title, unique_id=name)
    svg = re.sub(r"\s*@font-face \{[^}]*\}", "", svg).replace("Fira Code, monospace", "Menlo, Consolas, monospace")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


if __name__ == "__main__":
    main()
