"""Small modules: names, refused settings, progress, shown losses, and the observer of a training."""

from __future__ import annotations

import math
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks import ROOT
from benchmarks.papers.cell import loss_of
from ldpsim.curator.graph import Graph
from ldpsim.curator.learning.training import TrainingSettings, train
from ldpsim.curator.names import check_known
from ldpsim.curator.observer import is_watched, log_metric, watched
from ldpsim.curator.setting_error import SettingError
from ldpsim.curator.shown import loss_in_table, rounded_up, shown_bound, shown_loss
from ldpsim.curator.steps import on_progress, track
from ldpsim.devices.mechanisms import OneBit
from tests.curator.worlds import labelled_graph


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    check_known("lie", "input", ("input", "response"))
    with pytest.raises(ValueError, match="^--lie inputs: must be one of input, response; did you mean input[?]$"):
        check_known("lie", "inputs", ("input", "response"))


def test_it_comes_back_from_a_worker_process() -> None:
    error = SettingError("lr=0", "must be above 0").with_option("--grid")
    back = pickle.loads(pickle.dumps(error))
    assert (back.setting, back.reason, back.option) == ("lr=0", "must be above 0", "--grid")
    assert str(back) == "--grid lr=0: must be above 0"


def test_a_listener_hears_about_a_hundred_shares_and_the_items_are_the_same() -> None:
    shares: list[float] = []
    with on_progress(shares.append):
        assert list(track(iter(range(2500)), 2500)) == list(range(2500))
    assert shares == [number / 100 for number in range(100)]
    assert list(track("abc", 3)) == ["a", "b", "c"]
    assert len(shares) == 100  # nobody listens outside
    outer: list[float] = []
    with on_progress(outer.append):
        with pytest.raises(KeyError), on_progress(shares.append):
            raise KeyError
        assert list(track([1, 2], 2)) == [1, 2]
    assert (len(shares), outer) == (100, [0.0, 0.5])  # the outer one is back after an error


LOSSES = (1e-13, 1e-9, 1e-8, 0.04996, 0.25948, 0.412300004, 1.1, 1.339761, 2.0, 5.528685, 9.99991, 9.999999, 10.0,
          10.72, 14.400001, 195.353, 516.600000001, 999.91, 2193.6, 19_762.1, 1.2e9, 3 * 0.1)  # fmt: skip


@pytest.mark.parametrize("value", LOSSES)
def test_a_loss_is_never_rounded_down_and_a_bound_from_below_never_up(value: float) -> None:
    """Every formatter of a loss is this one: tables of papers had 1.976e+04 for 19,762.1, and a page 1.3 for 1.34."""
    up = float(shown_loss(value).replace(",", ""))
    noise = 1.001e-9 + 8 * math.ulp(value)  # one unit of the last place of stored losses
    assert value - noise <= up <= value + 1e-4 and up > 0
    assert float(loss_in_table(value)) == up and "," not in loss_in_table(value)
    assert value - 1e-4 <= float(shown_bound(value).replace(",", "")) <= value + noise
    for digits in (0, 1, 2):
        assert value - noise <= float(rounded_up(value, digits).replace(",", "")) <= value + 10**-digits
    assert float(loss_of({"status": "bounded", "value": value, "delta": 0.0})) == up


def test_noise_of_a_float_sum_is_no_loss() -> None:
    """0.8000000000000002 is 0.8, and so is 0.800000001, which a budget with such noise is stored as. More is a loss."""
    noisy = (0.8000000000000002, 3 * 0.1, sum([0.1] * 23), 1e6 + 2e-10)
    assert [shown_loss(value) for value in noisy] == ["0.8", "0.3", "2.3", "1,000,000"]
    assert [shown_bound(value) for value in (0.7999999999999998, -0.8000000000000002)] == ["0.8", "-0.8"]
    stored = OneBit.from_epsilon(6 * 0.1, d=600).loss()
    assert (stored.bit, shown_loss(stored.bit), shown_loss(stored.vector)) == (0.600000001, "0.6", "360")
    for tenths in range(1, 60_000, 997):
        assert shown_loss(tenths / 10 + 1e-9) == shown_loss(tenths / 10)
        for excess in (2e-9, 4e-9, 1e-8):
            up = float(shown_loss(tenths / 10 + excess).replace(",", ""))
            assert up == pytest.approx(tenths / 10 + 1e-4, abs=1e-6)


def test_no_other_module_rounds_a_loss_to_the_nearest() -> None:
    """A claim or a level that is written with :g or :.4f may be smaller than it is."""
    named = r"(claimed|holds|compared_loss\(\w+\)|\.loss\(\)\.\w+|total|vector|eps_a)"
    told = re.compile(rf"\{{[^{{}}]*{named}[\])'\"]*:[.,0-9]*[fg]\}}")
    packages = ("curator", "strategies", "cli", "benchmarks/audits")
    files = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    lines = [line.strip() for path in files for line in path.read_text().splitlines() if told.search(line)]
    assert [line for line in lines if "raise ValueError" not in line] == []  # what somebody gave, not what is lost


HEARD = ("train_accuracy", "train_loss", "val_accuracy", "val_loss")


def small(val: int = 10) -> Graph:
    graph, _ = labelled_graph(40)
    return replace(graph, val=graph.val[:val])


def test_a_watched_training_gives_the_same_bytes() -> None:
    """Without validation people the last epoch is kept: it shows every draw of every epoch."""
    graph, settings = small(val=0), TrainingSettings(epochs=12, gnn_dropout=0.5)
    plain = train(graph, settings=settings, classes=3, seed=4, device="cpu")
    with watched(lambda *figure: None):
        seen = train(graph, settings=settings, classes=3, seed=4, device="cpu")
    assert plain.best_epoch == 12
    for name, tensor in plain.model.state_dict().items():
        assert torch.equal(tensor, seen.model.state_dict()[name])


def test_the_figures_are_those_of_the_weights_of_the_epoch() -> None:
    graph, settings = small(), TrainingSettings(epochs=12, gnn_dropout=0.5)
    plain = train(graph, settings=settings, classes=3, seed=4, device="cpu")
    heard: list[tuple[str, float, int]] = []
    with watched(lambda *figure: heard.append(figure)):
        seen = train(graph, settings=settings, classes=3, seed=4, device="cpu")
    assert seen.best_epoch == plain.best_epoch and np.array_equal(seen.predictions, plain.predictions)
    assert [(name, step) for name, _, step in heard] == [(name, step) for step in range(1, 13) for name in HEARD]
    best = {step: value for name, value, step in heard if name == "val_accuracy"}
    assert best[plain.best_epoch] == plain.val_accuracy == max(best.values())
    # the figures of the best epoch are those of the weights that are kept
    scores = seen.model()
    loss = torch.nn.functional.cross_entropy(scores[graph.val], torch.from_numpy(graph.labels[graph.val]))
    told = next(value for name, value, step in heard if name == "val_loss" and step == plain.best_epoch)
    np.testing.assert_allclose(told, loss.item(), rtol=1e-5)


def test_only_the_block_is_watched_and_none_is_nobody() -> None:
    heard: list[str] = []
    with watched(lambda name, value, step: heard.append(name)):
        with watched(None):
            assert not is_watched()
            log_metric("inside", 1.0, 1)
        log_metric("outside", 1.0, 1)
    log_metric("after", 1.0, 1)
    assert heard == ["outside"] and not is_watched()
