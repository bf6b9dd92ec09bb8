"""Plan of a collection (``ldpsim plan``): each method on paper, against wishes, before anybody is asked.

    facts, wishes -> a setting a method -> what holds, bytes, seconds, memory -> rehearsal -> choice

Nobody is asked. Worth comes from runs on people like those of the plan: on given data, or on made-up people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ldpsim.curator.methods import find
from ldpsim.curator.options import PARTS
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.estimate.load import constants, name_of_constants
from ldpsim.strategies.estimate.machine import calibration, memory_bytes
from ldpsim.strategies.experiments.compare import cells_of
from ldpsim.strategies.experiments.sweep_file import Cell
from ldpsim.strategies.planning.in_clear import PublicData
from ldpsim.strategies.planning.listed import LISTED
from ldpsim.strategies.planning.on_paper import OnPaper, fewer_queries
from ldpsim.strategies.planning.rehearsal import Like, Rehearsal, rehearse
from ldpsim.strategies.planning.rows import PlanRow, plan_row
from ldpsim.strategies.planning.wishes import Wishes, chosen, judged, ranked
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.results.in_words import NOT_ASKED
from ldpsim.strategies.setup.fingerprint import config_hash, hashed_options
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions

VOLUNTEERS = 0.1  # share of people who volunteer in the rows that a plan adds
LEAST_BUDGET = 1e-15  # probabilities are 64-bit numbers: a smaller budget does not move them


@dataclass(frozen=True)
class Plan:
    """Result of a plan.

    Args:
        facts: The people, on paper.
        wishes: What was wished for.
        rows: One row a method, in the order of the list.
        failures: Method -> why it has no row: its options do not fit these people.
        choice: The row that meets the wishes best; None if there is none.
        why: Reason for the choice, or for none, in a sentence.
        digest: Hash over all that was asked for; plans that differ in it have folders of their own.
        like: The people on whom it is rehearsed.
        rehearsal: How worth was found; None without worth.
    """

    facts: GraphFacts
    wishes: Wishes
    rows: Sequence[PlanRow]
    failures: Mapping[str, str]
    choice: PlanRow | None
    why: str
    digest: str
    like: Like
    rehearsal: Rehearsal | None = None

    @property
    def others(self) -> list[PlanRow]:
        """The best row beside the choice for each other trust, and where something else is public."""
        best: dict[tuple[PublicData, bool], PlanRow] = {}
        for row in ranked(self.rows, self.wishes):
            best.setdefault((row.in_clear, row.listed.group == "other trust"), row)
        return [row for row in best.values() if row is not self.choice]

    @property
    def lacks(self) -> tuple[str, ...]:
        """Needs of the choice before it can be trusted, in words; empty without a choice."""
        if self.choice is None:
            return ()
        if self.rehearsal is None:
            return ("a rehearsal (without --no-worth): the losses alone do not say what asking gives",)
        return self.rehearsal.lacks

    @property
    def folded(self) -> list[PlanRow]:
        """The rows that a rehearsal left out, in the order of the methods: they have no accuracy, and a reason."""
        return [row for row in self.rows if self.rehearsal is not None and row.worth is None and row.why]

    @property
    def shown(self) -> list[PlanRow]:
        """The other rows as people read them: the choice, what else meets the wishes, then the rest by accuracy."""
        met, folded = ranked(self.rows, self.wishes), self.folded
        rest = [row for row in self.rows if not any(row is other for other in (*met, *folded))]
        return [*met, *sorted(rest, key=lambda row: -row.worth.test if row.worth else 0.0)]

    def to_dict(self) -> dict[str, Any]:
        """Return ``plan --json``."""
        wishes = {name: value for name, value in vars(self.wishes).items() if value is not None}
        machine = {"memory_bytes": memory_bytes(), "constants_of": constants()["machine"]["name"]}
        return {
            "facts": self.facts.to_dict(),
            "wishes": wishes,
            "machine": machine,
            "rows": [row.to_dict() for row in self.rows],
            "cannot": dict(self.failures),
            "choice": None if self.choice is None else self.choice.to_dict(),
            "why": self.why,
            "lacks": list(self.lacks),
            "others": [row.name for row in self.others],
            "rehearsal": None if self.rehearsal is None else self.rehearsal.to_dict(),
        }


def make_plan(
    methods: Sequence[str],
    facts: GraphFacts,
    wishes: Wishes,
    like: Like,
    *,
    worth: bool = True,
    people: int | None = None,
    progress: Progress = quiet,
) -> Plan:
    """Plan a collection; nobody is asked.

    Args:
        methods: Names; empty for the methods of :data:`ldpsim.strategies.planning.listed.LISTED`.
        facts: The people.
        wishes: What the choice has to meet.
        like: The people of the rehearsal, with the options of every method, where it has them.
        worth: Whether the methods are rehearsed.
        people: Number of people of a miniature; None: as many as a minute allows.
        progress: Told the phase and the share of it that is done.

    Raises:
        ValueError: one line, for unknown methods, options that no method has, or a plan without any row.
    """
    options = like.options
    _check_budgets(options)
    progress("accounts", 0.0)
    names = list(methods) or list(LISTED)
    paper = OnPaper(facts)
    speed = calibration() / constants()["machine"]["calibration"]
    rows: dict[str, PlanRow] = {}
    failures: dict[str, str] = {}
    cells = cells_of(names, options)
    if not methods and wishes.counts_what_is_clear and _nobody_is_known(options):
        cells += beside_volunteers(cells)
    for place, cell in enumerate(cells):
        try:
            rows[cell.label] = _settled(paper, _fitting(cell.options, facts), wishes, speed)
        except ValueError as error:
            failures[cell.label] = " ".join(str(error).split())
        progress("accounts", (place + 1) / len(cells))
    if not rows:
        name, why = next(iter(failures.items()))
        raise ValueError(f"{name} cannot be asked like that: {why}")
    rehearsal = None
    if worth:
        rows, rehearsal = rehearse(paper, rows, wishes, like, speed=speed, people=people, progress=progress)
    made = [judged(row, wishes) for row in rows.values()]
    choice, why = chosen(made, wishes, "" if rehearsal is None else rehearsal.words)
    asked = {**hashed_options(options, lambda spec: spec.hashed != "never"), "methods": names, "facts": facts.to_dict(),
             "wishes": vars(wishes), "worth": [people, options.nulls] if worth else None,
             "like": [like.by_facts, like.digest]}  # fmt: skip
    return Plan(facts, wishes, made, failures, choice, why, config_hash(asked), like, rehearsal)


def beside_volunteers(cells: Sequence[Cell]) -> list[Cell]:
    """Return the methods that ask volunteers, each with a share :data:`VOLUNTEERS` of them, and the others' labels."""
    asked = [
        replace(cell.options, volunteers=VOLUNTEERS, private_labels=True)
        for cell in cells
        if find(cell.options.method).spec.asks_volunteers
    ]
    return [Cell(options, name_of_constants(options.method, volunteers=True)) for options in asked]


