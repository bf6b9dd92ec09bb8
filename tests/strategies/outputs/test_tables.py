"""Results side by side: groups over seeds, sums over collections, a table for a paper, commands, a notebook."""

from __future__ import annotations

import re
import shlex
import unicodedata
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsim.curator.methods import BUILT_IN, find
from ldpsim.curator.privacy.level import Level, OfOne
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies.experiments.cells import Failed
from ldpsim.strategies.experiments.sweep import SweepResult
from ldpsim.strategies.foreign_text import csv_cell, from_csv_cell, number, printable, text
from ldpsim.strategies.outputs.groups import groups_of, table_of
from ldpsim.strategies.outputs.paper import latex_table
from ldpsim.strategies.outputs.result_view import html_of_run, text_of_run
from ldpsim.strategies.outputs.shell import command_of, comparison_of
from ldpsim.strategies.outputs.sums import added, in_all, of_repeats
from ldpsim.strategies.results.levels_of_results import held, worst_guarantee
from ldpsim.strategies.setup.options import RunOptions
from tests.cli.conftest import RECORD, WITH_NULLS


def result(method: str, test: float, seed: int, *, loss: float | None = 7.0, nulls: tuple[float, float] = (0.3, 0.4),
           nodes: int = 60, per_repeat: list[float] | None = None, settings: dict[str, str] | None = None,
           data: str = "cora", **config: Any) -> dict[str, Any]:  # fmt: skip
    holds = {level: Level("not asked").to_dict() for level in LEVELS}
    holds["relationship"] = (Level("unprotected") if loss is None else Level("bounded", loss)).to_dict()
    margin = {"value": test - max(nulls), "low": -1.0, "high": 1.0}
    return {
        **RECORD,
        "method": method,
        "gnn": "gcn",
        "ldpsim_version": "1",
        "seeds": dict.fromkeys(("population", "split", "noise", "training"), seed),
        "simulation_seeded": True,
        "dataset": {**RECORD["dataset"], "name": data, "nodes": nodes, "digest": f"{seed}"},
        "accuracy": {**RECORD["accuracy"], "test": test, "per_repeat": per_repeat or [test]},
        "nulls": {"chance": {"test": nulls[0]}, "graph_alone": {"test": nulls[1], "std": None}},
        "verdict": {"above_chance": True, "above_nulls": False, "margin": margin, "text": "Words.",
                    "ask_nobody": ["chance"], "best_null": "graph_alone",
                    "interval": {"of": "people", "repeats": 1}, "over_chance": None},
        "privacy": {"trust": "none" if loss is None else "untrusted curator", "holds": holds, "collections": 1,
                    "claimed": {"value": 1.0}, "searched": 0},
        "devices": {**RECORD["devices"], "asked": nodes},
        "config": {**RECORD["config"], "seed": seed, "settings": settings or {}, "repeats": len(per_repeat or [0]),
                   **config},
    }  # fmt: skip


def labels(*records: dict[str, Any]) -> list[str]:
    return [f"{group.label}: {group.row['n']}" for group in groups_of(records)]


def test_who_is_trusted_is_a_column_where_they_differ_and_old_results_say_it_too() -> None:
    clear = result("gap", 0.5, 0, loss=1.0)
    clear["privacy"] |= {"trust": "trusted curator", "trusted": "sum"}
    alone, mixed = ([result("hogs", 0.5, 0, loss=1.0)], [result("hogs", 0.5, 0, loss=1.0), clear])
    assert "trusted" not in table_of(groups_of(alone))[0]
    assert [row["trusted"] for row in table_of(groups_of(mixed))] == ["nobody", "sum"]
    for trust, curator, expected in (("trusted curator", None, "server"), ("trusted curator", 0.5, "owner"),
                                     ("none", 0.5, "owner"), ("untrusted curator", None, "nobody")):  # fmt: skip
        old = result("m", 0.5, 0)
        old["privacy"]["trust"], old["accuracy"]["curator"] = trust, curator
        assert groups_of([old])[0].row["trusted"] == expected


