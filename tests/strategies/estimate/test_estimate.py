"""Estimates before a run: its graph, its questions, bytes of rows and messages, and whether it fits."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Budget
from ldpsim.devices import datasets
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import NoisyRow, RandomizedResponse
from ldpsim.strategies import simulate
from ldpsim.strategies.estimate import fits
from ldpsim.strategies.estimate.asked import (
    largest_question,
    ones_reported,
    questions_on_paper,
    random_split,
)
from ldpsim.strategies.estimate.fits import asked_of, check_fits, in_gib, memory_bytes, memory_of
from ldpsim.strategies.estimate.graph_facts import GraphFacts, facts_of_people, facts_without_people
from ldpsim.strategies.estimate.row_sizes import bytes_of_bits, expected_bytes, expected_ones
from ldpsim.strategies.estimate.traffic import expected_traffic, miniature
from ldpsim.strategies.importing.graph_import import import_graph
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import parameters_of


@pytest.mark.parametrize("name", ["generated"])
def test_the_facts_of_a_generated_graph_are_those_of_the_graph(name: str) -> None:
    known = facts_without_people(RunOptions(dataset=name, clients=800))
    found = facts_of_people(datasets.load(name, clients=800))
    assert (known.n, known.features, known.classes) == (found.n, found.features, found.classes)
    assert known.mean_degree == pytest.approx(found.mean_degree, rel=0.05)
    assert known.homophily == pytest.approx(found.homophily, abs=0.05)
    assert known.words == pytest.approx(found.words, rel=0.15)


def test_import_plan_and_result_have_one_homophily(tmp_path: Path) -> None:
    """Of a file in which every fourth person has no label."""
    people, path = datasets.load("generated", clients=400), tmp_path / "mine.npz"
    labels = np.where(np.arange(400) % 4 == 0, -1, people.labels)
    np.savez(path, edge_index=people.edges, labels=labels, x=np.eye(400, 5))
    known = labels[people.edges][:, (labels[people.edges] >= 0).all(axis=0)]
    wanted = float(np.mean(known[0] == known[1]))
    found = import_graph([path], tmp_path / "imported.npz")["homophily"]
    options = RunOptions(method="lp-and", dataset=str(path), nulls=False, reference=False, out=None)
    record = simulate(options, keep_graph=False).record["dataset"]["homophily"]
    assert (found, facts_of_people(datasets.load(str(path))).homophily, record) == (wanted, wanted, wanted)


def test_without_labelled_neighbours_the_homophily_is_that_of_chance() -> None:
    people = datasets.load("generated", clients=400)
    assert facts_of_people(replace(people, labels=np.full(400, -1))).homophily == pytest.approx(
        1 / people.facts.classes
    )


LOCAL = ("hogs", "rgnn", "lpgnn", "solitude", "blink", "symrr", "ldpgen", "vote")


def on_paper(method: str, n: int):  # type: ignore[no-untyped-def]
    kind = find(method)
    facts = PublicFacts(n=n, d=40, classes=4)
    return questions_on_paper(kind(), facts, Budget(public_features=kind.spec.public_features), RunOptions())


@pytest.mark.parametrize("method", LOCAL)
def test_questions_on_paper_are_the_ones_that_are_asked(method: str) -> None:
    n, kind = 900, find(method)
    facts = PublicFacts(n=n, d=40, classes=4)
    budget = Budget(public_features=kind.spec.public_features)
    asked = kind().questions(facts, random_split(n), budget, "x")
    paper = questions_on_paper(kind(), facts, budget)
    assert len(paper) == len(asked)
    for made, question in zip(paper, asked, strict=True):
        share = 1.0 if question.devices is None else len(question.devices) / n
        assert made.share == pytest.approx(share, abs=0.01)
        if not made.rows:
            assert [[ask.to_dict() for ask in stage] for stage in made.query.plan] == [
                [ask.to_dict() for ask in stage] for stage in question.query.plan
            ]
        size = len(made.query.to_bytes()) + made.rows * (n - made.few)
        assert size == pytest.approx(len(question.query.to_bytes()), rel=0.05, abs=40)


def test_false_ones_grow_with_the_square_of_the_people() -> None:
    few, many = (ones_reported(on_paper("rr", n), n, 5.0) for n in (10**5, 10**6))
    assert few == pytest.approx(10**10 * 3.3535e-4 + 5e5, rel=1e-3)
    assert 60 < many / few < 100
    assert ones_reported(on_paper("symrr", 10**6), 10**6, 5.0) == pytest.approx(many / 2, rel=1e-6)


def test_a_table_with_a_row_a_person_makes_the_question_longer() -> None:
    sizes = [largest_question(on_paper("vote", n), n) for n in (2000, 4000, 8000)]
    assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.02)


def test_a_later_stage_tells_everybody_the_group_of_everybody() -> None:
    """The grouping of ldpgen's second stage, as a run sends it, is part of the largest question."""
    n = 1000
    (question,) = on_paper("ldpgen", n)
    groups = question.query.plan[1][0].mechanisms[0].groups  # type: ignore[attr-defined]
    sent = question.query.at_stage(1, tuple(i % groups for i in range(n)))
    assert largest_question((question,), n) == pytest.approx(len(sent.to_bytes()), rel=0.01)
    assert largest_question(on_paper("ldpgen", 3 * 10**6), 3 * 10**6) > 6e6


