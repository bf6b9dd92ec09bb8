"""Run a simulation and write its panel as the picture that the README shows.

    python -m benchmarks.papers.picture docs/images/run.svg [--clients 3000]

No web font is named in the file: a picture of a result should fetch nothing.
"""

from __future__ import annotations

import argparse
import io
import re
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from cli.output import WIDTH
from cli.report.shell import comparison_of
from cli.summary import summary
from strategies import RunOptions, simulate
from strategies.experiments.next_step import methods_to_compare


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--clients", type=int, default=3000)
    given = parser.parse_args()
    options = RunOptions(method="hogs", clients=given.clients, feature_share=0.3)
    result = simulate(replace(options, out=None))
    screen = Console(record=True, width=WIDTH, highlight=False, file=io.StringIO(), force_terminal=True)
    folder = Path("runs") / f"hogs-generated-{result.record['config_hash']}-0"
    following = comparison_of(methods_to_compare(options), options)
    screen.print(summary(result.record, folder=folder, next_command=following))
    svg = screen.export_svg(
        title=f"ldpsim run --clients {given.clients} --method hogs --feature-share 0.3", unique_id="run"
    )
    svg = re.sub(r"\s*@font-face \{[^}]*\}", "", svg).replace("Fira Code, monospace", "Menlo, Consolas, monospace")
    given.file.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")


if __name__ == "__main__":
    main()
