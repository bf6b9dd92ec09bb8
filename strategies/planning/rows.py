"""One row of a plan: a method at one setting, on paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.curator.options import BUDGET, NETWORK
from ldpsim.curator.privacy.levels import PUBLIC_PARTS
from ldpsim.strategies.estimate.asked import largest_question, mechanisms_asked, ones_reported, questions_on_paper
from ldpsim.strategies.estimate.fits import load_of
from ldpsim.strategies.estimate.load import TIME_ERROR, held_bytes, name_of_constants
from ldpsim.strategies.estimate.machine import memory_bytes
from ldpsim.strategies.estimate.traffic import expected_traffic, training_traffic
from ldpsim.strategies.planning.in_clear import PublicData
from ldpsim.strategies.planning.in_clear import in_clear as in_clear_by
from ldpsim.strategies.planning.listed import Listed, listed_as
from ldpsim.strategies.planning.on_paper import OnPaper
from ldpsim.strategies.planning.worth import Worth
from ldpsim.strategies.results.in_words import NOT_ASKED, PrivacyInWords, guess, privacy_in_words
from ldpsim.strategies.results.levels import held
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions

# Options that make a row's setting, beside its `--set`.
SETTING = BUDGET | NETWORK | {"label_rate", "volunteers"}

_NOTHING = PublicData()


@dataclass(frozen=True)
class PlanRow:
    """A method at one setting.

    Args:
        options: Options of its run.
        figures: What holds, bytes, seconds and memory, JSON-ready; empty where the options do not fit.
        at_level: Guarantee at the level of the plan, ``{status, value, delta, detail}``.
        private_only: What of the record is public, where the value at the level is that of the rest.
        worth: Accuracy of its rehearsal, None if it was not run.
        run: Options of its rehearsal, which its command is printed from; None if it was not run.
        why: Reasons why it does not meet the wishes; empty if it does.
        shown_budget: The budget in force, in words.
        mechanisms: What people are asked with (:func:`mechanisms_asked`).
        in_clear: What is public beside the reports.
    """

    options: RunOptions
    figures: Mapping[str, Any]
    at_level: Mapping[str, Any]
    private_only: str = ""
    worth: Worth | None = None
    run: RunOptions | None = None
    why: tuple[str, ...] = ()
    shown_budget: str = ""
    mechanisms: tuple[str, ...] = ()
    in_clear: PublicData = _NOTHING

    @property
    def method(self) -> str:
        """Name of the method."""
        return self.options.method

    @property
    def name(self) -> str:
        """Name of the row: the method, and whether it asks volunteers."""
        return name_of_constants(self.method, volunteers=self.options.volunteers is not None)

    @property
    def asks(self) -> str:
        """Content of the question, and what is in clear, in words."""
        return f"{self.listed.asks}; in clear: {self.in_clear.words}" if self.in_clear.words else self.listed.asks

    @property
    def listed(self) -> Listed:
        """Content of its question in words, and its group."""
        return listed_as(
            self.method, volunteers=self.options.volunteers is not None, labels=self.options.private_labels
        )

    @property
    def loss(self) -> float:
        """Loss at the level of the plan; 0 if nothing is asked there, infinite if it is not bounded."""
        if self.at_level.get("status") == NOT_ASKED:
            return 0.0
        return float(self.at_level["value"]) if self.at_level.get("value") is not None else math.inf

    @property
    def findings(self) -> tuple[PrivacyInWords, ...]:
        """Privacy at its levels by the rule of a run's verdict; no attack is measured."""
        return privacy_in_words({"privacy": {"holds": self.figures["holds"]}, "reconstruction": {}})

    @property
    def not_protected(self) -> str:
        """Subjects without protection, each with its word; empty if there are none."""
        return _said(found for found in self.findings if found.tone == "bad")

    @property
    def protected(self) -> str:
        """Protected subjects, each with its word; empty if there are none."""
        return _said(found for found in self.findings if found.tone in ("good", "open"))

    @property
    def meets(self) -> bool:
        """Whether it meets all wishes."""
        return not self.why

    def with_reasons(self, *why: str) -> PlanRow:
        """Return the row with further reasons why it does not meet the wishes."""
        return replace(self, why=(*self.why, *why))

    def to_dict(self) -> dict[str, Any]:
        """Return the row of ``plan --json``."""
        return {
            "method": self.method,
            "name": self.name,
            "asks": self.listed.asks,
            "in_clear": self.in_clear.words,
            "group": self.listed.group,
            "settings": given_settings(self.options),
            "mechanisms": list(self.mechanisms),
            **self.figures,
            "worth": None if self.worth is None else self.worth.to_dict(),
            "at_level": {**self.at_level, "public": self.private_only or None},
            "meets": self.meets,
            "why": list(self.why),
        }