def test_figures_by_hand() -> None:
    records = [
        result("hogs", 0.5, 0, nulls=(0.3, 0.4), loss=7.0),
        result("hogs", 0.6, 1, nulls=(0.3, 0.2), loss=9.0),
        result("hogs", 0.7, 2, nulls=(0.3, 0.6), loss=8.0),
    ]
    (group,) = groups_of(records)
    assert (group.method, group.label, group.row["n"]) == ("hogs", "hogs", 3)
    assert (group.mean, group.row["sd"]) == (pytest.approx(0.6), pytest.approx(0.1))
    assert (group.row["chance"], group.row["best_null"]) == (pytest.approx(0.3), "graph_alone")
    assert (group.row["best_null_mean"], group.row["no_reports"]) == (pytest.approx(0.4), "chance")
    assert group.levels["relationship"]["value"] == group.row["holds_relationship"] == 9.0  # the largest one
    assert (group.row["holds_user"], group.row["holds_user_status"]) == (None, "not asked")


def test_a_merged_level_and_the_worst_of_several_results_have_the_largest_epsilon_and_the_largest_delta() -> None:
    """By hand: whoever has (0.5, 0) and (0.4, 0.001) has (0.5, 0.001), and not (0.5, 0)."""
    pure, approximate = Level("bounded", 0.5), Level("bounded", 0.4, 1e-3)
    for one, other in ((pure, approximate), (approximate, pure)):
        holds = {"bit_adjacency": one.to_dict(), "bit_feature": other.to_dict()}
        assert (held(holds, "bit")["value"], held(holds, "bit")["delta"]) == (0.5, 1e-3)
        records = [result("hogs", 0.5, 0), result("hogs", 0.6, 1)]
        for record, level in zip(records, (one, other), strict=True):
            record["privacy"]["holds"]["user"] = level.to_dict()
        (group,) = groups_of(records)
        assert (group.levels["user"]["value"], group.levels["user"]["delta"]) == (0.5, 1e-3)
        same = [
            collection(reports="a", user=one),
            collection(reports="a", user=other),
            collection(reports="b", user=pure),
        ]
        (found,) = in_all(same).values()
        assert (found.holds["user"]["value"], found.holds["user"]["delta"]) == (1.0, 1e-3)
    clear = [
        Level("unprotected", private_value=loss, private_delta=delta).to_dict() for loss, delta in ((1, 1e-3), (2, 0))
    ]
    repeats = [
        Level("bounded", 3 * loss, of_one=OfOne(loss, delta, 3)).to_dict() for loss, delta in ((1, 1e-3), (2, 0))
    ]
    assert worst_guarantee(clear) | {"private_value": 2.0, "private_delta": 1e-3} == worst_guarantee(clear)
    assert worst_guarantee(repeats)["of_one"] == {"value": 2.0, "delta": 1e-3, "of": 3}
    assert worst_guarantee([*clear, Level("unprotected").to_dict(), *repeats])["private_value"] is None


def test_the_margin_over_seeds_is_that_of_the_best_null_with_a_corrected_upper_end() -> None:
    """Differences to the graph alone .1, .4, .1; to chance .2, .3, .4: the interval holds those of both."""
    records = [
        result("hogs", 0.5, 0),
        result("hogs", 0.6, 1, nulls=(0.3, 0.2)),
        result("hogs", 0.7, 2, nulls=(0.3, 0.6)),
    ]
    (group,) = groups_of(records)
    margin = group.verdict["margin"]
    assert margin["value"] == pytest.approx(0.2) and margin["low"] == pytest.approx(0.2 - 4.302653 * 0.1)
    assert margin["high"] > 0.3 + 4.302653 * 0.1 / 3**0.5  # the narrower one, widened: two null models
    assert group.verdict["standing"] == "even" and group.verdict["text"].startswith(
        "3 seeds: asking gains +20.0 points over graph alone"
    )
    two = groups_of(records[:2])[0].verdict
    assert two is not None and two["margin"] is None and "an interval takes three seeds" in two["text"]


