"""The window mechanism on features: the piecewise mechanism and the square wave, in integers.

m of the d features are drawn without replacement. A drawn feature x in [low, high] is put on a
public grid, t = 2 (x - low) / (high - low) - 1, and reported as one of G numbers 0 .. G - 1. The
window of x are w of them, from l = (G - w) (t + 1) / 2 on. One trial decides whether the number
is drawn uniformly from the window or uniformly from the others. With e = eps / m and E = e^e,

    Pr[inside] = w E / (w E + G - w),

so a number of the window is E times as likely as another one. The mechanism is exact: no float
is drawn. Both published mechanisms are this one, with w of their own (``kind``):

- ``pm``, the piecewise mechanism: w = G / (e^(e/2) + 1), which has the least variance at the ends;
- ``sw``, the square wave: w = G b / (1 + b) with b = (e E - E + 1) / (E (E - 1 - e)).

The mean of a number is linear in l, so l is estimated without bias, and a drawn feature by the
d/m of it; one that was not drawn by 0. The report shows which features were drawn. That does
not depend on the values, so it costs nothing, and it gains nothing either: one feature loses
eps/m, k features min(k, m) eps/m, the vector eps.

Piecewise mechanism: Wang et al. 2019, https://arxiv.org/abs/1907.00782; square wave: Li et al. 2020,
https://arxiv.org/abs/1912.01211
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.codecs import pack_bit_rows, unpack_bit_rows
from ldpsim.devices.mechanisms.exact_loss import ONE, check_epsilon, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.features import FeatureGrid
from ldpsim.devices.mechanisms.mechanism import changes
from ldpsim.devices.mechanisms.sparse_batch import SparseBatch
from ldpsim.devices.mechanisms.subsets import subset
from ldpsim.devices.noise import Noise

OUTPUTS = 4096
KINDS = ("pm", "sw")
_SERIES_BELOW = 1e-3  # the formula of b cancels there


def drawn_features(epsilon: float, d: int) -> int:
    """Return the m of UPGNet's rule for the piecewise mechanism, max(1, min(d, floor(eps / 2.5)))."""
    check_epsilon(epsilon)
    return max(1, min(d, math.floor(epsilon / 2.5)))


def window_share(kind: str, epsilon: float) -> float:
    """Return w / G for a feature's budget.

    >>> round(window_share("pm", 1.0), 4), round(window_share("sw", 1.0), 4)
    (0.3775, 0.3387)

    Raises:
        ValueError: for an unknown kind, or an epsilon that is not a positive finite number.
    """
    check_epsilon(epsilon)
    if kind == "pm":
        return 1 / (math.exp(min(epsilon, 700) / 2) + 1)
    if kind != "sw":
        raise ValueError(f"a window is of kind {' or '.join(KINDS)}, not {kind!r}")
    b = half_width(epsilon)
    return b / (1 + b)


def half_width(epsilon: float) -> float:
    """Return b of the square wave: an input t of [-1, 1] is reported near [t - b, t + b].

    >>> [round(half_width(e), 3) for e in (0.05, 0.5, 1.0, 3.0)]
    [0.967, 0.716, 0.512, 0.127]
    """
    e, power = epsilon, math.exp(min(epsilon, 300))
    if e < _SERIES_BELOW:
        return (e**2 / 2 + e**3 / 3 + e**4 / 8) / (power * (e**2 / 2 + e**3 / 6 + e**4 / 24))
    return (e * power - power + 1) / (power * (power - 1 - e))


