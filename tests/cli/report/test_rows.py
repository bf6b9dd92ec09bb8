from __future__ import annotations

import math
from typing import Any

import pytest

from ldpsim.cli.report.rows import UnreadableRecord, people_of, row_of
from ldpsim.strategies.outputs.untrusted import number, text


def test_a_result_becomes_a_row(record: dict[str, Any]) -> None:
    row = row_of(record, "hogs-generated-0")
    assert (row["method"], row["trust"], row["test"]) == ("hogs", "reports", 0.6124)
    assert (row["rounds"], row["bytes"]) == (1, 810)
    assert set(row["levels"]) == {"bit", "relationship", "vector", "user", "central_node"}
    assert row["levels"]["bit"]["value"] == 7.2  # the worse of an adjacency bit and a feature
    assert row["levels"]["user"]["value"] == 21797.6
    assert row["levels"]["central_node"]["status"] == "not asked"
    assert row["seconds"]["total"] == pytest.approx(0.42 + 0.97 + 8.13)  # no reference, no reading of data
    assert row["edges"] == {"precision": 0.81, "recall": 0.79, "kept": 10238.0}
    assert row["degrees"]["from"] == [0, 1, 2, 3, 5, 8]
    people = people_of(record)
    assert (people["name"], people["nodes"], people["digest"]) == ("generated", 3000, "ab" * 32)


def test_each_figure_is_read_from_its_own_field(record: dict[str, Any]) -> None:
    record["accuracy"].update(test=0.11, val=0.12, macro_f1=0.13, std=0.14)
    record["reference"].update(nonprivate_test=0.15)
    record["privacy"]["claimed"]["value"] = 0.16
    record["privacy"]["collections"] = 7
    row = row_of(record, "x")
    assert [row[name] for name in ("test", "val", "macro_f1", "std", "nonprivate")] == [0.11, 0.12, 0.13, 0.14, 0.15]
    assert (row["claimed"]["value"], row["collections"]) == (0.16, 7)


def test_seconds_are_of_one_repeat(record: dict[str, Any]) -> None:
    record["accuracy"]["per_repeat"] = [0.6, 0.61, 0.62, 0.63]
    assert row_of(record, "x")["seconds"]["train"] == pytest.approx(8.13 / 4)


def test_a_record_of_before_degrees_has_none(record: dict[str, Any]) -> None:
    del record["reconstruction"]["degrees"], record["dataset"]["scored_sha256"]
    row = row_of(record, "x")
    assert row["degrees"] is None and row["scored"] == "750/2/None"


@pytest.mark.parametrize(
    "degrees",
    [
        5, {}, {"from": [0, 1], "true": [1, 2], "noisy": None, "reconstructed": [1]},
        {"from": [1, 0], "true": [1, 2], "noisy": None, "reconstructed": [1, 2]},
        {"from": [0, 1], "true": [0, 0], "noisy": None, "reconstructed": [1, 2]},
        {"from": [0, 1], "true": [-1, 2], "noisy": None, "reconstructed": [1, 2]},
        {"from": [0, "1"], "true": [1, 2], "noisy": None, "reconstructed": [1, 2]},
    ],
)  # fmt: skip
def test_degrees_that_make_no_sense_are_left_out(degrees: Any, record: dict[str, Any]) -> None:
    record["reconstruction"]["degrees"] = degrees
    assert row_of(record, "x")["degrees"] is None


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("method", 5, "method is missing or no text"),
        ("method", "", "method is missing or no text"),
        ("accuracy/test", "high", "accuracy.test is missing or no number"),
        ("accuracy/test", math.nan, "accuracy.test is missing or no number"),
        ("accuracy/test", -1, "accuracy.test is missing or no number"),
        ("accuracy/test", True, "accuracy.test is missing or no number"),
        ("accuracy/test", 10**400, "accuracy.test is missing or no number"),
        ("accuracy", None, "accuracy.per_repeat is missing or no list"),
        ("privacy/trust", "everybody", "privacy.trust"),
        ("privacy/holds", {}, "privacy.holds says nothing"),
        ("privacy/holds", [], "privacy.holds says nothing"),
        ("privacy/holds/user", {"status": "fine", "value": 1}, "privacy.holds.user: 'fine' is no status"),
        ("privacy/holds/user/value", "inf", "privacy.holds.user: a bounded level needs a finite value"),
        ("communication", 3, "communication.downlink_bytes_per_device is missing"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(path: str, value: Any, said: str, record: dict[str, Any]) -> None:
    *above, last = path.split("/")
    part = record
    for name in above:
        part = part[name]
    part[last] = value
    with pytest.raises(UnreadableRecord) as caught:
        row_of(record, "x")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_text_is_one_line_without_control_characters() -> None:
    assert text("a\x1b[31m\nb\u202e\t c") == "a [31m b c"
    assert len(text("x" * 10_000)) == 600
    assert number(10**400) is None and number(True) is None and number(2) == 2


def test_bytes_of_a_silo(record: dict[str, Any]) -> None:
    assert row_of(record, "x")["silo"] is None
    record["federated"] = {"per_silo": {"exchange": {"downlink_bytes": 1, "uplink_bytes": 2.5},
                                        "training": {"downlink_bytes": 10, "uplink_bytes": 20}}}  # fmt: skip
    assert row_of(record, "x")["silo"] == 33.5
    for odd in ({"training": 5}, {"training": {"downlink_bytes": "1", "uplink_bytes": 2}}, [1], {}):
        record["federated"] = {"per_silo": odd}
        assert row_of(record, "x")["silo"] is None


def test_null_models_of_a_result(with_nulls: dict[str, Any]) -> None:
    row = row_of(with_nulls, "x")
    assert row["nulls"]["shuffled_adjacency"] == {"test": 0.3311, "std": 0.006}
    assert row["best_null"] == "graph_alone"
    assert row["verdict"]["standing"] == "below" and row["verdict"]["margin"]["low"] == -0.189


def test_a_result_of_an_earlier_version_has_no_null_models(record: dict[str, Any]) -> None:
    for old in (record, {**record, "nulls": None, "verdict": None}):
        row = row_of(old, "x")
        assert (row["nulls"], row["best_null"], row["verdict"]) == ({}, None, None)


@pytest.mark.parametrize("path", ["nulls", "nulls/graph_alone", "nulls/graph_alone/test", "nulls/shuffled", "verdict",
                                  "verdict/margin", "verdict/margin/high", "nulls/shuffled/all"])  # fmt: skip
@pytest.mark.parametrize("value", [[1], "</script>", True, {"x": {}}])
def test_null_models_that_make_no_sense_are_refused(path: str, value: Any, with_nulls: dict[str, Any]) -> None:
    *above, last = path.split("/")
    part = with_nulls
    for name in above:
        part = part[name]
    part[last] = value
    if (path, value) in (("nulls", {"x": {}}), ("nulls/shuffled", {"x": {}})):
        return  # null models of other names are not shown
    with pytest.raises(UnreadableRecord, match="nulls or verdict"):
        row_of(with_nulls, "x")


def test_privacy_in_words(record: dict[str, Any]) -> None:
    record["reconstruction"].update(edge_precision=0.991, edge_recall=0.992)
    assert row_of(record, "x")["in_words"] == (
        "a feature: hidden fairly well; a relationship: not hidden (99.2 % recovered, "
        "precision 99.1 %); all features, a person, a person as others report it: no meaningful "
        "protection; a person's label: in clear"
    )
    record["reconstruction"]["edge_recall"] = "high"
    assert row_of(record, "x")["in_words"] == ""
    del record["reconstruction"]
    assert row_of(record, "x")["in_words"] == ""
