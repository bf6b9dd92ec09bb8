"""A campaign of lies: its rows, its files, and what a folder's name depends on."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from devices.datasets.generated import generate
from strategies.attacks.poison.campaign import PoisonCampaign, settings_in_force
from strategies.attacks.poison.cell import set_up_cell
from strategies.attacks.poison.options import PoisonOptions
from strategies.experiments.match_budgets import guarantee_before
from strategies.planning.miniature import save

Asked = Callable[..., PoisonOptions]


def test_a_folder_has_result_table_and_figure(asked: Asked, tmp_path: Path) -> None:
    campaign = PoisonCampaign(asked(attacks=("fakes",), lies=("response",)))
    result, folder = campaign.run_and_write(tmp_path)
    assert result.passed and not result.failures
    assert folder.name.startswith("poison-generated-") and folder.name.endswith("-3")
    record = json.loads((folder / "result.json").read_text())["poison"]
    assert record == json.loads(json.dumps(campaign.record(result)))["poison"]
    assert record["schema"] == 1 and record["passed"] is True and record["rows"] == list(result.rows)
    assert set(record["breakdown"]) == {"hogs fakes response"}
    rows = list(csv.DictReader((folder / "table.csv").read_text().splitlines()))
    assert list(rows[0]) == list(PoisonCampaign.columns)
    assert [row["attack"] for row in rows] == ["none", "silent", "fakes"]
    assert rows[2]["share"] == "0.2" and len(rows[2]["accuracy"]) == len("0.123456")
    assert (folder / "poison.png").read_bytes()[:4] == b"\x89PNG"
    again = campaign.run(folder)
    assert again.found == 3 and again.rows == result.rows


def test_cells_with_noise_of_the_operating_system_are_collections_of_the_same_people(asked: Asked) -> None:
    given = {"attacks": ("fakes",), "lies": ("response",)}
    assert PoisonCampaign(asked(**given)).sums() == []
    campaign = PoisonCampaign(asked(**given, run={"seeds": {"noise": None}}))
    (found,) = campaign.sums()
    one = guarantee_before(set_up_cell(campaign.cells[0])).holds["user"].value
    assert one is not None and found.holds["user"]["value"] == pytest.approx(len(campaign.cells) * one)
    assert found.collections == len(campaign.cells) >= 3


def test_other_people_in_the_same_file_name_another_folder(asked: Asked, tmp_path: Path) -> None:
    path, digests = tmp_path / "people.npz", set[str]()
    for seed in range(2):
        save(generate(60, seed=seed), path)
        digests.add(PoisonCampaign(asked(attacks=("fakes",), run={"dataset": str(path), "clients": None})).digest)
    assert len(digests) == 2


def test_a_long_one_says_what_it_will_take_before_anything_runs(
    asked: Asked, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(PoisonCampaign, "measure", measure)
    long = PoisonCampaign(asked(attacks=("fakes",), run={"clients": 3000, "repeats": 20, "settings": {}}))
    short = PoisonCampaign(asked(attacks=("fakes",)))
    with caplog.at_level(logging.INFO, logger="ldpsim.expected"):
        for campaign in (short, long):
            with pytest.raises(KeyboardInterrupt):
                campaign.run()
    (said,) = caplog.messages
    assert said.startswith(f"expected: {len(long.cells)} runs, the largest with about ") and "CPU time" in said
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="ldpsim.expected"):
        long.tell_cost(long.cells[:1])  # the others are kept from before
    assert not caplog.messages


def test_settings_name_a_folder(asked: Asked) -> None:
    first, same, other = (
        PoisonCampaign(asked(attacks=("fakes",), **given)) for given in ({}, {}, {"shares": (0.1,)})
    )  # fmt: skip
    assert first.digest == same.digest != other.digest
    settings = settings_in_force(asked(attacks=("fakes",)))
    assert settings == first.settings and settings["shares"] == [0.0, 0.2] and settings["dataset"] == "generated"