def test_repeats_of_a_run_count_as_scores() -> None:
    (group,) = groups_of([result("hogs", 0.55, 0, per_repeat=[0.5, 0.6])])
    assert (group.row["n"], group.row["sd"]) == (2, pytest.approx(0.0707107))


def test_groups_are_told_apart_by_options_and_never_by_seeds() -> None:
    assert labels(result("hogs", 0.5, 0, epsilon=4.0), result("hogs", 0.6, 1, epsilon=4.0)) == ["hogs: 2"]
    budgets = [result("hogs", 0.5, seed, epsilon=epsilon) for seed in (0, 1) for epsilon in (10.0, 2.0)]
    assert labels(*budgets) == ["hogs, ε 2: 2", "hogs, ε 10: 2"]
    assert labels(result("hogs", 0.5, 0, settings={"tau": "0.5"}), result("hogs", 0.5, 0, settings={"tau": "0.9"}),
                  result("raw", 0.5, 0)) == ["hogs, tau 0.5: 1", "hogs, tau 0.9: 1", "raw: 1"]  # fmt: skip
    two = groups_of([result("hogs", 0.5, 0), result("hogs", 0.5, 0, data="citeseer", nodes=90)])
    assert [group.data for group in two] == [("cora", 60), ("citeseer", 90)] and two[0].label != two[1].label


def test_a_copy_is_no_repeat_and_a_budget_changes_nothing_where_nothing_is_protected() -> None:
    one = result("hogs", 0.5, 0)
    assert labels(one, dict(one)) == ["hogs: 1"]
    assert labels(result("raw", 0.5, 0, loss=None, epsilon=1.0), result("raw", 0.5, 0, loss=None, epsilon=2.0)) == [
        "raw: 1"
    ]
    real = {**one, "simulation_seeded": False}
    assert labels(real, {**real, "seconds": {"total": 2.0}}) == ["hogs: 2"]  # two collections may agree by chance


@pytest.mark.parametrize("value", ["a\nb", "\x1b[31m", "x" * 10_000, None, 3])
def test_foreign_text_is_one_short_line_that_prints(value: object) -> None:
    line = text(value)
    assert "\n" not in line and "\x1b" not in line and len(line) <= 600


def test_only_a_finite_number_is_one() -> None:
    assert [number(value) for value in (1, 0.5, True, "1", None, float("inf"), 10**400)] == [1.0, 0.5] + [None] * 5


METHODS = (("hogs", 1.0), ("raw", None))
BUDGETS = [result(method, 0.5 + epsilon / 100, seed, loss=loss and loss * epsilon, epsilon=epsilon)
           for method, loss in METHODS for epsilon in (2.0, 8.0) for seed in range(3)]  # fmt: skip


def test_a_table_by_hand() -> None:
    rows = [line for line in latex_table(groups_of(BUDGETS), command="ldpsim report x", version="1").splitlines()
            if line.endswith(r"\\")]  # fmt: skip
    assert rows[0].startswith(
        r"method & $\varepsilon$ & trusted & n & accuracy & simpler & no noise & device (alone) & epsilon claimed"
    )
    assert [row.split(" & ")[:5] for row in rows[1:]] == [
        ["hogs", "2", "nobody", "3", r"52.0 $\pm$ 0.0"],
        ["hogs", "8", "nobody", "3", r"58.0 $\pm$ 0.0"],
        ["raw", "--", "owner", "6", r"55.0 $\pm$ 3.3"],
    ]
    assert " & 1 & 2 & not asked & " in rows[1] and " & in clear & " in rows[3]


