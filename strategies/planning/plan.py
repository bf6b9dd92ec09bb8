"""Plan of a collection (``ldpsim plan``): a comparison on paper, before anybody is asked.

    facts, wishes -> a setting a method -> what holds, bytes, memory -> choice

Nothing runs and nobody is asked. Worth is measured by the command that stands beside each row: a run on people like
those of the plan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ldpsim.curator.methods import find
from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.curator.options import BUDGET, NETWORK, PARTS
from ldpsim.curator.privacy.level import LABEL, VOLUNTEERS
from ldpsim.curator.privacy.levels import PUBLIC_PARTS, level_named, level_term
from ldpsim.devices import datasets
from ldpsim.devices.query import MAX_BYTES
from ldpsim.strategies.estimate.asked import largest_question, mechanisms_asked, questions_on_paper
from ldpsim.strategies.estimate.fits import in_gib, memory_bytes, memory_of
from ldpsim.strategies.estimate.graph_facts import GraphFacts, known_before, measured
from ldpsim.strategies.estimate.traffic import expected_traffic, training_traffic
from ldpsim.strategies.experiments.compare import cells_of
from ldpsim.strategies.experiments.sweep_file import Cell
from ldpsim.strategies.outputs.shell import command_of
from ldpsim.strategies.planning.on_paper import METHODS, OnPaper, asks_of, fewer_queries
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.results.in_words import (
    NOT_ASKED,
    at_the_level,
    guess,
    held,
    privacy_in_words,
)
from ldpsim.strategies.results.numbers import epsilon, guessed, planned_loss, size, word_of
from ldpsim.strategies.setup.fingerprint import config_hash, configuration, hashed_options
from ldpsim.strategies.setup.option_spec import declared, set_python_values
from ldpsim.strategies.setup.options import RunOptions

_PRINTED = 6  # rows
SHARE = 0.1  # of people who volunteer in the row that a plan adds
LEAST_BUDGET = 1e-15  # probabilities are 64-bit numbers: a smaller budget does not move them
FACTS = ("mean_degree", "homophily", "classes", "features")  # that may be given, fields of GraphFacts
SETTING = BUDGET | NETWORK | {"label_rate", "volunteers"}  # options that make a row's setting, beside its `--set`
RULE = "the least in clear where a loss is wished for a person, then the least loss, then the fewest bytes"


@dataclass(frozen=True)
class Wishes:
    """Wishes for the chosen method.

    Args:
        level: Level of guarantee that the plan is about.
        holds: Loss that shall hold there; None leaves the budgets as they are.
        max_bytes: Most bytes a device, both ways.
        max_attack: Largest chance of a right guess between two equally likely values at the level.

    Raises:
        ValueError: one line, for a wish that cannot be.
    """

    level: str = "user"
    holds: float | None = None
    max_bytes: float | None = None
    max_attack: float | None = None

    def __post_init__(self) -> None:
        set_python_values(self)
        object.__setattr__(self, "level", level_named(self.level, "--level"))
        if self.holds is not None and not 0 < self.holds < math.inf:
            raise ValueError(f"--holds {self.holds:g}: the loss must be a finite number above 0")
        if self.max_bytes is not None and not self.max_bytes >= 0:
            raise ValueError(f"--max-bytes {self.max_bytes:g}: must be 0 or more")
        if self.max_attack is not None and not 0.5 < self.max_attack < 1:
            raise ValueError(f"--max-attack {self.max_attack:g}: a chance above 0.5, that of a coin, and below 1")

    @property
    def of_a_record(self) -> bool:
        """Whether the level is about all that a person reports, with or without what others report of the person."""
        return self.level in ("user", "node")

    @property
    def loss(self) -> float | None:
        """Loss for which budgets are solved: the smaller of ``holds`` and that of ``max_attack``; None for neither.

        >>> round(Wishes(max_attack=0.9).loss, 4)
        2.1972
        """
        attack = None if self.max_attack is None else math.log(self.max_attack / (1 - self.max_attack))
        return min((value for value in (self.holds, attack) if value is not None), default=None)


@dataclass(frozen=True)
class PlanRow:
    """A method at one setting.

    Args:
        options: Options of its run.
        figures: What holds, bytes and memory, JSON-ready.
        at_level: Guarantee at the level of the plan, ``{level, status, value, delta, public}``: of a record with a
            public part it is that of the rest, and ``public`` names the part.
        in_clear: Whose data are in clear, in words.
        openness: 0: nothing of an ordinary person is in clear; 1: labels of some; 2: a part of everybody's record;
            3: an owner has the records.
        command: The run that measures its worth.
        why: Reasons why it does not meet the wishes; empty if it does.
    """

    options: RunOptions
    figures: Mapping[str, Any]
    at_level: Mapping[str, Any]
    in_clear: str
    openness: int
    command: str
    why: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The method, and whether it asks volunteers."""
        return _name(self.options)

    @property
    def asks(self) -> str:
        """Content of the question, and what is in clear, in words."""
        options = self.options
        asks = asks_of(options.method, volunteers=options.volunteers is not None, labels=options.private_labels)
        return f"{asks}; in clear: {self.in_clear}" if self.in_clear else asks

    @property
    def loss(self) -> float:
        """Loss at the level of the plan; 0 if nothing is asked there, infinite if it is not bounded."""
        if self.at_level["status"] == NOT_ASKED:
            return 0.0
        return math.inf if self.at_level["value"] is None else float(self.at_level["value"])

    def protection(self, *tones: str) -> str:
        """Return the subjects with a word of these tones, by the rule of a run's verdict; empty if there are none."""
        findings = privacy_in_words({"privacy": {"holds": self.figures["holds"]}, "reconstruction": {}})
        return "; ".join(f"{each.subject}: {each.word}" for each in findings if each.tone in tones)

    def to_dict(self) -> dict[str, Any]:
        """Return the row of ``plan --json``."""
        return {
            "method": self.options.method,
            "name": self.name,
            "asks": self.asks,
            "in_clear": self.in_clear,
            "settings": given_settings(self.options),
            **self.figures,
            "at_level": dict(self.at_level),
            "command": self.command,
            "meets": not self.why,
            "why": list(self.why),
        }


