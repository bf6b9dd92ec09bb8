"""Bound of what reports can be worth, from their losses alone: settings that cannot matter are not simulated.

A report of a record x against one of an empty record differs by KL(P_x || P_empty) <= f(loss), with
f(e) = min(e, e^2 / 2) and a loss of at most (entries of x that are not 0) * (loss of an entry), and at most that of the
whole list. So all reports together carry at most ``nats`` a person on average, whoever reads them. By Pinsker's
inequality they raise the accuracy of predictions by at most sqrt(nats / 2), on average over people whose classes are
independent given what is public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.data.population import Population
from ldpsim.strategies.estimate.asked import PaperQuestion

LEAST_GAIN = 0.01  # of accuracy; less is not worth a question


def nats(asked: Sequence[PaperQuestion], people: Population) -> float:
    """Return the most that the reports to these questions say, in nats a person.

    Args:
        asked: The questions, with mechanisms of the full number of people.
        people: People like those who are asked: their degrees and features count.
    """
    entries = {"adjacency": people.degrees, "features": np.diff(people.feature_indptr), "label": np.ones(len(people))}
    told = 0.0
    for question in asked:
        for stage in question.query.plan:
            for ask in stage:
                for mechanism in ask.mechanisms:
                    loss = mechanism.loss()
                    changed = entries[ask.attribute]
                    most = np.multiply(changed, loss.bit, out=np.zeros(len(people)), where=changed > 0)
                    lost: FloatArray = np.minimum(most, loss.vector)
                    told += question.share * float(np.minimum(lost, lost**2 / 2).mean())
    return told


def most_gained(asked: Sequence[PaperQuestion], people: Population) -> float:
    """Return the most by which these reports raise the accuracy above what is known without them."""
    return min(1.0, math.sqrt(nats(asked, people) / 2))
