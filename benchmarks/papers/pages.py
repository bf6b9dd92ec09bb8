"""Pages of the papers in ``docs/results``, written from the results of their cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.papers.agreement import Accuracy
from benchmarks.papers.cell_result import CellResult, compared, write_table
from benchmarks.papers.table_cell import NOT_HERE, Page, command

NOTES = Path(__file__).parent / "notes"
JUDGED_LEVELS = ("relationship", "vector")  # levels that the page of the agreement shows


def markdown(paper: str, page: Page, results: Sequence[CellResult]) -> str:
    """Return a page."""
    done = [result for result in results if result.ours is not None]
    decided = [result for result in done if result.cell.paper is not None and result.ours and result.ours.runs >= 10]
    off = [result for result in decided if compared(result).startswith("**")]
    ending = "; the notes below explain those." if off else "."
    counts = (
        f"{len(done)} of {len(results)} cells were run. Of the {len(decided)} with a published figure and ten runs or "
        f"more,\n{len(decided) - len(off)} agree and {len(off)} do not{ending}"
    )
    parts = [f"# {page.title}", page.head, _RULE, counts]
    for table in dict.fromkeys(result.cell.table for result in results):
        ours = [result for result in results if result.cell.table == table]
        shown = [result for result in ours if result.ours is not None or result.cell.absent]
        parts += [f"## {table}", *([page.tables[table]] if page.tables.get(table) else [])]
        parts += [_table(page, shown)] if shown else []
        if len(shown) < len(ours):
            parts.append(f"{len(ours) - len(shown)} cells: {NOT_HERE}.")
    notes = NOTES / f"{paper}.md"
    if notes.is_file():
        parts.append(notes.read_text().strip())
    parts += _commands(paper, results)
    return "\n\n".join(parts) + "\n"


_RULE = """Figures are test accuracy in %: mean ± standard deviation of single runs (number of runs). "Agrees" means
|difference| <= max(1.5 points, 3 sqrt(s^2/n + s'^2/n')) with at least ten runs of ours. A published confidence
half-width is turned into a standard deviation first. If the two do not agree, the difference is in bold. The last
columns are the losses that *hold* for one collection, by level, and not the claimed ones. Written by
`benchmarks/papers/tables.py`."""


def _table(page: Page, results: Sequence[CellResult]) -> str:
    names = list(dict.fromkeys(name for result in results for name in result.cell.keys))
    measured = any(result.cell.measured for result in results)
    heads = [*names, "ours", "paper", "comparison", *([page.measured] if measured else []), *page.levels]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for result in results:
        if result.line:
            lines.append(result.line)
            continue
        cell = result.cell
        held = (result.held.get(level, "-") for level in page.levels.values())
        shown = [*(cell.keys.get(name, "-") for name in names), _ours(result), _shown(cell.paper), compared(result),
                 *([_shown(cell.measured)] if measured else []), *held]  # fmt: skip
        lines.append("| " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _ours(result: CellResult) -> str:
    return _shown(result.ours) if result.ours else result.why


def _shown(accuracy: Accuracy | None) -> str:
    return f"{accuracy} ({accuracy.runs})" if accuracy else "-"


def _commands(paper: str, results: Sequence[CellResult]) -> Iterator[str]:
    absent = [result for result in results if result.cell.absent]
    missing = [result for result in results if result.ours is None and not result.cell.absent]
    yield "## Commands"
    yield (
        f"The last column of [{paper}.csv]({paper}.csv) holds the command of every cell. The command\n"
        f"`python -m benchmarks.papers.tables {paper}` runs all cells\nthat have no result below `runs/tables`"
        + (f". {len(missing)} of them were not run here, for lack of time." if missing else ".")
    )
    if absent:
        shown = "\n".join(command(result.cell.options) for result in absent)
        yield f"Not run, because the features of the data set are not publicly stored:\n\n```sh\n{shown}\n```"


def write_page(paper: str, page: Page, results: Sequence[CellResult], where: Path) -> None:
    """Write a paper's page and table."""
    where.mkdir(parents=True, exist_ok=True)
    write_table(where / f"{paper}.csv", page, results)
    (where / f"{paper}.md").write_text(markdown(paper, page, results))


def write_agreement(results: Mapping[str, Sequence[CellResult]], where: Path) -> None:
    """Write the page of the cells that decide whether a paper's results are reproduced."""
    lines = ["| paper | cell | ours | published | comparison | measured | relationship | vector | page |",
             "|" + " --- |" * 9]  # fmt: skip
    path = where / "agreement.md"
    kept = path.read_text().splitlines() if path.is_file() else []
    judged = [(paper, result) for paper, all_ in results.items() for result in all_ if result.cell.level == 0]
    for paper, result in judged:
        name = ", ".join(f"{key} {value}" for key, value in result.cell.keys.items())
        if result.row:  # a kept result: its line stays as it was written
            lines += [line for line in kept if line.startswith(f"| {paper} | {name} | ")]
            continue
        held = (result.held[level] for level in JUDGED_LEVELS)
        lines.append(f"| {paper} | {name} | {_ours(result)} | {_shown(result.cell.paper)} | {compared(result)} | "
                     f"{_shown(result.cell.measured)} | {' | '.join(held)} | [{paper}.md]({paper}.md) |")  # fmt: skip
    done = sum(result.ours is not None for _, result in judged)
    off = sum(compared(result).startswith("**") for _, result in judged)
    verdicts = f"{done} of {len(judged)} figures were run; " + (f"{off} do not agree." if off else "all agree.")
    head = (f"# Agreement with the papers\n\n{_RULE}\n\n\"Measured\" is the published code run on another machine, or "
            f"an independent\nreproduction. {verdicts}\n\n")  # fmt: skip
    path.write_text(head + "\n".join(lines) + "\n")
