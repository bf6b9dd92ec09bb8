"""The law of memory: what grows with what, and which methods have one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ldpsim.curator.methods import table
from ldpsim.curator.methods.memory import Sizes, peak_bytes

LAWS = {name: kind.spec.memory for name, kind in table().items() if kind.spec.memory is not None}


def _sizes(n: int, ones: float = 0.0) -> Sizes:
    return Sizes(n=n, d=256, classes=5, edges=3.5 * n, ones=ones)


MILLION = Sizes(n=1_000_000, d=600, classes=6, edges=2_500_000)
MEASURED = [  # peaks of `ldpsim run` in MiB, without null models and reference
    ("sbp", _sizes(20_000, ones=1_128_307), 437),
    ("hogs", replace(_sizes(30_000, ones=881_090), heads=4), 844),
    ("hogs", Sizes(n=300_000, d=256, classes=5, edges=1_050_000, ones=32_268_688), 1241),
    ("rgnn", Sizes(n=300_000, d=256, classes=5, edges=1_050_000), 1220),
    ("lpgnn", Sizes(n=300_000, d=256, classes=5, edges=1_050_000), 1232),
    ("hogs", replace(MILLION, ones=340e6, pairs=2.5e6), 2887),
    ("rgnn", MILLION, 4258),
    ("lpgnn", MILLION, 1912),
    ("rr", _sizes(30_000, ones=511_664), 555),
    ("rr", _sizes(20_000, ones=1_128_307), 534),
    ("rr", _sizes(30_000, ones=6_230_000), 863),
    ("symrr", _sizes(30_000, ones=255_832), 567),
    ("dprr", _sizes(30_000, ones=881_090), 554),
    ("dprr", _sizes(20_000, ones=1_937_160), 483),
    ("noisy", _sizes(30_000, ones=881_090), 632),
    ("noisy", _sizes(20_000, ones=1_128_307), 574),
    ("lp-and", _sizes(30_000, ones=511_664), 365),
    ("sbp", _sizes(30_000, ones=1_481_859), 519),
    ("solitude", _sizes(30_000, ones=881_090), 870),
    ("fp-solitude", _sizes(30_000, ones=881_090), 848),
    ("blink", _sizes(30_000, ones=881_090), 547),
    ("fp-blink", _sizes(30_000, ones=10_093_304), 1094),
    ("ldpgcn", _sizes(4_000), 490),
    ("ldpgcn", _sizes(8_000), 923),
    ("ldpgen", _sizes(30_000), 569),
    ("fp-ldpgen", _sizes(30_000), 627),
    ("upgnet", _sizes(30_000), 560),
    ("upgnet", _sizes(60_000), 754),
    ("privge", _sizes(30_000), 531),
]


def test_every_law_was_tried() -> None:
    assert {method for method, _, _ in MEASURED} == set(LAWS)


@pytest.mark.parametrize(("method", "sizes", "measured"), MEASURED)
def test_the_law_is_within_a_quarter_of_what_was_measured(method: str, sizes: Sizes, measured: float) -> None:
    needed = peak_bytes(LAWS[method], sizes, devices=sizes.n < 50_000)
    assert 0.8 < needed / (measured * 2**20) < 1.25