def _nobody_is_known(options: RunOptions) -> bool:
    """Return whether the options leave open whose label and features are in clear."""
    specs = declared(RunOptions)
    return all(
        getattr(options, name) == specs[name].default for name in {"volunteers", *specs["volunteers"].excludes[0]}
    )


def _check_budgets(options: RunOptions) -> None:
    """Refuse a budget with which no report says anything (ValueError of one line)."""
    for name in ("epsilon", "feature_share", *PARTS):
        value = getattr(options, name)
        if isinstance(value, float) and 0 < value < LEAST_BUDGET:
            said = declared(RunOptions)[name].said(value)
            raise ValueError(f"{said}: no report says anything with less than {LEAST_BUDGET:g}")


def _fitting(options: RunOptions, facts: GraphFacts) -> RunOptions:
    """Return the options with as many queries of an owner as these people allow, unless some are given."""
    kind = find(options.method)
    public = int(0.3 * facts.n)
    fewer = {
        name: value for name, value in fewer_queries(kind(), max(1, public)).items() if name not in options.settings
    }
    return replace(options, settings={**options.settings, **fewer})


def _settled(paper: OnPaper, options: RunOptions, wishes: Wishes, speed: float) -> PlanRow:
    """Return the row of a method: with its own budget, or with the one at which the wished loss holds."""
    if wishes.loss is None:
        return plan_row(paper, options, wishes.level, speed)
    trusted = find(options.method).spec.trust == "trusted curator"
    level = "central_node" if trusted and wishes.of_a_record else wishes.level
    found = paper.match(options, level, wishes.loss)
    row = plan_row(paper, found.options, wishes.level, speed)
    if not found.reason or found.of_reports or row.at_level["status"] == NOT_ASKED:
        return row
    return row.with_reasons(f"no setting: {found.reason}")
