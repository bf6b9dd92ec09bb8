"""Plan of a collection (``ldpsim plan``): each method on paper, against wishes, before anybody is asked.

    facts, wishes -> a setting a method -> what holds, bytes, seconds, memory -> likely worth -> choice

Nobody is asked and nobody is enrolled. Likely worth comes from runs on made-up people.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from curator.methods import find
from curator.methods.owner.owner import LabelAnswers
from devices.query import MAX_BYTES
from strategies.engines.pool import available_cores, processes
from strategies.estimate.fits import in_gib
from strategies.estimate.graph_facts import GraphFacts
from strategies.estimate.load import constants
from strategies.estimate.machine import calibration, memory_bytes
from strategies.experiments.compare import cells_of
from strategies.planning import miniature as small
from strategies.planning import worth as worths
from strategies.planning.listed import LISTED
from strategies.planning.on_paper import OnPaper
from strategies.planning.rows import Row, row_of
from strategies.progress import Progress, quiet
from strategies.results.in_words import guess
from strategies.results.levels import level_named
from strategies.setup.options import RunOptions

EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0)  # that a search for a target tries
LAMBDAS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # and of an owner's methods
OPTIMISM = 0.1  # most by which a miniature was above the full size where it was tried (docs/commands/plan.md)


@dataclass(frozen=True)
class Wishes:
    """Wishes for the chosen method.

    Args:
        accuracy: Least likely test accuracy; None for none.
        level: Level of guarantee that the plan is about.
        holds: Loss that shall hold there; None leaves the budgets as they are.
        max_bytes: Most bytes a device, both ways.
        max_attack: Largest chance of a right guess between two equally likely values at the level.

    Raises:
        ValueError: one line, for a wish that cannot be.
    """

    accuracy: float | None = None
    level: str = "user"
    holds: float | None = None
    max_bytes: float | None = None
    max_attack: float | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "level", level_named(self.level))
        except ValueError as error:
            raise ValueError(str(error).replace("--match", "--level")) from None
        if self.accuracy is not None and not 0 < self.accuracy <= 1:
            raise ValueError(f"--target accuracy={self.accuracy:g}: must be a share, above 0 and at most 1")
        if self.holds is not None and not 0 < self.holds < math.inf:
            raise ValueError(f"--holds {self.holds:g}: the loss must be a finite number above 0")
        if self.max_bytes is not None and not self.max_bytes >= 0:
            raise ValueError(f"--max-bytes {self.max_bytes:g}: must be 0 or more")
        if self.max_attack is not None and not 0.5 < self.max_attack < 1:
            raise ValueError(f"--max-attack {self.max_attack:g}: a chance above 0.5, that of a coin, and below 1")

    @property
    def loss(self) -> float | None:
        """Loss for which budgets are solved: the smaller of ``holds`` and that of ``max_attack``; None for neither.

        >>> round(Wishes(max_attack=0.9).loss, 4)
        2.1972
        """
        attack = None if self.max_attack is None else math.log(self.max_attack / (1 - self.max_attack))
        given = [value for value in (self.holds, attack) if value is not None]
        return min(given) if given else None


@dataclass(frozen=True)
class Plan:
    """Result of a plan.

    Args:
        facts: The people, on paper.
        wishes: What was wished for.
        rows: One row a method, in the order of the list.
        failures: Method -> why it has no row: its options do not fit these people.
        nothing: Accuracy of each null model on the made-up graphs: nobody is asked.
        choice: The row that meets the wishes best; None if there is none.
        why: Reason for the choice, or for none, in a sentence.
        notes: How worth was simulated: people, repeats, runs, seconds; empty without worth.
    """

    facts: GraphFacts
    wishes: Wishes
    rows: Sequence[Row]
    failures: Mapping[str, str]
    nothing: Mapping[str, worths.Worth]
    choice: Row | None
    why: str
    notes: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return ``plan --json``."""
        wishes = {name: value for name, value in vars(self.wishes).items() if value is not None}
        machine = {"memory_bytes": memory_bytes(), "constants_of": constants()["machine"]["name"]}
        return {
            "facts": self.facts.to_dict(),
            "wishes": wishes,
            "machine": machine,
            "rows": [row.to_dict() for row in self.rows],
            "nothing": {name: found.to_dict() for name, found in self.nothing.items()},
            "cannot": dict(self.failures),
            "choice": None if self.choice is None else self.choice.to_dict(),
            "why": self.why,
            "simulation": {"words": worths.WORDS, **self.notes} if self.notes else None,
        }


