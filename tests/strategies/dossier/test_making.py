"""Dossiers against the files that they are about, over methods, options and every combination of statuses.

It covers ``content``, ``subject``, ``processing``, ``risks`` and ``threats`` too.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from curator.methods import BUILT_IN
from curator.privacy.level import Level
from curator.privacy.levels import LEVELS
from devices.datasets.generated import generate
from strategies import RunOptions, simulate
from strategies.dossier.content import BEST_GUESS, Blank, Dossier, SourcedFigure
from strategies.dossier.making import make_dossier
from strategies.dossier.markdown import to_markdown
from strategies.dossier.risks import UNPROTECTED, word_of
from strategies.dossier.subject import Subject, read_subject
from strategies.dossier.threats import CLEAR, OWNED, REPORTS, THREATS, UPDATES, threats_of
from strategies.estimate.graph_facts import GraphFacts
from strategies.experiments.compare import compare
from strategies.experiments.match_budgets import guarantee_before
from strategies.planning.rehearsal import Rehearsal
from strategies.planning.wishes import Wishes
from strategies.results.folder import text_of
from strategies.results.in_words import PROTECTIONS
from strategies.runs.set_up import set_up
from tests.strategies.planning.on_paper import plan_on_paper

ROOT = Path(__file__).resolve().parents[3]
PEOPLE = generate(3600, seed=0)
PROTECTED = [each.word for each in PROTECTIONS if each.tone != "bad"]
RUNS: dict[str, dict[str, Any]] = {
    "hogs": {"settings": {"epochs": "5"}},
    "hogs-public": {"method": "hogs", "public_features": True, "settings": {"epochs": "5"}, "nulls": False},
    "hogs-labels": {
        "method": "hogs",
        "private_labels": True,
        "eps_labels": 1.0,
        "repeats": 2,
        "settings": {"epochs": "5"},
    },
    "vote": {"settings": {"epochs": "5"}, "volunteers": 0.2},
    "vote-labels": {"method": "vote", "settings": {"epochs": "5"}, "volunteers": 0.2, "private_labels": True},
    "lpgnn": {"settings": {"epochs": "3"}, "reference": False, "groups": False},
    "links": {"method": "lpgnn", "task": "links", "settings": {"epochs": "3"}},
    "privgnn": {"settings": {"K": "8", "queries": "5", "epochs": "3"}, "clients": 200},
    "fedavg-mlp": {"settings": {"rounds": "2"}},
    "ldp-fedavg": {"settings": {"rounds": "2"}, "nulls": False},
    "dp-fedavg": {"settings": {"rounds": "2"}, "nulls": False},
    "raw": {"settings": {"epochs": "5"}},
}


@cache
def record_of(name: str) -> str:
    options = {"method": name, "clients": 120, "reference": True, "out": None, **RUNS[name]}
    return text_of(simulate(RunOptions(**options)).record)


def written(folder: Path, content: Any, name: str = "result.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def value_at(document: Any, path: str) -> Any:
    """Return a value of a file by its place, by code of this test."""
    for name in path.split("."):
        document = document[int(name) if isinstance(document, list) else name]
    return document


def check_figures(subject: Subject, made: Dossier) -> int:
    """Compare each figure of a dossier with the file that it names; return their number."""
    for figure in made.figures():
        found = value_at(json.loads((subject.folder / figure.file).read_text()), figure.path)
        if figure.rule == BEST_GUESS:
            loss, delta = found["value"], found["delta"] or 0.0
            assert figure.value == pytest.approx(
                min((math.exp(min(loss, 500)) + delta) / (1 + math.exp(min(loss, 500))), 1)
            )
            shown = 100.0 if figure.shown == ">99.9 %" else float(figure.shown.removesuffix(" %"))
            assert 100 * figure.value - 1e-9 <= shown < 100 * figure.value + 0.1 + 1e-9
        else:
            assert figure.value == found, figure
            check_shown(figure)
        assert figure.basis == ("theorem" if ".holds." in f".{figure.path}" else
                                "plan" if figure.file == "plan.json" else "run")  # fmt: skip
    return len(made.figures())


def check_shown(figure: SourcedFigure) -> None:
    """Check that what people read is the value, rounded; a loss is never rounded down."""
    if isinstance(figure.value, str):
        assert figure.shown == " ".join(figure.value.split())[:600] or figure.shown.endswith("…")
        return
    number = re.fullmatch(r"([+-]?[\d,.]+)( %| B| kB| MB| GB)?", figure.shown)
    if number is None:
        assert figure.shown in ("none", "True", str(figure.value))
        return
    shown = float(number[1].replace(",", ""))
    if number[2] == " %" or number[1][0] in "+-":
        assert abs(shown - 100 * figure.value) <= 0.05 + 1e-9
    elif number[2]:
        assert shown * {" B": 1, " kB": 1e3, " MB": 1e6, " GB": 1e9}[number[2]] == pytest.approx(figure.value, rel=0.06)
    elif figure.basis == "theorem" and figure.path.endswith("value"):
        assert figure.value - 1e-9 <= shown <= figure.value + 1.01e-4
    else:
        assert shown == pytest.approx(figure.value, abs=0.5)


@pytest.mark.parametrize(("name", "also"), [("vote", ""), ("vote-labels", ", or the label")])
def test_the_sheet_says_what_is_asked_beside_volunteers(name: str, also: str, tmp_path: Path) -> None:
    made = make_dossier(read_subject(written(tmp_path, record_of(name))))
    assert f": asks one vote on list and features{also}. Published in" in to_markdown(made)


@pytest.mark.parametrize("name", sorted(RUNS))
def test_every_figure_of_a_run_is_that_of_its_result(name: str, tmp_path: Path) -> None:
    subject = read_subject(written(tmp_path, record_of(name)))
    made = make_dossier(subject)
    assert check_figures(subject, made) > 20
    record = json.loads(record_of(name))
    rows = [section for section in made.sections if section.groups]
    assert bool(rows) == bool(record["groups"])
    if rows:
        for found, row in zip(rows[0].groups, record["groups"]["rows"], strict=True):
            assert (found.by, found.group, found.people, found.worse) == (
                row["by"],
                row["group"],
                row["people"],
                row["worse"],
            )
            shares = {model: vars(share) for model, share in found.accuracy.items()}
            assert shares == {model: row[model] for model in ("method", "best_null", "without_noise") if row[model]}
    check_protection(subject, made, record["privacy"]["holds"])


def test_every_figure_of_a_plan_is_that_of_its_file(tmp_path: Path) -> None:
    plan = plan_on_paper(["hogs", "vote", "dp-fedavg"], RunOptions(), GraphFacts(60_000), Wishes(holds=4.0))
    content = json.loads(json.dumps(plan.to_dict()))
    folder = written(tmp_path, content, "plan.json")
    for method in (None, "hogs", "vote", "dp-fedavg"):
        subject = read_subject(folder, method)
        made = make_dossier(subject)
        assert check_figures(subject, made) > 25
        check_protection(subject, made, subject.holds)
    assert "| mechanisms | neighbourhood\\_vote on adjacency |" in to_markdown(
        make_dossier(read_subject(folder, "vote"))
    )


def test_a_plan_rehearsed_on_made_up_people_says_so_beside_the_number(tmp_path: Path) -> None:
    made_plan = plan_on_paper(["vote"], RunOptions(), GraphFacts(60_000), Wishes())
    over = {"value": 0.2, "low": 0.1, "high": 0.3}
    for like, said in ((None, True), ("cora", False)):
        plan = replace(made_plan, rehearsal=Rehearsal(600, 60_000, like)).to_dict()
        plan["choice"]["worth"] = {"test": 0.7, "std": None,
                                   "asking_nobody": {"name": "chance", "test": 0.5, "over": over}}  # fmt: skip
        subject = read_subject(written(tmp_path / str(like), plan, "plan.json"))
        made = make_dossier(subject)
        check_figures(subject, made)
        text = to_markdown(made)
        assert ("--like FILE" in text) == said and "to be trusted it needs | all 60,000 people, not 600 |" in text


def test_a_comparison_names_methods_that_are_cheaper_and_no_worse(tmp_path: Path) -> None:
    options = RunOptions(clients=120, settings={"epochs": "5"}, nulls=False, reference=False, out=tmp_path)
    folder = compare(["hogs", "vote", "raw"], options, engine="local", workers=1).folder
    subject = read_subject(folder)
    assert subject.method.name == "hogs" and len(subject.others) == 2
    check_figures(subject, make_dossier(subject))
    (place,) = folder.glob("vote-*/result.json")
    record = json.loads(place.read_text())
    own = subject.get("accuracy.test")
    for test, down, said in ((own + 0.1, 1.0, "yes"), (own - 0.1, 1.0, "no"), (own + 0.1, 1e9, "no")):
        record["accuracy"]["test"] = test
        record["communication"] |= {"uplink_bytes_per_device": 1.0, "downlink_bytes_per_device": down}
        place.write_text(json.dumps(record))
        (grid,) = make_dossier(read_subject(folder)).sections[2].grids
        assert [row[-1][0] for row in grid.rows] == ["this method", said, "–"]
    assert read_subject(folder, "raw").method.name == "raw"


def check_protection(subject: Subject, made: Dossier, holds: Mapping[str, Any]) -> None:
    """Check that no level without a bound has a word of protection or a best guess, and that all of them are named."""
    table = {str(row[0][0]): row for section in made.sections for grid in section.grids
             if grid.title.startswith("What holds") for row in grid.rows}  # fmt: skip
    for level, spec in LEVELS.items():
        _, status, loss, guess, word, _ = table[f"{spec.words}: {spec.changes}"]
        entry = holds[level]
        assert [part.value for part in status if isinstance(part, SourcedFigure)] == [entry["status"]]
        if entry["status"] != "bounded":
            assert guess == ("–",) and word in ((UNPROTECTED,), ("not asked",))
            assert not any(isinstance(part, SourcedFigure) and part.path.endswith(f"{level}.value") for part in loss)
        if entry["status"] == "unprotected":
            assert word == (UNPROTECTED,) and word_of(subject, level) == UNPROTECTED
            named = [each for each in made.not_protected if each.endswith(f": {UNPROTECTED}")]
            assert spec.term in ", ".join(named)
    lines = {line.label: line for section in made.sections for line in section.lines}
    for level, label in (("relationship", "lists of neighbours"), ("vector", "features"), ("label", "label")):
        said = "".join(part if isinstance(part, str) else part.shown for part in lines[label].parts)  # type: ignore[union-attr]
        assert ("under noise" in said) == (holds[level]["status"] == "bounded")


@pytest.mark.parametrize("name", ["hogs", "privgnn", "raw"])
def test_what_is_unprotected_is_never_called_protected(name: str, tmp_path: Path) -> None:
    """Every combination of statuses; a loss beside a status that is not bounded changes nothing."""
    levels = ("relationship", "vector", "label", "user", "node", "central_node")
    record = json.loads(record_of(name))
    record["reconstruction"] = {**record["reconstruction"], "edge_recall": None}
    subject = read_subject(written(tmp_path, record))
    losses = dict(zip(levels, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), strict=True))
    count = 0
    for statuses in product(("bounded", "unprotected", "not asked"), repeat=len(levels)):
        holds = copy.deepcopy(record["privacy"]["holds"])
        for level, status in zip(levels, statuses, strict=True):
            holds[level] = {**Level(status, reason=f"reason of {level}").to_dict(), "value": losses[level],
                            "private_value": losses[level], "private_delta": 0.0}  # fmt: skip
        subject.document["privacy"]["holds"] = holds
        made = make_dossier(subject)
        check_protection(subject, made, holds)
        count += 1
        if "unprotected" in statuses and "bounded" not in statuses:
            text = to_markdown(made)
            bounded = [level for level in LEVELS if holds[level]["status"] == "bounded"]
            assert bounded or not any(word in text for word in PROTECTED)
    assert count == 729


def test_fields_of_people_name_who_fills_them(tmp_path: Path) -> None:
    made = make_dossier(read_subject(written(tmp_path, record_of("hogs"))))
    blanks = [line for section in made.sections for line in section.lines if isinstance(line, Blank)]
    assert len(blanks) > 15 and {blank.who for blank in blanks} == {"the controller", "the data protection officer"}
    text = to_markdown(made)
    assert text.count("to be filled by") == len(blanks)
    for word in ("compliant", "complies", " lawful", "GDPR-ready"):
        assert word not in text
    assert "is known to ldpsim from summaries alone" in text and "no real device answered" in text


def test_the_text_has_all_figures_and_escapes_what_a_file_says(tmp_path: Path) -> None:
    record = json.loads(record_of("hogs"))
    record["dataset"]["name"] = "a|b <script>x</script> [c](http://d)\n# e"
    made = make_dossier(read_subject(written(tmp_path, record)))
    text = to_markdown(made)
    assert "a\\|b \\<script\\>x\\</script\\> \\[c\\](http://d) \\# e" in text and "\n# e" not in text
    plain = text.replace("\\", "")
    for figure in made.figures():
        assert figure.shown in plain and figure.path.rpartition(".")[0] in plain


def test_tests_and_pages_that_are_named_are_there() -> None:
    named = {source for threat in THREATS for source in threat.sources}
    made = [line for kind in (REPORTS, UPDATES, OWNED, CLEAR) for line in threats_of(kind)]
    assert {threat.attacker for threat in made} == {threat.attacker for threat in THREATS}
    from strategies.dossier.risks import _ON_DEVICES

    named |= {source for line in _ON_DEVICES for source in line.sources}
    for source in named:
        path, _, test = source.partition("::")
        assert (ROOT / path).is_file(), source
        assert not test or f"def {test}(" in (ROOT / path).read_text(), source
        assert path.startswith("docs/") or source in (ROOT / "docs/threats.md").read_text(), source


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "a part that a dossier needs"),
        ("no JSON", "cannot be read"),
        ([1], "no JSON object"),
        ({"schema": 2, "method": "hogs", "privacy": {"holds": {}}}, "has no"),
    ],
    ids=str,
)
def test_bad_files_are_errors_of_one_line(content: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said) as error:
        read_subject(written(tmp_path, content))
    assert "\n" not in str(error.value)


def test_other_mistakes_are_errors_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no result.json, plan.json or compare.json"):
        read_subject(tmp_path)
    with pytest.raises(ValueError, match="--method vote: the run in"):
        read_subject(written(tmp_path / "run", record_of("hogs")), "vote")
    record = json.loads(record_of("hogs"))
    record["method"] = "nobody"
    with pytest.raises(ValueError, match="unknown method"):
        read_subject(written(tmp_path / "other", record))
    plan = {**plan_on_paper(["hogs"], RunOptions(), GraphFacts(600), Wishes()).to_dict(), "choice": None, "why": "none"}
    folder = written(tmp_path / "plan", plan, "plan.json")
    with pytest.raises(ValueError, match="no choice"):
        read_subject(folder)
    with pytest.raises(ValueError, match="no row of it"):
        read_subject(folder, "vote")
    empty = written(tmp_path / "empty", {"folders": []}, "compare.json")
    with pytest.raises(ValueError, match="no result"):
        read_subject(empty)


@pytest.mark.parametrize("given", [{}, {"public_features": True}, {"private_labels": True, "eps_labels": 1.0}], ids=str)
@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_no_method_and_no_option_makes_an_unprotected_level_look_protected(
    name: str, given: dict[str, Any], tmp_path: Path
) -> None:
    try:
        setup = set_up(RunOptions(method=name, clients=len(PEOPLE), **given), population=PEOPLE)
        guarantee = guarantee_before(setup)
    except ValueError:
        assert given, name  # the method does not read the option
        return
    record = json.loads(record_of("hogs"))
    record["method"], record["groups"] = name, None
    record["privacy"] = {**record["privacy"], **json.loads(text_of(guarantee.to_dict()))}
    made_of = {"parameters": setup.settings.parameters(), "budget": asdict(setup.budget)}
    record["config"] = {**record["config"], **json.loads(text_of(made_of))}
    subject = Subject("run", tmp_path, "result.json", "", {"result.json": record})
    check_protection(subject, make_dossier(subject), record["privacy"]["holds"])
