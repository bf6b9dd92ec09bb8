"""All that reports and public knowledge say, in the form that estimators, votes and null models read.

Whatever was asked, there are four kinds of it: about a person from the own label (public, or reported), about a
person from features (public, or a reported bit for each), about pairs (adjacency reports, or a public graph), and
scores of pairs by features. What is public is taken as it is, even if it was reported too. Other reports of
features, with one budget for the whole vector, say next to nothing about one person and are not read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ldpsim.curator.links.link_likelihood import LinkLikelihood, public_links
from ldpsim.curator.links.pair_scores import Scores, public_scores, reported_scores
from ldpsim.curator.reports.feature_bits import FlippedFeatures, feature_bits
from ldpsim.curator.reports.labels import ObservedLabels, observed_labels
from ldpsim.curator.reports.pairs import agreed_edges
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import noisy_rows_of_bits
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.facts import PublicKnowledge

if TYPE_CHECKING:
    from ldpsim.curator.features.feature_posterior import FeaturePosterior


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Knowledge of a curator; each part is computed when it is first read.

    Args:
        reports: The reports so far; None before anybody has answered.
        public: Public knowledge.
    """

    reports: Reports | None = field(repr=False)
    public: PublicKnowledge = field(repr=False)

    @cached_property
    def labels(self) -> ObservedLabels:
        """Labels, public or reported."""
        return observed_labels(self.reports, self.public)

    @property
    def train(self) -> IntArray:
        """int64: training people with a label."""
        return self.labels.with_label(self.public.split.train)

    @property
    def val(self) -> IntArray:
        """int64: validation people with a label."""
        return self.labels.with_label(self.public.split.val)

    @cached_property
    def edges(self) -> IntArray | None:
        """int64 (2, m), each once: the public graph, or the pairs whose every reported bit is 1; None without any."""
        if self.public.edges is not None or self.reports is None or self.reports.adjacency is None:
            return self.public.edges
        return agreed_edges(self.reports)

    @cached_property
    def links(self) -> LinkLikelihood:
        """Likelihood of pairs.

        Raises:
            ValueError: if there is neither a public graph nor a report of neighbour lists under known noise.
        """
        if self.public.edges is not None:
            return public_links(self.public.facts.n, self.public.edges)
        assert self.reports is not None
        return reported_links(self.reports)

    @property
    def bits(self) -> FlippedFeatures | None:
        """Reported bits of features that are not public; None without any."""
        return None if self.reports is None or self.public.features is not None else feature_bits(self.reports)

    @cached_property
    def rows(self) -> Any:
        """(n, d): rows of length 1 of the features or reported bits, None without any."""
        from ldpsim.curator.features.feature_posterior import unit_rows  # torch is only needed from here on

        return unit_rows(self.public.features, self.bits)

    @cached_property
    def people(self) -> FeaturePosterior:
        """Class distributions from features."""
        from ldpsim.curator.features.feature_posterior import feature_posterior

        return feature_posterior(self.public.features, self.labels, self.public.split, bits=self.bits)

    @cached_property
    def scores(self) -> Scores | None:
        """Scores of pairs, None without features."""
        if self.bits is not None:
            return reported_scores(self.bits)
        return None if self.rows is None else public_scores(self.rows)

    def label_log_likelihood(self, sources: IntArray) -> DoubleArray:
        """float64 (n, classes): log-likelihood of these people's labels or reports of them, 0 for everybody else."""
        return self.labels.placed(sources, self.labels.log_likelihood(sources))

    def class_estimates(self, sources: IntArray) -> DoubleArray:
        """float64 (n, classes): one-hot labels of these people, or unbiased estimates of them; zeros for others."""
        return self.labels.placed(sources, self.labels.estimates(sources))


def reported_links(reports: Reports) -> LinkLikelihood:
    """Return the likelihood of neighbour lists under known noise; ValueError without any."""
    rows = noisy_rows_of_bits(reports)
    left, right = agreed_edges(reports)
    return LinkLikelihood(left, right, rows.reported, rows.one_end, rows.flip)
