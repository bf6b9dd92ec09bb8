"""Registry records of a plan's choice and of a finished run: what each knows of its collection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from curator.methods import find
from curator.reports.question import Budget
from devices.facts import PublicFacts
from strategies.estimate.asked import mechanisms_asked, questions_on_paper
from strategies.outputs.registry import TO_FILL, Deployment
from strategies.outputs.untrusted import text
from strategies.planning.in_clear import in_clear
from strategies.planning.listed import listed_as
from strategies.results.in_words import privacy_in_words
from strategies.results.record import AGAIN
from strategies.setup.fingerprint import ldpsim_version
from strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from strategies.planning.plan import Plan
    from strategies.planning.rows import PlanRow


def planned(made: Plan, choice: PlanRow) -> Deployment:
    """Return what a plan knows of the collection of a row."""
    kind = find(choice.method)
    return Deployment(
        method=kind,
        facts=made.facts.public(),
        holds=choice.figures["holds"],
        mechanisms=choice.mechanisms,
        product=_product(made.facts.n, choice.method, choice.asks),
        notes=f"Planned with ldpsim {ldpsim_version()}; nobody was asked. Method: {kind.paper}.",
        tuning=f"Parameters are defaults of ldpsim, or given to the plan. {_rehearsed(made)}",
        why=f"{choice.shown_budget}: {made.why}",
        in_words=choice.findings,
    )


def finished(record: Mapping[str, Any]) -> Deployment:
    """Return what a finished run knows of its collection.

    Its questions are made again on paper, for the names of their mechanisms.

    Args:
        record: Content of its result.json, schema 2. It may be somebody else's.

    Raises:
        ValueError: one line: a record without a part that is needed, or of a method that is not there.
    """
    try:
        kind, config, data, privacy = (find(record["method"]), record["config"], record["dataset"], record["privacy"])
        known = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
        method = kind.from_settings({key: value for key, value in config["parameters"].items() if key in known})
        given: dict[str, Any] = {
            name: math.inf if value == "inf" else value for name, value in config["budget"].items()
        }
        facts = PublicFacts(n=data["nodes"], d=data["features"], classes=data["classes"])
        people = RunOptions(label_rate=config.get("label_rate"), volunteers=config.get("volunteers"),
                            private_labels=bool(given.get("private_labels")))  # fmt: skip
        asked = questions_on_paper(method, facts, Budget(**given), people)
        return Deployment(
            method=kind,
            facts=facts,
            holds=privacy["holds"],
            mechanisms=mechanisms_asked(method, asked),
            product=_product(facts.n, kind.name, _asks(kind.name, privacy["holds"], people)),
            notes=_of_run(record),
            tuning=_tuning(privacy["searched"]),
            why=f"{TO_FILL}: reasons for the method, its parameters and its budget.",
            in_words=privacy_in_words(record),
            many=privacy["repeats"] == AGAIN,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no registry record: the result lacks a part of a run ({text(error)})") from None


def _rehearsed(made: Plan) -> str:
    if made.rehearsal is None:
        return "Nothing was rehearsed."
    if made.rehearsal.like is None:
        return "The plan was rehearsed on made-up people."
    return f"The plan was rehearsed on {text(made.rehearsal.like)}; what that reveals of these people is not counted."


def _asks(method: str, holds: Mapping[str, Any], people: RunOptions) -> str:
    """Return what a finished run asked for, and what was in clear, in words."""
    asks = listed_as(method, volunteers=people.volunteers is not None, labels=people.private_labels).asks
    public = in_clear(holds).words
    return f"{asks}; in clear: {public}" if public else asks


def _product(people: int, method: str, asks: str) -> str:
    return f"A model of {people:,} people by {method}, which asks for {asks}."


def _of_run(record: Mapping[str, Any]) -> str:
    """Return where a result comes from, and what its figures do not say of its own reports."""
    version, people, digest = (text(each) for each in (record["ldpsim_version"], record["dataset"]["name"],
                                                       record["config_hash"]))  # fmt: skip
    said = f"A simulation by ldpsim {version} with the people of {people} ({digest}); nobody was asked. " \
           f"Method: {find(record['method']).paper}."  # fmt: skip
    if record["simulation_seeded"]:
        said += " Its noise came from a seed: who knows it can remove the noise, so these reports are not private. " \
                "The figures hold for a collection with noise from the operating system."  # fmt: skip
    if record["privacy"]["collections"] > 1:
        said += f" The figures count {record['privacy']['collections']} collections about the same people."
    return said


def _tuning(searched: int) -> str:
    if not searched:
        return "No collection was made to choose parameters: they are defaults of ldpsim, or given to the run."
    return f"{searched:,} collections were made to choose parameters. Their losses are not in these figures."