def test_a_table_of_several_data_sets_has_a_column_for_them() -> None:
    def rows(*records: dict[str, Any]) -> list[list[str]]:
        table = latex_table(groups_of(records), command="x", version="1")
        return [line.split(" & ")[:3] for line in table.splitlines() if line.endswith(r"\\")]

    one, other = result("hogs", 0.5, 0), result("hogs", 0.6, 0, data="citeseer", nodes=90)
    assert rows(one, other) == [
        ["method", "data set", "accuracy"],
        ["hogs", "cora", "50.0"],
        ["hogs", "citeseer", "60.0"],
    ]
    budgets = [
        result("hogs", 0.5, 0, epsilon=epsilon, data=data) for data in ("cora", "pubmed") for epsilon in (2.0, 8.0)
    ]
    assert rows(*budgets)[0] == ["method", "data set", r"$\varepsilon$"]
    assert rows(*budgets)[1:] == [["hogs", data, f"{epsilon}"] for data in ("cora", "pubmed") for epsilon in (2, 8)]
    sizes = [result("hogs", 0.5, 0, nodes=nodes) for nodes in (60, 90)]
    assert [row[:2] for row in rows(*sizes)[1:]] == [["hogs", "cora, 60 people"], ["hogs", "cora, 90 people"]]
    assert rows(one)[0][1] == "accuracy"


@pytest.mark.parametrize("sign", ["\\", "&", "%", "$", "#", "_", "{", "}", "~", "^", "[", "*"])
def test_no_sign_of_a_name_is_one_of_latex(sign: str) -> None:
    (group,) = groups_of([result(f"{sign}b", 0.5, 0)])
    table = latex_table([group], command=f"x{sign}\n\\input{{y}}", version="1")
    assert len(re.findall(r"(?<!\\)\\\\$", table, re.MULTILINE)) == 2
    assert all(line.startswith(("%", "\\", "{")) or " & " in line for line in table.splitlines())
    assert not re.search(r"^[\[*]", table, re.MULTILINE)


def collection(method: str = "hogs", reports: str = "a", *, collections: int = 1, people: str = "mine.npz",
           digest: str = "d", seeded: bool = False, asked: int = 60, trust: str = "untrusted curator",
           noise: int | None = None, **holds: Level) -> dict[str, Any]:  # fmt: skip
    return {
        "method": method,
        "dataset": {"name": people, "digest": digest},
        "devices": {"asked": asked, "reports_sha256": reports},
        "simulation_seeded": seeded,
        "seeds": {"noise": noise},
        "privacy": {"trust": trust, "collections": collections,
                    "holds": {name: holds.get(name, Level("not asked")).to_dict() for name in LEVELS}},
    }  # fmt: skip


def test_losses_and_deltas_add_and_what_is_in_clear_once_stays_so() -> None:
    bounded, asked = Level("bounded", 0.1, 1e-6).to_dict(), Level("not asked").to_dict()
    rest = Level("unprotected", private_value=2.0, private_delta=1e-6, public=("features",)).to_dict()
    clear = Level("unprotected").to_dict()
    found = added([{"a": bounded, "b": bounded, "c": bounded, "d": asked, "e": clear},
                   {"a": bounded, "b": rest, "c": clear, "d": asked, "e": clear},
                   {"a": bounded, "b": asked, "c": bounded, "d": asked, "e": clear}])  # fmt: skip
    assert (found["a"]["value"], found["a"]["delta"], found["a"]["kind"]) == (0.3, pytest.approx(3e-6), "bound")
    assert (found["b"]["status"], found["b"]["value"], found["b"]["private_value"]) == ("unprotected", None, 2.1)
    assert [found[name]["status"] for name in "cde"] == ["unprotected", "not asked", "unprotected"]
    assert found["c"]["private_value"] is None


