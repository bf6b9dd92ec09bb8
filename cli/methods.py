"""``ldpsim methods``: the methods, one line each."""

from __future__ import annotations

from typing import Any

from ldpsim.cli import options as o
from ldpsim.cli.output import console, print_json, text_table

_SHORT = {
    "randomized_response": "RR", "one_bit": "1bit", "multi_bit": "MB", "grr": "GRR", "grr_fs": "GRR-FS",
    "degree": "deg", "group_degrees": "groups", "laplace": "Lap", "analytic_gaussian": "Gauss", "noisy_row": "row",
    "gaussian": "Gauss", "gaussian_update": "Gauss", "neighbourhood_vote": "vote",
    "window": "win",
}  # fmt: skip
_LETTERS = {"adjacency": "E", "features": "F", "label": "L"}
_SHOWN_MECHANISMS = 3


def methods(as_json: o.PlainJson = False) -> None:
    """List the methods: their paper, who must be trusted, and what is private."""
    rows = rows_of_methods()
    if as_json:
        print_json(rows)
        return
    from rich.markup import escape

    shown = text_table("method", "curator", "private", "mechanisms", "!paper", gap=1)
    for row in rows:
        private = "".join(_LETTERS.get(name, name) for name in row["private"]) or "-"
        used = [_SHORT.get(name, name) for name in row["mechanisms"] if not name.startswith("clear")]
        more = "+" if len(used) > _SHOWN_MECHANISMS else ""
        mechanisms = ",".join(used[:_SHOWN_MECHANISMS]) + more or "-"
        trust = row["trust"].removesuffix(" curator") if row["trust"] != "none" else "-"
        shown.add_row(row["name"], trust, private, mechanisms, escape(row["paper"]))
    screen = console()
    screen.print(shown)
    screen.print("[dim]private: E edges, F features, L label. RR: randomised response, GRR: of more[/dim]")
    screen.print("[dim]than two values, MB: multi-bit, deg: noisy degree. Papers in full: --json.[/dim]")


def rows_of_methods() -> list[dict[str, Any]]:
    """Return one JSON-ready row per method, by name."""
    from ldpsim.curator.methods import table

    shown = ("name", "paper", "trust", "private", "mechanisms")
    found = [{name: getattr(method.spec, name) for name in shown} for _, method in sorted(table().items())]
    return [{**row, "private": list(row["private"]), "mechanisms": list(row["mechanisms"])} for row in found]
