"""Set-up of a run: the devices that never answer."""

from __future__ import annotations

from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import silent_devices


def test_a_share_of_the_devices_never_answers() -> None:
    options = RunOptions(dropout=0.25)
    first = options.seeds_of(0)
    silent = silent_devices(options, first, 60)
    assert len(silent) == 15 and silent <= set(range(60))
    assert silent == silent_devices(options, first, 60) != silent_devices(options, options.seeds_of(1), 60)
    assert silent_devices(RunOptions(), first, 60) == frozenset()
