"""Reports from bytes and from a folder: what was reported, and nothing that no device would send."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import issparse

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.decoding import Decoder
from ldpsim.curator.reports.digest import reports_digest
from ldpsim.curator.reports.exclusion import silenced
from ldpsim.curator.reports.reports import Reports, joined_reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    GRR,
    ClearFeatures,
    Degree,
    Mechanism,
    MultiBit,
    NeighbourhoodVote,
    OneBit,
    RandomizedResponse,
)
from ldpsim.devices.noise import Noise
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import pack_parts
from tests.devices.mechanisms.one import drawn, encoded

N, D, CLASSES = 12, 11, 3


FACTS = PublicFacts(N, D, CLASSES)


def _questions(reporting: str = "both", eps_a: float = 1.0, features: Mechanism | None = None) -> list[Question]:
    response = RandomizedResponse.from_epsilon(eps_a, n=N, reporting=reporting)  # type: ignore[arg-type]
    asks = [Ask("adjacency", (response,)), Ask("features", (features or OneBit.from_epsilon(1, d=D),))]
    labelled = [*asks, Ask("label", (GRR.from_epsilon(1, categories=CLASSES),))]
    return [
        Question(Query("c", (tuple(labelled),)), np.arange(6)),
        Question(Query("c", (tuple(asks),)), np.arange(6, N)),
    ]


def _answers(questions: list[Question], silent: set[int]) -> tuple[dict, dict]:
    """Return (bytes by device, the dense values they stand for)."""
    rng = np.random.default_rng(0)
    dense = {"adjacency": np.zeros((N, N), bool), "features": np.zeros((N, D), bool), "label": np.full(N, -1)}
    answers: dict[int, dict[str, tuple[bytes, ...]]] = {}
    for question in questions:
        for device in question.devices:
            if device in silent:
                continue
            answers.setdefault(device, {})
            for ask in question.query.asks:
                mechanism = ask.mechanisms[0]
                noise = Noise([bytes(31) + bytes([device])])
                if isinstance(mechanism, RandomizedResponse):
                    value = rng.random(mechanism.targets(int(device))) < 0.3
                    report = drawn(mechanism, value, noise)
                    dense["adjacency"][device, mechanism.nodes(int(device), np.flatnonzero(report))] = True
                elif ask.attribute == "features":
                    report = drawn(mechanism, (rng.random(D) < 0.5).astype(float), noise)
                    dense["features"][device] = report
                else:
                    report = drawn(mechanism, 1, noise)
                    dense["label"][device] = report
                answers[device][ask.attribute] = (encoded(mechanism, report, device),)
    return answers, dense


@pytest.mark.parametrize("reporting", ["both", "one-end"])
@pytest.mark.parametrize("eps_a", [0.1, 5.0])  # packed and gap form
def test_from_bytes_gives_what_was_reported(reporting: str, eps_a: float) -> None:
    questions = _questions(reporting, eps_a)
    answers, dense = _answers(questions, silent={2, 9})
    reports = Reports.from_bytes(FACTS, questions, answers)
    assert reports.adjacency is not None and reports.features is not None and reports.labels is not None
    assert np.array_equal(reports.adjacency.toarray(), dense["adjacency"])
    assert reports.adjacency.has_canonical_format
    assert np.array_equal(np.unpackbits(reports.features, axis=1, count=D), dense["features"])
    assert np.array_equal(reports.labels, dense["label"])
    assert np.flatnonzero(~reports.answered).tolist() == [2, 9]
    assert reports.reported("label").sum() == 5 and reports.reported("adjacency").sum() == N - 2
    assert reports.source("adjacency").reporting == reporting


@pytest.mark.parametrize("attribute", ["adjacency", "features", "label"])
def test_answers_about_one_attribute_come_from_other_people(attribute: str) -> None:
    questions = _questions()
    answers, _ = _answers(questions, silent={2})
    others = {person: {**given, "features": answers[4]["features"], "adjacency": answers[4]["adjacency"]}
              for person, given in answers.items()}  # fmt: skip
    for given in others.values():
        if "label" in given:
            given["label"] = (bytes([(given["label"][0][0] + 1) % 3, 0]),)
    mixed = {person: {**given, **({attribute: others[person][attribute]} if attribute in given else {})}
             for person, given in answers.items()}  # fmt: skip
    real, strange, expected = (Reports.from_bytes(FACTS, questions, each) for each in (answers, others, mixed))
    found = real.with_answers_of(strange, attribute)
    same = []
    for name in ("adjacency", "features", "labels"):
        rows = [each.arrays[name] for each in (found, expected, real)]
        dense = [each.toarray() if name == "adjacency" else each for each in rows]
        assert np.array_equal(dense[0], dense[1])
        same.append(np.array_equal(dense[0], dense[2]))
    assert sorted(same) == [False, True, True]
    assert found.query() == real.query() and np.array_equal(found.answered, real.answered)


def test_what_no_device_would_send_is_refused() -> None:
    questions = _questions()
    answers, _ = _answers(questions, silent=set())
    with pytest.raises(ValueError, match="without being asked"):
        Reports.from_bytes(FACTS, questions, {**answers, 7: {**answers[7], "label": (b"\0\0",)}})
    with pytest.raises(ValueError, match="device 7 was asked about adjacency and did not report it"):
        Reports.from_bytes(FACTS, questions, {**answers, 7: {"features": answers[7]["features"]}})
    with pytest.raises(ValueError, match="2 parts"):
        Reports.from_bytes(FACTS, questions, {**answers, 7: {**answers[7], "features": (b"\0\0", b"\0\0")}})
    with pytest.raises(ValueError, match="device 7: 1 bytes do not hold 11 bits"):
        Reports.from_bytes(FACTS, questions, {**answers, 7: {**answers[7], "features": (b"\0",)}})
    with pytest.raises(ValueError, match="device 7: 0 bytes do not hold"):
        Reports.from_bytes(FACTS, questions, {**answers, 7: {**answers[7], "adjacency": (b"\0",)}})
    other = Question(Query("c", ((Ask("adjacency", (RandomizedResponse.from_epsilon(2, n=N),)),),)))
    with pytest.raises(ValueError, match="ask differently about adjacency"):
        Reports.from_bytes(FACTS, [*questions, other], {})
    with pytest.raises(ValueError, match="the reports hold no votes"):
        Reports.from_bytes(FACTS, questions, answers).source("votes")
    with pytest.raises(ValueError, match="hold no randomized response; their arrays: adjacency, features"):
        Reports.from_bytes(FACTS, questions, answers).needed("randomized_response")


def test_devices_with_malformed_bytes_are_named() -> None:
    row, label = RandomizedResponse.from_epsilon(1.0, n=4), GRR.from_epsilon(1.0, categories=3)
    degree = Degree.from_epsilon(1.0, n=4)
    good, number = encoded(row, np.array([True, False, False])), encoded(degree, [3])
    query = Query("a", ((Ask("adjacency", (row, degree)), Ask("label", (label,))),))
    answers = {
        0: {"adjacency": (good, number), "label": (b"\x02\x00",)},
        1: {"adjacency": (good, number), "label": (b"\x03\x00",)},  # no such class
        2: {"adjacency": (b"", number), "label": (b"\x00\x00",)},
        3: {"adjacency": (good, b"\x02\x01\x00"), "label": (b"\x00\x00",)},  # wider than it need be
    }
    facts = PublicFacts(4, 3, 3)
    reports, wrong = Reports.readable(facts, [Question(query)], answers)
    assert sorted(wrong) == [1, 2, 3] and reports.needed("labels").tolist() == [2, -1, 0, 0]
    parts = [Question(Query("a", ((ask,),)), part=number) for number, ask in enumerate(query.asks)]
    assert sorted(Reports.readable(facts, parts, answers)[1]) == [1, 2, 3]


Edit = Callable[[NDArray[Any]], NDArray[Any]]


def put(place: int, value: Any) -> Edit:
    """Return the edit of one number."""

    def edit(array: NDArray[Any]) -> NDArray[Any]:
        array.flat[place] = value
        return array

    return edit


def saved(folder: Path) -> Reports:
    """Save reports of bits, gaps, features in clear (a matrix with values) and labels."""
    clear = ClearFeatures(D)
    asks = (Ask("adjacency", (RandomizedResponse.from_epsilon(1.0, n=N),)), Ask("features", (clear,)),
            Ask("label", (GRR.from_epsilon(1, categories=CLASSES),)))  # fmt: skip
    query = Query("c", (asks,))
    answers = {}
    for device in range(1, N):
        noise = Noise([bytes(31) + bytes([device])])
        response, label = asks[0].mechanisms[0], asks[2].mechanisms[0]
        bits = drawn(response, np.arange(response.targets(device)) % 3 == 0, noise)  # type: ignore[attr-defined]
        reports = {
            "adjacency": (response, bits),
            "features": (clear, np.arange(D, dtype=np.float32) / D),
            "label": (label, drawn(label, 1, noise)),
        }  # type: ignore[attr-defined]
        answers[device] = {name: (encoded(mechanism, report, device),) for name, (mechanism, report) in reports.items()}
    reports = Reports.from_bytes(FACTS, [Question(query)], answers)
    reports.save(folder)
    return reports


@pytest.mark.parametrize(("name", "edit"), [
    *((f"{name}_indices", put(3, wrong)) for name in ("adjacency", "features") for wrong in (-1, N, 1 << 30)),
    *((f"{name}_indptr", put(place, wrong)) for name in ("adjacency", "features")
      for place, wrong in ((0, 1), (0, -1), (3, 1 << 30), (3, -5), (-1, 1), (-1, 1 << 30))),
    *((name, edit) for name in ("adjacency_indices", "adjacency_indptr", "features_indptr") for edit in (
        lambda a: a.astype(np.float64), lambda a: a[:-1], lambda a: a[None], lambda a: a.astype("<U9"),
        lambda a: a.astype(a.dtype.newbyteorder()), lambda a: a.astype(np.uint64) - 1)),
    ("features_data", put(2, np.nan)), ("features_data", put(2, np.inf)), ("features_data", lambda a: a[1:]),
    ("features_data", lambda a: a.astype("<U9")), ("features_data", lambda a: a.astype(np.int64)),
    ("labels", put(4, CLASSES)), ("labels", put(4, -1)), ("labels", put(4, -2)), ("labels", lambda a: a[:-1]),
    ("labels", lambda a: a.astype(np.float64)), ("labels", lambda a: a.astype("<U3")), ("labels", lambda a: a[:, None]),
    ("answered", lambda a: a.astype(np.int64)), ("answered", lambda a: a[:-1]), ("asked_label", lambda a: a[:, None]),
], ids=lambda value: value if isinstance(value, str) else None)  # fmt: skip
def test_reports_of_a_folder_that_no_device_could_give_are_refused(tmp_path: Path, name: str, edit: Edit) -> None:
    """scipy would read and write memory of something else."""
    reports = saved(tmp_path)
    loaded = Reports.load(tmp_path)
    assert (loaded.adjacency != reports.adjacency).nnz == 0 and (loaded.features != reports.features).nnz == 0
    np.save(tmp_path / f"{name}.npy", edit(np.load(tmp_path / f"{name}.npy")), allow_pickle=False)
    with pytest.raises(ValueError, match="cannot be read: ") as caught:
        Reports.load(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("head", [
    {"arrays": ["labels"]}, {"arrays": None}, {"facts": {}}, {"query": "x"}, {"query": None}, {"format": 9},
    {"parts": 2}, {"parts": "2"}, {"facts": PublicFacts(N + 1, D, CLASSES).to_dict()},
    {"facts": PublicFacts(N, D, CLASSES + 1).to_dict()}, {"facts": PublicFacts(N, D + 1, CLASSES).to_dict()},
], ids=str)  # fmt: skip
def test_a_head_that_does_not_fit_the_reports_is_refused(tmp_path: Path, head: dict[str, Any]) -> None:
    saved(tmp_path)
    told = json.loads((tmp_path / "reports.json").read_text())
    (tmp_path / "reports.json").write_text(json.dumps({**told, **head}))
    with pytest.raises(ValueError, match="cannot be read: "):
        Reports.load(tmp_path)


FACTS_OF_PARTS = PublicFacts(6, 0, 3)


TABLE = np.eye(3)[[0, 1, 2, 0, 1, 2]]


def _vote(epsilon: float) -> Ask:
    return Ask("adjacency", (NeighbourhoodVote.from_probabilities(TABLE, epsilon, candidates=3, homophily=0.5),))


LABEL = Ask("label", (GRR.from_epsilon(1.0, categories=3),))


def _question(ask: Ask, people: list[int], part: int) -> Question:
    return Question(Query("c", ((ask,),)), np.array(people), part)


def _questions_of_parts() -> tuple[Question, ...]:
    return (_question(LABEL, [0, 1], 0), _question(_vote(1.0), [0, 2, 4], 1), _question(_vote(2.0), [1, 3, 5], 2))


def _answers_of_parts() -> dict[int, dict[str, tuple[bytes, ...]]]:
    found: dict[int, dict[str, tuple[bytes, ...]]] = {
        device: {"adjacency": (bytes([device % 3]),)} for device in range(5)
    }
    found[1]["label"] = ((2).to_bytes(2, "little"),)
    return found  # person 0 gave no label, person 5 no vote


def test_parts_are_one_collection() -> None:
    reports = Reports.from_bytes(FACTS_OF_PARTS, _questions_of_parts(), _answers_of_parts())
    assert reports.arrays["votes"].tolist() == [0, 1, 2, 0, 1, -1]
    assert reports.labels is not None and reports.labels.tolist() == [-1, 2, -1, -1, -1, -1]
    assert reports.answered.tolist() == [False, True, True, True, True, False]
    assert reports.recipients["adjacency"].all() and np.flatnonzero(reports.recipients["label"]).tolist() == [0, 1]
    assert [sorted(part.asks) for part in reports.parts] == [["label"], ["adjacency"], ["adjacency"]]
    assert [part.answered.sum() for part in reports.parts] == [1, 3, 2]


def test_nobody_is_in_two_parts_for_one_attribute() -> None:
    parts = Reports.from_bytes(FACTS_OF_PARTS, _questions_of_parts(), _answers_of_parts()).parts
    with pytest.raises(ValueError, match="part 2 asks person 0 about adjacency again"):
        joined_reports([parts[0], parts[1], parts[1]])


def test_sparse_rows_of_parts_are_added() -> None:
    asks = [Ask("adjacency", (RandomizedResponse.from_epsilon(e, n=6),)) for e in (1.0, 2.0)]
    questions = [_question(asks[0], [0, 1], 0), _question(asks[1], [2, 3], 1)]
    row = np.packbits([0, 1, 0, 1, 0]).tobytes()
    mechanism = asks[0].mechanisms[0]
    rows = {device: {"adjacency": (encoded(mechanism, np.array([0, 1, 0, 1, 0], np.uint8)),)} for device in range(4)}
    assert pack_parts((row,))  # five bits take one byte
    reports = Reports.from_bytes(FACTS_OF_PARTS, questions, rows)
    assert np.diff(reports.adjacency.indptr).tolist() == [2, 2, 2, 2, 0, 0]


def test_saved_parts_are_read_again_with_their_people(tmp_path: Path) -> None:
    reports = Reports.from_bytes(FACTS_OF_PARTS, _questions_of_parts(), _answers_of_parts())
    reports.save(tmp_path)
    read = Reports.load(tmp_path)
    assert np.array_equal(read.arrays["votes"], reports.arrays["votes"])  # type: ignore[arg-type]
    assert np.array_equal(read.labels, reports.labels)  # type: ignore[arg-type]
    assert np.array_equal(read.answered, reports.answered)
    for ours, theirs in zip(_questions_of_parts(), read.questions(), strict=True):
        assert ours.query.plan == theirs.query.plan and np.array_equal(ours.devices, theirs.devices)  # type: ignore[arg-type]
        assert ours.part == theirs.part


def test_batches_give_the_reports_of_all_answers() -> None:
    questions = _questions()
    answers, _ = _answers(questions, silent={1, 7})
    decoder = Decoder(FACTS, questions)
    for batch in ((0, 2), (), range(3, N)):
        decoder.add({device: answers[device] for device in batch if device != 7})
    (got, wrong), whole = Reports.decoded(decoder), Reports.from_bytes(FACTS, questions, answers)
    assert not wrong and np.array_equal(got.adjacency.toarray(), whole.adjacency.toarray())
    assert np.array_equal(got.labels, whole.labels) and np.array_equal(got.answered, whole.answered)


def test_the_digest_of_all_reports() -> None:
    assert reports_digest({1: b"a", 0: b"b"}) == reports_digest({0: b"b", 1: b"a"})
    different = [{}, {0: b""}, {0: b"a"}, {1: b"a"}, {0: b"a", 1: b""}, {0: b"", 1: b"a"}]
    assert len({reports_digest(d) for d in different}) == len(different)


@pytest.mark.parametrize("case", ["bits", "numbers", "parts", "votes"])
def test_it_is_as_if_they_had_not_answered(case: str) -> None:
    facts, questions = FACTS, _questions(features=MultiBit.from_epsilon(1.0, d=D, m=2) if case == "numbers" else None)
    if case == "parts":
        asks = questions[0].query.asks
        questions = [Question(Query("c", ((ask,),)), np.arange(N), number) for number, ask in enumerate(asks)]
    answers, _ = _answers(questions, silent=set())
    if case == "votes":
        facts, questions, answers = FACTS_OF_PARTS, _questions_of_parts(), _answers_of_parts()
    who = np.isin(np.arange(facts.n), (1, 4))
    found = silenced(Reports.from_bytes(facts, questions, answers), who)
    wanted = Reports.from_bytes(facts, questions, {i: given for i, given in answers.items() if not who[i]})
    assert np.array_equal(found.answered, wanted.answered) and len(found.parts) == len(wanted.parts)
    assert found.arrays.keys() == wanted.arrays.keys()
    for name, left in found.arrays.items():
        right = wanted.arrays[name]
        if issparse(left):
            left, right = left.toarray(), right.toarray()
        assert left.dtype == right.dtype and np.array_equal(left, right), name
