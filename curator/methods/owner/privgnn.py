"""PrivGnn: a personalised teacher for every query (Olatunji, Funke and Khosla, https://arxiv.org/abs/2109.08907).

Algorithm 1, for a private graph of n people with features (n, d), a public graph, and the query nodes Q:

    V^    = people drawn by independent Bernoulli(gamma) trials                             line 2
    V_K   = the K people of V^ nearest to the query's features                              line 4
    Phi_v = GraphSAGE, trained on the subgraph that V_K induces, with its labels      lines 5 and 6
    y~_v  = argmax(Phi_v(v) + (eta_1 .. eta_c)),  eta_i ~ Lap(0, beta), beta = 1 / lambda   line 7
    Phi   = GraphSAGE, trained on the public graph with the labels y~_v, v in Q             line 8

Lines 2 to 6 are :mod:`ldpsim.curator.owner.teachers.answering`, line 7 :mod:`ldpsim.curator.owner.teachers.release`,
line 8 :mod:`ldpsim.curator.owner.teachers.student`. Phi_v(v) is a posterior over the c classes. The loss of the labels
is :mod:`ldpsim.curator.owner.privacy.label`; eqs. 3, 5 and 8 to 11 and Theorem 9 of the paper, which print another
one, are :mod:`ldpsim.curator.owner.privacy.vector`.

Three differences from the printed algorithm or the published code; the original is available for each:

- Line 2 draws one sample; the paper's accounting is about a fresh one for each query.
  ``sampling="fresh"`` is the default. ``"once"`` is line 2 and is accounted as such.
- Noise is added to the softmax posterior, as the text says. The published code adds it to the
  log-softmax, which is unbounded, so nothing is guaranteed: ``scores="log-posterior"``.
- Only labels are released, so what holds is the loss of the label.

The paper leaves open what a teacher does with a sample of fewer than K people, or without a label
(:mod:`ldpsim.curator.owner.teachers.answering` has the rules), and the distance d(., .) of line 4, ``euclidean`` here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods.owner.owner import LabelAnswers, sage_settings
from ldpsim.curator.methods.parameters import FRACTION, one_of, parameter, whole
from ldpsim.curator.owner.privacy.account import Account, LabelRelease
from ldpsim.curator.owner.teachers.answering import DISTANCES, SAMPLINGS, Teaching
from ldpsim.curator.owner.teachers.release import log_posteriors
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.devices.array_types import IntArray


@dataclass(frozen=True)
class PrivGnn(LabelAnswers):
    """PrivGnn.

    Args:
        gamma: Probability that a person is in a sample.
        sampling: ``fresh`` for each query, or ``once``.
        K: Number of sampled people, the nearest to the query, that a teacher learns from.
        distance: ``euclidean`` or ``cosine``.
        scores: Vector that gets the noise: ``posterior``, or ``log-posterior`` (no guarantee).
        others: The parameters of :class:`LabelAnswers`.

    Raises:
        ValueError: for a parameter outside its range.
    """

    gamma: float = parameter(0.3, FRACTION)
    sampling: str = parameter("fresh", one_of(*SAMPLINGS))
    K: int = parameter(300, whole(2))
    distance: str = parameter("euclidean", one_of(*DISTANCES))
    scores: str = parameter("posterior", one_of("posterior", "log-posterior"))

    spec = replace(LabelAnswers.spec, name="privgnn")

    def teaching(self, training: TrainingSettings, *, classes: int, noise_seed: int, training_seed: int) -> Teaching:
        """Return settings and seeds of the teachers; ValueError if they do not fit."""
        return Teaching(
            neighbours=self.K, gamma=self.gamma, sampling=self.sampling, distance=self.distance, classes=classes,
            settings=sage_settings(training), noise_seed=noise_seed, training_seed=training_seed,
        )  # fmt: skip

    @property
    def trained(self) -> int:
        """As :attr:`LabelAnswers.trained`: one for each query."""
        return self.queries

    def labels(self, values: NDArray[np.float64], *, noise_seed: int) -> IntArray:
        """As :meth:`LabelAnswers.labels`."""
        return super().labels(log_posteriors(values) if self.scores == "log-posterior" else values,
                              noise_seed=noise_seed)  # fmt: skip

    def release(self, people: int, classes: int) -> LabelRelease:
        """As :meth:`LabelAnswers.release`."""
        release = super().release(people, classes)
        return replace(release, gamma=self.gamma, sampling=self.sampling)  # type: ignore[arg-type]  # checked there

    def reasons(self) -> list[str]:
        """As :meth:`LabelAnswers.reasons`."""
        reasons = [
            "two private graphs can give posteriors that differ by 2 in the L1 norm; the printed analysis takes 1",
            "the printed tables are at ten times the delta that their text states",
            *super().reasons(),
        ]
        if self.sampling == "once":
            reasons.append("one sample answers all queries here; the printed analysis is about a fresh one for each")
        if self.scores == "log-posterior":
            reasons.append("noise on log-softmax scores has unbounded sensitivity: no guarantee at any epsilon")
        return reasons

    def guarantee_of(self, cost: Account, collections: int = 1) -> Guarantee:
        """As :meth:`LabelAnswers.guarantee_of`; noise on log-softmax scores guarantees nothing."""
        usual = super().guarantee_of(cost, collections)
        if self.scores == "posterior":
            return usual
        open_ = Level("unprotected", reason="noise on log-softmax scores, whose sensitivity is unbounded")
        return replace(usual, holds={**usual.holds, "central_node": open_})
