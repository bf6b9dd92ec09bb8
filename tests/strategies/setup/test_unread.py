"""Every option with every method is read, or refused in one line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from ldpsim.curator.methods import OwnerMethod, Reference, find, table
from ldpsim.curator.options import ASKING, BUDGET
from ldpsim.devices.data.population import Population
from ldpsim.strategies.runs import prepare as setting_up
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import public_knowledge
from ldpsim.strategies.runs.spent import guarantee_before
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import check_read, read_alone, unread
from ldpsim.strategies.setup.run_setup import load_population

EVERY = sorted(table())
# A value of each option that only some methods read.
VALUES: dict[str, Any] = {
    "split": "split42", "label_rate": 0.3, "volunteers": 0.3,
    "epsilon": 3.0, "eps_adjacency": 2.0, "eps_features": 1.5, "eps_labels": 3.0,
    "feature_share": 0.4, "public_features": True, "private_labels": True, "reporting": "one-end", "gnn": "gat",
    "defence": "all", "false_alarm": 0.01, "engine": "ray", "workers": 2, "ray_address": "a:1", "dropout": 0.25,
    "label_mechanism": "flags", "state": Path("people"), "on_requery": "replay",
    "caps": {"bit": 4.0}, "collector_key": Path("key"),
    "save_reports": True, "from_reports": Path("reports"),
}  # fmt: skip
BESIDE: dict[str, dict[str, Any]] = {
    "private_labels": {"eps_labels": 1.0},
    "label_mechanism": {"eps_labels": 1.0},
    "false_alarm": {"defence": "all"},
}
FEW = {"privgnn": {"queries": "3", "K": "8"}, "pate-g": {"queries": "3", "teachers": "4"}, "rgnn": {"C": "4"},
       "pate-m": {"queries": "3", "teachers": "4"}}  # fmt: skip
SEEN = BUDGET | {"split", "label_rate", "volunteers", "gnn", "dropout", "on_requery", "caps"}  # of a set-up


def usual(name: str, **given: Any) -> RunOptions:
    return RunOptions(**{"method": name, "clients": 60, "settings": FEW.get(name, {}), "reference": False,
                         "nulls": False, "out": None, "device": "cpu", **given})  # fmt: skip


def reads(options: RunOptions, option: str) -> bool:
    """Whether the options are accepted with this one."""
    return option not in unread(options, find(options.method).from_settings(options.settings))


@pytest.fixture(scope="module")
def people() -> Population:
    return load_population(usual("hogs"))


def seen(options: RunOptions, people: Population) -> Iterator[Any]:
    """Yield all that a run does after its set-up depends on: questions, policy, what is public, guarantee, training."""
    setup = prepare(options, population=people)
    plan = setup.plans[0]
    yield [(each.query.to_bytes(), None if each.devices is None else each.devices.tolist()) for each in plan.questions]
    policy = plan.policy
    yield policy and repr(replace(policy, reporting="both"))  # the questions say how lists are reported
    silent = isinstance(setup.method, Reference | OwnerMethod)
    known = None if silent else public_knowledge(people, plan.split, options, setup.method)
    yield known and (known.labels.tolist(), known.features is None, known.edges is None)
    yield None if setup.method.spec.trained_by == "owner" else guarantee_before(setup).to_dict()
    yield [part.tolist() for part in (plan.split.train, plan.split.val)]
    yield plan.dropouts if policy is not None else None
    yield setup.settings.training if setup.method.effective_spec().trains_network else None


@pytest.mark.parametrize("name", EVERY)
def test_every_option_is_read_or_refused(name: str) -> None:
    """``options`` of the method is what decides, beside the other options that an option needs."""
    read = find(name).from_settings(FEW.get(name, {})).effective_spec().options_read
    for option, value in VALUES.items():
        given = {**BESIDE.get(option, {}), option: value}
        accepted = reads(usual(name, **given), option)
        assert accepted <= (option in read), option
        if option in read and not accepted:
            assert option in ("eps_labels", "label_mechanism", "gnn"), option  # labels are public, no network
        if option == "eps_labels":
            assert accepted == (name in ("lpgnn", "rgnn"))
            assert reads(usual(name, eps_labels=3.0, private_labels=True), option) == (option in read)


@pytest.mark.usefixtures("of_another_package")
@pytest.mark.parametrize("name", EVERY)
def test_what_is_read_changes_the_run_and_what_is_refused_changes_nothing(
    name: str, people: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The declarations are proven by set-ups with and without each option, those that are refused included."""
    monkeypatch.setattr(setting_up, "check_read", lambda options, method: None)
    needed: dict[str, Any] = {"volunteers": 0.2} if find(name).needs_volunteers else {}
    without = list(seen(usual(name, **needed), people))
    stays = find(name).spec.in_rounds or find(name).spec.trained_by == "friends"  # records stay on devices
    for option in sorted(SEEN):
        options = usual(name, **{**needed, option: VALUES[option]})
        if option == "private_labels":
            options = replace(options, eps_labels=1.0)
        accepted = reads(options, option)
        try:
            changed = list(seen(options, people)) != without
        except ValueError:
            assert not accepted, option  # another refusal is there too
            continue
        if not accepted and (
            option == "gnn"
            or (stays and option in ("private_labels", "public_features"))
            or (needed and option == "public_features")
        ):
            continue  # refused: it would train another network than the method's, hide what stays there, or show it
        if not accepted and option == "private_labels":
            changed = list(seen(options, people)) != list(seen(replace(options, private_labels=False), people))
        assert changed == accepted, option


def test_nobody_is_asked_beside_kept_reports() -> None:
    for option in ASKING - {"ray_address"}:
        options = usual("hogs", from_reports=Path("reports"), **{option: VALUES[option]})
        with pytest.raises(ValueError, match=f"^{declared(RunOptions)[option].option}.*: no device is asked beside"):
            check_read(options, find("hogs")())


def test_every_setting_of_a_method_needs_values_that_others_can_have() -> None:
    for name, kind in table().items():
        own = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
        for entry in fields(kind):  # type: ignore[arg-type]
            assert entry.metadata.get("beside", {}).keys() <= own | declared(RunOptions).keys(), (name, entry.name)


def test_a_run_without_what_its_method_does_not_read_has_the_hash_of_one_without_it(people: Population) -> None:
    given = usual("raw", epsilon=3.0, reporting="one-end", dropout=0.2, gnn="sage")
    kept, dropped = read_alone(given)
    assert dropped.keys() == {"epsilon", "reporting", "dropout"}
    assert kept == usual("raw", gnn="sage")
    assert prepare(kept, population=people).digest == prepare(usual("raw", gnn="sage"), population=people).digest


@pytest.mark.parametrize(
    ("name", "settings"), [("rgnn", {"Kx": "16"}), ("featfree", {"features": "random", "width": "64"})]
)
def test_a_parameter_comes_before_an_option_of_its_name(name: str, settings: dict[str, str]) -> None:
    """``features`` of these methods is no ``--number-of-features``, beside which nothing would be read."""
    check_read(usual(name, settings=settings), find(name).from_settings(settings))
    with pytest.raises(ValueError, match="it is read beside features="):
        other = {**settings, "features": "identity" if name == "featfree" else "noisy"}
        check_read(usual(name, settings=other), find(name).from_settings(other))
