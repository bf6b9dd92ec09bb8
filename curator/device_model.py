"""The device model: what a curator publishes so that each device predicts its own person's class.

It is made of reports and public data alone, so it loses nothing beyond the reports (post-processing). A device adds
its own features and its own list in clear (:mod:`ldpsim.devices.prediction`): device i with features x_i and m friends
of whom something is known predicts the class c of the largest

    e_c(x_i) + D / (D + m - 1) sum over friends j of S_j(c),        S_j(c) = ln sum over k of H(c, k) P_j(k) / pi_k,

with D = 10 (``SATURATION``) and pi the shares of the classes.

- The *table* has P, a class distribution of each person: of a label in clear, that class; else the method's, with the
  temperature that fits validation labels best. Where a method gives classes alone, it is the
  shares of the labels among validation people with the same predicted class. Without a method, it is the distribution
  by features in clear, or none. With a noisy sum (``secure-sum``) only people with a label in clear have one.
- The *model of features* e is linear (:mod:`ldpsim.curator.device_feature_model`).
- The *affinity* H, the distribution of a friend's class k given a person's class c, is from public or reported pairs
  (:mod:`ldpsim.curator.friend_affinity`), from a calibration group or from votes of people whose label is public
  (:mod:`ldpsim.curator.votes.calibration`), else that of an assumed homophily of .3, and the result says so. Nobody's
  true list is read.

A device reads its friends' guesses (:mod:`ldpsim.devices.friends.told_guesses`) by the same affinity; where it is an
assumed one, by that of a homophily of .8.

The device model without reports has the same form. Its affinity is that of the public graph, or the assumed one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ldpsim.curator.device_feature_model import device_feature_model
from ldpsim.curator.features.linear_feature_model import FeatureModelFit
from ldpsim.curator.features.naive_bayes import smoothed_class_shares
from ldpsim.curator.friend_affinity import FriendAffinity, affinity_of_pairs
from ldpsim.curator.knowledge.knowledge import Knowledge
from ldpsim.curator.learning.pool import fit_pool
from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.nulls.inputs import NullInputs, feature_estimates, has_reported_features, is_sampled, sampled_people
from ldpsim.curator.reports.question import volunteers_of
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.sum_model import NoisySum, mixed_model
from ldpsim.curator.votes.calibration import CALIBRATION_HOMOPHILY
from ldpsim.curator.votes.knowledge import homophily_of_votes
from ldpsim.curator.votes.volunteer_knowledge import ASSUMED, volunteer_knowledge
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms.feature_model import UNIT, whole_features
from ldpsim.devices.mechanisms.neighbourhood_vote import SATURATION
from ldpsim.devices.mechanisms.score_rows import affinity, score_table
from ldpsim.devices.prediction import DeviceModel

_LABEL_COUNT = 1.0  # people of each class before anybody is counted


@dataclass(frozen=True, eq=False)
class DeviceModelInputs:
    """Parts of a device model beside the result of a method.

    Args:
        inputs: Labels and features that the curator has; those of volunteers too.
        facts: Sizes and ranges.
        shares: float64 (classes,): shares of the classes, by all that the curator knows.
        friends: Affinity of friends.
        public_friends: The same where no report is read.
        reports: Reports of features of the sampled people, where ``inputs`` has no features of very many people.
        noisy_sum: A sum of other people's features and labels, where there is one: nothing else is known of them.
    """

    inputs: NullInputs = field(repr=False)
    facts: PublicFacts
    shares: DoubleArray = field(repr=False)
    friends: FriendAffinity
    public_friends: FriendAffinity
    reports: Reports | None = field(default=None, repr=False)
    noisy_sum: NoisySum | None = field(default=None, repr=False)

    @cached_property
    def sample(self) -> NullInputs:
        """Inputs of the people to whom the model of features is fitted."""
        inputs, features = self.inputs, self.inputs.features
        whole = not (is_sampled(inputs.split) or isinstance(features, Factored))
        if self.reports is None and (features is None or whole):
            return inputs
        people = sampled_people(inputs)
        places = people if self.reports is None else np.arange(len(people))
        rows = features if self.reports is None else feature_estimates(self.reports)
        return _restricted(inputs, people, rows.rows(places) if isinstance(rows, Factored) else rows[places])

    @cached_property
    def features(self) -> FeatureModelFit | None:
        """The model of features; None without any."""
        return device_feature_model(self.sample, self.facts)

    def build_device_model(
        self, log_probability: NDArray[Any] | None, predictions: IntArray, *, calibrated: bool
    ) -> DeviceModel:
        """Return the device model of a method's result.

        Args:
            log_probability: float (n, classes): ln of the class distributions by the method; None without any.
            predictions: int64 (n,): classes by the method.
            calibrated: Whether the distributions need no temperature.
        """
        if self.noisy_sum is not None:
            table = np.zeros((self.facts.n, self.facts.classes))
        elif log_probability is None:
            table = _label_shares(predictions, self.inputs)
        else:
            rows = np.asarray(log_probability, np.float64)
            table = softmax(rows if calibrated else _with_temperature(rows, self.inputs), axis=1)
        fit = self.features
        if fit is not None and self.noisy_sum is not None:
            people = self.inputs.labels.with_label(np.sort(self.inputs.split.labelled))
            fit = mixed_model(fit, self.inputs.features[people], self.inputs.labels.of(people), self.noisy_sum)
        if fit is not None and self.inputs.volunteers_alone:
            fit = fit.with_shares(self._labelled_shares, self.shares)
        return self._with_table(table, fit, self.shares, self.friends)

    def build_without_reports(self) -> DeviceModel | None:
        """Return the device model without reports; None where no label is in clear."""
        inputs, facts = self.inputs, self.facts
        if not inputs.labels.in_clear or not len(inputs.training_people):
            return None
        fit = None if "features" in inputs.reported else self.features
        if fit is None or inputs.volunteers_alone:  # nobody else's features are known
            table = np.zeros((facts.n, facts.classes))
        else:
            table = _feature_class_probabilities(fit, inputs, facts)
        return self._with_table(table, fit, self._labelled_shares, self.public_friends)

    @cached_property
    def _labelled_shares(self) -> DoubleArray:
        """float64 (classes,): shares of the classes among labelled people."""
        return labelled_shares(self.inputs)

    def _with_table(
        self, table: DoubleArray, fit: FeatureModelFit | None, shares: DoubleArray, friends: FriendAffinity
    ) -> DeviceModel:
        labels, facts = self.inputs.labels, self.facts
        people = labels.with_label(np.sort(self.inputs.split.labelled))
        if labels.in_clear:
            table[people] = np.eye(facts.classes)[labels.labels[people]]
        else:
            prior = np.where(table[people].sum(axis=1, keepdims=True) > 0, table[people], shares)
            table[people] = prior * labels.probabilities(people)
        fields = {} if fit is None else {"levels": fit.levels, "low": facts.feature_low, "high": facts.feature_high}
        scores = score_table(table, friends.matrix, shares)
        # Each device checks its friends' guesses against its own features, so a guess may count as of like friends.
        guess_affinity = affinity(CALIBRATION_HOMOPHILY, shares) if friends.source == "assumed" else friends.matrix
        model = None if fit is None else fit.model
        return DeviceModel.of(scores, shares, model, saturation=SATURATION, friends=guess_affinity, **fields)


def labelled_shares(inputs: NullInputs) -> DoubleArray:
    """float64 (classes,): shares of the classes among labelled people, one more person in each class."""
    people = inputs.labels.with_label(np.sort(inputs.split.labelled))
    return smoothed_class_shares(inputs.labels.estimates(people))


def device_model_inputs(reports: Reports, public: PublicKnowledge, inputs: NullInputs) -> DeviceModelInputs:
    """Return what a device model is made of, from reports and public data.

    Args:
        reports: The reports.
        public: Public knowledge.
        inputs: What the null models know from both: they read the same ridge regression.
    """
    volunteers = volunteers_of(reports.questions())
    if len(volunteers) and public.features is None and reports.features is not None:
        reported = inputs.reported - {"features"}
        inputs = replace(inputs, features=reports.features, reported=reported, volunteers_alone=True)
    shares = labelled_shares(inputs)
    friends = affinity_of_pairs(Knowledge(reports, public), sampled_people(inputs), shares)
    public_friends = friends if public.edges is not None else FriendAffinity.of_homophily(ASSUMED, shares, "assumed")
    if inputs.volunteers_alone and friends.source == "assumed":
        knowledge = volunteer_knowledge(reports, public)
        shares = knowledge.shares
        source = "calibration" if knowledge.calibrated else "assumed"
        friends = FriendAffinity.of_homophily(knowledge.homophily, shares, source)
    elif friends.source == "assumed" and (homophily := homophily_of_votes(reports, public, shares)) is not None:
        friends = FriendAffinity.of_homophily(homophily, shares, "votes of labelled people")
    sample_reports, noisy_sum = None, NoisySum.of(reports)
    if noisy_sum is not None:
        shares = noisy_sum.shares
        friends = FriendAffinity.of_homophily(friends.homophily, shares, friends.source)
    if is_sampled(public.split) and has_reported_features(reports, public):
        sample_reports = reports.of_people(sampled_people(inputs), "features")
    return DeviceModelInputs(inputs, public.facts, shares, friends, public_friends, sample_reports, noisy_sum)


def _restricted(inputs: NullInputs, people: IntArray, features: Any) -> NullInputs:
    """Return the inputs of these labelled people alone."""
    train, val = (np.flatnonzero(np.isin(people, part)) for part in (inputs.split.train, inputs.split.val))
    return replace(inputs, labels=inputs.labels.of(people), split=Split(train, val, train[:0]), features=features)


def _feature_class_probabilities(fit: FeatureModelFit, inputs: NullInputs, facts: PublicFacts) -> DoubleArray:
    """float64 (n, classes): distributions by features in clear."""
    scores = np.empty((facts.n, facts.classes))
    for start in range(0, facts.n, 1024):
        rows = inputs.features[start : start + 1024]
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        levels = whole_features(dense, fit.levels, facts.feature_low, facts.feature_high)
        scores[start : start + 1024] = fit.model.scores(levels, words=fit.levels == 1) / UNIT
    return softmax(scores, axis=1)


def _with_temperature(log_probability: DoubleArray, inputs: NullInputs) -> DoubleArray:
    """float64 (n, classes): ln p with the temperature of the smallest loss on validation labels."""
    pool = fit_pool({"method": log_probability}, inputs.labels, inputs.labels.with_label(inputs.split.val),
                    prior={"method": 1.0})  # fmt: skip
    return pool.log_probability


def _label_shares(predictions: IntArray, inputs: NullInputs) -> DoubleArray:
    """float64 (n, classes): shares of the labels among validation people with the same predicted class."""
    people, classes = inputs.labels.with_label(inputs.split.val), inputs.labels.classes
    label_counts = np.zeros((classes, classes))
    if len(people):
        np.add.at(label_counts, predictions[people], inputs.labels.estimates(people))
    label_counts = np.maximum(label_counts, 0) + _LABEL_COUNT * (np.eye(classes) + 1 / classes)
    return np.asarray((label_counts / label_counts.sum(axis=1, keepdims=True))[predictions])
