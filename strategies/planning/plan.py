"""Plan of a collection (``ldpsim plan``): each method on paper, against wishes, before anybody is asked.

    facts, wishes -> a setting a method -> what holds, bytes, seconds, memory -> likely worth -> choice

Nobody is asked. Likely worth comes from runs on the data that are given, or on made-up people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from curator.methods import find
from devices.data.population import Population
from strategies.estimate.graph_facts import GraphFacts
from strategies.estimate.load import constants
from strategies.estimate.machine import calibration, memory_bytes
from strategies.experiments.compare import cells_of
from strategies.planning import miniature as small
from strategies.planning import worth as worths
from strategies.planning.listed import LISTED
from strategies.planning.on_paper import OnPaper
from strategies.planning.rows import PlanRow, check_planned, plan_row
from strategies.planning.simulated import GRAPHS, SECONDS, with_worth
from strategies.planning.wishes import Wishes, chosen, judged, ranked
from strategies.progress import Progress, quiet
from strategies.results.folder import name_of_data
from strategies.results.in_words import NOT_ASKED
from strategies.setup.fingerprint import config_hash, hashed_options
from strategies.setup.options import RunOptions


@dataclass(frozen=True)
class Plan:
    """Result of a plan.

    Args:
        facts: The people, on paper.
        wishes: What was wished for.
        rows: One row a method, in the order of the list.
        failures: Method -> why it has no row: its options do not fit these people.
        nothing: Accuracy of each null model on the data, or on a made-up graph: nobody is asked.
        choice: The row that meets the wishes best; None if there is none.
        why: Reason for the choice, or for none, in a sentence.
        digest: Hash over all that was asked for; plans that differ in it have folders of their own.
        notes: How worth was found: words, data (their name, None for made-up people), rehearsed (whether runs took all
            people of the data), people, sizes (people of each kind of miniature), repeats, runs, seconds, stopped
            (whether the time ran out); empty without worth.
        data: Options whose people the plan is about; None for people on paper.
    """

    facts: GraphFacts
    wishes: Wishes
    rows: Sequence[PlanRow]
    failures: Mapping[str, str]
    nothing: Mapping[str, worths.Worth]
    choice: PlanRow | None
    why: str
    digest: str
    notes: Mapping[str, Any] = field(default_factory=dict)
    data: RunOptions | None = None

    @property
    def data_name(self) -> str | None:
        """Name of the data that the plan is about, None for people on paper."""
        return None if self.data is None else name_of_data(self.data.dataset)

    @property
    def others(self) -> list[PlanRow]:
        """The best row beside the choice for each other trust, and where something else is public."""
        best: dict[tuple[str, bool], PlanRow] = {}
        for row in ranked(self.rows, self.wishes):
            best.setdefault((row.listed.public, row.listed.group == "other trust"), row)
        return [row for row in best.values() if row is not self.choice]

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
            "others": [row.method for row in self.others],
            "simulation": dict(self.notes) or None,
        }


def make_plan(
    methods: Sequence[str],
    options: RunOptions,
    facts: GraphFacts,
    wishes: Wishes,
    *,
    worth: bool = True,
    people: int = small.PEOPLE,
    repeats: int = GRAPHS,
    workers: int | None = None,
    seconds: float = SECONDS,
    progress: Progress = quiet,
    data: Population | None = None,
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
        seconds: Longest time to simulate worth; what was not simulated by then has none.
        progress: Told the phase and the share of it that is done.
        data: The people of the options, whose facts these are; None: they are not there, or other facts are given.

    Raises:
        ValueError: one line, for unknown methods, or options that no method has.
    """
    if wishes.accuracy is not None and not worth:
        raise ValueError(f"--target accuracy={wishes.accuracy:g} with --no-worth: it needs the accuracy")
    if not seconds > 0:
        raise ValueError(f"--worth-seconds {seconds:g}: must be above 0")
    check_planned(options)
    progress("accounts", 0.0)
    names = list(methods) or list(LISTED)
    paper = OnPaper(facts)
    speed = calibration() / constants()["machine"]["calibration"]
    rows: dict[str, PlanRow] = {}
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
        rows, nothing, notes = with_worth(paper, rows, wishes, speed, people, repeats, workers, seconds,
                                         progress, None if data is None else options)  # fmt: skip
    made = [judged(row, wishes) for row in rows.values()]
    choice, why = chosen(made, wishes, nothing, notes.get("words", ""))
    asked = {**hashed_options(options, lambda spec: spec.hashed != "never"), "methods": names, "facts": facts.to_dict(),
             "wishes": vars(wishes), "worth": [people, repeats, seconds] if worth else None,
             "data": None if data is None else data.digest}  # fmt: skip
    return Plan(facts, wishes, made, failures, nothing, choice, why, config_hash(asked), notes,
                None if data is None else options)  # fmt: skip


def _fitting(options: RunOptions, facts: GraphFacts) -> RunOptions:
    """Return the options with as many queries of an owner as these people allow, unless some are given."""
    kind = find(options.method)
    public = int(0.3 * facts.n)
    fewer = {name: value for name, value in kind().fitting(max(1, public)).items() if name not in options.settings}
    return replace(options, settings={**options.settings, **fewer})


def _settled(paper: OnPaper, options: RunOptions, wishes: Wishes, speed: float) -> PlanRow:
    """Return the row of a method: with its own budget, or with the one at which the wished loss holds."""
    if wishes.loss is None:
        return plan_row(paper, options, wishes.level, speed)
    trusted = find(options.method).trust == "trusted curator"
    level = "central_node" if trusted and wishes.level in ("user", "node") else wishes.level
    found = paper.match(options, level, wishes.loss)
    row = plan_row(paper, found.options, wishes.level, speed)
    if not found.reason or found.of_reports or row.at_level["status"] == NOT_ASKED:
        return row
    return row.with_reasons(f"no setting: {found.reason}")
