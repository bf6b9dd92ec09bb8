"""Page and picture of docs/results/scale.json: growth by phase, with exponents, and what moved between two files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import RESULTS
from benchmarks.speed.scale_run import UNTRAINED
from ldpsim.curator.methods import find
from ldpsim.curator.methods.memory import Sizes, memory_by_phase, peak_bytes

FROM = 30_000  # people from which an exponent is taken: below, constant costs count
PHASES = ("population", "enrol", "collect", "reconstruct", "train", "evaluate", "reference", "nulls", "ledgers")
_MOVED = 0.1  # share of a figure below which a change is noise
_LEAST = 0.5  # CPU seconds or MiB
NAME = "scale"
_BYTES = ("uplink_bytes", "ledger_bytes", "folder_bytes")
_PEOPLE, _DRAWN, _SECONDS = (2_000, 1_500_000), 0.1, 1_000  # axes of every panel
_COLOURS = dict(zip(PHASES, ("#999999", "#bbbbbb", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00",
                             "#6a3d9a"), strict=True))  # fmt: skip

NOTES = Path(__file__).parent / "notes"
Run = Mapping[str, Any]


def exponent(people: Sequence[float], seconds: Sequence[float]) -> float | None:
    """Return the slope of ln(seconds) over ln(people) from 30,000 people on; None for fewer than two sizes.

    >>> round(exponent([3_000, 30_000, 300_000], [9.0, 1.0, 10.0]), 2)
    1.0
    """
    chosen = [(n, value) for n, value in zip(people, seconds, strict=True) if n >= FROM and value > 0]
    if len(chosen) < 2:
        return None
    x, y = np.log(np.array(chosen, float)).T
    return float(np.polyfit(x, y, 1)[0])


def series(runs: Iterable[Run]) -> Iterator[tuple[tuple[Any, ...], list[Run]]]:
    """Yield the runs that differ in the number of people alone, the smallest first."""
    found: dict[tuple[Any, ...], list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run["graph"], run["method"], run["nulls"], run["drawn"], run["people"])):
        found.setdefault(tuple(run[name] for name in ("method", "graph", "epochs", "drawn", "nulls")), []).append(run)
    yield from found.items()


def cpu(run: Run, phase: str) -> float:
    """Return the CPU seconds of a phase; those of no phase of the table count as population."""
    named = float(run["phases"].get(phase, {}).get("cpu", 0.0))
    if phase != "population":
        return named
    return named + sum(part["cpu"] for name, part in run["phases"].items() if name not in PHASES)


def title(key: tuple[Any, ...]) -> str:
    """Return what a series has in common, in words."""
    method, graph, epochs, drawn, nulls = key
    parts = [f"`{method}` on {graph}"]
    if method not in UNTRAINED:
        parts.append(f"{epochs} epochs")
    if method == "vote":
        parts.append("5 % volunteers")
    parts += ["reports drawn with numpy, nobody asked"] * drawn + ["with null models and references"] * nulls
    return ", ".join(parts)


def table(runs: Sequence[Run]) -> list[str]:
    """Return the lines of one series' table."""
    used = [phase for phase in PHASES if any(cpu(run, phase) >= 0.05 for run in runs)]
    lines = [f"| people | {' | '.join(used)} | all, CPU s | peak MiB | up, B | ledger, B | folder, B | test % |",
             "|---:" * (len(used) + 7) + "|"]  # fmt: skip
    for run in runs:
        n = run["people"]
        cells = [f"{cpu(run, phase):.1f}" for phase in used]
        bytes_a_device = [f"{run[name] / n:,.0f}" if run.get(name) else "-" for name in _BYTES]
        lines.append(f"| {n:,} | {' | '.join(cells)} | {run['cpu']:.1f} | {run['peak']:,.0f} "
                     f"| {' | '.join(bytes_a_device)} | {100 * run['test']:.1f} |")  # fmt: skip
    people = [run["people"] for run in runs]
    slopes = [exponent(people, [cpu(run, phase) for run in runs]) for phase in used]
    slopes.append(exponent(people, [run["cpu"] for run in runs]))
    shown = ["-" if slope is None else f"{slope:.2f}" for slope in slopes]
    return [*lines, f"| exponent | {' | '.join(shown)} | | | | | |"]


def elsewhere(runs: Sequence[Run]) -> str:
    """Return a paragraph about the machine of these runs where it is another one than the page's, else nothing."""
    others = sorted({f"{m['processor']}, {m['cores']} cores, {m['memory_gib']} GiB, Python {m['python']}"
                     for run in runs if (m := run.get("machine"))})  # fmt: skip
    return f"On another machine, shared with other work too: {'; '.join(others)}.\n\n" if others else ""


def page(kept: Mapping[str, Any]) -> str:
    """Return the page."""
    about, runs = kept["machine"], kept["runs"]
    found = list(series(runs))
    every = [(exponent([run["people"] for run in part], [run["cpu"] for run in part]), part) for _, part in found]
    slopes = [slope for slope, part in every if slope is not None]
    largest = max(run["people"] for run in runs)
    loads = [run["load"] for run in runs]
    between = f"lies between {min(slopes):.2f} and {max(slopes):.2f}" if slopes else "needs two runs of one kind"
    parts = [f"## {title(key)[0].upper() + title(key)[1:]}\n\n{elsewhere(part)}" + "\n".join(table(part))
             for key, part in found]  # fmt: skip
    return (NOTES / f"{NAME}.md").read_text().format(
        largest=largest, least=FROM, between=between, load=f"{min(loads):g} to {max(loads):g}",
        series="\n\n".join(parts), **memory_law(), **about,
    )  # fmt: skip


