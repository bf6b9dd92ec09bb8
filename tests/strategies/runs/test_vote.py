"""Runs of `vote`: everybody once, the same bytes on every engine, no test label and no own label used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import Question, Vote
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import State
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.engines.collect import Connection
from ldpsim.strategies.people.shuffled import shuffled
from ldpsim.strategies.results.in_words import privacy_in_words
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.runs.repeat import public_knowledge

PEOPLE = 120
SETTINGS: dict[str, dict[str, Any]] = {
    "public features": {"public_features": True},
    "no features": {"settings": {"batches": "1"}},
    "batches": {"public_features": True, "settings": {"batches": "3"}},
    "no features, batches": {"settings": {"batches": "2"}},
    "private labels": {"public_features": True, "private_labels": True, "eps_labels": 3.0},
    "private labels, no features": {"private_labels": True, "eps_labels": 3.0, "settings": {"batches": "2"}},
    "one end": {"public_features": True, "reporting": "one-end"},
    "two candidates": {"public_features": True, "settings": {"candidates": "2"}},
    "volunteers": {"volunteers": 0.2},
    "volunteers, private labels": {"volunteers": 0.2, "private_labels": True},
    "volunteers, one batch, one end": {"volunteers": 0.2, "settings": {"batches": "1"}, "reporting": "one-end"},
}


def _options(**given: Any) -> RunOptions:
    plain: dict[str, Any] = {"method": "vote", "clients": PEOPLE, "epsilon": 4.0, "engine": "local", "out": None}
    plain |= {"reference": False, "nulls": False}
    return RunOptions(**{**plain, **given})


@pytest.mark.usefixtures("short_perceptron")
@pytest.mark.parametrize("setting", SETTINGS)
def test_everybody_is_asked_once_and_what_holds_is_what_the_ledgers_say(setting: str, tmp_path: Path) -> None:
    options = _options(out=tmp_path, **SETTINGS[setting])
    result = simulate(options)
    record, folder = result.record, result.folder
    counts = record["devices"]
    assert (counts["asked"], counts["reported"], counts["silent"]) == (PEOPLE, PEOPLE, 0)
    state = State(folder / "state")
    labelled = 0
    volunteers = state.policy.volunteers or frozenset()
    assert len(volunteers) == (24 if options.volunteers else 0)
    for device in range(PEOPLE):
        parts = [part.attribute for row in state.ledger(device).answers(device) for part in row.parts]
        given = ["features", "label"] if options.volunteers and device in volunteers else []
        if options.volunteers and options.private_labels and not given:
            told = len(parts) == 1  # the label stands in place of a vote; a calibration is about list and label
            given = ["label"] if told else ["adjacency", "label" if "label" in parts else "features"]
        assert sorted(parts) == given if given else parts.count("adjacency") == 1
        labelled += parts.count("label")
    assert labelled == (90 if options.private_labels else len(volunteers))
    holds, life = record["privacy"]["holds"], record["privacy"]["lifetime_per_device"]
    assert holds["bit_adjacency"]["value"] == life["bit_adjacency"]["max"] == pytest.approx(4.0)
    if options.volunteers:
        assert holds["vector"]["value"] == holds["bit_feature"]["value"] == pytest.approx(4.0)
        assert "what volunteers give in clear is not counted" in holds["user"]["detail"]
        assert holds["label"]["value"] == (pytest.approx(4.0) if options.private_labels else None)
        assert state.policy.user_cap == holds["user"]["value"]
        said = [found.text for found in privacy_in_words(record)]
        assert "label and features of volunteers: in clear (they report nothing else)" in said
    both = options.reporting == "both"
    assert holds["relationship"]["value"] == pytest.approx(8.0 if both else 4.0)
    if not options.public_features:
        total = 7.0 if options.private_labels and not options.volunteers else 4.0
        assert holds["user"]["value"] == pytest.approx(total)
        assert options.volunteers or life["user"]["max"] == pytest.approx(total)
        assert record["privacy"]["claimed"]["value"] == pytest.approx(total)
        assert holds["node"]["value"] <= 4.0 * PEOPLE + 3.0 + 1e-6
    assert 0 <= record["accuracy"]["test"] <= 1


@pytest.mark.usefixtures("short_perceptron")
@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize(
    ("setting", "rounds"), [("batches", 3), ("private labels, no features", 3), ("volunteers, one batch, one end", 2)]
)
def test_reports_and_predictions_are_the_same_on_local_and_ray(setting: str, rounds: int) -> None:
    seen = [simulate(_options(engine=engine, workers=2, **SETTINGS[setting])).record for engine in ("local", "ray")]
    assert seen[0]["devices"]["reports_sha256"] == seen[1]["devices"]["reports_sha256"]
    assert seen[0]["accuracy"] == seen[1]["accuracy"]
    assert seen[0]["communication"]["rounds"] == seen[1]["communication"]["rounds"] == rounds


@pytest.mark.usefixtures("short_perceptron")
@pytest.mark.parametrize("given", [{"public_features": True}, SETTINGS["volunteers, private labels"]])
def test_scrambled_test_labels_change_no_byte(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]) -> None:
    """Neither a question nor a report nor a prediction depends on the label of a test person."""
    options = _options(**given, settings={"batches": "2"})
    people = generate(PEOPLE, seed=0)
    test = make_split("random", people, options.seeds_of(0).split, volunteers=options.volunteers).test
    labels = people.labels.copy()
    labels[test] = (labels[test] + 1) % people.facts.classes
    seen = [_whole(options, each, monkeypatch) for each in (people, replace(people, labels=labels))]
    assert seen[0] == seen[1]


def _whole(options: RunOptions, people: Population, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """Return the questions, the digest of the reports and the predictions of a run on these people."""
    sent: list[bytes] = []
    predicted: list[list[int]] = []
    train, asking = Vote.train, Connection.ask

    def ask(self: Connection, questions: Sequence[Question], **given: Any) -> Collected:
        sent.extend(question.query.fingerprint(name) for question in questions for name in question.query.attributes)
        return asking(self, questions, **given)

    def note(self: Vote, *args: Any, **named: Any) -> Any:
        trained = train(self, *args, **named)
        predicted.append(trained.predictions.tolist())
        return trained

    with monkeypatch.context() as patched:
        patched.setattr("ldpsim.strategies.setup.run_setup.datasets.load", lambda *_, **__: people)
        patched.setattr(Vote, "train", note)
        patched.setattr(Connection, "ask", ask)
        digest = simulate(options).record["devices"]["reports_sha256"]
    return sent, digest, predicted


@pytest.mark.usefixtures("short_perceptron")
def test_features_of_people_without_a_label_are_in_reports_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With other words of a test person no question changes, and no report but the person's own may."""
    options = _options(volunteers=0.2, settings={"batches": "1"})
    people = generate(PEOPLE, seed=0)
    split = make_split("random", people, options.seeds_of(0).split, volunteers=0.2)
    public = public_knowledge(people, split, options, Vote())
    assert public.features is None and (public.labels == -1).all()
    changed = shuffled(people, ["features"], 3, among=split.test)
    seen = [_whole(options, given, monkeypatch) for given in (people, changed)]
    assert seen[0][0] == seen[1][0] and seen[0][1] != seen[1][1]