@dataclass(frozen=True)
class Plan:
    """Result of a plan.

    Args:
        facts: The people, on paper.
        wishes: What was wished for.
        rows: One row a method, those that meet the wishes first, by :data:`RULE`.
        failures: Method -> why it has no row: its options do not fit these people.
        why: Reason for the choice, or for none, in a sentence.
        digest: Hash over all that was asked for; plans that differ in it have folders of their own.
    """

    facts: GraphFacts
    wishes: Wishes
    rows: Sequence[PlanRow]
    failures: Mapping[str, str]
    why: str
    digest: str

    @property
    def choice(self) -> PlanRow | None:
        """The first row, if it meets the wishes."""
        return self.rows[0] if not self.rows[0].why else None

    def __repr__(self) -> str:
        level = level_term(self.wishes.level)
        lines = [f"{self.facts.n:,} people on paper: {self.facts.classes} classes, {self.facts.features} features"]
        lines += [
            f"{row.name:<21} {level} {planned_loss(row.at_level)}; {size(row.figures['bytes_per_device'])} a device; "
            f"memory {size(row.figures['memory_bytes'])}{''.join(f'; {why}' for why in row.why)}"
            for row in self.rows[:_PRINTED]
        ]
        more = len(self.rows) - _PRINTED
        lines += [f"and {more} more: to_dict()"] if more > 0 else []
        lines += [f"{name:<21} {why}" for name, why in self.failures.items()]
        lines += [f"choice: {self.why}"] if self.choice is None else [f"choice: {self.choice.name}",
                                                                      f"rehearsal: {self.choice.command}"]  # fmt: skip
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return ``plan --json``."""
        return {
            "facts": self.facts.to_dict(),
            "wishes": {name: value for name, value in vars(self.wishes).items() if value is not None},
            "machine": {"memory_bytes": memory_bytes()},
            "rows": [row.to_dict() for row in self.rows],
            "cannot": dict(self.failures),
            "choice": None if self.choice is None else self.choice.to_dict(),
            "why": self.why,
        }


def planned_people(
    options: RunOptions, values: Mapping[str, float], feature_rate: float | None = None
) -> tuple[GraphFacts, RunOptions]:
    """Return the facts of the people who are planned for, and options of runs on people like them.

    Args:
        options: Options with the data set of these people.
        values: Facts by name (of :data:`FACTS`) in place of those of the generated graph.
        feature_rate: Share of a person's features that are not 0; None: that of the data.

    Raises:
        ValueError: one line, for data that cannot be read, or facts that do not fit.
    """
    if (values or feature_rate is not None) and options.dataset != "generated":
        raise ValueError(f"--like {options.dataset}: its people have their own facts; no other ones can be given")
    if feature_rate is not None and not 0 < feature_rate <= 1:
        raise ValueError(f"--feature-rate {feature_rate:g}: must be a share, above 0 and at most 1")
    if options.dataset not in datasets.GENERATED:
        data = datasets.load(options.dataset, data_dir=options.data_dir, option="--like")
        facts = measured(data)
        if options.clients is not None:
            facts = replace(facts, n=options.clients)
            options = replace(options, clients=options.clients if options.clients < len(data) else None)
    else:
        prior = known_before(options)
        assert prior is not None
        facts = prior
    wanted = values.get("features", facts.features)
    rate = facts.words / facts.features if feature_rate is None else feature_rate
    words = facts.words if feature_rate is None and wanted == facts.features else max(1.0, rate * wanted)
    return replace(facts, **values, words=min(words, max(wanted, 1))), options  # type: ignore[arg-type]


def make_plan(
    methods: Sequence[str], facts: GraphFacts, wishes: Wishes, options: RunOptions, *, progress: Progress = quiet
) -> Plan:
    """Plan a collection; nobody is asked.

    Args:
        methods: Names; empty for :data:`ldpsim.strategies.planning.on_paper.METHODS`.
        facts: The people.
        wishes: What the choice has to meet.
        options: Options of every method, where it has them, with the people of its run.
        progress: Told the phase and the share of it that is done.

    Raises:
        ValueError: one line, for unknown methods, options that no method has, or a plan without any row.
    """
    for name in ("epsilon", "feature_share", *PARTS):
        value = getattr(options, name)
        if isinstance(value, float) and 0 < value < LEAST_BUDGET:
            words = declared(RunOptions)[name].words(value)
            raise ValueError(f"{words}: no report says anything with less than {LEAST_BUDGET:g}")
    progress("accounts", 0.0)
    names, paper = list(methods) or list(METHODS), OnPaper(facts)
    cells = cells_of(names, options)
    if not methods and wishes.of_a_record and wishes.loss is not None and _nobody_is_known(options):
        cells += [
            Cell(replace(cell.options, volunteers=SHARE, private_labels=True), f"{cell.label} with volunteers")
            for cell in cells
            if find(cell.options.method).spec.asks_volunteers
        ]
    rows: list[PlanRow] = []
    failures: dict[str, str] = {}
    for place, cell in enumerate(cells):
        try:
            rows.append(_row(paper, cell.options, wishes, options.clients))
        except ValueError as error:
            failures[cell.label] = " ".join(str(error).split())
        progress("accounts", (place + 1) / len(cells))
    if not rows:
        name, why = next(iter(failures.items()))
        raise ValueError(f"{name} cannot be asked like that: {why}")
    counted = wishes.of_a_record and wishes.loss is not None
    rows.sort(key=lambda row: (bool(row.why), row.openness if counted else 0, round(row.loss, 2),
                               row.figures["bytes_per_device"]))  # fmt: skip
    nearest = min(rows, key=lambda row: len(row.why))
    why = f"the first of {sum(not row.why for row in rows)} that meet the wishes: {RULE}"
    if nearest.why:
        why = f"none, because no method meets every wish; the nearest is {nearest.name}: {'; '.join(nearest.why)}"
    terms = {**hashed_options(options, lambda spec: spec.hashed != "never"), "methods": names, "facts": facts.to_dict(),
             "wishes": vars(wishes)}  # fmt: skip
    return Plan(facts, wishes, rows, failures, why, config_hash(terms))


def given_settings(options: RunOptions) -> dict[str, Any]:
    """Return the options that make the setting, without those at their default."""
    specs = declared(RunOptions)
    settings = {name: getattr(options, name) for name in specs if name in SETTING and getattr(options, name) !=
                specs[name].default}  # fmt: skip
    return {**settings, **({"set": dict(options.settings)} if options.settings else {})}


def _name(options: RunOptions) -> str:
    volunteers = options.volunteers is not None and find(options.method).spec.asks_volunteers
    return f"{options.method} with volunteers" if volunteers else options.method


def _nobody_is_known(options: RunOptions) -> bool:
    """Return whether the options leave open whose label and features are in clear."""
    specs = declared(RunOptions)
    return all(
        getattr(options, name) == specs[name].default for name in {"volunteers", *specs["volunteers"].excludes[0]}
    )


def _row(paper: OnPaper, options: RunOptions, wishes: Wishes, clients: int | None) -> PlanRow:
    """Return the row of a method: with its own budget, or with the one at which the wished loss holds."""
    facts, spec, why = paper.facts, find(options.method).spec, list[str]()
    fewer = fewer_queries(find(options.method)(), max(1, int(0.3 * facts.n)))
    options = replace(options, settings={**fewer, **options.settings})  # as many as these people allow
    owned = spec.trust == "trusted curator" and wishes.of_a_record
    level = "central_node" if owned else wishes.level
    if wishes.loss is not None:
        match = paper.match(options, level, wishes.loss)
        options = match.options
        why += [f"no setting: {match.reason}"] if match.reason and not match.of_reports else []
    setup = paper.set_up(options)
    guarantee = paper.guarantee(setup).to_dict()
    questions = questions_on_paper(setup.method, facts.public(), setup.budget, options)
    traffic = expected_traffic(questions, facts)
    if spec.in_rounds:
        traffic = training_traffic(cast(Federated, setup.method), facts, setup.settings.training.hidden)
    memory, room = memory_of(options, facts), memory_bytes()
    figures: dict[str, Any] = {
        "trust": guarantee["trust"],
        "claimed": guarantee["claimed"],
        "epsilon": setup.budget.epsilon,
        "mechanisms": list(mechanisms_asked(setup.method, questions)),
        "holds": guarantee["holds"],
        "bytes_per_device": traffic.each,
        "bytes": {"down": traffic.down, "up": traffic.up, "asked": traffic.share,
                  "in_all": traffic.each * traffic.share * facts.n},
        "question_bytes": largest_question(questions, facts.n),
        "memory_bytes": memory,
        "fits": memory <= room,
    }  # fmt: skip
    entry = {**held(guarantee["holds"], level), "level": level}
    if entry["private_value"] is not None:
        entry |= {"value": entry["private_value"], "delta": entry["private_delta"]}
        entry["public"] = " and ".join(PUBLIC_PARTS[name] for name in entry["public"])
    else:
        entry["public"] = None
    if entry["value"] is not None:
        entry["best_guess"] = guess(entry["value"], entry["delta"])
    words, openness = _in_clear(guarantee["holds"], len(setup.repeats[0].split.labelled) / len(setup.population))
    if not why or entry["status"] == NOT_ASKED:
        why = _missed(entry, wishes)
    why += _too_large(figures, wishes, room)
    run = replace(options, clients=clients)
    command = command_of({"method": run.method, "config": configuration(run)})
    return PlanRow(options, figures, entry, words, 3 if owned else openness, command, tuple(why))


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


def _missed(entry: Mapping[str, Any], wishes: Wishes) -> list[str]:
    """Return the wish for a loss that a guarantee misses."""
    if wishes.loss is None or entry["status"] == NOT_ASKED:
        return []
    where = at_the_level(entry["level"])
    if entry["value"] is None:
        return [f"{word_of(entry['status'])} {where}"]
    if entry["value"] > wishes.loss * 1.01:
        return [f"{epsilon(entry['value'])} holds {where}, above {epsilon(wishes.loss)}"]
    if wishes.max_attack is not None and entry["best_guess"] > wishes.max_attack + 1e-4:
        return [f"a guess is right with a chance of {guessed(entry['best_guess'])}"]
    return []


def _too_large(figures: Mapping[str, Any], wishes: Wishes, room: int) -> list[str]:
    """Return what is too large: the bytes of a device, the question, or the memory of a run."""
    why = []
    if wishes.max_bytes is not None and figures["bytes_per_device"] > wishes.max_bytes:
        why.append(f"more than {wishes.max_bytes:,.0f} bytes a device")
    if figures["question_bytes"] > MAX_BYTES:
        size = figures["question_bytes"] / 1e6
        why.append(f"its question has {size:,.1f} MB, and a device reads {MAX_BYTES / 1e6:.1f}")
    if not figures["fits"]:
        why.append(f"needs {in_gib(figures['memory_bytes'])} of memory, and this machine has {in_gib(room)}")
    return why
