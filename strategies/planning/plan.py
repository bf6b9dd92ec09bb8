"""Plan of a collection (``ldpsim plan``): what each method protects and costs, computed on paper.

    people, target -> a setting a method -> what holds, bytes, memory -> rows by bytes

Nothing runs and nobody is asked. A plan chooses nothing: accuracy is measured by its command, a comparison of these
methods at that level, on people like those of the plan.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from ldpsim.curator.methods import find
from ldpsim.curator.methods.federated.federated import Federated
from ldpsim.curator.options import PARTS
from ldpsim.curator.privacy.level import LABEL, VOLUNTEERS
from ldpsim.curator.privacy.levels import PUBLIC_PARTS, level_named, level_term
from ldpsim.devices import datasets
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.query import MAX_BYTES
from ldpsim.strategies.estimate.asked import largest_question, mechanisms_asked, questions_on_paper
from ldpsim.strategies.estimate.fits import class_of_memory, memory_bytes
from ldpsim.strategies.estimate.graph_facts import GraphFacts, facts_of_people, facts_without_people
from ldpsim.strategies.estimate.traffic import expected_traffic, training_traffic
from ldpsim.strategies.experiments.compare import cells_of
from ldpsim.strategies.outputs.deployment import given_settings
from ldpsim.strategies.outputs.shell import comparison
from ldpsim.strategies.people.division import PUBLIC
from ldpsim.strategies.planning.on_paper import OnPaper, fewer_queries
from ldpsim.strategies.planning.planned_methods import METHODS, asks_of
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.results import folder as run_folder
from ldpsim.strategies.results.in_words import NOT_ASKED, guess
from ldpsim.strategies.results.levels_of_results import held
from ldpsim.strategies.results.numbers import planned_loss, size
from ldpsim.strategies.setup.fingerprint import config_hash, hashed_options
from ldpsim.strategies.setup.option_spec import declared, set_python_values
from ldpsim.strategies.setup.options import PLANNED, RunOptions

_PRINTED = 6  # rows
PEOPLE = 2000  # of the comparison that measures
LEAST_BUDGET = 1e-15  # probabilities are 64-bit numbers: a smaller budget does not move them
_OPTIONS = declared(RunOptions)


@dataclass(frozen=True)
class TargetLoss:
    """Level of guarantee that a plan is about, and the loss that shall hold there.

    Args:
        level: The level.
        holds: Loss that shall hold; None leaves the budgets as they are.
        max_attack: Largest chance of a right guess between two equally likely values there.

    Raises:
        ValueError: one line, for a target that cannot be.
    """

    level: str = "user"
    holds: float | None = None
    max_attack: float | None = None

    def __post_init__(self) -> None:
        set_python_values(self)
        object.__setattr__(self, "level", level_named(self.level, "--level"))
        if self.holds is not None and not 0 < self.holds < math.inf:
            raise ValueError(f"--holds {self.holds:g}: the loss must be a finite number above 0")
        if self.max_attack is not None and not 0.5 < self.max_attack < 1:
            raise ValueError(f"--max-attack {self.max_attack:g}: a chance above 0.5, that of a coin, and below 1")

    @property
    def loss(self) -> float | None:
        """Loss for which budgets are solved: the smaller of ``holds`` and that of ``max_attack``; None for neither.

        >>> round(TargetLoss(max_attack=0.9).loss, 4)
        2.1972
        """
        attack = None if self.max_attack is None else math.log(self.max_attack / (1 - self.max_attack))
        return min((value for value in (self.holds, attack) if value is not None), default=None)


@dataclass(frozen=True)
class PlanRow:
    """A method at one setting.

    Args:
        options: Options of its run.
        figures: What holds, bytes and class of memory, JSON-ready.
        setting: Name and value of the budget in force; None where nothing is divided among reports.
        in_clear: Whose data are in clear, in words.
        shared: How much of an ordinary person is in clear: nothing, labels of some, a part of every record, or the
            whole record, which an owner has: 0 to 3.
        solved: Whether a comparison can solve for the loss of the plan, too.
        why: Reasons why the loss of the plan does not hold, or the method cannot be run.
    """

    options: RunOptions
    figures: Mapping[str, Any]
    setting: tuple[str, float] | None
    in_clear: str
    shared: int
    solved: bool
    why: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The method."""
        return self.options.method

    @property
    def asks(self) -> str:
        """Content of the question, and what is in clear, in words."""
        options = self.options
        asks = asks_of(options.method, volunteers=options.volunteers is not None, labels=options.private_labels)
        return f"{asks}; in clear: {self.in_clear}" if self.in_clear else asks

    def at(self, level: str) -> dict[str, Any]:
        """Return the guarantee at a level, ``{level, status, value, delta, public}``.

        Of a record with a public part it is that of the rest, and ``public`` names the part. Of a record that an
        owner has, it is that of a person in what the owner publishes.
        """
        return _at(self.figures["holds"], _level_of(self.options.method, level))

    def to_dict(self) -> dict[str, Any]:
        """Return the row of ``plan --json``."""
        return {
            "method": self.options.method,
            "asks": self.asks,
            "in_clear": self.in_clear,
            "settings": {"set" if name == "settings" else name: value
                         for name, value in given_settings(self.options).items()},
            **self.figures,
            "why": list(self.why),
        }  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Result of a plan.

    Args:
        facts: The people, on paper.
        target: Level, and loss that shall hold there.
        rows: One row a method, by bytes.
        failures: Method -> why it has no row: its options do not fit these people.
        command: The comparison that measures the methods; empty where none can be measured like that.
        digest: Hash over all that was asked for; plans that differ in it have folders of their own.
    """

    facts: GraphFacts
    target: TargetLoss
    rows: Sequence[PlanRow]
    failures: Mapping[str, str]
    command: str
    digest: str

    def __repr__(self) -> str:
        level = level_term(self.target.level)
        lines = [f"{self.facts.n:,} people on paper: {self.facts.classes} classes, {self.facts.features} features"]
        lines += [
            f"{row.name:<12} {level} {planned_loss(row.at(self.target.level))}; "
            f"{size(row.figures['bytes_per_device'])} a device; {row.figures['memory']}"
            f"{''.join(f'; {why}' for why in row.why)}"
            for row in self.rows[:_PRINTED]
        ]
        more = len(self.rows) - _PRINTED
        lines += [f"and {more} more: to_dict()"] if more > 0 else []
        lines += [f"{name:<12} {why}" for name, why in self.failures.items()]
        return "\n".join([*lines, *([f"measured by: {self.command}"] if self.command else [])])

    def to_dict(self) -> dict[str, Any]:
        """Return ``plan --json``."""
        return {
            "facts": self.facts.to_dict(),
            "target": {name: value for name, value in vars(self.target).items() if value is not None},
            "machine": {"memory_bytes": memory_bytes()},
            "rows": [row.to_dict() for row in self.rows],
            "cannot": dict(self.failures),
            "command": self.command,
        }

    def write(self, out: Path) -> Path:
        """Write plan.json into the plan's folder of ``out`` and return its path; the same plan has the same folder."""
        folder = out / f"plan-{self.facts.n}-{self.target.level}-{self.digest}"
        run_folder.prepare(folder)
        write_atomically(folder / "plan.json", json.dumps(self.to_dict(), indent=1) + "\n")
        return folder / "plan.json"


