"""The rule of memory: within a factor of two of what was measured, so that its classes hold."""

from __future__ import annotations

from typing import Any

import pytest

from ldpsim.curator.methods import table
from ldpsim.curator.methods.memory import ERROR, UNIT_BYTES, peak_bytes

KINDS = {name: kind.spec.memory for name, kind in table().items()}


def _sizes(n: int, ones: float = 0.0, *, d: int = 256, classes: int = 5, degree: float = 7.0) -> dict[str, Any]:
    return {"n": n, "d": d, "classes": classes, "edges": degree / 2 * n, "ones": ones}


def _generated(n: int, ones: float = 0.0) -> dict[str, Any]:
    return _sizes(n, ones, d=600, classes=6, degree=5.0)


MEASURED = [  # method, its kind if another network makes it one, sizes, peak of `ldpsim run` in MiB
    ("sbp", "", _sizes(20_000, 1_128_307), 437),
    ("sbp", "", _sizes(169_343, 9.6e6, d=128, classes=40, degree=13.8), 3524),
    ("hogs", "weighted edges", _sizes(30_000, 881_090), 844),  # a gat with four heads
    ("hogs", "", _sizes(300_000, 32_268_688), 1241),
    ("hogs", "", _generated(1_000_000, 340e6), 2887),
    ("hogs", "", _generated(3_000), 370),
    ("hogs", "", _generated(30_000, 821_180), 786),  # with null models and reference, as the next four
    ("hogs", "", _generated(3_000, 4_478_324), 733),
    ("rr", "", _generated(30_000, 451_704), 692),
    ("rgnn", "", _generated(30_000), 794),
    ("lpgnn", "", _generated(30_000), 445),
    ("rgnn", "", _sizes(300_000), 1220),
    ("rgnn", "", _generated(1_000_000), 4258),
    ("lpgnn", "", _sizes(300_000), 1232),
    ("lpgnn", "", _generated(1_000_000), 1912),
    ("vote", "", _sizes(1_000_000), 1398),
    ("rr", "", _sizes(30_000, 6_230_000), 863),
    ("symrr", "", _sizes(30_000, 255_832), 567),
    ("dprr", "", _sizes(20_000, 1_937_160), 483),
    ("noisy", "", _sizes(20_000, 1_128_307), 574),
    ("lp-and", "", _sizes(30_000, 511_664), 365),
    ("solitude", "", _sizes(30_000, 881_090), 870),
    ("fp-solitude", "", _sizes(30_000, 881_090), 848),
    ("blink", "", _sizes(30_000, 881_090), 547),
    ("fp-blink", "", _sizes(30_000, 10_093_304), 1094),
    ("ldpgcn", "", _sizes(4_000), 490),
    ("ldpgcn", "", _sizes(8_000), 923),
    ("ldpgen", "", _sizes(30_000), 569),
    ("fp-ldpgen", "", _sizes(30_000), 627),
    ("upgnet", "", _sizes(60_000), 754),
    ("privge", "", _sizes(30_000), 531),
]


def test_every_kind_was_measured() -> None:
    assert {kind or KINDS[method] for method, kind, _, _ in MEASURED} == set(UNIT_BYTES) == set(KINDS.values())


@pytest.mark.parametrize(("method", "kind", "sizes", "measured"), MEASURED)
def test_the_rule_is_within_its_error_of_what_was_measured(
    method: str, kind: str, sizes: dict[str, Any], measured: float
) -> None:
    assert 1 / ERROR < peak_bytes(kind or KINDS[method], **sizes) / (measured * 2**20) < ERROR


def test_noise_makes_pairs_likely_and_a_table_of_all_pairs_grows_with_the_square() -> None:
    few, many = (peak_bytes("likely pairs", **_generated(3_000, share * 9e6)) for share in (0.14, 0.16))
    assert many - few == pytest.approx(80 * 0.16 * 9e6 + 5 * 0.02 * 9e6)
    small, large = (peak_bytes("pairs", **_sizes(n)) - peak_bytes("reports", **_sizes(n)) for n in (10_000, 20_000))
    assert large == 4 * small == 10 * 20_000**2
