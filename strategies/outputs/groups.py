"""Groups of results that differ in their seeds alone: mean, spread, null models and losses of each.

    records -> groups -> row of a group -> summary.csv, the page
                      -> cells of a group, as text -> terminal, notebook, LaTeX

Results of one configuration that differ in their seeds alone are repeats of it. Figures of a group are means over all
its repeats, and the spread is their sample standard deviation. A loss that holds is the largest one, since a bound may
not look smaller than it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ldpsim.curator.methods.spec import TRUSTED
from ldpsim.curator.privacy.levels import compared_levels, level_term, level_words
from ldpsim.strategies.foreign_text import number, text
from ldpsim.strategies.results.averages import mean, spread
from ldpsim.strategies.results.levels_of_results import (
    compared_loss,
    held,
    loss_in_column,
    shown_levels,
    worst_guarantee,
)
from ldpsim.strategies.results.numbers import NONE, bytes_, plus_minus, points, short_loss
from ldpsim.strategies.results.outcome import Score
from ldpsim.strategies.results.rows import row_of
from ldpsim.strategies.results.verdict import (
    CHANCE,
    best_null,
    null_columns,
    shown_nulls_of,
    shown_verdict,
    verdict_of,
    without_reports,
)
from ldpsim.strategies.setup.option_spec import BUDGET, declared
from ldpsim.strategies.setup.options import RunOptions

# Personal options distinguish no results, and a seed makes a repeat. Every result names its method and its data.
OPTIONS = {
    name: spec
    for name, spec in declared(RunOptions).items()
    if not spec.local and name not in ("method", "dataset", "clients", "seed", "seeds")
}
BUDGETS = tuple(name for name, spec in OPTIONS.items() if spec.panel == BUDGET and spec.types == (float,))
DATASET, PEOPLE = "dataset", "people"  # in the options of a group, where groups differ in their data
VERSION = "version"  # there too, where versions of ldpsim made them
ABOVE = "▲"  # beside a null model that is above the method
_NONE = "None"
_MEANS = (
    "curator",
    "device",
    "device_alone",
    "device_features",
    "device_with_friends",
    "device_alone_with_friends",
    "val",
    "macro_f1",
    "nonprivate_test",
    "downlink_bytes_per_device",
    "uplink_bytes_per_device",
    "bundle_bytes_per_device",
    "rounds",
    "seconds_total",
    "edge_precision",
    "edge_recall",
    "edges_kept",
)  # columns of a result's flat row

ResultRecord = Mapping[str, Any]
Levels = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Group:
    """Figures of the results of one configuration. Scores are shares: 0.5 is 50 %.

    Args:
        records: Its results, sorted by seed.
        settings: The options that tell groups apart, in short; may be empty.
        own_settings: Those of them that are no budget, and no name or size of a data set.
        line: The label without budgets: groups on one line of a chart have it in common.
        nulls: ``test`` and ``std`` of the null models that all results have.
        verdict: ``text``, ``standing`` (a key of STANDINGS) and ``margin``; None without null models.
        levels: What holds in one result at each level, compared or part of one, the worst of all results.
        row: Everything that is a figure or a word, flat: a row of ``summary.csv``.
    """

    records: Sequence[ResultRecord] = field(repr=False)
    settings: str
    own_settings: str
    line: str
    nulls: Mapping[str, Mapping[str, Any]]
    verdict: Mapping[str, Any] | None
    levels: Levels
    row: Mapping[str, Any] = field(repr=False)

    @property
    def method(self) -> str:
        """Name of the method."""
        return str(self.row["method"])

    @property
    def label(self) -> str:
        """The method and its settings: ``vote, labels private``."""
        return ", ".join(filter(None, (self.method, self.settings)))

    @property
    def data(self) -> tuple[str, int]:
        """Name and size of the data set."""
        return data_of(self.records[0])

    @property
    def mean(self) -> float | None:
        """Mean score."""
        score: float | None = self.row["mean"]
        return score

    def loss(self, level: str) -> float | None:
        """Return the loss of one collection that holds at a level of :attr:`levels`; None if it is not bounded."""
        return _loss_of(self.levels[level])

    @property
    def of_devices(self) -> bool:
        """Whether the score is of devices that predict for themselves, and nobody else knows the prediction."""
        return self.row["curator"] is None and self.row["device"] is not None

    @property
    def bytes(self) -> float:
        """Bytes of a device, both ways, with the device model."""
        names = ("downlink_bytes_per_device", "uplink_bytes_per_device", "bundle_bytes_per_device")
        return float(sum(self.row[name] or 0.0 for name in names))


def groups_of(records: Sequence[ResultRecord]) -> list[Group]:
    """Return the groups of results, sorted by data set and method as these come first, and by budgets.

    A copy of a simulated run, and a run that differs in a budget of a method that protects nothing, are no repeats.

    Args:
        records: Contents of result.json files.
    """
    together: dict[Any, dict[Any, ResultRecord]] = {}
    for record in records:
        key = (data_of(record), text(record["method"]), *sorted(options_of(record).items()))
        seeds = (json.dumps(record.get("seeds")), _config(record).get("seed"), record["dataset"]["digest"])
        run = (seeds, record["accuracy"]["test"]) if record.get("simulation_seeded") else json.dumps(record)
        together.setdefault(key, {}).setdefault(run, record)
    groups = [sorted(group.values(), key=lambda record: number(_config(record).get("seed")) or 0.0)
              for group in together.values()]  # fmt: skip
    data = list(dict.fromkeys(data_of(group[0]) for group in groups))
    methods = list(dict.fromkeys(text(group[0]["method"]) for group in groups))
    groups.sort(key=lambda group: (data.index(data_of(group[0])), methods.index(text(group[0]["method"])),
                                   [number(_config(group[0]).get(name)) or 0.0 for name in BUDGETS]))  # fmt: skip
    keys, methods_of = _apart(groups), [(data_of(group[0]), text(group[0]["method"])) for group in groups]
    if len(set(methods_of)) == len(groups):  # the column of the claim tells budgets apart
        keys = [key for key in keys if key not in BUDGETS]
    return [_group(group, keys) for group in groups]


def shown_cells(group: Group, levels: Iterable[str]) -> dict[str, str]:
    """Return the figures of a group as text, by heading, with the losses that hold at some levels.

    The columns of accuracy are in per cent. ``simpler`` is the best null model, with :data:`ABOVE` where it is above
    the method; ``device (alone)`` is a device that predicts for its own person, and in brackets without any reports;
    ``friends tell (alone)`` is such a device whose friends tell it a guess.
    """
    row, test = group.row, group.mean or 0.0
    score = points(group.mean) + plus_minus(row["sd"])
    best = row["best_null_mean"]
    return {
        "method": group.label,
        "trusted": row["trusted"],
        "n": str(row["n"]),
        "accuracy": NONE if group.of_devices else score,
        "simpler": NONE if best is None else points(best) + (f" {ABOVE}" if best > test else ""),
        "no noise": points(row["nonprivate_test"]),
        "device (alone)": score if group.of_devices else _beside(points(row["device"]), row["device_alone"]),
        "friends tell (alone)": _beside(points(row["device_with_friends"]), row["device_alone_with_friends"]),
        "epsilon claimed": NONE if row["claimed"] is None else short_loss(row["claimed"]),
        **{level_term(level).removeprefix("a "): loss_in_column(group.levels[level]) for level in levels},
        "bytes": bytes_(group.bytes),
    }


def _beside(device: str, alone: float | None) -> str:
    return device if alone is None else f"{device} ({points(alone)})"


def table_of(groups: Sequence[Group], levels: Iterable[str] | None = None) -> list[dict[str, str]]:
    """Return the cells of all groups: for every table of groups.

    A column in which no group has a figure is left out, and the number of scores where all are one, and who is
    trusted where all trust nobody.

    Args:
        groups: The groups.
        levels: Levels of the losses that hold; None for the two of the first ranks.
    """
    rows = [shown_cells(group, list(levels or shown_levels(2))) for group in groups]
    empty = {"n": "1", "trusted": TRUSTED[0]}
    filled = [heading for heading in (rows[0] if rows else ())
              if any(row[heading] != empty.get(heading, NONE) for row in rows)]  # fmt: skip
    return [{heading: row[heading] for heading in filled} for row in rows]


def _group(records: Sequence[ResultRecord], keys: Sequence[str]) -> Group:
    first, values, method = records[0], _all_options(records[0]), text(records[0]["method"])
    rows = [row_of(record, "") for record in records]
    scores = [score for record in records for score in _scores(record)]
    nulls = _mean_nulls(records)
    free = set.intersection(*(set(without_reports(record)) for record in records)) & set(nulls)
    verdict = shown_verdict(first) if len(records) == 1 else _verdict(records, nulls)
    levels = {level: worst_guarantee([held(record["privacy"]["holds"], level) for record in records])
              for level in level_words().values()}  # fmt: skip
    options = {key: "" if values.get(key, _NONE) == _NONE else values[key] for key in keys}
    best = best_null(nulls)
    row = {
        "method": method,
        **{name if name in OPTIONS or name in (DATASET, PEOPLE, VERSION) else f"param_{name}": value
           for name, value in options.items()},
        "n": len(scores),
        "mean": mean(scores),
        "sd": spread(scores),
        "best_null": best,
        "best_null_mean": best and nulls[best]["test"],
        "no_reports": best_null({name: nulls[name] for name in free}),
        **null_columns(nulls, verdict),
        **{name: mean([number(each.get(name)) for each in rows]) for name in _MEANS},
        "trust": first["privacy"]["trust"],
        "trusted": rows[0]["trusted"],
        "claimed": max((number(each["claimed"]) for each in rows), key=lambda value: value or 0.0),
        "collections": max(record["privacy"]["collections"] for record in records),
    }  # fmt: skip
    for level in compared_levels():
        row |= {f"holds_{level}": _loss_of(levels[level]), f"holds_{level}_status": levels[level]["status"]}
    without_budgets = words_of(values, [key for key in keys if key not in BUDGETS])
    line = text(", ".join([method, *without_budgets]))
    own = [key for key in keys if key not in (DATASET, PEOPLE, *BUDGETS)]
    settings, own_settings = (text(", ".join(words_of(values, each))) for each in (keys, own))
    return Group(records, settings, own_settings, line, nulls, verdict, levels, row)


def options_of(record: ResultRecord) -> dict[str, str]:
    """Return the options of a result that tell configurations of one method on one data set apart."""
    config = _config(record)
    options: dict[str, str] = {}
    for name, spec in OPTIONS.items():
        value = config.get(name)
        if spec.is_table:
            options |= {str(key): text(entry) for key, entry in value.items()} if isinstance(value, Mapping) else {}
        elif name in config:
            options[name] = f"{value:g}" if isinstance(value, float) else text(value)
    if record["privacy"]["trust"] == "none":
        options |= dict.fromkeys(BUDGETS, _NONE)  # a budget changes nothing there
    return {**options, "gnn": text(record.get("gnn", "")), VERSION: text(record.get("ldpsim_version", ""))}


def words_of(options: Mapping[str, str], keys: Iterable[str]) -> list[str]:
    """Return some options of a result as short words of a label; an option that is not given has none.

    >>> words_of({"epsilon": "4", "split": "None", "people": "300", "private_labels": "True"},
    ...          ["epsilon", "split", "people", "private_labels", "tuned"])
    ['ε 4', '300 people', 'labels private']
    """
    words = []
    for key in keys:
        value, spec = options.get(key, _NONE), OPTIONS.get(key)
        name = spec.label if spec and spec.label else key.replace("_", " ")
        if key in (DATASET, PEOPLE):
            words.append(value if key == DATASET else f"{value} people")
        elif value in ("True", "False"):
            words += [name] if value == "True" else []
        elif value != _NONE:
            words.append(f"{name} {value}")
    return words


def data_of(record: ResultRecord) -> tuple[str, int]:
    """Return name and size of a result's data set; the people themselves may differ."""
    return text(record["dataset"]["name"]), int(record["dataset"]["nodes"])


