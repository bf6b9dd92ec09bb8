"""Groups of results that differ in their seeds alone: mean, spread, interval, null models and losses of each.

Results of one configuration that differ in their seeds alone are repeats of it. Pages, tables of a sweep and
tables for a paper group results by this rule. Figures of a group are means over all its repeats, and the spread is
their sample standard deviation. A loss that holds is the largest one, since a bound may not look smaller than it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldpsim.strategies.outputs.sums import AskedInAll, in_all, key_of_people, really_asked
from ldpsim.strategies.outputs.untrusted import number, text
from ldpsim.strategies.results.averages import Interval, mean, mean_interval, spread
from ldpsim.strategies.results.levels import compared_levels, compared_loss, held
from ldpsim.strategies.results.shown_nulls import CHANCE, best_null, shown_nulls_of
from ldpsim.strategies.setup.option_spec import BUDGET, declared
from ldpsim.strategies.setup.options import RunOptions

_DATA = ("dataset", "clients")  # the data set of a result tells them
_SEEDS = ("seed", "seeds")
# Personal options distinguish no results. Every result names its method already.
OPTIONS = {
    name: spec
    for name, spec in declared(RunOptions).items()
    if not spec.personal and name not in ("method", *_DATA, *_SEEDS)
}
BUDGETS = tuple(name for name, spec in OPTIONS.items() if spec.panel == BUDGET and spec.types == (float,))
DATASET, PEOPLE = "dataset", "people"  # in the options of a group, where groups differ in their data
VERSION = "version"  # there too, where versions of ldpsim made them
_NONE = "None"
_WORST = ("unprotected", "bounded", "not asked")

GroupKey = tuple[Any, ...]
ResultRecord = Mapping[str, Any]


def options_of(record: ResultRecord) -> dict[str, str]:
    """Return the options of a result that tell configurations of one method on one data set apart."""
    given = _config(record)
    found: dict[str, str] = {}
    for name, spec in OPTIONS.items():
        if spec.is_table:
            entries = given.get(name)
            found |= {str(key): text(entry) for key, entry in entries.items()} if isinstance(entries, Mapping) else {}
        elif name in given:
            found[name] = _said(given[name])
    found["gnn"] = text(record.get("gnn", ""))
    found[VERSION] = text(record.get("ldpsim_version", ""))
    return found


def group_key(record: ResultRecord, *, without: Iterable[str] = ()) -> GroupKey:
    """Return the method and the options of a result as a key, seeds and data set left out.

    Args:
        record: Content of a result.json.
        without: More options to leave out.
    """
    options = options_of(record)
    return (text(record.get("method")), *sorted((key, options[key]) for key in options.keys() - set(without)))


def run_key(record: ResultRecord, *, without: Iterable[str] = ()) -> GroupKey:
    """Return a key of one simulation: its configuration (:func:`group_key`) and its seeds."""
    seeds = json.dumps(record.get("seeds"), sort_keys=True)[:1000]
    return (*group_key(record, without=without), text(_config(record).get("seed")), seeds)


def budget_figures(record: ResultRecord) -> tuple[float, ...]:
    """Return the budgets of a result as figures to sort by; one that is not given counts as 0."""
    given = _config(record)
    return tuple(number(given.get(name)) or 0.0 for name in BUDGETS)


def words_of(options: Mapping[str, str], keys: Iterable[str]) -> list[str]:
    """Return some options of a result as short words of a label; an option that is not given has none.

    >>> words_of({"epsilon": "4", "split": "None", "people": "300"}, ["epsilon", "split", "people"])
    ['ε 4', '300 people']
    """
    said = []
    for key in keys:
        value = options.get(key, _NONE)
        if key in (DATASET, PEOPLE):
            said.append(value if key == DATASET else f"{value} people")
        elif value != _NONE:
            said.append(f"{option_word(key)} {value}")
    return said


def option_word(name: str) -> str:
    """Return the short word for an option or a setting."""
    spec = OPTIONS.get(name)
    return spec.label if spec and spec.label else name.replace("_", " ")


def places_of_groups(records: Sequence[ResultRecord]) -> list[list[int]]:
    """Return the places of the results of each group, sorted by seed; groups stand in the order of their first results.

    A budget changes nothing where nothing is protected: results that differ in it alone are one simulation there.
    """
    groups: dict[GroupKey, dict[GroupKey, int]] = {}
    for place, record in enumerate(records):
        is_open = record["privacy"]["trust"] == "none"
        without = BUDGETS if is_open else ()
        same = groups.setdefault((*data_of(record), group_key(record, without=without)), {})
        simulation = (run_key(record, without=without), record["dataset"]["digest"], record["accuracy"]["test"])
        same.setdefault(simulation if is_open and record.get("simulation_seeded") is True else (place,), place)
    return [sorted(group.values(), key=lambda place: number(_config(records[place]).get("seed")) or 0.0)
            for group in groups.values()]  # fmt: skip


def data_of(record: ResultRecord) -> tuple[str, int]:
    """Return name and size of a result's data set; the people themselves may differ."""
    return text(record["dataset"]["name"]), int(record["dataset"]["nodes"])


def mean_nulls(several: Sequence[Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, float | None]]:
    """Return mean and spread of the null models that all results of a group have.

    Args:
        several: The null models of each result (:func:`ldpsim.strategies.results.shown_nulls.shown_nulls_of`).
    """
    found: dict[str, dict[str, float | None]] = {}
    for name in several[0]:
        if all(name in nulls for nulls in several):
            tests = [nulls[name]["test"] for nulls in several]
            found[name] = {"test": mean(tests), "std": None if name == CHANCE else spread(tests)}
    return found


