from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from ldpsim.strategies.estimate import fits
from ldpsim.strategies.estimate.fits import check_fits, in_gib, memory_bytes, memory_of
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.options import RunOptions

HUGE = RunOptions(clients=10**8, out=None)


def test_a_run_that_cannot_fit_is_refused_at_once_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ldpsim.strategies.runs.set_up.load_population", lambda options: pytest.fail("people were made")
    )
    with pytest.raises(ValueError, match=r"^hogs with 100,000,000 people cannot fit: about .* GiB .*--force") as error:
        set_up(HUGE)
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


@pytest.mark.parametrize("method", ["hogs", "vote", "rr", "pate-m", "ldp-fedavg"])
def test_memory_grows_with_people_and_is_less_without_nulls(method: str) -> None:
    few, many = (GraphFacts(n) for n in (100_000, 1_000_000))
    options = RunOptions(method=method)
    assert 1 < memory_of(options, many) / memory_of(options, few) < 101
    assert memory_of(replace(options, nulls=False), many) <= memory_of(options, many)
    assert in_gib(1.5 * 2**30) == "1.5 GiB" and in_gib(1200 * 2**30) == "1,200 GiB"


def test_pairs_that_noise_makes_likely_are_counted() -> None:
    facts = GraphFacts(3000)
    quiet, noisy = (memory_of(RunOptions(epsilon=epsilon), facts) for epsilon in (8.0, 0.01))
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
