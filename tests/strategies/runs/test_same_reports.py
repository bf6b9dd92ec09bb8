from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from strategies.results.paired import read_scores
from strategies.runs import same_reports
from strategies.runs.same_reports import collection_name
from strategies.runs.set_up import set_up
from strategies.runs.simulate import simulate
from strategies.setup.options import RunOptions

OPTIONS = RunOptions(
    method="rr", clients=60, reference=False, device="cpu", settings={"epochs": "3"}, repeats=2,
    dropout=0.1, out=None,
)  # fmt: skip


def name_of(**changes: Any) -> str:
    return collection_name(set_up(replace(OPTIONS, **changes)))


def test_methods_with_one_question_have_one_collection_whatever_they_make_of_it() -> None:
    assert (
        name_of()
        == name_of(method="hogs", public_features=True)
        == name_of(method="lp-and", settings={})
        == name_of(tuned=False, gnn="sage")
    )


@pytest.mark.parametrize(
    "changes",
    [{"method": "blink"}, {"epsilon": 3.0}, {"reporting": "one-end"}, {"seed": 1}, {"dropout": 0.2}, {"clients": 61},
     {"repeats": 1}, {"repeats_vary": "split"}, {"seeds": {"noise": 5}}, {"caps": {"bit": 90.0}},
     {"private_labels": True, "eps_labels": 1.0}, {"on_requery": "replay"}],
    ids=str,
)  # fmt: skip
def test_another_question_other_people_or_other_noise_is_another_collection(changes: dict[str, Any]) -> None:
    assert name_of(**changes) != name_of()


def test_who_is_asked_for_a_label_is_part_of_the_question() -> None:
    asked: dict[str, Any] = {"private_labels": True, "eps_labels": 1.0, "repeats": 1, "dropout": 0.0}
    assert name_of(**asked) != name_of(**asked, seeds={"split": 3})
    asked |= {"private_labels": False, "eps_labels": None}
    assert name_of(**asked) == name_of(**asked, seeds={"split": 3})  # edges are asked of everybody


@pytest.mark.parametrize(
    ("method", "why"),
    [("raw", "asks for no report"), ("b1", "asks for no report"), ("fedavg-mlp", "asks for no report"),
     ("ldpgen", "asks in stages")],
)  # fmt: skip
def test_a_method_without_a_question_of_one_stage_is_named(method: str, why: str) -> None:
    options = replace(OPTIONS, method=method, settings={}, dropout=0.0, public_features=False)
    with pytest.raises(ValueError, match=f"{method} {why}"):
        collection_name(set_up(options))


def test_several_methods_read_one_collection_and_their_results_are_those_of_devices_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    ask = same_reports.gather_reports
    monkeypatch.setattr(same_reports, "gather_reports", lambda scene: asked.append(scene.number) or ask(scene))
    for method in ("rr", "lp-and"):
        settings = {"epochs": "3"} if method == "rr" else {}
        options = replace(OPTIONS, method=method, settings=settings, out=tmp_path / "out")
        found = simulate(options, collections=tmp_path / "collections")
        alone = simulate(replace(options, out=None)).record
        assert found.folder is not None and not (found.folder / "state").exists()
        for part in ("config_hash", "devices", "accuracy", "nulls", "verdict", "privacy", "reconstruction"):
            assert found.record[part] == alone[part], part
        assert found.record["communication"] == alone["communication"]
        assert found.record["devices"]["reported"] == 54 and found.record["devices"]["silent"] == 6
        scores = read_scores(found.folder)
        assert scores is not None and [score.test for score in scores.scores] == alone["accuracy"]["per_repeat"]
    assert asked == [0, 1]  # each repeat once, for both methods
    (place,) = (tmp_path / "collections").iterdir()
    assert sorted(path.name for path in place.iterdir()) == ["reports", "reports-1", "state", "state-1"]


def test_a_stopped_collection_is_continued_by_another_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = replace(OPTIONS, repeats=1, nulls=False)
    keep = same_reports.write_reports

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(same_reports, "write_reports", stop)
    with pytest.raises(KeyboardInterrupt):
        simulate(options, collections=tmp_path)
    (place,) = tmp_path.iterdir()
    assert list(json.loads((place / "state" / "collection.json").read_text())) == [place.name]
    monkeypatch.setattr(same_reports, "write_reports", keep)
    record = simulate(replace(options, method="lp-and", settings={}), collections=tmp_path).record
    assert (record["devices"]["replayed"], record["devices"]["reported"]) == (54, 0)  # the stored bytes again
    assert not (place / "state" / "collection.json").exists()
    shutil.rmtree(place)
    fresh = simulate(options, collections=tmp_path).record
    assert fresh["devices"]["reports_sha256"] == record["devices"]["reports_sha256"]
