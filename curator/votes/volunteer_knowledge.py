"""Knowledge where volunteers give label and features in clear, and everybody else gives one report.

Nothing is known of an ordinary person before the report r, and everybody chooses among all classes. So

    P(c | r) = pi_c M[c, r] / sum over the classes of the same,    M = T G,

with G of the response: GRR keeps the choice with probability k, and else draws a class. The class shares pi are those
of the largest likelihood of all reported labels (expectation maximisation), with the volunteers' labels, and one more
person in each class, as counts that are known. T[c, v] is how often a person of class c chooses v. For a reported label
it is the identity. For a vote it is

    T[c, v] = a [c = v] + (1 - a) q_v,

where q are the shares of the votes themselves, and a is how far a vote is expected to be right beyond the chance of two
independent draws from pi and from q. How often it is right follows from the volunteers' features and from the homophily
that the calibration group tells (:func:`ldpsim.curator.votes.calibration.right_share`), less two standard errors of a
share among the volunteers, so that the luck of few people does not count. Without such a group the share
of a vote about both follows from own features alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ldpsim.curator.features.linear_feature_model import FeatureModelFit, fit_feature_model
from ldpsim.curator.linear.array_digest import LastResults, array_digest
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.votes.calibration import expected_shares, kept_share, posterior_mean, right_share
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.facts import PublicKnowledge

ASSUMED = 0.3  # the homophily where no report tells it: lists count little, and mislead little where friends are unlike
_MODELS = LastResults[FeatureModelFit]()
_MOST_STEPS, _SMALL_STEP = 500, 1e-9  # of expectation maximisation


@dataclass(frozen=True, eq=False)
class ClassReports:
    """Reports of a class through GRR.

    Args:
        people: int64 (k,): who reported.
        reports: int64 (k,): the classes.
        share: k of the response.
    """

    people: IntArray = field(repr=False)
    reports: IntArray = field(repr=False)
    share: float

    def shares(self, classes: int) -> DoubleArray:
        """float64 (classes,): of the classes before the response, one more person in each."""
        reported = np.bincount(self.reports, minlength=classes) / max(1, len(self.reports))
        counts = np.maximum((reported - (1 - self.share) / classes) / self.share, 0.0) * len(self.reports) + 1
        return np.asarray(counts / counts.sum())

    def posterior(self, shares: DoubleArray, choice: DoubleArray) -> DoubleArray:
        """float64 (k, classes): P(class | report), from the shares pi and T, how people of a class choose."""
        classes = len(choice)
        channel = choice @ (self.share * np.eye(classes) + (1 - self.share) / classes)
        odds = shares * channel[:, self.reports].T
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class VolunteerKnowledge:
    """Knowledge from the volunteers' records and the reports so far.

    Args:
        fit: The linear model of features.
        probability: float64 (n, classes): of everybody's class. A volunteer's row is by a fit without the own label.
            People of whom nothing is known have the class shares.
        table: float64 (n, classes): what is published; zeros for people of whom nothing is known.
        shares: float64 (classes,): pi.
        homophily: How much friends are alike, -1 .. 1.
        calibrated: Whether a calibration group told it.
    """

    fit: FeatureModelFit
    probability: DoubleArray = field(repr=False)
    table: DoubleArray = field(repr=False)
    shares: DoubleArray = field(repr=False)
    homophily: float
    calibrated: bool

    def posterior(self, nodes: IntArray) -> tuple[DoubleArray, Mapping[str, float]]:
        """Return ln P, float64 (n, classes), and no exponents: nothing is fitted on the labels of ``nodes``."""
        return np.log(np.maximum(self.probability, 1e-300)), {}


def volunteer_knowledge(
    reports: Reports, public: PublicKnowledge, evidence: str = "both", homophily: float = ASSUMED
) -> VolunteerKnowledge:
    """Return what the curator knows from the volunteers' records and the reports so far.

    Args:
        reports: The reports so far.
        public: Public knowledge.
        evidence: What votes are about, one of :data:`ldpsim.curator.votes.volunteer_questions.EVIDENCE`.
        homophily: h where no calibration group tells it.

    Raises:
        ValueError: where no volunteer has answered.
    """
    facts, labels = reports.facts, reports.needed("labels")
    people = public.split.labelled
    people = people[labels[people] >= 0]
    if not len(people):
        raise ValueError("no volunteer has given a label")
    records = reports.needed("features")[people], labels[people]
    fit = _MODELS.of(
        array_digest(*records, start=repr(facts)),
        lambda: fit_feature_model(records[0], ObservedLabels(records[1], facts.classes), facts),
    )
    one_hot = np.eye(facts.classes)
    counts = np.bincount(labels[people], minlength=facts.classes).astype(np.float64) + 1
    label_reports = _class_reports(reports, "labels")
    shares = class_shares(counts, label_reports)
    fit = fit.with_shares(counts / counts.sum(), shares)
    probability, table = np.tile(shares, (facts.n, 1)), np.zeros((facts.n, facts.classes))
    if label_reports is not None:
        probability[label_reports.people] = table[label_reports.people] = label_reports.posterior(shares, one_hot)
    table[people] = one_hot[labels[people]]
    rows, numbers = np.unique(table[table.any(axis=1)], axis=0, return_counts=True)
    calibration = _calibration_reports(reports)
    if calibration is not None:
        ones, number, kept = calibration
        homophily = posterior_mean(ones, number, kept, expected_shares(rows, numbers, shares))
    if (votes := _class_reports(reports, "votes")) is not None:
        reads_features = evidence != "list"
        own_scores = fit.log_probability if reads_features else np.tile(np.log(shares), (len(people), 1))
        list_counts = evidence == "list" or (evidence == "both" and calibration is not None)
        right = right_share(own_scores, labels[people], rows, numbers, shares, homophily if list_counts else 0.0)
        right -= 2 * float(np.sqrt(right * (1 - right) / len(people)))
        probability[votes.people] = table[votes.people] = votes.posterior(
            shares, vote_channel(right, votes.shares(facts.classes), shares)
        )
    probability[people] = np.exp(fit.log_probability)
    return VolunteerKnowledge(fit, probability, table, shares, homophily, calibration is not None)


def class_shares(counts: DoubleArray, reported: ClassReports | None) -> DoubleArray:
    """float64 (classes,): the shares pi of the largest likelihood of known and of reported labels.

    Expectation maximisation: with G of the response, the expected number of reporters of class c is the sum over the
    reports r of pi_c G[c, r] / sum over the classes of the same.

    Args:
        counts: float64 (classes,): people whose label is known, above 0.
        reported: Labels that people reported under noise.

    >>> class_shares(np.array([3.0, 1.0]), None).tolist()
    [0.75, 0.25]
    """
    shares = counts / counts.sum()
    if reported is None:
        return np.asarray(shares)
    classes = len(counts)
    counts_reported = np.bincount(reported.reports, minlength=classes)
    response = reported.share * np.eye(classes) + (1 - reported.share) / classes
    for _ in range(_MOST_STEPS):
        odds = shares[:, None] * response
        expected = (odds / odds.sum(axis=0)) @ counts_reported + counts
        before, shares = shares, expected / expected.sum()
        if np.abs(shares - before).max() < _SMALL_STEP:
            break
    return np.asarray(shares)


def vote_channel(right: float, votes: DoubleArray, shares: DoubleArray) -> DoubleArray:
    """float64 (classes, classes): T of votes that are right so often, from the shares of votes and of classes.

    >>> vote_channel(0.75, np.array([0.5, 0.5]), np.array([0.5, 0.5])).tolist()  # a is .5
    [[0.75, 0.25], [0.25, 0.75]]
    """
    by_chance = float(shares @ votes)
    beyond = min(1.0, max(0.0, (right - by_chance) / (1 - by_chance))) if by_chance < 1 else 0.0
    return np.asarray(beyond * np.eye(len(votes)) + (1 - beyond) * votes)


def _calibration_reports(reports: Reports) -> tuple[int, int, float] | None:
    """Return the number of ones, the number of reports and k of the calibration group; None without its reports."""
    parts = [part for part in reports.of_field("votes") if _of_calibration(part, "votes")]
    values = np.concatenate([part.needed("votes")[part.needed("votes") >= 0] for part in parts] or [np.zeros(0)])
    if not len(values):
        return None
    return int(values.sum()), len(values), kept_share(parts[0].source("votes").loss().vector, 2)


def _class_reports(reports: Reports, name: str) -> ClassReports | None:
    """Return the classes that people reported under noise in this field; None where there are none.

    All parts ask with one loss.
    """
    parts = [part for part in reports.of_field(name)
             if not part.source(name).in_clear and not _of_calibration(part, name)]  # fmt: skip
    if not parts:
        return None
    who = np.logical_or.reduce([part.needed(name) >= 0 for part in parts])
    share = kept_share(parts[0].source(name).loss().vector, reports.facts.classes)
    return ClassReports(np.flatnonzero(who), reports.needed(name)[who], share)


def _of_calibration(part: Reports, name: str) -> bool:
    return bool(getattr(part.source(name), "calibration", False))
