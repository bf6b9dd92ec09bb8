"""The window mechanism by enumeration, beside the formulas of the piecewise mechanism and the square wave."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.devices.mechanisms import Window
from ldpsim.devices.mechanisms.window import half_width, window_share


def test_the_published_widths() -> None:
    for e, large_c in ((0.1, 40), (1.0, 4.08), (3.0, 1.57)):
        share = window_share("pm", e)  # (C - 1) / 2C
        assert 1 / (1 - 2 * share) == pytest.approx(large_c, rel=4e-3)
    for e, b, kappa in ((0.05, 0.967, 0.0246), (0.5, 0.716, 0.213), (1.0, 0.512, 0.368), (3.0, 0.127, 0.683)):
        assert half_width(e) == pytest.approx(b, abs=6e-4)
        mechanism = Window.from_epsilon(e, d=1, kind="sw", low=-1.0, outputs=1024)
        outputs = csr_array(np.arange(1, 1025)[:, None])
        chances = [np.exp([mechanism.log_probability(np.array([j + 1]), np.array([t])) for j in range(1024)])
                   for t in (0.0, 1.0)]  # fmt: skip
        means = [float(chance @ mechanism.centred(outputs).toarray().ravel()) for chance in chances]
        assert means == pytest.approx([0, kappa], abs=1e-3)
    assert half_width(0.9999e-3) == pytest.approx(half_width(1.0001e-3), abs=1e-6)
    assert half_width(1e-6) == pytest.approx(1, abs=1e-5)


def test_only_what_encode_writes_is_read() -> None:
    mechanism = Window.from_epsilon(3.0, d=5, m=2, outputs=10)  # 3 bits and 4 bits
    assert mechanism.encode(np.array([0, 1, 0, 0, 10])) == bytes([0b001_0000_1, 0b00_1001_00])
    for bits in ("00100000010000", "00100000000000", "00100001011001", "00110101001001"):  # 1 1, 1 0, a sixth, ten
        with pytest.raises(ValueError, match="not a report of 2 of 5 features"):
            mechanism.decode(int(bits + "00", 2).to_bytes(2, "big"), device=0)
    with pytest.raises(ValueError, match="beyond 14 bits"):
        mechanism.decode(bytes([0b001_0000_1, 0b00_1001_01]), device=0)
