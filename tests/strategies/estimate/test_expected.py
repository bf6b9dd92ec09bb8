from __future__ import annotations

import logging
import re

import pytest

from ldpsim.strategies.estimate.expected import tell_expected
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.options import RunOptions

LINE = re.compile(
    r"expected: about ([\d,.]+) GiB of memory, .+ of CPU time "
    r"\((within factors of 1.3 and 2|memory within a factor of [\d.]+, time extrapolated from .+)\)"
)


def told(caplog: pytest.LogCaptureFixture, *several: RunOptions, facts: GraphFacts | None = None) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="ldpsim.expected"):
        tell_expected(several, facts)
    return caplog.messages


def test_a_short_run_is_quiet_and_a_long_one_has_one_line(caplog: pytest.LogCaptureFixture) -> None:
    assert told(caplog, RunOptions(clients=3000)) == []
    (line,) = told(caplog, RunOptions(clients=30_000))
    assert LINE.fullmatch(line) and "factors" in line
    (line,) = told(caplog, RunOptions(clients=400_000, method="blink"))
    assert LINE.fullmatch(line) and "memory within a factor of 1.3, time extrapolated from runs of 3,000" in line
    assert told(caplog, RunOptions(dataset="own.npz")) == []  # nothing is known before it is read
    assert told(caplog, RunOptions(dataset="own.npz"), facts=GraphFacts(30_000))


def test_of_a_very_noisy_run_the_memory_is_told_alone_or_nothing(caplog: pytest.LogCaptureFixture) -> None:
    (line,) = told(caplog, RunOptions(clients=20_000, epsilon=1e-4))
    assert re.fullmatch(r"expected: about \d+ GiB of memory, within a factor of 1.3; .* CPU time is not known", line)
    assert told(caplog, RunOptions(clients=5000, epsilon=1e-4)) == []  # 2 minutes were said of 11 seconds
    assert told(caplog, RunOptions(clients=20_000, epsilon=1e-4, method="sbp")) == []


def test_several_runs_are_added_up_and_wrong_ones_left_out(caplog: pytest.LogCaptureFixture) -> None:
    short = RunOptions(clients=3000)
    (line,) = told(caplog, *[short] * 30, RunOptions(clients=3000, method="ldpgcn", reporting="one-end"))
    assert line.startswith("expected: 31 runs, the largest with about ")


def test_it_is_told_before_the_people_are_made(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def people(options: RunOptions) -> None:
        assert LINE.fullmatch(caplog.messages[-1])
        raise InterruptedError

    monkeypatch.setattr("ldpsim.strategies.runs.set_up.load_population", people)
    with caplog.at_level(logging.INFO, logger="ldpsim.expected"), pytest.raises(InterruptedError):
        set_up(RunOptions(clients=60_000, out=None))