def make_plan(
    methods: Sequence[str],
    options: RunOptions,
    facts: GraphFacts,
    wishes: Wishes,
    *,
    worth: bool = True,
    people: int = small.PEOPLE,
    repeats: int = 3,
    workers: int | None = None,
    progress: Progress = quiet,
) -> Plan:
    """Plan a collection; nobody is asked.

    Args:
        methods: Names; empty for the methods of :data:`strategies.planning.listed.LISTED`.
        options: Options of every method, where it has them.
        facts: The people.
        wishes: What the choice has to meet.
        worth: Whether likely worth is simulated.
        people: Number of made-up people; more where there are many classes.
        repeats: Number of made-up graphs.
        workers: Processes; None for one per core.
        progress: Told the phase and the share of it that is done.

    Raises:
        ValueError: one line, for unknown methods, or options that no method has.
    """
    if wishes.accuracy is not None and not worth:
        raise ValueError(f"--target accuracy={wishes.accuracy:g} with --no-worth: it needs the accuracy")
    progress("accounts", 0.0)
    names = list(methods) or list(LISTED)
    paper = OnPaper(facts)
    speed = calibration() / constants()["machine"]["calibration"]
    rows: dict[str, Row] = {}
    failures: dict[str, str] = {}
    for place, cell in enumerate(cells_of(names, options, {})):
        try:
            rows[cell.label] = _settled(paper, _fitting(cell.options, facts), wishes, speed)
        except ValueError as error:
            failures[cell.label] = " ".join(str(error).split())
        progress("accounts", (place + 1) / len(names))
    nothing: dict[str, worths.Worth] = {}
    notes: dict[str, Any] = {}
    if worth and rows:
        rows, nothing, notes = _with_worth(paper, rows, wishes, speed, people, repeats, workers, progress)
    made = [_judged(row, wishes) for row in rows.values()]
    choice, why = _choice(made, wishes, nothing)
    return Plan(facts, wishes, made, failures, nothing, choice, why, notes)


def _fitting(options: RunOptions, facts: GraphFacts) -> RunOptions:
    """Return the options with as many queries of an owner as these people allow, unless some are given."""
    kind = find(options.method)
    public = int(0.3 * facts.n)
    if issubclass(kind, LabelAnswers) and "queries" not in options.settings and kind().queries > public:
        return replace(options, settings={**options.settings, "queries": str(max(1, public))})
    return options


def _settled(paper: OnPaper, options: RunOptions, wishes: Wishes, speed: float) -> Row:
    """Return the row of a method: with its own budget, or with the one at which the wished loss holds."""
    if wishes.loss is None:
        return row_of(paper, options, wishes.level, speed)
    trusted = find(options.method).trust == "trusted curator"
    level = "central_node" if trusted and wishes.level in ("user", "node") else wishes.level
    found = paper.match(options, level, wishes.loss)
    row = row_of(paper, found.options, wishes.level, speed)
    return row.but(f"no setting: {found.reason}") if found.reason and not found.of_reports else row


