"""Rows of the ledger: names that stand in files for ever, and what a row says about an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ldpsim.devices.ledger.chain import first_seals, seal_of
from ldpsim.devices.ledger.rows import (
    PARTS,
    QUERY_ANSWERS,
    TABLES,
    TRAINING,
    FirstAnswers,
    Head,
    Header,
    QueryAnswer,
    TrainingAnswer,
    sealed,
)
from ldpsim.devices.mechanisms import Loss, RandomizedResponse
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.training_task import Task


def test_names_in_files_never_change() -> None:
    assert TRAINING == "training"  # also the name of a cap in policies that were written before
    assert [table.name for table in TABLES] == ["query_answer", "training_answer", "header"]
    assert list(PARTS.kinds) == [
        "attribute", "fingerprint", "loss_bit", "loss_vector", "delta", "report", "data_digest",
    ]  # fmt: skip
    assert Header() == Header(id=0, epoch=0)


def test_an_answer_to_a_query_holds_its_attributes(ask_for: Callable[..., Query]) -> None:
    query = ask_for(attributes="al")
    answer = QueryAnswer.following(
        Head(4, b"s"), 3, query, {"adjacency": b"aa", "label": b"l"}, {"adjacency": b"x", "label": b"y"}
    )
    assert (answer.device, answer.number, answer.collection, answer.stage, answer.seal) == (3, 4, "first", 0, b"")
    assert [(p.attribute, p.report, p.data_digest, p.loss) for p in answer.parts] == [
        ("adjacency", b"aa", b"x", query.loss("adjacency")), ("label", b"l", b"y", query.loss("label")),
    ]  # fmt: skip
    assert answer.size == 3


def test_the_first_stage_reserves_the_attributes_of_later_ones(ask_for: Callable[..., Query]) -> None:
    features, label = ask_for(attributes="fl").asks
    staged = Query("first", ((label,), (features, label)))
    first = QueryAnswer.following(Head(), 3, staged, {"label": b"l"}, {"label": b"d"})
    assert [(p.attribute, p.report, p.loss) for p in first.parts] == [
        ("features", b"", staged.loss("features")), ("label", b"l", staged.loss("label")),
    ]  # fmt: skip
    later = QueryAnswer.following(Head(1), 3, staged.at_stage(1, (0,) * 12), {"features": b"f", "label": b"l"}, {})
    assert [(p.attribute, p.loss) for p in later.parts] == [("features", Loss(0.0, 0.0)), ("label", Loss(0.0, 0.0))]
    assert later.grouping == staged.at_stage(1, (0,) * 12).grouping_digest != b""


def trained(scope: tuple[str, ...], spent: Loss = Loss(1.0, 2.0, 0.25)) -> TrainingAnswer:  # noqa: B008
    return TrainingAnswer.following(
        Head(1, b"s"), spent, 3, collection="c", kind="update", scope=scope, fingerprint=b"f",
        loss=Loss(0.5, 1.0, 0.5), data_digest=b"d", size=9,
    )  # fmt: skip


def test_an_answer_of_a_training_says_what_it_depends_on_and_the_loss_so_far() -> None:
    for sees in ("own", "ego", "sums"):
        for kind in ("update", "evaluation", "exchange"):
            scope = Task("c", sees, 4, 3, 2, 0.1, 1).scope(kind)  # type: ignore[arg-type]
            assert trained(scope).scope == scope
    answer = trained(("features",))
    assert answer.loss == Loss(0.5, 1.0, 0.5) and answer.total == Loss(1.5, 3.0, 0.75)
    (part,) = answer.parts
    assert (part.attribute, part.loss, part.report) == (TRAINING, answer.loss, b"") and answer.size == 9


def test_the_cap_of_a_training_has_the_name_of_its_rows(ask_for: Callable[..., Query]) -> None:
    task = Task("c", "own", 4, 3, 2, 0.1, 1)
    from ldpsim.devices.facts import PublicFacts

    assert set(policy_for_training(task, PublicFacts(4, 4, 2), answers=1).caps) == {
        trained(("label",)).parts[0].attribute
    }


def test_values_end_with_the_seal(ask_for: Callable[..., Query]) -> None:
    for answer in (trained(("label",)), QueryAnswer.following(Head(), 3, ask_for(), {}, {})):
        table, values = sealed(answer, b"seal")
        assert values[-1] == b"seal" and values[:2] == (3, answer.number) and table.insert.count("?") == len(values)
        assert table.read(values) == replace(answer, seal=b"seal")


@pytest.mark.parametrize("reporting", ["both", "one-end"])
def test_first_rows_of_many_devices_are_those_of_each(ask_for: Callable[..., Query], reporting: str) -> None:
    row = RandomizedResponse.from_epsilon(1.0, n=12, reporting=reporting)  # type: ignore[arg-type]
    (label,) = ask_for(attributes="l").asks
    query = Query("first", ((Ask("adjacency", (row,)),), (label,)))
    devices, sizes = [0, 3, 4, 11], [5, 0, 300, 5]
    reports = {"adjacency": [bytes(size) for size in sizes]}
    digests = {"adjacency": [bytes([device]) * 32 for device in devices]}
    many = FirstAnswers.to(query, devices, reports, digests)
    alone = [
        replace(QueryAnswer.following(Head(), device, query, {"adjacency": reports["adjacency"][k]},
                                      {"adjacency": digests["adjacency"][k]}), time=many.time)
        for k, device in enumerate(devices)
    ]  # fmt: skip
    keys = [bytes([k]) * 32 for k in range(4)]
    seals = first_seals(many, keys)
    assert seals == [seal_of(answer, b"", key) for answer, key in zip(alone, keys, strict=True)]
    assert many.rows(seals) == [sealed(answer, seal)[1] for answer, seal in zip(alone, seals, strict=True)]
    assert list(many.canonical()) == [QUERY_ANSWERS.pack(answer) for answer in alone]
    assert (len(many), list(many)) == (4, devices)
    assert (len({answer.terms for answer in alone}) == 4) is (reporting == "one-end")