def test_collections_that_were_really_made_add_over_methods_and_repeats() -> None:
    one, more = Level("bounded", 2.0), Level("bounded", 6.0, of_one=OfOne(2.0, 0.0, 3))
    records = [
        collection(user=one),
        collection("sbp", "a", user=Level("bounded", 2.5)),  # reads the reports of the first one: they count once
        collection("rgnn", "b", collections=3, user=more),
        collection("privgnn", "", asked=0, trust="trusted curator", seeded=True, central_node=one),
        collection("gap", "", asked=0, trust="trusted curator", seeded=True, central_node=one),
        collection("raw", "", asked=0, trust="none", seeded=True, user=Level("unprotected")),  # asks nobody
        collection("hogs", "c", seeded=True, noise=1, user=Level("unprotected")),  # a simulation
        collection("gap", "", asked=0, trust="trusted curator", seeded=True, noise=1, central_node=one),
        collection("hogs", "d", people="others.npz", user=one),
    ]
    (found,) = in_all(records).values()
    assert (found.people, found.collections, found.holds["user"]["value"]) == ("mine.npz", 6, 8.5)
    assert found.holds["central_node"]["value"] == 4.0
    assert found.text == ("6 collections asked the same people (mine.npz), and losses add: a person 8.5, "
                          "a person in owned data 4.")  # fmt: skip


def test_parts_of_one_data_set_may_share_people_and_made_up_people_have_a_seed() -> None:
    level = Level("bounded", 1.0)
    parts = [collection(reports=name, digest=name, user=level) for name in "ab"]
    assert [found.collections for found in in_all(parts).values()] == [2]
    assert not in_all([{**each, "dataset": {**each["dataset"], "name": "generated"}} for each in parts])


@pytest.mark.parametrize("seeded", [False, True])
def test_the_sum_over_the_repeats_of_a_run(seeded: bool) -> None:
    level = Level("bounded", 6.0, of_one=OfOne(2.0, 0.0, 3))
    found = of_repeats(collection(collections=3, seeded=seeded, user=level, label=Level("unprotected")))
    assert found is not None and found.text == (
        "If 3 collections asked the same people, losses would add: a person 6; in clear: a person's label."
        if seeded else
        "3 collections asked the same people (mine.npz), and losses add: a person 6; in clear: a person's label."
    )  # fmt: skip
    assert of_repeats(collection(user=Level("bounded", 2.0))) is None


@pytest.fixture
def record() -> dict[str, Any]:
    return {"method": "hogs", "dataset": {"name": "generated"}}


def test_a_plain_run_says_only_what_it_is(record: dict[str, Any]) -> None:
    record["config"] = {name: value for name, value in asdict(RunOptions()).items() if name != "data_dir"}
    assert command_of(record) == "ldpsim run --method hogs --dataset generated"


def test_every_option_that_matters_is_said_and_reads_back(record: dict[str, Any]) -> None:
    options = RunOptions(
        method="hogs", dataset="cora", clients=500, epsilon=4.5, feature_share=0.2, private_labels=True, eps_labels=1.0,
        reporting="one-end", gnn="gat", settings={"tau": "0.7"}, seed=3, seeds={"noise": None, "split": 9}, repeats=5,
        repeats_vary="noise", dropout=0.1, on_requery="replay", caps={"bit": 4.0}, out=Path("elsewhere"),
        data_dir=Path("/data"), workers=3,
    )  # fmt: skip
    record["config"] = {**asdict(options), "out": "elsewhere", "data_dir": "/data"}
    command = command_of(record)
    assert command == (
        "ldpsim run --method hogs --dataset cora --clients 500 --epsilon 4.5 --eps-labels 1 --feature-share 0.2 "
        "--private-labels --reporting one-end --gnn gat --set tau=0.7 --seed 3 --noise-seed os --split-seed 9 "
        "--repeats 5 --repeats-vary noise --dropout 0.1 --on-requery replay --cap bit=4"
    )


