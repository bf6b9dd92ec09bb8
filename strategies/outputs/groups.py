"""Groups of results that differ in their seeds alone: mean, spread, interval, null models and losses of each.

Results of one configuration that differ in their seeds alone are repeats of it. The terminal, pages, tables of a
sweep and tables for a paper show groups. Figures of a group are means over all its repeats, and the spread is
their sample standard deviation. A loss that holds is the largest one, since a bound may not look smaller than it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ldpsim.strategies.foreign_text import number, text
from ldpsim.strategies.outputs.sums import AskedInAll, in_all, key_of_people, levels_of, really_asked
from ldpsim.strategies.results.averages import (
    FEWEST,
    Interval,
    even_tail,
    few,
    mean,
    mean_interval,
    over_best,
    over_repeats,
    spread,
    standard_error,
)
from ldpsim.strategies.results.in_words import compared_loss
from ldpsim.strategies.results.numbers import difference
from ldpsim.strategies.results.verdict import (
    CHANCE,
    NULLS,
    STANDINGS,
    UNJUDGED,
    ask_nobody,
    best_null,
    null_columns,
    shown_nulls_of,
    shown_verdict,
    standing_among,
)
from ldpsim.strategies.setup.option_spec import BUDGET, declared
from ldpsim.strategies.setup.options import RunOptions

# Personal options distinguish no results, and a seed makes a repeat. Every result names its method and its data.
OPTIONS = {
    name: spec
    for name, spec in declared(RunOptions).items()
    if not spec.personal and name not in ("method", "dataset", "clients", "seed", "seeds")
}
BUDGETS = tuple(name for name, spec in OPTIONS.items() if spec.panel == BUDGET and spec.types == (float,))
DATASET, PEOPLE = "dataset", "people"  # in the options of a group, where groups differ in their data
VERSION = "version"  # there too, where versions of ldpsim made them
_NONE = "None"
_WORST = ("unprotected", "bounded", "not asked")
_MEANS = {"val": "accuracy.val", "macro_f1": "accuracy.macro_f1", "nonprivate_test": "reference.nonprivate_test",
          "downlink_bytes_per_device": "communication.downlink_bytes_per_device",
          "uplink_bytes_per_device": "communication.uplink_bytes_per_device", "rounds": "communication.rounds",
          "seconds_total": "seconds.total", "edge_precision": "reconstruction.edge_precision",
          "edge_recall": "reconstruction.edge_recall", "edges_kept": "reconstruction.edges"}  # fmt: skip

ResultRecord = Mapping[str, Any]
Levels = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Group:
    """Figures of the results of one configuration. Scores are shares: 0.5 is 50 %.

    Args:
        records: Its results, sorted by seed.
        options: The options that tell groups apart, as text; empty for a group that has no value of one.
        label: The method and these options, in short.
        line: The label without budgets: groups on one line of a chart share it.
        scores: The score of each repeat.
        interval: The 95 % interval of their mean over runs; None for fewer than three.
        nulls: ``test`` and ``std`` of the null models that all results have.
        verdict: ``text``, ``standing`` (a key of STANDINGS) and ``margin``; None without null models.
        levels: What holds in one result at each compared level, the worst of all results.
        together: What holds over all collections of the same people; the same as ``levels`` where nobody was asked
            twice.
        collections: Number of those collections.
        row: Everything that is a figure or a word, flat: a row of ``summary.csv``.
    """

    records: Sequence[ResultRecord] = field(repr=False)
    options: Mapping[str, str]
    label: str
    line: str
    scores: Sequence[float]
    interval: Interval | None
    nulls: Mapping[str, Mapping[str, Any]]
    verdict: Mapping[str, Any] | None
    levels: Levels
    together: Levels
    collections: int
    row: Mapping[str, Any] = field(repr=False)

    @property
    def method(self) -> str:
        """Name of the method."""
        return str(self.row["method"])

    @property
    def data(self) -> tuple[str, int]:
        """Name and size of the data set."""
        return data_of(self.records[0])

    @property
    def mean(self) -> float | None:
        """Mean score."""
        return mean(self.scores)

    @property
    def best_null(self) -> str | None:
        """The null model with the best mean."""
        return best_null(self.nulls)


def groups_of(records: Sequence[ResultRecord]) -> list[Group]:
    """Return the groups of results, sorted by data set and method as these come first, and by budgets.

    A copy of a simulated run, and a run that differs in a budget of a method that protects nothing, are no repeats.

    Args:
        records: Contents of result.json files of the schema of today.
    """
    together: dict[Any, dict[Any, ResultRecord]] = {}
    for record in records:
        options = options_of(record)
        key = (data_of(record), text(record["method"]), *sorted(options.items()))
        seeds = (json.dumps(record.get("seeds")), _config(record).get("seed"), record["dataset"]["digest"])
        run = (seeds, record["accuracy"]["test"]) if record.get("simulation_seeded") else json.dumps(record)
        together.setdefault(key, {}).setdefault(run, record)
    groups = [sorted(group.values(), key=lambda record: number(_config(record).get("seed")) or 0.0)
              for group in together.values()]  # fmt: skip
    data = list(dict.fromkeys(data_of(group[0]) for group in groups))
    methods = list(dict.fromkeys(text(group[0]["method"]) for group in groups))
    groups.sort(key=lambda group: (data.index(data_of(group[0])), methods.index(text(group[0]["method"])),
                                   [number(_config(group[0]).get(name)) or 0.0 for name in BUDGETS]))  # fmt: skip
    keys, sums = _apart(groups), in_all(records)
    return [_group(group, keys, sums) for group in groups]


def _group(records: Sequence[ResultRecord], keys: Sequence[str], sums: Mapping[str, AskedInAll]) -> Group:
    first, given, method = records[0], _all_options(records[0]), text(records[0]["method"])
    scores = [score for record in records for score in _scores(record)]
    nulls = _mean_nulls(records)
    verdict = shown_verdict(first) if len(records) == 1 else _verdict(records)
    several = [levels_of(record) for record in records]
    levels = {level: worst_guarantee([each[level] for each in several]) for level in several[0]}
    spent = sums.get(key_of_people(first)) if really_asked(first) else None
    together = levels if spent is None else spent.holds
    collections = max(record["privacy"]["collections"] for record in records) if spent is None else spent.collections
    free = set.intersection(*(set(ask_nobody(record)) for record in records)) & set(nulls)
    options = {key: "" if given.get(key, _NONE) == _NONE else given[key] for key in keys}
    words = words_of(given, keys)
    interval, best = mean_interval(scores), best_null(nulls)
    held = {f"{about}_{level}{part}": value
            for about, each in (("holds", levels), ("all", together)) for level, entry in each.items()
            for part, value in (("", _loss_of(entry, one=about == "holds")), ("_status", entry["status"]))}  # fmt: skip
    row = {
        "method": method,
        **{name if name in OPTIONS or name in (DATASET, PEOPLE, VERSION) else f"param_{name}": value
           for name, value in options.items()},
        "n": len(scores),
        "results": len(records),
        "populations": len({record["dataset"]["digest"] for record in records}),
        "mean": mean(scores),
        "sd": spread(scores),
        "low_over_runs": interval and interval.low,
        "high_over_runs": interval and interval.high,
        "best_null": best,
        "best_null_mean": best and nulls[best]["test"],
        "asking_nobody": best_null({name: nulls[name] for name in free}),
        **null_columns(nulls, verdict),
        **{name: mean([_at(record, path) for record in records]) for name, path in _MEANS.items()},
        "trust": first["privacy"]["trust"],
        "claimed": max((_at(record, "privacy.claimed.value") for record in records), key=lambda value: value or 0.0),
        "collections": collections,
        **held,
    }  # fmt: skip
    return Group(
        records, options, text(" ".join([method, *words])),
        text(" ".join([method, *words_of(given, [key for key in keys if key not in BUDGETS])])),
        scores, interval, nulls, verdict, levels, together, collections, row,
    )  # fmt: skip


def options_of(record: ResultRecord) -> dict[str, str]:
    """Return the options of a result that tell configurations of one method on one data set apart."""
    given = _config(record)
    options: dict[str, str] = {}
    for name, spec in OPTIONS.items():
        value = given.get(name)
        if spec.is_table:
            options |= {str(key): text(entry) for key, entry in value.items()} if isinstance(value, Mapping) else {}
        elif name in given:
            options[name] = f"{value:g}" if isinstance(value, float) else text(value)
    if record["privacy"]["trust"] == "none":
        options |= dict.fromkeys(BUDGETS, _NONE)  # a budget changes nothing there
    return {**options, "gnn": text(record.get("gnn", "")), VERSION: text(record.get("ldpsim_version", ""))}


def words_of(options: Mapping[str, str], keys: Iterable[str]) -> list[str]:
    """Return some options of a result as short words of a label; an option that is not given has none.

    >>> words_of({"epsilon": "4", "split": "None", "people": "300"}, ["epsilon", "split", "people"])
    ['ε 4', '300 people']
    """
    words = []
    for key in keys:
        value = options.get(key, _NONE)
        if key in (DATASET, PEOPLE):
            words.append(value if key == DATASET else f"{value} people")
        elif value != _NONE:
            words.append(f"{option_word(key)} {value}")
    return words


def option_word(name: str) -> str:
    """Return the short word for an option or a setting."""
    spec = OPTIONS.get(name)
    return spec.label if spec and spec.label else name.replace("_", " ")


def data_of(record: ResultRecord) -> tuple[str, int]:
    """Return name and size of a result's data set; the people themselves may differ."""
    return text(record["dataset"]["name"]), int(record["dataset"]["nodes"])