def _said(findings: Iterable[PrivacyInWords]) -> str:
    return "; ".join(f"{found.subject}: {found.word}" for found in findings)


def given_settings(options: RunOptions) -> dict[str, Any]:
    """Return the options that make the setting, without those at their default."""
    specs = declared(RunOptions)
    given = {name: getattr(options, name) for name in specs if name in SETTING and getattr(options, name) !=
             specs[name].default}  # fmt: skip
    return {**given, **({"set": dict(options.settings)} if options.settings else {})}


def plan_row(paper: OnPaper, options: RunOptions, level: str, speed: float) -> PlanRow:
    """Return the row of a setting, without its worth.

    Raises:
        ValueError: one line, for options that do not fit.
    """
    setup, facts = paper.set_up(options), paper.facts
    guarantee = paper.guarantee(setup).to_dict()
    known = len(setup.repeats[0].split.labelled) / len(setup.population)
    asked = questions_on_paper(setup.method, facts.public(), setup.budget, options)
    if setup.method.spec.in_rounds:
        traffic = training_traffic(cast(Federated, setup.method), facts, setup.settings.training.hidden)
    else:
        traffic = expected_traffic(asked, facts)
    load = load_of(replace(options, clients=facts.n), facts, speed=speed)
    timed = None if load is None or load.noisy else load
    load = None if load is None or not load.memory_known else load
    room = memory_bytes()
    needed = held_bytes(facts, ones_reported(asked, facts.n, facts.mean_degree)) if load is None else load.memory_bytes
    machines = max(1, math.ceil(needed / room)) if load is not None or needed > room else None
    figures: dict[str, Any] = {
        "trust": guarantee["trust"],
        "epsilon": setup.budget.epsilon,
        "holds": guarantee["holds"],
        "bytes_per_device": traffic.each,
        "bytes": {"down": traffic.down, "up": traffic.up, "asked": traffic.asked,
                  "in_all": traffic.each * traffic.asked * facts.n,
                  "rounds": None if setup.method.spec.in_batches else traffic.rounds},  # earlier answers decide
        "question_bytes": largest_question(asked, facts.n),
        "seconds": None if timed is None else timed.total,
        "seconds_by_phase": None if timed is None else dict(timed.seconds),
        "seconds_per_device": None if timed is None else timed.seconds["collect"] / facts.n,
        "seconds_factor": None if timed is None or timed.extrapolated else TIME_ERROR,
        "memory_bytes": None if load is None else load.memory_bytes,
        "memory_factor": None if load is None else load.memory_error,
        "measured_up_to": None if timed is None else timed.measured,
        "fits": None if machines is None else machines == 1,
        "machines": machines,
    }  # fmt: skip
    own = "central_node" if guarantee["trust"] == "trusted curator" and level in ("user", "node") else level
    entry, public = held(guarantee["holds"], own), ""
    if entry["private_value"] is not None:
        public = " and ".join(PUBLIC_PARTS[name] for name in entry["public"])
        entry |= {"value": entry["private_value"], "delta": entry["private_delta"]}
    entry = {**entry, "level": own}
    if entry["value"] is not None:
        entry["best_guess"] = guess(entry["value"], entry["delta"])
    return PlanRow(options, figures, entry, public, shown_budget=_budget(setup.method, options, setup.budget.epsilon),
                   mechanisms=mechanisms_asked(setup.method, asked),
                   in_clear=in_clear_by(guarantee["holds"], known))  # fmt: skip


def _budget(method: Any, options: RunOptions, epsilon: float) -> str:
    if method.spec.own_budget is not None:
        parameter, symbol = method.spec.own_budget
        return f"{symbol} {getattr(method, parameter):.3g}"
    parts = {"eps_a": options.eps_adjacency, "eps_f": options.eps_features, "eps_l": options.eps_labels}
    named = [f"{name} {value:.3g}" for name, value in parts.items() if value is not None]
    return ", ".join(named) if options.epsilon is None and named else ", ".join([f"{epsilon:.3g}", *named])
