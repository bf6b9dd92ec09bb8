"""Hashes of configurations: what changes them, and that those in tables of results stay valid."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rehash import options_of_command
from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.data.population import Population
from ldpsim.strategies.experiments.sweep import run_sweep
from ldpsim.strategies.experiments.sweep_file import Cell
from ldpsim.strategies.results import record
from ldpsim.strategies.results.folder import write_result
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup import fingerprint
from ldpsim.strategies.setup.fingerprint import added_at_default, hashed_options
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import check_read
from ldpsim.strategies.setup.run_setup import budget_of, load_population
from ldpsim.strategies.setup.settings import resolve


@pytest.mark.parametrize(
    "given",
    [{"method": "raw"}, {"split": "split42"}, {"label_rate": 0.5}, {"device": "cpu"}, {"repeats": 2}, {"dropout": 0.1},
     {"repeats_vary": "noise"}, {"on_requery": "replay"}, {"caps": {"bit": 1.0}}],
)  # fmt: skip
def test_an_option_that_can_change_a_result_is_hashed_as_given(given: dict[str, Any]) -> None:
    def hashed(options: RunOptions) -> dict[str, Any]:
        return hashed_options(options, lambda spec: spec.hashed in ("always", "unless default"))

    assert hashed(replace(RunOptions(), **given)) == {**hashed(RunOptions()), **given}


@pytest.mark.parametrize(
    "given",
    [{"clients": 61}, {"epsilon": 4.0}, {"settings": {"tau": "0.6"}}, {"gnn": "sage"}, {"seed": 1},
     {"seeds": {"split": 1}}, {"private_labels": True, "eps_labels": 1.0}],
)  # fmt: skip
def test_an_option_in_force_is_hashed_by_what_follows_from_it(given: dict[str, Any]) -> None:
    options = RunOptions(clients=60)
    assert prepare(replace(options, **given)).digest != prepare(options).digest


@pytest.mark.parametrize("given", [{"engine": "local"}, {"workers": 3}, {"out": None}, {"reference": False}])
def test_where_a_run_happens_is_not_hashed(given: dict[str, Any]) -> None:
    options = RunOptions(clients=60)
    assert prepare(replace(options, **given)).digest == prepare(options).digest


def test_a_new_field_is_hashed_only_where_it_is_given() -> None:
    @dataclass(frozen=True)
    class Wider(Budget):
        eps_place: float | None = field(default=None, metadata={"hashed": "unless default"})

    assert added_at_default(Wider(epsilon=4.0)) == {"eps_place"}
    assert added_at_default(Wider(eps_place=2.0)) == added_at_default(Budget()) == set()


@pytest.fixture
def another_version(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what makes the program one of another version."""

    def change() -> None:
        for module in (fingerprint, record):
            monkeypatch.setattr(module, "ldpsim_version", lambda: "9.9.9")

    return change


RUN = RunOptions(method="raw", clients=60, reference=False, nulls=False, groups=False, device="cpu",
                 settings={"epochs": "3"})  # fmt: skip


def test_another_version_of_the_program_finds_a_result(tmp_path: Path, another_version: Callable[[], None]) -> None:
    options = replace(RUN, out=tmp_path)
    first = simulate(options, again=False)
    assert first.folder is not None and not first.earlier
    written = json.loads((first.folder / "result.json").read_text())
    del written["config"]["defence"]  # as if the option were newer than the result
    write_result(first.folder, written)
    another_version()
    found = simulate(options, again=False)
    assert found.earlier and found.folder == first.folder
    changed = simulate(replace(options, label_rate=0.5), again=False)
    assert not changed.earlier and changed.folder != first.folder
    assert changed.record["ldpsim_version"] == "9.9.9"


@pytest.mark.usefixtures("cells_in_this_process")
def test_another_version_of_the_program_finds_the_cells_of_a_sweep(
    tmp_path: Path, another_version: Callable[[], None]
) -> None:
    cells = [Cell(replace(RUN, seed=seed), f"seed={seed}") for seed in (0, 1)]
    first = run_sweep(cells, tmp_path / "sweep")
    another_version()
    more = [*cells, Cell(replace(RUN, seed=2), "seed=2")]
    assert (run_sweep(more, first.folder).found, len(first.records)) == (2, 2)


def test_another_format_is_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prepare(RUN).digest
    monkeypatch.setattr(fingerprint, "FORMAT", fingerprint.FORMAT + 1)
    assert prepare(RUN).digest != before


RESULTS = Path(__file__).parents[3] / "docs" / "results"


@cache
def stored() -> tuple[tuple[RunOptions, str], ...]:
    """Return the options and the hash, often empty, of each row with a command."""
    rows = [row for path in sorted(RESULTS.glob("*.csv")) for row in csv.DictReader(path.open())]
    return tuple((options_of_command(row["command"]), row.get("config_hash") or "") for row in rows
                 if (row.get("command") or "").startswith("ldpsim run ") and not _lacks(row))  # fmt: skip


def _lacks(row: Mapping[str, str]) -> bool:
    """Return whether a published cell was not run because something is not built: ``not run: silos have no GAT``."""
    return any(value.startswith("not run: silos have no ") for value in row.values() if value)


def test_no_stored_command_is_refused() -> None:
    rows = [options for options, _ in stored()]
    assert len(rows) > 900 and len({options.method for options in rows}) >= 15
    for options in rows:
        method = find(options.method)
        budget = budget_of(options, public_features=options.public_features or method.spec.public_features)
        check_read(options, resolve(options, method, budget).method)


@pytest.mark.slow
def test_every_stored_hash_is_that_of_its_command_today(data_dir: Path) -> None:
    checked = list(_same([row for row in stored() if row[1] and not row[0].dataset.endswith(".npz")], data_dir))
    assert len(checked) > 700


def test_stored_hashes_of_each_method_are_those_of_their_commands_today(data_dir: Path) -> None:
    first: dict[str, tuple[RunOptions, str]] = {}
    for options, digest in stored():
        if digest and options.dataset == "cora":
            first.setdefault(f"{options.method} {sorted(options.settings)}", (options, digest))
    assert len(list(_same(list(first.values()), data_dir))) > 15


def _same(rows: Sequence[tuple[RunOptions, str]], data_dir: Path) -> Iterator[str]:
    people: dict[str, Population] = {}
    for options, digest in rows:
        given = RunOptions(**{**vars(options), "data_dir": data_dir})
        if options.dataset not in people:
            people[options.dataset] = load_population(given)
        assert prepare(given, population=people[options.dataset]).digest == digest, options
        yield digest