def worst_guarantee(entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the worst of several guarantees at one level: unprotected, then the largest loss of one collection."""
    return min(entries, key=lambda entry: (_WORST.index(entry["status"]), -(_loss_of(entry, one=True) or 0.0)))


def _loss_of(entry: Mapping[str, Any], *, one: bool) -> float | None:
    if entry["status"] != "bounded":
        return None
    return compared_loss(entry) if one else float(entry["value"])


def _scores(record: ResultRecord) -> list[float]:
    """Return the score of each repeat."""
    scores = record["accuracy"]
    repeats = [number(each) for each in scores["per_repeat"]] or [None]
    known = repeats if None not in repeats else [number(scores["test"])]
    return [each for each in known if each is not None]


def _mean_nulls(records: Sequence[ResultRecord]) -> dict[str, dict[str, Any]]:
    """Return mean and spread of the null models that all results of a group have."""
    several = [shown_nulls_of(record) for record in records]
    if len(several) == 1:
        return several[0]
    tests = {name: [nulls[name]["test"] for nulls in several] for name in several[0]
             if all(name in nulls for nulls in several)}  # fmt: skip
    return {name: {"test": mean(each), "std": None if name == CHANCE else spread(each)} for name, each in tests.items()}


def _verdict(records: Sequence[ResultRecord]) -> dict[str, Any] | None:
    """Return the verdict on results that differ in their seeds; None if one has no null models.

    The margin is over the null model that is best in the mean. Its interval is that of repeats, by
    :func:`ldpsim.strategies.results.averages.over_repeats`; its upper end is corrected for the choice of the best one.
    """
    verdicts = [verdict for record in records if (verdict := shown_verdict(record)) is not None]
    if len(verdicts) < len(records):
        return None
    seeds, standings = f"{len(records)} seeds", [verdict["standing"] for verdict in verdicts]
    at_chance = standings.count("chance")
    over = {name: found for name in _mean_nulls(records) if (found := _over(records, verdicts, name)) is not None}
    if not over:
        standing = "chance" if at_chance else standings[0] if len(set(standings)) == 1 else ""
        return {"text": f"{seeds}: {STANDINGS[standing][0]}; an interval takes {FEWEST} seeds.", "margin": None,
                "standing": standing, "interval_of": None}  # fmt: skip
    tail = even_tail(len(over))
    best = over_best({name: over_repeats(*found) for name, found in over.items()},
                     {name: over_repeats(*found, upper_tail=tail) for name, found in over.items()}, tail)  # fmt: skip
    joint = best.interval
    standing = "above" if joint.low > 0 else "below" if joint.high < 0 else "even"
    standing = standing_among("chance" if 2 * at_chance > len(records) else standing, over)
    words = {"unjudged": UNJUDGED, "above": "above the best null model", "below": "below the best null model",
             "even": "not measurably above the best null model", "chance": "not measurably above chance"}  # fmt: skip
    margin = {"value": joint.value, "low": joint.low, "high": joint.high}
    line = f"{seeds}: {words[standing]}. Margin {difference(margin)} points over {NULLS[best.best].heading}."
    line += " These are few seeds, so the interval is wide." if few(len(records)) else ""
    line += f" Not measurably above chance with {at_chance} of {seeds}." if at_chance else ""
    return {"text": line, "margin": margin, "standing": standing, "interval_of": None}


def _over(
    records: Sequence[ResultRecord], verdicts: Sequence[Mapping[str, Any]], name: str
) -> tuple[list[float], list[float]] | None:
    """Return the differences to a null model and their standard errors over people, 0 where a run does not tell it.

    None for too few runs that do not tell it.
    """
    differences = [record["accuracy"]["test"] - shown_nulls_of(record)[name]["test"] for record in records]
    known = [verdict["over"].get(name) for verdict in verdicts]
    if None in known and len(records) < FEWEST:
        return None
    return differences, [0.0 if each is None else standard_error(each["low"], each["high"]) for each in known]


def _all_options(record: ResultRecord) -> dict[str, str]:
    name, people = data_of(record)
    return {DATASET: name, PEOPLE: str(people), **options_of(record)}


def _apart(groups: Sequence[Sequence[ResultRecord]]) -> list[str]:
    """Return the options in which groups differ.

    A method that has no value of an option does not differ by that. Settings and the network have defaults of
    each method, and sizes are those of a data set: they are compared within one method, and one data set.
    """
    everywhere, within = dict[str, set[str]](), dict[tuple[str, ...], set[str]]()
    options = [_all_options(group[0]) for group in groups]
    keys = dict.fromkeys(key for given in options for key in given)
    for group, given in zip(groups, options, strict=True):
        for key in keys:
            value = given.get(key, _NONE)
            if value != _NONE and (key == DATASET or (key in OPTIONS and key != "gnn")):
                everywhere.setdefault(key, set()).add(value)
            method = "" if key == PEOPLE else text(group[0]["method"])
            within.setdefault((key, given[DATASET], method), set()).add(value)
    apart = {key for (key, *_), values in within.items() if len(values) > 1}
    return [key for key in keys if key in apart or len(everywhere.get(key, ())) > 1]


def _config(record: ResultRecord) -> Mapping[str, Any]:
    config = record.get("config")
    return config if isinstance(config, Mapping) else {}


def _at(record: ResultRecord, path: str) -> float | None:
    """Return the finite number at a place of a record, None if there is none."""
    found: Any = record
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return number(found)
