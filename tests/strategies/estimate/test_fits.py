from __future__ import annotations

import pytest

from ldpsim.strategies.estimate import fits
from ldpsim.strategies.estimate.fits import check_fits, in_gib, load_of
from ldpsim.strategies.estimate.graph_facts import GraphFacts, known_before
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


@pytest.mark.parametrize(("method", "clients", "size"), [("vote", 2_000_000, 16), ("ldpgen", 3_000_000, 6)])
def test_a_question_that_no_device_reads_is_refused(method: str, clients: int, size: int) -> None:
    with pytest.raises(ValueError, match=rf"its question has {size}\.\d MB, and a device reads 4\.2"):
        check_fits(RunOptions(method=method, clients=clients))


def test_force_and_whatever_fits_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    check_fits(replace(HUGE, force=True))
    check_fits(RunOptions(clients=30_000))
    check_fits(RunOptions(dataset="own.npz"))  # nothing is known before it is read
    check_fits(RunOptions(clients=1000, method="ldpgcn", reporting="one-end"))  # its own check says why not
    monkeypatch.setattr(fits, "memory_bytes", lambda: 100 << 20)
    with pytest.raises(ValueError, match="cannot fit"):
        check_fits(RunOptions(dataset="own.npz"), GraphFacts(30_000))


def test_fewer_epochs_take_less_time() -> None:
    options = RunOptions(clients=3000)
    facts = known_before(options)
    assert facts is not None
    usual, short = load_of(options, facts), load_of(RunOptions(clients=3000, settings={"epochs": "30"}), facts)
    assert usual and short and short.seconds["train"] == pytest.approx(usual.seconds["train"] / 10)
    rounds = [
        load_of(RunOptions(method="ldp-fedavg", clients=3000, settings=given), facts)
        for given in ({}, {"epochs": "30"})
    ]
    assert rounds[0] and rounds[0] == rounds[1]  # it trains in rounds
    assert in_gib(1.5 * 2**30) == "1.5 GiB" and in_gib(1200 * 2**30) == "1,200 GiB"
