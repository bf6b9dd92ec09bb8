"""Options of a run: mistakes, defaults, seeds, and the devices that never answer."""

from __future__ import annotations

import pytest

from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions, Seeds
from ldpsim.strategies.setup.run_setup import silent_devices


def test_what_a_run_does_where_nothing_is_given() -> None:
    plain = RunOptions()
    asked = (plain.reporting, plain.on_requery, plain.private_labels, plain.public_features, plain.caps, plain.dropout)
    assert asked == ("both", "refuse", False, False, {}, 0.0)
    people = (plain.dataset, plain.clients, plain.split, plain.label_rate, plain.seed, plain.seeds)
    assert people == ("generated", None, "random", None, 0, {})
    assert (plain.repeats, plain.repeats_vary, plain.tuned, plain.reference) == (1, "all", False, True)
    budgets = ("epsilon", "eps_adjacency", "eps_features", "eps_labels", "feature_share")
    assert [getattr(plain, name) for name in budgets] == [None] * 5
    assert plain.state is None is plain.from_reports and plain.save_reports is False


def test_one_seed_gives_four_and_each_can_be_set() -> None:
    base = Seeds.derive(0)
    assert len(set(base.to_dict().values())) == 4
    assert Seeds.derive(0) == base != Seeds.derive(1)
    assert Seeds.derive(0, noise=None).noise is None
    assert Seeds.derive(0, noise=7) == Seeds(base.population, base.split, 7, base.training)


def test_repeats_vary_what_they_say() -> None:
    for vary, changes in (
        ("noise", {"noise", "training"}),
        ("split", {"split"}),
        ("all", {"noise", "training", "split"}),
    ):
        options = RunOptions(repeats=3, repeats_vary=vary)
        first, second = options.seeds_of(0).to_dict(), options.seeds_of(1).to_dict()
        assert {name for name in first if first[name] != second[name]} == changes
        assert options.seeds_of(1) != options.seeds_of(2)
    assert RunOptions(repeats=2, seeds={"noise": None}).seeds_of(1).noise is None


def test_stored_hashes_depend_on_these_options() -> None:
    """A change of stored config hashes needs a new version."""
    specs = declared(RunOptions)
    assert {name for name, spec in specs.items() if spec.hashed == "always"} == {
        "method", "split", "label_rate", "device", "repeats", "repeats_vary", "dropout", "on_requery", "caps",
    }  # fmt: skip


def test_seeds_outside_their_range() -> None:
    for name in declared(Seeds):
        for seed in (0, (1 << 63) - 1, None) if name == "noise" else (0, (1 << 63) - 1):
            assert RunOptions(seeds={name: seed}).seeds[name] == seed
        for seed in (-1, 1 << 63):
            with pytest.raises(ValueError, match=f"--{name}-seed {seed}"):
                RunOptions(seeds={name: seed})
    with pytest.raises(ValueError, match=r"seeds has no nois; did you mean noise\?"):
        RunOptions(seeds={"nois": 1})


def test_a_share_of_the_devices_never_answers() -> None:
    options = RunOptions(dropout=0.25)
    first = options.seeds_of(0)
    silent = silent_devices(options, first, 60)
    assert len(silent) == 15 and silent <= set(range(60))
    assert silent == silent_devices(options, first, 60) != silent_devices(options, options.seeds_of(1), 60)
    assert silent_devices(RunOptions(), first, 60) == frozenset()
