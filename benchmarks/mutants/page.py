"""Tables of docs/testing.md: the mutation score by package and the survivors, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks import ROOT
from benchmarks.mutants.results import Result, Survivors, about, wilson

PAGE = ROOT / "docs" / "testing.md"
START, END = "<!-- tables of make mutants: start -->", "<!-- tables of make mutants: end -->"


def summary(results: Sequence[Sequence[Result]], survivors: Survivors, drawn: int) -> str:
    """Return the score of the newest results in words, and the survivors of which nothing is known."""
    newest = [found[-1] for found in results]
    lines = [f"{len(newest)} of {drawn} mutants were run.", *_table(newest, survivors)]
    for result in newest:
        if not result.killed and about(result, survivors) is None:
            lines += ["", f"{result.module}:{result.line} {result.function} ({result.operator})"]
            lines += [f"  - {result.before}", f"  + {result.after}"]
    return "\n".join(lines)


def write_page(results: Sequence[Sequence[Result]], survivors: Survivors, seed: int, page: Path = PAGE) -> None:
    """Write the tables into the page, between its two marks."""
    text = page.read_text()
    head, _, rest = text.partition(START)
    _, mark, tail = rest.partition(END)
    if not mark:
        raise ValueError(f"{page.name} lacks the marks {START} and {END}")
    body = "\n".join(tables(results, survivors, seed))
    page.write_text(f"{head}{START}\n{body}\n{END}{tail}")


def tables(results: Sequence[Sequence[Result]], survivors: Survivors, seed: int) -> list[str]:
    """Return the page's generated part."""
    first, newest = [found[0] for found in results], [found[-1] for found in results]
    spent = sum(result.cpu for result in first) / 3600
    lines = [f"Seed {seed}, {len(first)} mutants, {spent:.2f} hours of processor time. First run:", ""]
    lines += _table(first, survivors)
    survived = [found for found in results if not found[0].killed]
    if any(found[-1].killed for found in survived):
        lines += ["", "Today, after tests were added for survivors of the first run:", "", *_table(newest, survivors)]
    lines += ["", "### Survivors of the first run", ""]
    for found in survived:
        lines += _survivor(found[0], found[-1], survivors)
    return lines if survived else [*lines, "None."]


def _table(results: Sequence[Result], survivors: Survivors) -> list[str]:
    """Return a row for each package, and one for all: of all mutants, and of those that somebody would see."""
    lines = [
        "| package | mutants | killed | score | 95 % interval | nobody sees | score of the others | 95 % interval |",
        "|---|--:|--:|--:|---|--:|--:|---|",
    ]
    packages = {result.folder.partition("/")[0] for result in results}
    for package in sorted(packages):
        lines.append(
            _row(package, [result for result in results if result.module.startswith(f"{package}/")], survivors)
        )
    return [*lines, _row("**all**", results, survivors)]


def _row(name: str, results: Sequence[Result], survivors: Survivors) -> str:
    killed = sum(result.killed for result in results)
    unseen = sum(_nobody_sees(result, survivors) for result in results)
    figures = []
    for count in (len(results), len(results) - unseen):
        low, high = wilson(killed, count)
        figures.append(f"{f'{killed / count:.1%}' if count else '-'} | {low:.1%} to {high:.1%}")
    return f"| {name} | {len(results)} | {killed} | {figures[0]} | {unseen} | {figures[1]} |".replace("%", " %")


def _nobody_sees(result: Result, survivors: Survivors) -> bool:
    known = about(result, survivors)
    return not result.killed and known is not None and known.kind != "left"


def _survivor(first: Result, newest: Result, survivors: Survivors) -> list[str]:
    """Return the lines of one survivor: the change, and what is known of it."""
    known = about(first, survivors)
    if newest.killed:
        outcome = f"Killed today by `{newest.by}`."
    elif known is None:
        outcome = "No test sees it."
    else:
        outcome = f"{known.kind.capitalize()}: {known.reason}"
    change = [f"  - {line}" for line in first.before.splitlines()] + [
        f"  + {line}" for line in first.after.splitlines()
    ]
    title = f"`{first.module}`, `{first.function or 'module'}` ({first.operator}). {outcome}"
    return [f"- {title}", "", "  ```diff", *change, "  ```", ""]