def worst_guarantee(entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the worst of several guarantees at one level: unprotected, then the largest loss of one collection."""
    return min(entries, key=lambda entry: (_WORST.index(entry["status"]), -_loss_of(entry)))


def _loss_of(entry: Mapping[str, Any]) -> float:
    return compared_loss(entry) if entry["status"] == "bounded" else 0.0


@dataclass(frozen=True)
class SeedGroup:
    """Figures of the results of one configuration. Scores are shares: 0.5 is 50 %.

    Args:
        method: Name of the method.
        data: Name and number of people of the data set.
        options: The options in which the groups differ, as text; the same keys in each group.
        label: Method and options in words.
        n: Number of scores: one for each repeat of each result.
        mean: Their mean; None without any.
        sd: Their sample standard deviation; None for fewer than two.
        interval: 95 % interval of the mean over the scores by Student's t; None for fewer than three.
        chance: Mean of always guessing the largest class; None where null models were not taken.
        best_null: Name of the null model that is best in the mean, chance among them; None without null models.
        null: Its mean.
        levels: Status and loss of one collection at each compared level: the worst over the group.
        collections: Number of collections of the same people, of all groups together where people are really asked.
        together: Status and loss over all of these at each compared level.
    """

    method: str
    data: tuple[str, int]
    options: Mapping[str, str]
    label: str
    n: int
    mean: float | None
    sd: float | None
    interval: Interval | None
    chance: float | None
    best_null: str | None
    null: float | None
    levels: Mapping[str, tuple[str, float | None]]
    collections: int
    together: Mapping[str, tuple[str, float | None]]


def seed_groups(records: Sequence[ResultRecord]) -> list[SeedGroup]:
    """Return the groups of results, sorted by data set and method as these come first, and by budgets.

    Args:
        records: Contents of result.json files of the schema of today.
    """
    groups = [[records[place] for place in places] for places in places_of_groups(records)]
    data = list(dict.fromkeys(data_of(group[0]) for group in groups))
    methods = list(dict.fromkeys(text(group[0]["method"]) for group in groups))
    groups.sort(key=lambda group: (data.index(data_of(group[0])), methods.index(text(group[0]["method"])),
                                   budget_figures(group[0])))  # fmt: skip
    keys, sums = _apart(groups), in_all(records)
    return [_group(group, keys, sums) for group in groups]


def _group(records: Sequence[ResultRecord], keys: Sequence[str], sums: Mapping[str, AskedInAll]) -> SeedGroup:
    first = records[0]
    spent = sums.get(key_of_people(first)) if really_asked(first) else None
    scores = [score for record in records for score in _scores(record)]
    nulls = mean_nulls([shown_nulls_of(record) for record in records])
    best = best_null(nulls)
    levels = {name: worst_guarantee([held(record["privacy"]["holds"], name) for record in records])
              for name in compared_levels()}  # fmt: skip
    given = _all_options(first)
    options = {key: "" if given.get(key, _NONE) == _NONE else given[key] for key in keys}
    method = text(first["method"])
    return SeedGroup(
        method, data_of(first), options, text(" ".join([method, *words_of(given, keys)])),
        len(scores), mean(scores), spread(scores), mean_interval(scores), nulls.get(CHANCE, {}).get("test"),
        best, nulls[best]["test"] if best else None,
        {name: (entry["status"], _loss_of(entry) if entry["status"] == "bounded" else None)
         for name, entry in levels.items()},
        max(record["privacy"]["collections"] for record in records) if spent is None else spent.collections,
        {name: (entry["status"], entry["value"]) for name, entry in (levels if spent is None else spent.holds).items()},
    )  # fmt: skip


def _scores(record: ResultRecord) -> list[float]:
    """Return the score of each repeat."""
    scores = record["accuracy"]
    repeats = [number(each) for each in scores["per_repeat"]] or [None]
    found = repeats if None not in repeats else [number(scores["test"])]
    return [each for each in found if each is not None]


def _all_options(record: ResultRecord) -> dict[str, str]:
    name, people = data_of(record)
    found = {DATASET: name, PEOPLE: str(people), **options_of(record)}
    if record["privacy"]["trust"] == "none":
        found |= dict.fromkeys(BUDGETS, _NONE)  # a budget changes nothing there
    return found


def _apart(groups: Sequence[Sequence[ResultRecord]]) -> list[str]:
    """Return the options in which groups differ.

    A method that has no value of an option does not differ by that. Settings and the network have defaults of
    each method, and sizes are those of a data set: they are compared within one method, and one data set.
    """
    everywhere, within = dict[str, set[str]](), dict[tuple[str, GroupKey], set[str]]()
    keys = dict.fromkeys(key for group in groups for key in _all_options(group[0]))
    for group in groups:
        given, method = _all_options(group[0]), text(group[0]["method"])
        for key in keys:
            value = given.get(key, _NONE)
            if key == DATASET or (key in OPTIONS and key != "gnn"):
                if value != _NONE:
                    everywhere.setdefault(key, set()).add(value)
            of = () if key == PEOPLE else (method,)
            within.setdefault((key, (given[DATASET], *of)), set()).add(value)
    apart = {key for (key, _), values in within.items() if len(values) > 1}
    return [key for key in keys if key in apart or len(everywhere.get(key, ())) > 1]


def _config(record: ResultRecord) -> Mapping[str, Any]:
    config = record.get("config")
    return config if isinstance(config, Mapping) else {}


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else text(value)