@pytest.mark.parametrize("config", [None, 5, [], {"settings": 3, "seeds": [1], "caps": "x"}, {"dataset": 5}])
def test_a_configuration_that_is_none_gives_a_command_still(config: Any, record: dict[str, Any]) -> None:
    record["config"] = config
    assert command_of(record).startswith("ldpsim run --method hogs --dataset generated")


def test_nothing_in_a_record_becomes_another_command(record: dict[str, Any]) -> None:
    record["method"] = "hogs; rm -rf ~ #"
    record["config"] = {"dataset": "$(reboot)\nreboot", "settings": {"`x`": "'; y"}, "gnn": "\x1b]0;z\x07"}
    command = command_of(record)
    assert "\n" not in command and "\x1b" not in command
    assert shlex.split(command) == [
        "ldpsim", "run", "--method", "hogs; rm -rf ~ #", "--dataset", "$(reboot) reboot", "--gnn", "]0;z", "--set",
        "`x`='; y",
    ]  # fmt: skip


@pytest.mark.parametrize("method", sorted(BUILT_IN))
def test_every_method_has_a_comparison_with_its_own_kind(method: str) -> None:
    words = shlex.split(comparison_of(RunOptions(method=method, tuned=True)))  # few of the others have stored settings
    assert words[:3] == ["ldpsim", "compare", method] and len(set(words)) == len(words) and "--tuned" not in words
    compared = words[3:]
    assert compared and all(find(name).spec.name == name for name in compared)
    assert (
        any(find(name).spec.trained_by == find(method).spec.trained_by for name in compared)
        or find(method).spec.trained_by in ("alone", "friends")  # one method each
    )


HOSTILE = "<script>alert(1)</script>"


def test_a_run_shows_accuracy_beside_simpler_models_the_epsilon_that_holds_and_the_cost() -> None:
    record: dict[str, Any] = {**RECORD, **{name: WITH_NULLS[name] for name in ("nulls", "verdict", "reference")}}
    shown = text_of_run(record, Path("runs/a"))
    assert len(shown.splitlines()) <= 20
    for words in ("hogs                        61.2 %", "no reports                  30.2 %  shuffled records",
                  "Asking gains -17.6 points over graph alone (95 % CI -18.9 to -16.2): no.",
                  "Claimed: epsilon-LDP", "400 B down, 410 B up a device, 1 round", "runs/a/result.json",
                  "a feature                 0.8  69 %",
                  "14.4  >99.9 %  both report it; 79.0 % were rebuilt"):  # fmt: skip
        assert words in shown, words
    assert "best simpler model         not run" in text_of_run(RECORD, None)


def test_foreign_words_are_text_and_a_sweep_has_a_row_a_group() -> None:
    record = {**RECORD, "method": HOSTILE, "dataset": {**RECORD["dataset"], "name": HOSTILE}}
    asked = {**record, "simulation_seeded": False}
    swept = SweepResult([], Path(HOSTILE), 0, [asked, {**asked, "config_hash": "b"}], [(HOSTILE, Failed(HOSTILE))])
    for shown in (html_of_run(record, Path(HOSTILE)), swept._repr_html_()):
        assert HOSTILE not in shown and len(shown) < 10_000
    assert "61.2" in shown and "21,79" in shown


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-x", "＝1"]


@given(st.text())
def test_a_printable_text_has_no_sign_that_does_something(text: str) -> None:
    shown = printable(text)
    assert all(sign in "\n\t\x7f" or unicodedata.category(sign) not in ("Cc", "Cs", "Zl", "Zp") for sign in shown)
    shown.encode()
    if text.isprintable():
        assert shown == text


@given(st.text() | st.sampled_from(FORMULAS))
def test_a_cell_is_no_formula_and_comes_back(text: str) -> None:
    assert from_csv_cell(csv_cell(text)) == text
    if csv_cell(text)[:1] in ("=", "+", "-", "@", "\t", "\r"):
        float(csv_cell(text))
