"""PrivGnn (Olatunji, Funke and Khosla): a personalised teacher for every query, Algorithm 1.

Lines 2 to 6 are :mod:`curator.teachers.answering`, line 7 :mod:`curator.teachers.release`,
line 8 :mod:`curator.teachers.student`. Three differences from the algorithm as printed or
as published in code, each with the original beside it:

- Line 2 draws one sample; the paper's accounting is about a fresh one for each query.
  ``sampling="fresh"`` is the default, ``"once"`` is line 2 and is accounted as such.
- Noise goes on the softmax posterior, as the text says; the published code puts it on the
  log-softmax, which is unbounded, so nothing is guaranteed: ``scores="log-posterior"``.
- Only labels are released, so what holds is the loss of the label.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from curator.learning.training import TrainingSettings
from curator.methods.owner.owner import LabelAnswers, sage_settings
from curator.privacy.accountant import Account, LabelRelease
from curator.privacy.guarantee import Guarantee, Level
from curator.teachers.answering import Teaching
from curator.teachers.release import SCORES, log_posteriors, noisy_labels
from devices.array_types import IntArray


@dataclass(frozen=True)
class PrivGnn(LabelAnswers):
    """PrivGnn.

    Args:
        gamma: Probability with which a person is in a sample.
        sampling: ``fresh`` for each query, or ``once``.
        K: How many of the sampled people, those nearest to the query, a teacher learns from.
        distance: ``euclidean`` or ``cosine``.
        basis: ``given``, or ``rotated``: another, faster training (:mod:`curator.teachers.sage`).
        scores: What the noise is added to: ``posterior``, or ``log-posterior`` (no guarantee).
        others: As in :class:`LabelAnswers`.

    Raises:
        ValueError: for a parameter outside its range.
    """

    gamma: float = 0.3
    sampling: str = "fresh"
    K: int = 300
    distance: str = "euclidean"
    basis: str = "given"
    scores: str = "posterior"

    name: ClassVar[str] = "privgnn"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scores not in SCORES:
            raise ValueError(f"--set scores={self.scores}: must be one of {', '.join(SCORES)}")
        self.teaching(TrainingSettings(gnn="sage"), classes=2, noise_seed=0, training_seed=0)

    def teaching(self, training: TrainingSettings, *, classes: int, noise_seed: int, training_seed: int) -> Teaching:
        """Return all that the teachers depend on; ValueError where it does not fit."""
        return Teaching(
            neighbours=self.K, gamma=self.gamma, sampling=self.sampling, distance=self.distance, classes=classes,
            settings=sage_settings(training, basis=self.basis), noise_seed=noise_seed, training_seed=training_seed,
        )  # fmt: skip

    def labels(self, posteriors: NDArray[np.float64], *, noise_seed: int) -> IntArray:
        """int64 (queries,): what is released."""
        values = log_posteriors(posteriors) if self.scores == "log-posterior" else posteriors
        return noisy_labels(values, self.lambda_, noise_seed=noise_seed)

    def release(self, people: int, classes: int) -> LabelRelease:
        """As :meth:`LabelAnswers.release`."""
        asked = super().release(people, classes)
        return replace(asked, gamma=self.gamma, sampling=self.sampling)  # type: ignore[arg-type]  # checked there

    def reasons(self) -> list[str]:
        """As :meth:`LabelAnswers.reasons`."""
        found = [
            "two private graphs can give posteriors that differ by 2 in the L1 norm; the printed analysis takes 1",
            "the printed tables are at ten times the delta that their text states",
            *super().reasons(),
        ]
        if self.sampling == "once":
            found.append("one sample answers all queries here; the printed analysis is about a fresh one for each")
        if self.scores == "log-posterior":
            found.append("noise on log-softmax scores has unbounded sensitivity: no guarantee at any epsilon")
        return found

    def guarantee_of(self, found: Account) -> Guarantee:
        """As :meth:`LabelAnswers.guarantee_of`; noise on log-softmax scores guarantees nothing."""
        usual = super().guarantee_of(found)
        if self.scores == "posterior":
            return usual
        open_ = Level("unprotected", detail="noise on log-softmax scores, whose sensitivity is unbounded")
        return replace(usual, holds={**usual.holds, "central_node": open_})
