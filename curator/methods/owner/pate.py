"""PATE-G and PATE-M, the PATE baselines of the PrivGnn paper.

PATE: Papernot et al. 2017, https://arxiv.org/abs/1610.05755. As baselines for graphs: Olatunji,
Funke and Khosla, https://arxiv.org/abs/2109.08907.

With T teachers, c classes and the public query nodes v:

    part(i) ~ uniform over 1 .. T, for each private person i, independently
    f_t     = a network trained on the people of part t: GraphSAGE on the part's own edges (``pate-g``),
              or a perceptron d-h-h-c on features alone (``pate-m``)
    n_j(v)  = number of teachers with argmax f_t(v) = j                          (queries, c)
    y~_v    = argmax_j (n_j(v) + Lap(1 / lambda))

and a student is trained on the public graph with the labels y~_v. A person who joins or leaves changes one teacher, so
one vote of each query: two counts by 1 each, and a query loses 2 lambda at most.

(The paper's published code re-initialises its teachers before they vote, and truncates the noise to integers. Neither
is done here.) A teacher whose part has fewer than two people, or no label, does not vote.

The draws are independent for a reason. If a shuffled list were cut into equal lengths, one person
more or less would move *other* people into other parts, and several votes could change. Here all
others stay in their parts, and one teacher changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.draws import derive, private_generator, teacher_seed
from ldpsim.curator.methods.owner.owner import LabelAnswers
from ldpsim.curator.methods.parameters import parameter, whole
from ldpsim.curator.owner.teachers.answering import ask_all
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.perceptron import perceptron_scores, train_perceptron
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.curator.owner.teachers.student import train_network
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.array_types import IntArray

_FIRST = 1  # weights of teacher k: number k + 1


@dataclass(frozen=True)
class PateG(LabelAnswers):
    """PATE with GraphSAGE teachers.

    Args:
        teachers: Number of disjoint parts, of about equal size; the paper takes 20 for Amazon, 50 for ArXiv and Reddit.
        others: The parameters of :class:`LabelAnswers`.

    Raises:
        ValueError: for a parameter outside its range.
    """

    teachers: int = parameter(20, whole(1, 10_000))

    spec = replace(LabelAnswers.spec, name="pate-g")

    def check(self, *, people: int, candidates: int, classes: int) -> None:
        """As :meth:`LabelAnswers.check`."""
        super().check(people=people, candidates=candidates, classes=classes)
        if 2 * self.teachers > people:
            most = people // 2
            raise SettingError(f"teachers={self.teachers}", f"{people} private people make {most} parts at most")

    @property
    def trained(self) -> int:
        """As :attr:`LabelAnswers.trained`."""
        return self.teachers

    def parts(self, people: int, *, noise_seed: int) -> IntArray:
        """int64 (people,): each person's part, drawn independently; parts may be empty."""
        return private_generator(noise_seed, "parts", 0).integers(0, self.teachers, people)

    def votes(
        self, private: PlainGraph, public: PlainGraph, queries: IntArray, settings: SageSettings, *, classes: int,
        noise_seed: int, training_seed: int,
    ) -> NDArray[np.float64]:  # fmt: skip
        """Return float64 (queries, classes): number of teachers that vote for each class.

        A teacher whose part has fewer than two people, or no label, does not vote.
        """
        part_of = self.parts(len(private), noise_seed=noise_seed)
        counts = np.zeros((len(queries), classes))
        for number in range(self.teachers):
            own = private.part(np.flatnonzero(part_of == number))
            if len(own) >= 2 and (own.labels >= 0).any():
                votes = self._vote(own, public, settings, classes, training_seed, number)[queries]
                counts[np.arange(len(queries)), votes] += 1
        return counts

    def reasons(self) -> list[str]:
        """As :meth:`LabelAnswers.reasons`."""
        return [
            "the printed figure is the moments bound; what holds is the tighter composition of the same noise",
            *super().reasons(),
        ]

    def _vote(
        self, own: PlainGraph, public: PlainGraph, settings: SageSettings, classes: int, seed: int, number: int
    ) -> IntArray:
        people = np.flatnonzero(own.labels >= 0)
        student = train_network(own, people, own.labels[people], classes, settings,
                                seed=derive(seed, "part", number))  # fmt: skip
        return ask_all(student.network, public).argmax(1)


@dataclass(frozen=True)
class PateM(PateG):
    """PATE with perceptrons of three layers."""

    spec = replace(PateG.spec, name="pate-m")

    def _vote(
        self, own: PlainGraph, public: PlainGraph, settings: SageSettings, classes: int, seed: int, number: int
    ) -> IntArray:
        teacher = train_perceptron(own.features, own.labels, classes, settings, teacher_seed(seed, _FIRST + number))
        return perceptron_scores(teacher, public.features).argmax(1)