def _with_worth(
    paper: OnPaper, rows: Mapping[str, Row], wishes: Wishes, speed: float, people: int, repeats: int,
    workers: int | None, progress: Progress,
) -> tuple[dict[str, Row], dict[str, worths.Worth], dict[str, Any]]:  # fmt: skip
    """Return the rows with their worth, that of asking nobody, and notes on the simulation."""
    started, runs = time.perf_counter(), 0
    kept = dict(rows)
    with tempfile.TemporaryDirectory(prefix="ldpsim-plan-") as folder, _pool(workers) as pool:
        graphs = small.make(paper.facts, Path(folder), people=people, repeats=repeats)
        size = small.size_of(paper.facts, people)
        progress("simulating", 0.0)
        nulls = list(pool.in_order(worths.nothing_trial, graphs))

        def tried(several: Mapping[str, Row], number: int) -> dict[str, list[float] | str]:
            nonlocal runs
            trials = {name: worths.trials_of(_in_miniature(paper, row.options, size), graphs[:number])
                      for name, row in several.items()}  # fmt: skip
            runs += sum(map(len, trials.values()))
            return worths.run_all(pool, trials)

        if wishes.accuracy is not None and wishes.loss is None:
            kept = _cheapest(paper, kept, wishes, speed, lambda several: tried(several, min(2, repeats)), progress)
        able = {name: row for name, row in kept.items() if not any(why.startswith("no setting") for why in row.why)}
        found: dict[str, list[float] | str] = {}
        names = list(able)
        for start in range(0, len(names), 4):  # in parts, so that the bar moves
            found |= tried({name: able[name] for name in names[start : start + 4]}, repeats)
            progress("simulating", (start + 4) / max(len(names), 4) if start + 4 < len(names) else 1.0)
    values = {name: each for name, each in found.items() if not isinstance(each, str)}
    shown = worths.intervals({**values, **{f" {name}": [each[name] for each in nulls if name in each]
                                           for name in nulls[0]}})  # fmt: skip
    nothing = {name: shown[f" {name}"] for name in nulls[0]}
    for name in able:
        row, result = kept[name], found[name]
        if isinstance(result, str):
            kept[name] = row.but(f"its miniature failed: {result}")
            continue
        better = shown[name]
        if small.of_a_bit(paper.set_up(row.options)) is not None and size < paper.facts.n:
            better = replace(better, low=max(0.0, better.low - OPTIMISM))
        kept[name] = replace(row, worth=better, bar=_bar(paper, row.options, nothing))
    notes = {"people": size, "repeats": repeats, "runs": runs, "seconds": time.perf_counter() - started}
    return kept, nothing, notes


def _pool(workers: int | None) -> Any:
    return processes(workers or available_cores())


def _in_miniature(paper: OnPaper, options: RunOptions, size: int) -> RunOptions:
    """Return the options of a miniature; an owner asks as many queries as its public people allow."""
    setup = paper.set_up(options)
    kept = small.with_kept_noise(setup, paper.facts.n, size)
    if isinstance(setup.method, LabelAnswers):
        kept = replace(kept, settings={**kept.settings, "queries": str(min(setup.method.queries, int(0.25 * size)))})
    return kept


def _bar(paper: OnPaper, options: RunOptions, nothing: Mapping[str, worths.Worth]) -> tuple[str, float]:
    """Return the best null model that the method's public data allow, and its accuracy."""
    setup = paper.set_up(options)
    allowed = ["chance"]
    allowed += ["features alone"] if setup.budget.public_features else []
    allowed += ["graph alone"] if setup.method.knows_graph() else []
    best = max((name for name in allowed if name in nothing), key=lambda name: nothing[name].test)
    return best, nothing[best].test


def _cheapest(
    paper: OnPaper, rows: Mapping[str, Row], wishes: Wishes, speed: float,
    tried: Callable[[Mapping[str, Row]], dict[str, list[float] | str]], progress: Progress,
) -> dict[str, Row]:  # fmt: skip
    """Return each method at the smallest budget whose miniature reaches the target, by bisection.

    A method that does not reach it with the largest budget keeps that one, with the reason.
    """
    assert wishes.accuracy is not None
    kept, best, reached = dict(rows), dict[str, Row](), dict[str, float]()
    ladder = {name: LAMBDAS if issubclass(find(name), LabelAnswers) else EPSILONS for name in rows}
    span = {name: (0, len(steps) - 1) for name, steps in ladder.items()}
    first = True
    while span:
        several: dict[str, Row] = {}
        for name, (low, high) in list(span.items()):
            middle = high if first else (low + high) // 2
            try:
                several[name] = row_of(paper, _at(rows[name].options, ladder[name][middle]), wishes.level, speed)
            except ValueError as error:
                kept[name] = rows[name].but(f"no setting: {' '.join(str(error).split())}")
                del span[name]
        for name, found in tried(several).items():
            low, high = span[name]
            middle = high if first else (low + high) // 2
            mean = 0.0 if isinstance(found, str) else sum(found) / len(found)
            reached[name] = mean
            if mean >= wishes.accuracy:
                best[name], high = several[name], middle - 1
            elif first:
                kept[name] = several[name]
                low = high + 1
            else:
                low = middle + 1
            if low > high:
                del span[name]
            else:
                span[name] = low, high
        first = False
        progress("searching", None)
    return {name: best.get(name, row) for name, row in kept.items()}