def planned_people(options: RunOptions) -> GraphFacts:
    """Return the facts of the people who are planned for; ``clients`` may be more than a data set has.

    Raises:
        ValueError: one line, for data that cannot be read.
    """
    if options.dataset in datasets.GENERATED:
        facts = facts_without_people(options)
        assert facts is not None
        return facts
    facts = facts_of_people(datasets.load(options.dataset, data_dir=options.data_dir, option="--like"))
    n = facts.n if options.clients is None else options.clients
    return replace(facts, n=n, mean_degree=min(facts.mean_degree, n - 1))


def make_plan(
    methods: Sequence[str], target: TargetLoss, options: RunOptions, *, progress: Progress = quiet
) -> Plan:  # fmt: skip
    """Plan a collection; nobody is asked.

    Args:
        methods: Names; empty for :data:`ldpsim.strategies.planning.planned_methods.METHODS`.
        target: Level, and loss that shall hold there.
        options: Options of every method, where it has them, and the people.
        progress: Told the phase and the share of it that is done.

    Raises:
        ValueError: one line, for unknown methods, options that no plan or no method reads, people that cannot be, or
            a plan without any row.
    """
    for name, spec in _OPTIONS.items():
        value = getattr(options, name)
        if name not in PLANNED and spec.is_given(value):
            raise ValueError(f"nothing runs in a plan: it takes no {spec.option}")
        if name in ("epsilon", "feature_share", *PARTS) and isinstance(value, float) and 0 < value < LEAST_BUDGET:
            raise ValueError(f"{spec.words(value)}: no report says anything with less than {LEAST_BUDGET:g}")
    progress("accounts", 0.0)
    names = list(methods) or list(METHODS)
    cells, facts = cells_of(names, options), planned_people(options)
    paper = OnPaper(facts)
    rows: list[PlanRow] = []
    failures: dict[str, str] = {}
    for place, cell in enumerate(cells):
        try:
            rows.append(_row(paper, cell.options, target))
        except ValueError as error:
            failures[cell.label] = " ".join(str(error).split())
        progress("accounts", (place + 1) / len(cells))
    if not rows:
        name, why = next(iter(failures.items()))
        raise ValueError(f"{name} cannot be asked like that: {why}")
    rows.sort(key=lambda row: row.figures["bytes_per_device"])
    terms = {**hashed_options(options, lambda spec: spec.hashed != "never"), "methods": names, "facts": facts.to_dict(),
             "target": vars(target)}  # fmt: skip
    return Plan(facts, target, rows, failures, _command(rows, facts, target, options), config_hash(terms))