@dataclass(frozen=True)
class Window(FeatureGrid):
    """Report m of d features, each as a number of 0 .. outputs - 1.

    ``value``: float (d,); ``report``: int32 (d,), 0 for a feature that was not drawn, else the number plus 1.
    Reports of many devices: int32 CSR (n, d).

    Args:
        kind: ``pm`` or ``sw``: the rule that gave ``window``.
        near: 64-bit threshold of Pr[number in the window], below 2**64.
        window: Numbers in the window.
        d: Number of features.
        m: Number of drawn features, 1 .. d.
        grid: Number of steps into which the range is cut; it divides ``outputs - window``.
        low, high: Public range; values outside are clamped.
        outputs: Number of numbers, at most 65,536.

    Raises:
        ValueError: for an impossible threshold, window, size, range or grid.

    >>> mechanism = Window.from_epsilon(1.0, d=4, m=2)
    >>> mechanism.loss()
    Loss(bit=0.5, vector=1.0, delta=0.0)
    >>> mechanism.estimate(np.array([1, 0, 4096, 0])).round(3).tolist()
    [-7.04, 0.0, 9.04, 0.0]
    """

    kind: str
    near: int
    window: int
    d: int
    m: int
    grid: int
    low: float = 0.0
    high: float = 1.0
    outputs: int = OUTPUTS

    loss_is_tight: ClassVar[bool] = True
    name: ClassVar[str] = "window"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in KINDS:
            raise ValueError(f"a window is of kind {' or '.join(KINDS)}, not {self.kind!r}")
        if not 1 <= self.m <= self.d:
            raise ValueError(f"a window draws 1..{self.d} features (there are {self.d}), not {self.m}")
        if not (2 <= self.outputs <= 1 << 16 and 1 <= self.window < self.outputs):
            raise ValueError(
                f"a window of {self.window} of {self.outputs} numbers: there are 2..65536, and one is outside"
            )
        if self._room % self.grid:
            raise ValueError(f"a grid of {self.grid} steps does not divide the {self._room} numbers outside the window")
        if not ONE * self.window // self.outputs < self.near < ONE:
            raise ValueError(f"the threshold of the window must be above its share and below 2**64, not {self.near}")

    @classmethod
    def from_epsilon(
        cls, epsilon: float, *, d: int, m: int = 1, kind: str = "pm", low: float = 0.0, high: float = 1.0,
        grid: int | None = None, outputs: int = OUTPUTS,
    ) -> Window:  # fmt: skip
        """Return the mechanism whose loss for the whole vector is at most ``epsilon``.

        Without ``grid`` a step of the grid moves the window by one number. With it the window has the
        size, nearest to the best one, that the grid allows.
        """
        if not 1 <= m <= d:
            raise ValueError(f"a window draws 1..{d} features (there are {d}), not {m}")
        size = round(outputs * window_share(kind, epsilon / m))
        if grid is not None:
            size = outputs - grid * round((outputs - size) / grid)
        window = min(max(size, 1), outputs - 1)
        far = probability_threshold(epsilon / m, outputs - window, window)
        return cls(kind=kind, near=ONE - far, window=window, d=d, m=m, grid=grid or outputs - window,
                   low=float(low), high=float(high), outputs=outputs)  # fmt: skip

    @classmethod
    def audit_examples(cls) -> list[tuple[Window, PublicFacts]]:
        """Return small instances, with the public facts they fit, all of whose draws can be enumerated."""
        made = []
        for kind in KINDS:
            for low, high, epsilon in ((0.0, 1.0, 2.0), (-1.0, 1.0, 2.0), (0.0, 1.0, 6.0)):
                facts = PublicFacts(4, 3, 3, low, high)
                made.append((cls.from_epsilon(epsilon, d=3, m=2, kind=kind, low=low, high=high, outputs=8), facts))
        return made

    @property
    def _room(self) -> int:
        return self.outputs - self.window

    def starts(self, value: np.ndarray) -> IntArray:
        """int64, as ``value``: the first number of each value's window."""
        return self.steps(value) * (self._room // self.grid)

    def draw(self, values: np.ndarray, noise: Noise) -> SparseBatch:
        drawn = subset(noise, self.d, self.m)
        starts = self.starts(np.take_along_axis(values, drawn, axis=1))
        near = noise.bernoulli(self.near, self.m)
        numbers = noise.uniform_integers(np.where(near, self.window, self._room), self.m)
        numbers += np.where(near, starts, np.where(numbers >= starts, self.window, 0))
        return self._of(drawn, numbers)

    def _of(self, drawn: IntArray, numbers: IntArray) -> SparseBatch:
        """Return the reports of these features and numbers, (people, m)."""
        counts = np.full(len(drawn), self.m)
        return SparseBatch(drawn.reshape(-1), counts, self.d, (numbers + 1).astype(np.int32).reshape(-1))

    def encode(self, reports: SparseBatch, devices: IntArray) -> list[bytes]:
        assert reports.values is not None
        fields = [_bits(reports.columns, self._index_bits), _bits(reports.values - 1, self._number_bits)]
        return pack_bit_rows(np.concatenate(fields, axis=1).reshape(len(reports), -1))

    def decode(self, data: Sequence[bytes], devices: IntArray) -> SparseBatch:
        """int32 rows of the numbers plus 1; features that were not drawn are not among them."""
        width = self._index_bits + self._number_bits
        fields = unpack_bit_rows(data, self.m * width).reshape(len(data), self.m, width)
        drawn, numbers = _whole(fields[..., : self._index_bits]), _whole(fields[..., self._index_bits :])
        rises = np.all(np.diff(drawn, axis=1) > 0)
        if not rises or drawn.max(initial=0) >= self.d or numbers.max(initial=0) >= self.outputs:
            raise ValueError(f"not a report of {self.m} of {self.d} features")
        return self._of(drawn, numbers)

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        drawn = np.flatnonzero(report)
        if len(drawn) != self.m:
            return -math.inf
        inside = int(np.count_nonzero(self._inside(report[drawn], self.starts(value[drawn]))))
        chance = inside * math.log(self._inner) + (self.m - inside) * math.log(self._outer)
        return chance - math.log(math.comb(self.d, self.m))

    def estimate(self, report: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(report) > 0, self._estimate_drawn(report), 0.0)

    def sparse_estimates(self, reports: Any) -> tuple[Any, float]:
        """Return float32 CSR (n, d) and 0, the estimate of a feature that was not drawn."""
        estimates = reports.astype(np.float32)
        estimates.data = self._estimate_drawn(reports.data).astype(np.float32)
        return estimates, 0.0

    def centred(self, reports: Any) -> Any:
        """float32 CSR (n, d): the published output of a drawn feature, in [-1 - b, 1 + b], for reports in CSR.

        Its mean is kappa t: nothing is done about the bias, or about features that were not drawn.
        """
        outputs = reports.astype(np.float32)
        outputs.data = ((2 * reports.data - 1 - self.outputs) / self._room).astype(np.float32)
        return outputs

    def variance(self, value: np.ndarray) -> np.ndarray:
        """float (d,): d/m (Var[y] + x^2) - x^2, with x the value on the grid and y its estimate once drawn."""
        x = self.low + self.step * self.steps(value)
        first = self.starts(value).astype(np.float64)
        last = first + self.window - 1
        more = self._inner - self._outer
        mean = self._mean_outside + more * self.window * (first + last) / 2
        square = self._outer * _squares(self.outputs - 1.0) + more * (_squares(last) - _squares(first - 1))
        return self.d / self.m * (self._slope**2 * (square - mean**2) + x**2) - x**2

    def log_likelihood(self, report: np.ndarray) -> FloatArray:
        values = np.asarray(report)
        high, low = self._inside(values, self._room), self._inside(values, 0)
        ratio = math.log(self._inner) - math.log(self._outer)
        return np.where(values > 0, ratio * (high.astype(np.float64) - low), 0.0)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return log_ratio(self.near * self._room, (ONE - self.near) * self.window, changes(self.m, changed))

    @property
    def _inner(self) -> float:
        """p, the probability of a number of the window."""
        return self.near / ONE / self.window

    @property
    def _outer(self) -> float:
        """q, the probability of another number."""
        return (ONE - self.near) / ONE / self._room

    @property
    def _mean_outside(self) -> float:
        return self._outer * self.outputs * (self.outputs - 1) / 2

    @property
    def _slope(self) -> float:
        """Change of a drawn feature's value for a change of a number by 1."""
        return (self.high - self.low) / (self._room * (self._inner - self._outer) * self.window)

    def _estimate_drawn(self, report: np.ndarray) -> FloatArray:
        # E[number] = q G (G - 1) / 2 + (p - q) w (l + (w - 1) / 2), solved for l
        number = np.asarray(report, np.float64) - 1 - self._mean_outside
        middle = (self.high - self.low) * (self.window - 1) / (2 * self._room)
        return self.d / self.m * (self.low + self._slope * number - middle)

    def _inside(self, report: np.ndarray, starts: Any) -> Any:
        return (report > starts) & (report <= starts + self.window)

    @property
    def _index_bits(self) -> int:
        return (self.d - 1).bit_length()

    @property
    def _number_bits(self) -> int:
        return (self.outputs - 1).bit_length()


def _bits(numbers: IntArray, width: int) -> np.ndarray:
    """uint8 (len(numbers), width): binary digits, highest first."""
    return (numbers[:, None] >> np.arange(width - 1, -1, -1) & 1).astype(np.uint8)


def _whole(bits: np.ndarray) -> IntArray:
    """int64: numbers of binary digits, highest first."""
    return bits.astype(np.int64) @ (1 << np.arange(bits.shape[-1] - 1, -1, -1, dtype=np.int64))


def _squares(last: Any) -> Any:
    """1 + 4 + ... + last^2."""
    return last * (last + 1) * (2 * last + 1) / 6
