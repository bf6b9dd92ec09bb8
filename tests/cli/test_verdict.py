from __future__ import annotations

import shlex
import subprocess
from typing import Any

import pytest
from rich.console import Console

from ldpsim.cli.verdict import ShellCommand, verdict


def printed(shown: object, width: int = 80) -> list[str]:
    screen = Console(width=width, highlight=False)
    with screen.capture() as capture:
        screen.print(shown, crop=False)
    return capture.get().splitlines()


def said(record: dict[str, Any], width: int = 80) -> str:
    return " ".join(" ".join(printed(verdict(record), width)).split())


@pytest.mark.parametrize("width", [40, 80, 120])
def test_what_a_person_reads_first(with_nulls: dict[str, Any], width: int) -> None:
    text = said(with_nulls, width)
    for expected in (
        "accuracy 61.2 %; asking nobody 30.2 % (shuffled all); without noise 85.1 %",
        "is below the best null model (graph alone, 78.8 %): -17.6 (-18.9 to -16.2) points",
        "- a feature: hidden fairly well (best guess 69 %)",
        "- a relationship: not hidden (79.0 % recovered, precision 81.0 %)",
        "- all features, a person, a person as others report it: no meaningful protection",
        "- a person's label: in clear (public for training and validation)",
        "cost 400 B down, 410 B up a device in 1 round; 2.4 MB in all; 14.2 s",
        "claimed epsilon-LDP of links and features, epsilon = 8 (Theorem 4)",
    ):
        assert expected in text, expected
    assert max(map(len, printed(verdict(with_nulls), width))) <= width


INTERVAL = {"value": 0.02, "low": -0.01, "high": 0.05}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"above_nulls": True, "margin": {"value": 0.05, "low": 0.01, "high": 0.09}},
         "beats the best null model (graph alone, 78.8 %): +5.0 (+1.0 to +9.0) points"),
        ({"margin": INTERVAL},
         "does not measurably beat the best null model (graph alone, 78.8 %): +2.0 (-1.0 to +5.0) points"),
        ({"margin": INTERVAL, "best_null": "features_alone"}, "(features alone, 55.0 %)"),
        ({"above_chance": False, "over_chance": INTERVAL},
         "not measurably above chance: +2.0 (-1.0 to +5.0) points; the best null model is graph alone, 78.8 %"),
        ({"above_chance": False, "over_chance": {"value": -0.2, "low": -0.3, "high": -0.1}},
         "below chance: -20.0 (-30.0 to -10.0) points; the best null model is graph alone, 78.8 %"),
        ({"above_chance": False, "over_chance": None},
         "not measurably above chance; the best null model is graph alone, 78.8 %"),
        ({"above_chance": False, "over_chance": INTERVAL, "best_null": "chance"},
         "not measurably above chance: +2.0 (-1.0 to +5.0) points; the best null model is chance, 30.1 %"),
        ({"margin": None, "above_nulls": None, "over_chance": INTERVAL},
         "above chance: +2.0 (-1.0 to +5.0) points; the best null model is graph alone, 78.8 %"),
        ({"margin": None, "above_nulls": None, "above_chance": None}, "null models: not taken"),
    ],
)  # fmt: skip
def test_each_standing_has_its_sentence(with_nulls: dict[str, Any], changes: dict[str, Any], expected: str) -> None:
    with_nulls["verdict"] |= changes
    assert expected in said(with_nulls)


def test_a_run_without_null_models_reference_or_devices(record: dict[str, Any]) -> None:
    record["reference"]["nonprivate_test"] = None
    record["devices"]["asked"] = 0
    text = said(record)
    assert "accuracy 61.2 %; without noise not trained null models: not taken claimed" in text
    assert text.endswith("cost nobody was asked; 14.2 s")


def test_public_features_need_no_answer(with_nulls: dict[str, Any]) -> None:
    with_nulls["privacy"]["holds"]["bit_feature"]["public"] = ["features"]
    assert "asking nobody 55.0 % (features alone); without noise" in said(with_nulls)


def test_repeats_have_a_spread(record: dict[str, Any]) -> None:
    record["accuracy"] |= {"per_repeat": [0.6, 0.62], "std": 0.0141}
    assert "accuracy 61.2 % ± 1.4 over 2 repeats;" in said(record)


def test_text_of_a_record_is_no_markup(record: dict[str, Any]) -> None:
    record["privacy"]["holds"]["label"] |= {"detail": "[bold]public[/bold]", "public": []}
    assert "in clear ([bold]public[/bold])" in said(record)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_long_command_goes_on_as_a_shell_reads_it(width: int) -> None:
    text = "ldpsim compare hogs sbp vote raw --dataset 'my graph.npz' --clients 3000 --noise-seed os --set tau=0.7"
    lines = printed(ShellCommand(text), width)
    assert max(map(len, lines)) <= width
    assert all(line.endswith(" \\") for line in lines[:-1])
    read = subprocess.run(["sh", "-c", "printf '%s|' " + "\n".join(lines)], capture_output=True, text=True, check=True)
    assert read.stdout.split("|")[:-1] == shlex.split(text)


def test_a_word_that_is_too_long_stays_whole() -> None:
    lines = printed(ShellCommand("ldpsim compare hogs --dataset " + "x" * 60), 40)
    assert lines[-1] == "    " + "x" * 60


def test_an_option_and_its_value_stay_together() -> None:
    lines = printed(ShellCommand("ldpsim compare hogs raw --public-features --set queries=20"), 38)
    assert lines == ["  ldpsim compare hogs raw \\", "    --public-features \\", "    --set queries=20"]
