"""Draft records for OpenDP's Deployments Registry, one for each unit of privacy with a bounded loss.

Fields: ``schema.yaml`` of https://github.com/opendp/deployments-registry-data at 3e9c812 (2026-07-15). A field that
only people know has the text :data:`TO_FILL`, and a date has :data:`NO_DATE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from curator.methods.base import Method
from curator.privacy.level import LABEL, NOT_COUNTED
from curator.privacy.levels import LEVELS
from devices.facts import PublicFacts
from strategies.outputs.registry_models import DeploymentModel, model_of
from strategies.outputs.untrusted import text
from strategies.results.in_words import IN_CLEAR, NOT_ASKED, PrivacyInWords
from strategies.results.levels import compared_levels, held, level_term
from strategies.results.numbers import epsilon
from strategies.setup.fingerprint import ldpsim_version

TO_FILL = "To be filled by the data curator"
NO_DATE = "9999-12-31"  # the schema takes nothing but a date
UNITS = ("relationship", "user", "node", "central_node")
LEFT_OUT = "deployment.basic.data_product_sector, deployment.administrative.sources"  # of people too, and optional
PARTS = ("vector", "label")  # units in place of a person, where a person as a whole is not protected


@dataclass(frozen=True)
class Deployment:
    """A collection, planned or finished, as the registry describes one.

    Args:
        method: Class of its method.
        facts: Sizes of the population.
        holds: ``privacy.holds`` of a plan's row or of a result.
        mechanisms: The mechanisms that people are asked with, each with what it is about.
        product: What was made for whom, in a sentence.
        notes: Where the record comes from.
        tuning: How parameters were chosen.
        why: Reasons for these choices.
        in_words: Findings of :mod:`strategies.results.in_words`.
        many: Whether the same people were asked again and again.
    """

    method: type[Method]
    facts: PublicFacts
    holds: Mapping[str, Any]
    mechanisms: tuple[str, ...]
    product: str
    notes: str
    tuning: str
    why: str
    in_words: tuple[PrivacyInWords, ...] = field(default=(), repr=False)
    many: bool = False


def file_of(unit: str) -> str:
    """Return the name of the file with the record of a unit.

    >>> file_of("central_node")
    'registry-central-node.yaml'
    """
    return f"registry-{unit.replace('_', '-')}.yaml"


# Files that a plan or a run may have: those of another choice are removed.
FILES = tuple(map(file_of, (*UNITS, *PARTS)))


def registry_texts(of: Deployment) -> dict[str, str]:
    """Return the content of each file by name; empty if no unit has a bounded loss."""
    texts = {}
    for unit, record in registry_records(of).items():
        named = ", ".join(_to_fill(record))
        head = f"# Draft of ldpsim {ldpsim_version()}. To be filled by people: {named}.\n# Left out: {LEFT_OUT}.\n"
        texts[file_of(unit)] = head + _yaml(record)
    return texts


def _yaml(record: Mapping[str, Any]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Texts of several lines keep their lines."""

    def said(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, said)
    return str(yaml.dump(record, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100))


def registry_records(of: Deployment) -> dict[str, dict[str, Any]]:
    """Return a record for each unit with a bounded loss, by level; empty if there is none.

    A person as others report it is a unit of its own where its loss is another one. Where a person as a whole is not
    bounded, all features and the label are units in its place.

    Raises:
        ValueError: one line, for losses that are no result's, or a method of which the registry has no model.
    """
    entries = {level: held(of.holds, level) for level in compared_levels()}
    bounded = [level for level in (*UNITS, *PARTS) if entries[level]["status"] == "bounded"]
    if {"user", "node"} <= set(bounded) and _loss(entries["user"]) == _loss(entries["node"]):
        bounded.remove("node")
    if {"user", "central_node"} & set(bounded):
        bounded = [level for level in bounded if level not in PARTS]
    return {unit: _record(of, model_of(of.method), entries, unit) for unit in bounded}


def _loss(entry: Mapping[str, Any]) -> tuple[float, float]:
    return entry["value"], entry["delta"]


