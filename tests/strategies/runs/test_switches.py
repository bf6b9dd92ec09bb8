"""The switches of ``--gnn`` and ``--set``, whole runs at a small size: each network and each form of a paper works."""

from __future__ import annotations

from typing import Any

import pytest

from ldpsim.curator.methods import OwnerMethod, find, table
from ldpsim.strategies import RunOptions, simulate

FORMS: list[tuple[str, dict[str, str]]] = [
    ("lpgnn", {"self_loops": "true"}),
    ("lpgnn", {"version": "text", "gnn": "gcn"}),
    *(("lpgnn", {"mechanism": mechanism}) for mechanism in ("one_bit_full", "laplace", "gaussian")),
    ("lpgnn", {"m": "floor"}),
    *((name, {"variant": variant}) for name in ("blink", "fp-blink") for variant in ("soft", "hybrid")),
    ("solitude", {"topology": "and", "smoothing": "symmetric"}),
    ("solitude", {"topology": "or", "smoothing": "printed", "features": "literal"}),
    ("upgnet", {"mechanism": "mpm", "nfr": "1", "hops": "as-printed", "scale": "raw", "chosen_by": "as-printed"}),
    ("upgnet", {"nfr": "off"}),
    ("privge", {"debias": "false", "layers": "3", "m": "2"}),
    ("rgnn", {"features": "noisy"}),
    ("rgnn", {"labels": "noisy"}),
    ("rgnn", {"alpha": "0"}),
    ("rgnn", {"proportions": "twice", "loss": "softmax"}),
    ("hogs", {"topology": "blink"}),
    ("hogs", {"features": "kprop"}),
    ("hogs", {"topology": "or", "scaling": "debiased"}),
    ("ldpgcn", {"pairs": "directed"}),
    ("ldpgen", {"graph": "one-sided", "groups": "4"}),
]
SMALL: dict[str, dict[str, str]] = {"rgnn": {"C": "4"}, "lpgnn": {"k_x": "2"}}
TRAINED = sorted(
    name
    for name, kind in table().items()
    if not issubclass(kind, OwnerMethod)
    and name not in ("lp-and", "mlp", "privge", "sbp", "vote")
    and not hasattr(kind, "rounds")
)


def _run(name: str, settings: dict[str, str], **given: Any) -> dict[str, Any]:
    small = {} if settings.get("alpha") == "0" else SMALL.get(name, {})
    settings = {"epochs": "2", **small, **settings}
    options = RunOptions(method=name, clients=60, settings=settings, reference=False, nulls=False, out=None, **given)
    return simulate(options).record


@pytest.mark.parametrize("name", TRAINED)
def test_every_network_fits_every_method(name: str) -> None:
    for gnn in {"gcn", "sage", "gat"} - {find(name).spec.default_gnn}:  # that one runs in test_every_method.py
        record = _run(name, {}, gnn=gnn)
        assert record["gnn"] == gnn and 0 <= record["accuracy"]["test"] <= 1


@pytest.mark.parametrize("name, settings", FORMS, ids=str)
def test_every_form_runs(name: str, settings: dict[str, str]) -> None:
    given = dict(settings)
    record = _run(name, given, gnn=given.pop("gnn", None))
    assert 0 <= record["accuracy"]["test"] <= 1
    used = {key: str(value).removesuffix(".0") for key, value in record["config"]["parameters"].items()}
    used |= {key: value.lower() for key, value in used.items() if value in ("True", "False")}
    assert settings.items() - {("gnn", "gcn")} <= used.items()


def test_version_text_is_one_network() -> None:
    with pytest.raises(ValueError, match="version=text is a GCN whose first layer is KProp"):
        _run("lpgnn", {"version": "text"}, gnn="gat")


def test_lpgnn_with_a_private_graph() -> None:
    """Solitude's comparison: lists are asked for a budget of their own, and an edge loses it at both ends."""
    holds = _run("lpgnn", {"adjacency": "private"}, eps_adjacency=4.0)["privacy"]["holds"]
    assert holds["relationship"]["value"] == pytest.approx(8)