@pytest.mark.parametrize(("said_by_nothing", "labels"), [
    (["features", "adjacency"], False), (["features", "adjacency"], True), (["features"], True),
])  # fmt: skip
def test_volunteers_never_cost_more_than_chance(
    said_by_nothing: list[str], labels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On ten graphs whose features, edges or both are other people's. Luck that counts as agreement fails this test."""
    gains = []
    for seed in range(10):
        people = generate(400, seed=seed)
        people = replace(people, labels=np.where(people.labels > 2, 0, people.labels))  # half of them are of one class
        people = shuffled(people, said_by_nothing, seed)
        options = _options(clients=400, seed=seed, volunteers=0.1, nulls=False, settings={"batches": "2"},
                           private_labels=labels)  # fmt: skip
        split = make_split("random", people, options.seeds_of(0).split, volunteers=0.1)
        largest = np.bincount(people.labels[split.labelled]).argmax()
        with monkeypatch.context() as patched:
            patched.setattr("ldpsim.strategies.setup.run_setup.datasets.load", lambda *_, people=people, **__: people)
            gains.append(simulate(options).record["accuracy"]["test"] - np.mean(people.labels[split.test] == largest))
    assert np.mean(gains) >= -2 * np.std(gains, ddof=1) / np.sqrt(10)