def _record(of: Deployment, model: DeploymentModel, entries: Mapping[str, Any], unit: str) -> dict[str, Any]:
    entry, facts, term = entries[unit], of.facts, level_term(unit)
    value, delta = _loss(entry)
    return {
        "url_slug": f"to-be-filled-{unit.replace('_', '-')}",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": f"{TO_FILL}: name of the data product",
                "data_curators": [f"{TO_FILL}: who publishes the data product"],
                "description": of.product,
                "intended_use": f"{TO_FILL}: intended use",
                "data_product_type": "Machine learning model",
                "data_product_region": f"{TO_FILL}: region of the data, or of the laws",
                "publication_date": NO_DATE,
            },
            "dp_variant": {
                "variant_name": "Approximate DP" if delta else "Pure DP",
                "data_domain": f"A graph of {facts.n:,} people; each has a neighbour list, {facts.d:,} features and "
                               f"one of {facts.classes} classes.",
                "unprotected_quantities": _in_clear(entries),
            },
            "privacy_loss": {
                "privacy_unit": LEVELS[unit].words,
                "privacy_unit_details": f"Data sets are adjacent if this alone differs: {LEVELS[unit].changes}.",
                "privacy_parameters": {"epsilon": value, **({"delta": delta} if delta else {})},
                "privacy_parameters_details": _lines(_details(of, entries, unit)),
            },
            "deployment_model": {
                "model_name": model.name,
                "actors": model.actors,
                "release_type": "Many releases" if of.many else "One release",
                "release_type_details": f"{model.releases} {TO_FILL}: plans for other uses of the same data.",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": model.post_processing,
                "composition": f"Losses of all that one change touches are composed; the figure of {term} is "
                               f"{'attained by some input' if entry['kind'] == 'exact' else 'an upper bound'}.",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": of.tuning,
                "mechanisms": _lines((
                    *(f"Mechanism: {name}" for name in of.mechanisms), f"Library: ldpsim {ldpsim_version()}",
                    *model.implementation, f"Access control: {TO_FILL}",
                )),
                "justification": of.why,
            },
            "administrative": {
                "notes": of.notes,
                "registry_authors": [f"{TO_FILL}: who wrote this record"],
            },
        },
    }  # fmt: skip


def _details(of: Deployment, entries: Mapping[str, Any], unit: str) -> Iterable[str]:
    """Yield what belongs to the figure of a unit: its reasons, its words, and the figures of the other units."""
    if entries[unit]["detail"]:
        yield text(entries[unit]["detail"])
    one = entries[unit]["of_one"]
    if one is not None:
        yield f"the figure counts {one['of']} collections; one of them alone: {_figure(one['value'], one['delta'])}"
    for found in of.in_words:
        if unit in found.levels:
            yield f"in words: {text(found.word)}" + (f" ({text(found.detail)})" if found.detail else "")
    for level in (*UNITS, *PARTS):
        entry = entries[level]
        if level != unit and entry["status"] != NOT_ASKED:
            figure = _figure(*_loss(entry)) if entry["status"] == "bounded" else IN_CLEAR
            yield f"{level_term(level)}: {figure}" + (f" ({text(entry['detail'])})" if entry["detail"] else "")


def _figure(value: float, delta: float) -> str:
    return f"epsilon {epsilon(value)}" + (f", delta {delta:.10g}" if delta else "")


def _in_clear(entries: Mapping[str, Any]) -> str:
    """Return what no noise protects: levels in clear, with the reason, and what a figure leaves out."""
    said: dict[str, list[str]] = {}
    for level, entry in entries.items():
        if entry["status"] == "unprotected":
            said.setdefault(text(entry["detail"] or IN_CLEAR), []).append(level_term(level))
    left_out = dict.fromkeys(name for entry in entries.values() for name in entry["not_counted"])
    if entries["label"]["status"] == "unprotected":
        left_out.pop(LABEL, None)  # it has a line of its own
    lines = [f"{', '.join(terms)}: {reason}" for reason, terms in said.items()]
    lines += [NOT_COUNTED[name] for name in left_out if name in NOT_COUNTED]
    return _lines(lines) if lines else "None of the levels that ldpsim accounts for."


def _lines(entries: Iterable[str]) -> str:
    """Return a list in Markdown, which the registry shows."""
    return "\n".join(f"- {entry}" for entry in entries)


def _to_fill(part: Any, path: str = "") -> list[str]:
    """Return the paths of the fields that people fill."""
    if isinstance(part, Mapping):
        return [name for key, entry in part.items() for name in _to_fill(entry, f"{path}.{key}".lstrip("."))]
    said = part[0] if isinstance(part, list) else part
    waits = isinstance(said, str) and (TO_FILL in said or said == NO_DATE or said.startswith("to-be-filled"))
    return [path] if waits else []