def _at(options: RunOptions, budget: float) -> RunOptions:
    if issubclass(find(options.method), LabelAnswers):
        return replace(options, settings={**options.settings, "lambda_": repr(budget)})
    return replace(options, epsilon=budget)


def _judged(row: Row, wishes: Wishes) -> Row:
    """Return the row with the wishes that it does not meet."""
    why = list[str]()
    entry = row.at_level
    if wishes.loss is not None and not row.why:
        if entry["value"] is None:
            why.append(f"{entry['status']} at the level {entry['level'].replace('_', ' ')}")
        elif entry["value"] > wishes.loss * 1.01:
            why.append(f"{entry['value']:.4g} holds at the level {entry['level']}, above {wishes.loss:.4g}")
        elif wishes.max_attack is not None and guess(entry["value"], entry["delta"]) > wishes.max_attack + 1e-4:
            why.append(f"a guess is right with a chance of {guess(entry['value'], entry['delta']):.3f}")
    size = row.figures["bytes_per_device"]
    if wishes.max_bytes is not None and size > wishes.max_bytes:
        why.append(f"{size:,.0f} bytes a device, above {wishes.max_bytes:,.0f}")
    if row.figures["question_bytes"] > MAX_BYTES:
        why.append(f"its question has {row.figures['question_bytes'] / 1e6:,.1f} MB, and a device reads "
                   f"{MAX_BYTES / 1e6:.1f}")  # fmt: skip
    if row.figures["fits"] is False:
        why.append(f"does not fit: {in_gib(row.figures['memory_bytes'])} of memory, this machine has "
                   f"{in_gib(memory_bytes())}")  # fmt: skip
    if row.worth is not None:
        if wishes.accuracy is not None and row.worth.test < wishes.accuracy:
            why.append(f"likely {100 * row.worth.test:.0f} %, below {100 * wishes.accuracy:g} %")
        if row.bar is not None and row.worth.test <= row.bar[1]:
            why.append(f"no better than nobody's answer ({row.bar[0]}: {100 * row.bar[1]:.0f} %)")
    return row.but(*why)


def _choice(
    rows: Sequence[Row], wishes: Wishes, nothing: Mapping[str, worths.Worth]
) -> tuple[Row | None, str]:  # fmt: skip
    """Return the row that meets the wishes best, and the reason in a sentence."""
    good = [row for row in rows if row.meets]
    if not good:
        return None, _why_none(rows, nothing)
    if wishes.accuracy is not None:
        best = min(good, key=lambda row: (round(row.loss, 2), row.figures["bytes_per_device"]))
        return best, f"the least loss at the level {wishes.level} of those that reach {100 * wishes.accuracy:g} %"
    scored = [row for row in good if row.worth is not None]
    if not scored:
        best = min(good, key=lambda row: (round(row.loss, 2), row.figures["bytes_per_device"]))
        return best, f"the least loss at the level {wishes.level}, then the fewest bytes; worth was not simulated"
    best = max(scored, key=lambda row: row.worth.test if row.worth else 0.0)
    return best, f"the likeliest accuracy of {len(good)} that meet the wishes ({worths.WORDS})"


def _why_none(rows: Sequence[Row], nothing: Mapping[str, worths.Worth]) -> str:
    """Return why no row meets the wishes, with the commonest reason."""
    if not rows:
        return "none, because no method can be asked like that"
    nearest = min(rows, key=lambda row: len(row.why))
    said = f"none, because no method meets every wish; the nearest is {nearest.method}: {'; '.join(nearest.why)}"
    if "chance" in nothing:
        said += f". Asking nobody gives {100 * nothing['chance'].test:.0f} % (the largest class)"
    return said