@pytest.mark.parametrize(
    ("size", "share"), [(0, 0.3), (100, 0.0), (100, 0.05), (100, 0.5), (2000, 0.002), (40_000, 1e-5)]
)
def test_the_expected_size_is_that_of_the_gaps_or_of_the_packed_bits(size: int, share: float) -> None:
    """A one at each place, times the bytes of the gap before it, which is at least a power of 128 with this chance."""
    gaps = sum(share * (1 + sum((1 - share) ** (1 << 7 * k) for k in (1, 2, 3) if place >= 1 << 7 * k))
               for place in range(size))  # fmt: skip
    assert bytes_of_bits(size, share) == pytest.approx(1 + min(gaps, -(-size // 8)), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "n", "degree"), [(4.0, 1000, 5), (4.0, 30, 20), (0.05, 9, 3), (12.0, 40, 3)])
def test_the_mean_size_of_a_noisy_row_follows_from_its_law(epsilon: float, n: int, degree: int) -> None:
    """The width is that of the widest number: the sum over all widths of the chance that one number is wider."""
    mechanism = NoisyRow.from_epsilon(epsilon, n=n)
    width = 1.0
    for half in (1 << 7, 1 << 15, 1 << 23):
        noise = np.arange(-min(half, 1 << 16), min(half, 1 << 16))  # beyond, no noise of these budgets comes
        rate = mechanism.s / mechanism.t  # discrete Laplace: P(k) = tanh(rate / 2) exp(-rate |k|)
        fits = [math.tanh(rate / 2) * math.fsum(np.exp(-rate * np.abs(noise - worth))) for worth in (0, mechanism.grid)]
        width += 1 - fits[0] ** (n - 1 - degree) * fits[1] ** degree
    assert expected_bytes(mechanism, degree) == pytest.approx(1 + (n - 1) * width, rel=0.02)


@pytest.mark.parametrize("reporting", ["both", "one-end"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_what_is_expected_is_the_mean_over_all_devices(epsilon: float, reporting: Any) -> None:
    """On a ring everybody has two neighbours; the rows of a device lie before it where one end reports."""
    n = 41
    mechanism = RandomizedResponse.from_epsilon(epsilon, n=n, reporting=reporting)
    p = mechanism.flip_probability
    ones = 0.0
    for device in range(n):
        others = {other for other in range(n) if other != device and (reporting == "both" or other < device)}
        near = len(others & {(device - 1) % n, (device + 1) % n})
        ones += near * (1 - p) + (len(others) - near) * p
    assert expected_ones(mechanism, 2.0) == pytest.approx(ones / n, rel=1e-12)
    share = (2 * (1 - p) + (n - 3) * p) / (n - 1)
    sizes = [bytes_of_bits(mechanism.targets(device), share) for device in range(n)]
    assert expected_bytes(mechanism, 2.0) == pytest.approx(np.mean(sizes), rel=0.02)


@pytest.mark.parametrize("method", ["hogs", "rgnn", "ldpgen", "vote"])
def test_bytes_are_within_two_per_cent_of_a_run(method: str) -> None:
    settings = {} if method == "vote" else {"epochs": "2"}  # vote trains no network
    options = RunOptions(method=method, dataset="generated", clients=400, out=None, reference=False, nulls=False,
                         device="cpu", engine="local", settings=settings)  # fmt: skip
    facts = facts_without_people(options)
    paper = expected_traffic(asked_of(options, facts), facts)
    sent = simulate(options, keep_graph=False).record["communication"]
    assert paper.up == pytest.approx(sent["uplink_bytes_per_device"], rel=0.02)
    # A vote's table depends on what earlier answers say.
    assert paper.down == pytest.approx(sent["downlink_bytes_per_device"], rel=0.3 if method == "vote" else 0.02)
    assert paper.rounds == (2 if method == "ldpgen" else 1)


def test_a_miniature_has_the_facts() -> None:
    facts = facts_without_people(RunOptions(clients=50_000))
    people = miniature(replace(facts, homophily=0.4, mean_degree=9.0, features=80, words=6.0), 900, seed=2)
    assert people.degrees.mean() == pytest.approx(9.0, rel=0.1)
    assert people.homophily == pytest.approx(0.4, abs=0.1)
    assert len(people.feature_indices) / 900 == pytest.approx(6.0, rel=0.25)


HUGE = RunOptions(clients=10**8, out=None)


def test_a_run_that_cannot_fit_is_refused_at_once_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ldpsim.strategies.runs.prepare.load_population", lambda options: pytest.fail("people were made")
    )
    with pytest.raises(ValueError, match=r"^hogs with 100,000,000 people cannot fit: about .* GiB .*--force") as error:
        prepare(HUGE)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("method", "clients", "size"), [("vote", 4_000_000, 5), ("ldpgen", 3_000_000, 6)])
def test_a_question_that_no_device_reads_is_refused(method: str, clients: int, size: int) -> None:
    with pytest.raises(ValueError, match=rf"its question has {size}\.\d MB, and a device reads 4\.2"):
        check_fits(RunOptions(method=method, clients=clients))


def test_force_and_whatever_fits_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    check_fits(replace(HUGE, force=True))
    check_fits(RunOptions(clients=30_000))
    check_fits(RunOptions(dataset="own.npz"))  # nothing is known before it is read
    check_fits(RunOptions(clients=1000, method="ldpgcn", reporting="one-end"))  # its own check says why not
    monkeypatch.setattr(fits, "memory_bytes", lambda: 100 << 20)
    with pytest.raises(ValueError, match="cannot fit"):
        check_fits(RunOptions(dataset="own.npz"), GraphFacts(30_000))


def of_run(options: RunOptions, facts: GraphFacts) -> float:
    return memory_of(options, facts, parameters_of(options)[0], asked_of(options, facts))


@pytest.mark.parametrize("method", ["hogs", "vote", "rr", "pate-m", "ldp-fedavg"])
def test_memory_grows_with_people_and_is_less_without_nulls(method: str) -> None:
    few, many = (GraphFacts(n) for n in (100_000, 1_000_000))
    options = RunOptions(method=method)
    assert 1 < of_run(options, many) / of_run(options, few) < 101
    assert of_run(replace(options, nulls=False), many) <= of_run(options, many)
    assert in_gib(1.5 * 2**30) == "1.5 GiB" and in_gib(1200 * 2**30) == "1,200 GiB"


def test_pairs_that_noise_makes_likely_are_counted() -> None:
    facts = GraphFacts(3000)
    quiet, noisy = (of_run(RunOptions(epsilon=epsilon), facts) for epsilon in (8.0, 0.01))
    assert noisy > 1.5 * quiet


def test_the_memory_is_that_of_the_container_where_it_is_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory_bytes() > 1 << 27
    monkeypatch.setattr(fits.psutil, "virtual_memory", lambda: SimpleNamespace(total=3 << 30))
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(fits, "_CGROUP", limit)
    assert memory_bytes() == 3 << 30  # no container
    for said, wanted in (("max\n", 3 << 30), (f"{2 << 30}\n", 2 << 30), (f"{4 << 30}\n", 3 << 30)):
        limit.write_text(said)
        assert memory_bytes() == wanted