def _loss_of(entry: Mapping[str, Any]) -> float | None:
    return compared_loss(entry) if entry["status"] == "bounded" else None


def _scores(record: ResultRecord) -> list[float]:
    """Return the score of each repeat."""
    scores = record["accuracy"]
    repeats = [number(each) for each in scores["per_repeat"]] or [None]
    numbers = repeats if None not in repeats else [number(scores["test"])]
    return [each for each in numbers if each is not None]


def _mean_nulls(records: Sequence[ResultRecord]) -> dict[str, dict[str, Any]]:
    """Return mean and spread of the null models that all results of a group have."""
    several = [shown_nulls_of(record) for record in records]
    if len(several) == 1:
        return several[0]
    tests = {name: [nulls[name]["test"] for nulls in several] for name in several[0]
             if all(name in nulls for nulls in several)}  # fmt: skip
    return {name: {"test": mean(each), "std": None if name == CHANCE else spread(each)} for name, each in tests.items()}


def _verdict(records: Sequence[ResultRecord], nulls: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the verdict on results that differ in their seeds, each of them one score; None without null models."""
    if CHANCE not in nulls:
        return None
    own = [Score(record["accuracy"]["test"]) for record in records]
    others = {name: [Score(shown_nulls_of(record)[name]["test"]) for record in records] for name in nulls}
    verdict = shown_verdict({"verdict": verdict_of(own, others, ()), "nulls": nulls})
    assert verdict is not None
    return {**verdict, "text": f"{len(records)} seeds: {verdict['text'] or 'an interval takes three seeds'}"}


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
    keys = dict.fromkeys(key for config in options for key in config)
    for group, config in zip(groups, options, strict=True):
        for key in keys:
            value = config.get(key, _NONE)
            if value != _NONE and (key == DATASET or (key in OPTIONS and key != "gnn")):
                everywhere.setdefault(key, set()).add(value)
            method = "" if key == PEOPLE else text(group[0]["method"])
            within.setdefault((key, config[DATASET], method), set()).add(value)
    apart = {key for (key, *_), values in within.items() if len(values) > 1}
    return [key for key in keys if key in apart or len(everywhere.get(key, ())) > 1]


def _config(record: ResultRecord) -> Mapping[str, Any]:
    config = record.get("config")
    return config if isinstance(config, Mapping) else {}