def memory_law() -> dict[str, Any]:
    """Return the law of the curator's memory for a million people as a table, and the millions of reported ones."""
    n, degree, flip = 10**6, 7.0, 1 / (1 + np.exp(8.0))
    ones = n * (n - 1) * flip + n * degree * (1 - flip)
    lines = ["| method | reconstruct | train | evaluate | peak, GiB |", "|---|---:|---:|---:|---:|"]
    for method in ("lpgnn", "rgnn", "hogs", "sbp", "rr", "blink", "ldpgcn"):
        listed = method not in ("lpgnn", "rgnn")
        sizes = Sizes(n=n, d=256, classes=5, edges=n * degree / 2, ones=ones if listed else 0.0)
        law = find(method).spec.memory
        assert law is not None
        phases, peak = memory_by_phase(law, sizes), peak_bytes(law, sizes)
        found = [phases[phase] / 2**30 for phase in ("reconstruct", "train", "evaluate")]
        lines.append(f"| `{method}` | {' | '.join(f'{value:,.1f}' for value in found)} | {peak / 2**30:,.1f} |")
    return {"memory": "\n".join(lines), "millions": ones / 1e6}


def write_page(kept: Mapping[str, Any]) -> None:
    """Write page and picture."""
    (RESULTS / f"{NAME}.md").write_text(page(kept))
    _picture(kept["runs"])


def _picture(runs: Sequence[Run]) -> None:
    """Draw a grid of small panels with the same axes, two in a row, one legend, and the memory last."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = [(key, part) for key, part in series(runs) if len(part) > 1]
    rows = (len(found) + 2) // 2
    figure, axes = pyplot.subplots(rows, 2, figsize=(4.6, 2.1 * rows + 0.9), layout="constrained")
    places = list(axes.flat)
    for spare in places[len(found) + 1 :]:
        spare.set_axis_off()
    memory = places[len(found)]
    for number, (place, (key, part)) in enumerate(zip(places, found, strict=False)):
        people = [run["people"] for run in part]
        for phase in PHASES:
            seconds = [cpu(run, phase) for run in part]
            if max(seconds) >= _DRAWN:
                place.plot(
                    people,
                    np.where(np.array(seconds) < _DRAWN, np.nan, seconds),
                    "o-",
                    color=_COLOURS[phase],
                    markersize=3,
                    label=phase,
                )
        place.plot(people, [run["cpu"] for run in part], color="black", linewidth=2.5, label="all")
        words = title(key).replace("`", "").replace(" on generated-v1", "")
        place.set(xscale="log", yscale="log", xlim=_PEOPLE, ylim=(_DRAWN, _SECONDS), title=words)
        if number % 2 == 0:
            place.set_ylabel("CPU seconds", fontsize=8)
        memory.plot(people, [run["peak"] / 1024 for run in part], "o-", markersize=3, label=words)
    memory.set(xscale="log", yscale="log", xlim=_PEOPLE, title="peak memory, GiB")
    memory.set_yticks([0.25, 0.5, 1, 2, 4, 8], labels=["1/4", "1/2", "1", "2", "4", "8"])
    memory.set_ylim(0.25, 40)  # room for the legend above the lines
    memory.yaxis.set_minor_formatter("")
    memory.legend(fontsize=6.5)
    for place in places[: len(found) + 1]:
        place.tick_params(labelsize=7.5)
        place.title.set_fontsize(8.5)
        place.grid(alpha=0.3)
    for place in axes[-1]:
        place.set_xlabel("people", fontsize=8)
    handles = {word: line for place in places[: len(found)] for line, word in
               zip(*place.get_legend_handles_labels(), strict=True)}  # fmt: skip
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=7.5)
    figure.savefig(RESULTS / "figures" / f"{NAME}.png", dpi=170, metadata={"Software": None})


def compared(base: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return a line for every figure that moved by more than a tenth, and for what one of the files lacks."""
    before, after = ({(*key, run["people"]): run for key, part in series(kept["runs"]) for run in part}
                     for kept in (base, now))  # fmt: skip
    lines = []
    if base.get("machine") != now.get("machine"):
        lines.append(f"other machines: {base.get('machine')} and {now.get('machine')}")
    for key in sorted(before.keys() | after.keys(), key=str):
        name = f"{title(key[:-1])}, {key[-1]:,} people"
        if key not in before or key not in after:
            lines.append(f"{name}: only in the {'base' if key in before else 'new'} file")
            continue
        old, new = before[key], after[key]
        figures = [(phase, cpu(old, phase), cpu(new, phase), "CPU s") for phase in PHASES]
        figures += [("all", old["cpu"], new["cpu"], "CPU s"), ("peak", old["peak"], new["peak"], "MiB")]
        for what, first, second, unit in figures:
            if abs(second - first) > max(_LEAST, _MOVED * first):
                ratio = f"{second / first:.2f} x" if first else "new"
                lines.append(f"{name}: {what} {first:,.1f} -> {second:,.1f} {unit} ({ratio})")
    return lines or ["nothing moved by more than a tenth"]
