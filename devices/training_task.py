"""Task of a federated training, and the loss of an answer to it.

A task is one public description for a whole training of devices or of silos: the network, the
local steps, the data that a party uses, and whether it clips its update and adds noise. A task with
unknown fields is invalid, as a query is. The loss of an answer depends on the task and on
the kind of the answer alone.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.facts import MOST_LOCAL_STEPS, PublicFacts
from ldpsim.devices.mechanisms import gaussian
from ldpsim.devices.mechanisms.exact_loss import Loss, check_delta
from ldpsim.devices.mechanisms.noisy_steps import UNIT
from ldpsim.devices.network import LARGEST, Shape
from ldpsim.devices.noise import Noise, derive_key
from ldpsim.devices.query import COLLECTION_ID, InvalidQuery, canonical, malformed

FORMAT = 1
STEPS = 1 << 20  # grid steps in the clipping norm: rounding towards 0 costs at most sqrt(size) of them
AnswerKind = Literal["update", "evaluation", "exchange"]
SEES: dict[str, tuple[str, ...]] = {
    "own": ("features", "label"),
    "ego": ("adjacency", "features", "label"),
    "sums": ("adjacency", "features", "label"),
}
SCALINGS = ("none", "row", "unit")
MOST_COLUMNS, MOST_UNITS = 1 << 22, 1 << 14  # the products take memory for every column
_OF_SILOS = ("weight_decay", "dropout", "seed", "network")
SILO_NETWORKS = ("gcn", "sage", "gat")
ATTENTION_SLOPE = 0.2  # of LeakyReLU below 0 (Velickovic et al. 2018)
CLEAR, NOISY = "clear_update", "gaussian_update"
UNPROTECTED = Loss(math.inf, math.inf)


@dataclass(frozen=True)
class GaussianUpdate:
    """An update clipped to L2 norm ``clip``, put on a grid, with rounded Gaussian noise on every weight.

    The grid has 2**20 steps in ``clip`` and values go towards 0, so that the norm only
    shrinks. Any two records of a person give updates at most 2 ``clip`` apart: that is the
    sensitivity of the *whole record*, and the loss at every finer level is bounded by it.
    The noise is drawn exactly (:mod:`ldpsim.devices.mechanisms.gaussian`), and delta(eps) is the
    curve of Balle and Wang (2018), not the formula that holds for eps < 1 only.

    Args:
        clip: Largest norm of an update.
        deviation: The noise's standard deviation, in 1 / 2**32 of a grid step.
        delta: At which the loss is stated.

    Raises:
        ValueError: for a norm, deviation or delta that makes no sense.
    """

    clip: float
    deviation: int
    delta: float

    def __post_init__(self) -> None:
        if not 1 / LARGEST <= self.clip <= LARGEST:
            raise ValueError(f"the clipping norm must be {1 / LARGEST:.1g} to {LARGEST:.1g}, not {self.clip}")
        if not UNIT <= self.deviation < 1 << 68:
            raise ValueError(f"the deviation must be 1 .. 2**36 grid steps, not {self.deviation / UNIT:g}")
        check_delta(self.delta)

    @classmethod
    def from_epsilon(cls, epsilon: float, *, clip: float, delta: float) -> GaussianUpdate:
        """Return the mechanism with the smallest noise that is (epsilon, delta)-private for the whole record."""
        sigma = gaussian.calibrate(epsilon, delta, shift=2.0 * STEPS)
        return cls(float(clip), math.ceil(sigma * UNIT), float(delta))

    @property
    def loss(self) -> Loss:
        """Loss of one update, at every level."""
        epsilon = gaussian.printed_epsilon(self.delta, shift=2.0 * STEPS, sigma=self.deviation / UNIT)
        return Loss(epsilon, epsilon, self.delta)

    def perturb(self, update: FloatArray, key: bytes) -> FloatArray:
        """Return the noisy update, float64 (size,).

        The noise is bound to the grid steps as well: answers that differ in one step, for
        whatever reason, share no noise, and nothing can be subtracted.

        Args:
            update: Change of the weights, (size,); entries that are not finite count as 0.
            key: 32 bytes, the noise key of the answer.
        """
        steps = self.steps(update)
        noise = Noise([derive_key(key, steps.astype("<i4").tobytes())])
        drawn = gaussian.sample(noise, Fraction(self.deviation, UNIT), len(steps))[0]
        return (steps + drawn) * (self.clip / STEPS)

    def steps(self, update: FloatArray) -> np.ndarray:
        """int64 (size,): the clipped update on the grid; the L2 norm is at most 2**20 steps, exactly."""
        wide = np.nan_to_num(np.asarray(update, np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        scale = STEPS / self.clip / max(1.0, float(np.linalg.norm(wide)) / self.clip)
        steps = np.trunc(wide * scale).astype(np.int64)
        while int(steps @ steps) > STEPS * STEPS:  # floating point may be an ulp generous
            scale *= 1 - 2.0**-40
            steps = np.trunc(wide * scale).astype(np.int64)
        return steps


@dataclass(frozen=True)
class Task:
    """A training that a device or a silo may take part in.

    Args:
        collection: Id of the training, 1..64 of ``A-Za-z0-9._-``.
        sees: ``own`` features, of a silo also the edges among its members; ``ego``: also neighbours'
            representations; ``sums``: also the neighbours' summed features, received before.
        d, hidden, classes: The network.
        lr: Learning rate of the local steps (plain gradient descent).
        steps: Local steps an answer.
        scaling: Of the own features: ``none``, ``row`` (divided by their sum) or ``unit``
            (by their L2 norm).
        noise: How an update is protected, None: not at all.
        weight_decay, dropout: Of the local steps of silos; 0 for devices.
        seed: Seed of the dropout; None: the task is one of devices.
        network: Of silos: ``gcn``, ``sage`` (a GraphSAGE of means) or ``gat`` (attention of one head).

    Raises:
        InvalidQuery: for anything that is not of this form.
    """

    collection: str
    sees: str
    d: int
    hidden: int
    classes: int
    lr: float
    steps: int
    scaling: str = "unit"
    noise: GaussianUpdate | None = None
    weight_decay: float = 0.0
    dropout: float = 0.0
    seed: int | None = None
    network: str = "gcn"

    def __post_init__(self) -> None:
        valid = isinstance(self.collection, str) and self.sees in SEES and self.scaling in SCALINGS
        valid = valid and self.network in SILO_NETWORKS
        sizes = (self.d, self.hidden, self.classes, self.steps)
        if not valid or not all(type(size) is int and size >= 1 for size in sizes):
            raise InvalidQuery("the task is malformed")
        if not COLLECTION_ID.fullmatch(self.collection) or type(self.seed) not in (int, type(None)):
            raise InvalidQuery("the task is malformed")
        if self.d > MOST_COLUMNS or max(self.hidden, self.classes) > MOST_UNITS or self.steps > MOST_LOCAL_STEPS:
            raise InvalidQuery("the task is too large")
        rates = (self.lr, self.weight_decay, self.dropout)
        if (
            not all(type(rate) is float and 0 <= rate <= LARGEST for rate in rates)
            or not self.dropout < 1
            or not self.lr
        ):
            raise InvalidQuery("the rates of the task are malformed")
        if not self.of_silos and (self.weight_decay or self.dropout):
            raise InvalidQuery("devices have neither weight decay nor dropout")
        if self.of_silos and self.sees == "ego":
            raise InvalidQuery("silos send no representations")
        if self.network != "gcn" and (self.sees != "own" or not self.of_silos):
            raise InvalidQuery("only silos without sums have another network than a GCN")
        if self.noise is not None and (self.sees != "own" or self.of_silos):
            raise InvalidQuery("only updates from a device's own features are sent under noise")

    @property
    def of_silos(self) -> bool:
        """Whether silos train, not devices."""
        return self.seed is not None

    @property
    def shape(self) -> Shape:
        """The network's sizes."""
        return Shape(self.d, self.hidden, self.classes, joined=self.network == "sage", attends=self.network == "gat")

    @property
    def mechanism(self) -> str:
        """Name of the mechanism that protects an update."""
        return CLEAR if self.noise is None else NOISY

    def scope(self, kind: AnswerKind) -> tuple[str, ...]:
        """Attributes that an answer depends on."""
        seen = SEES[self.sees]
        return tuple(name for name in seen if name != "label") if kind == "exchange" else seen

    def loss(self, kind: AnswerKind) -> Loss:
        """Return the loss of one answer of this kind; without noise nothing bounds it."""
        return self.noise.loss if self.noise is not None and self.adds_noise(kind) else UNPROTECTED

    def adds_noise(self, kind: AnswerKind) -> bool:
        """Return whether answers of this kind are under noise, so that each one is drawn once."""
        return self.noise is not None and kind == "update"

    def agrees_with(self, facts: PublicFacts) -> bool:
        """Return whether the public facts in the task are the ones given."""
        small = self.noise is None or self.noise.delta * facts.n < 1
        return (self.d, self.classes) == (facts.d, facts.classes) and small

    def to_bytes(self) -> bytes:
        """Return the canonical bytes (JSON, sorted keys, no spaces, ASCII)."""
        return canonical(self._values())

    def question_bytes(self) -> bytes:
        """Return the canonical bytes without the training's id: the same question in another training is the same."""
        return canonical({**self._values(), "collection": None})

    def _values(self) -> dict[str, object]:
        # The noise of devices is bound to these bytes: what only silos have is not in a device's task.
        values = {"v": FORMAT, **asdict(self)}
        if self.network == "gcn":
            del values["network"]  # a field that came later: the bytes of a GCN's task stay
        return {name: value for name, value in values.items() if self.of_silos or name not in _OF_SILOS}

    @staticmethod
    def from_bytes(data: bytes) -> Task:
        """Read a task; only canonical bytes are accepted.

        Raises:
            InvalidQuery: for malformed bytes or unknown fields.
        """
        if not isinstance(data, bytes) or len(data) > 4096:
            raise InvalidQuery("a task is a few bytes")
        return _parse(data)


@lru_cache(maxsize=64)
def _parse(data: bytes) -> Task:
    with malformed("the task"):
        values = json.loads(data)
        if values.pop("v") != FORMAT:
            raise InvalidQuery("unknown task format")
        noise = values.pop("noise")
        task = Task(**values, noise=None if noise is None else GaussianUpdate(**noise))
        if task.to_bytes() != data:
            raise InvalidQuery("the bytes are not canonical")
    return task