def _command(rows: Sequence[PlanRow], facts: GraphFacts, target: TargetLoss, options: RunOptions) -> str:
    """Return the comparison of the rows that it can bring to the target, on people like those of the plan."""
    compared = [row.name for row in rows if row.solved]
    if not compared:
        return ""
    people = min(PEOPLE, facts.n)
    if options.dataset not in datasets.GENERATED:  # a sample of the data, where there are more
        there = len(datasets.load(options.dataset, data_dir=options.data_dir, option="--like"))
        people = min(people, there)
    fewer: dict[str, str] = {}
    for name in compared:
        fewer |= fewer_queries(find(name)(), max(1, int(PUBLIC * people)))
    runs = replace(options, clients=people, settings={**fewer, **options.settings},
                   epsilon=options.epsilon if target.loss is None else None)  # fmt: skip
    return comparison(compared, runs, None if target.loss is None else (target.level, target.loss))


def _row(paper: OnPaper, options: RunOptions, target: TargetLoss) -> PlanRow:
    """Return the row of a method: with its own budget, or with the one at which the loss of the target holds."""
    facts, spec, why = paper.facts, find(options.method).spec, list[str]()
    fewer = fewer_queries(find(options.method)(), max(1, int(PUBLIC * facts.n)))
    options = replace(options, settings={**fewer, **options.settings})  # as many as these people allow
    level = _level_of(options.method, target.level)
    if target.loss is not None:
        match = paper.match(options, level, target.loss)
        options = match.options
        why += [f"no setting: {match.reason}"] if match.reason and not match.of_reports else []
    setup = paper.prepare(options)
    guarantee = paper.guarantee(setup).to_dict()
    entry = held(guarantee["holds"], level)
    questions = questions_on_paper(setup.method, facts.public(), setup.budget, options)
    traffic = expected_traffic(questions, facts)
    if spec.in_rounds:
        traffic = training_traffic(cast(Federated, setup.method), facts, setup.settings.training.hidden)
    question = largest_question(questions, facts.n)
    figures: dict[str, Any] = {
        "trust": guarantee["trust"],
        "claimed": guarantee["claimed"],
        "epsilon": setup.budget.epsilon,
        "mechanisms": list(mechanisms_asked(setup.method, questions)),
        "holds": guarantee["holds"],
        "bytes_per_device": traffic.each,
        "bytes": {"down": traffic.down, "up": traffic.up, "asked": traffic.share,
                  "in_all": traffic.each * traffic.share * facts.n},
        "question_bytes": question,
        "memory": class_of_memory(options, facts),
    }  # fmt: skip
    solved = target.loss is None or (not why and level == target.level and {*entry["public"]} <= {"features"})
    why = [] if entry["status"] == NOT_ASKED else why
    if question > MAX_BYTES:
        why.append(f"its question has {question / 1e6:,.1f} MB, and a device reads {MAX_BYTES / 1e6:.1f}")
    words, shared = _in_clear(guarantee["holds"], len(setup.plans[0].split.labelled) / len(setup.population))
    if (budget := setup.method.budget_parameter) is not None:
        setting = (budget[1], float(getattr(setup.method, budget[0])))
    else:
        setting = ("", setup.budget.epsilon)
    return PlanRow(options, figures, setting if spec.private else None, words,
                   3 if level != target.level else shared, solved, tuple(why))  # fmt: skip


def _level_of(method: str, level: str) -> str:
    """Return the level at which a method bounds the loss: for records that a server has, that of what it publishes."""
    owned = find(method).spec.trust == "trusted curator" and level in ("user", "node")
    return "central_node" if owned else level


def _at(holds: Mapping[str, Any], level: str) -> dict[str, Any]:
    entry = {**held(holds, level), "level": level}
    rest = entry["private_value"] is not None
    public = " and ".join(PUBLIC_PARTS[name] for name in entry["public"]) if rest else None
    entry |= {"value": entry["private_value"], "delta": entry["private_delta"]} if rest else {}
    if entry["value"] is not None:
        entry["best_guess"] = guess(entry["value"], entry["delta"])
    return {**entry, "public": public}


def _in_clear(holds: Mapping[str, Any], share: float) -> tuple[str, int]:
    """Return whose data are in clear, in words and as a rank; ``share`` of all people have a public label."""
    public = {part for level in holds.values() for part in level["public"]}
    some = f"{100 * share:.3g} % of people"
    if any(VOLUNTEERS in level["not_counted"] for level in holds.values()):
        return f"label and features of {some}, who volunteer", 0
    whole = [word for part, word in {"features": "features", "adjacency": "links"}.items() if part in public]
    words = [f"everybody's {' and '.join(whole)}"] if whole else []
    words += [f"labels of {some}"] if LABEL in public else []
    return ", ".join(words), 2 if whole else 1 if words else 0
