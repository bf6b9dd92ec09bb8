"""Other kinds of generated graphs, for tests and experiments: a method should not need the default kind.

Each is :func:`ldpsim.devices.datasets.generated.generate` with other arguments; every argument
can be changed once more:

    clique_rich(2000, seed=1, grouped=0.9)
"""

from __future__ import annotations

from typing import Any

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import generated


def clique_rich(n: int = generated.CLIENTS, *, seed: int = 0, **changes: Any) -> Population:
    """Make a graph of groups whose members all know one another, as people of one office or authors of one paper."""
    return _made("clique-rich", n, seed, {"grouped": 0.8, "group_size": 6, "closing": 0.0, "exponent": 4.0}, changes)


def heterophilous(n: int = generated.CLIENTS, *, seed: int = 0, **changes: Any) -> Population:
    """Make a graph whose neighbours mostly differ in class: fewer in-class edges than by chance (about .19).

    The class of a neighbour says little: every other class is as likely as its size.
    """
    return _made("heterophilous", n, seed, {"homophily": 0.1, "closing": 0.1}, changes)


def partnered(n: int = generated.CLIENTS, *, seed: int = 0, **changes: Any) -> Population:
    """Make a heterophilous graph with a pattern: most edges go to the class before or after one's own.

    The class of a neighbour says much, but label propagation guesses the wrong class.
    """
    return _made("partnered", n, seed, {"homophily": 0.1, "closing": 0.1, "partners": 0.8}, changes)


def features_decide(n: int = generated.CLIENTS, *, seed: int = 0, **changes: Any) -> Population:
    """Make a graph whose words tell the class and whose edges hardly do, nor the likeness of features."""
    return _made("features-decide", n, seed, {"homophily": 0.3, "class_words": 0.2, "topic_words": 0.0}, changes)


def edges_decide(n: int = generated.CLIENTS, *, seed: int = 0, **changes: Any) -> Population:
    """Make a graph whose edges tell the class and whose words tell nothing at all."""
    return _made("edges-decide", n, seed, {"homophily": 0.85, "class_words": 0.0, "topic_words": 0.0}, changes)


def dense(n: int = generated.CLIENTS, *, seed: int = 0, **changes: Any) -> Population:
    """Make a graph with as many edges a person as Facebook's pages have."""
    return _made("dense", n, seed, {"mean_degree": 15.0, "homophily": 0.6, "closing": 0.4}, changes)


def arxiv_like(n: int = 169_343, *, seed: int = 0, **changes: Any) -> Population:
    """Make a graph as large and dense as ogbn-arxiv: 1.17 million edges, 128 features, 40 unequal classes."""
    kind = {"d": 128, "classes": 40, "mean_degree": 2 * 1_166_243 / 169_343, "homophily": 0.65, "unequal": 20.0}
    return _made("arxiv-like", n, seed, kind, changes)


def _made(name: str, n: int, seed: int, kind: dict[str, Any], changes: dict[str, Any]) -> Population:
    return generated.generate(n, seed=seed, **{"name": name, **kind, **changes})
