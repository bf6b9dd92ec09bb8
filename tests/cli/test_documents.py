"""Documents for people: dossier and consent sheet, with the figures of their runs and policies."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal, localcontext
from functools import cache
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ldpsim.cli.dossier import made_of
from ldpsim.cli.main import app
from ldpsim.cli.report.documents import page
from ldpsim.cli.sheet import VOLUNTEER, Role, roles_of, sheet_of
from ldpsim.curator.methods import BUILT_IN, Question, find
from ldpsim.curator.privacy.guarantee import Claim, local_guarantee
from ldpsim.curator.privacy.level import Level, OfOne
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR
from ldpsim.devices.policy.policy import Cap, Policy
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.experiments.compare import compare
from ldpsim.strategies.flower_app.deployed import PublicFile, agreed_policy, questions_of
from ldpsim.strategies.results.folder import text_of
from ldpsim.strategies.results.in_words import PROTECTIONS, of_100

RUNS: dict[str, dict[str, Any]] = {
    "hogs": {"settings": {"epochs": "5"}, "repeats": 2},
    "hogs-public": {"method": "hogs", "public_features": True, "settings": {"epochs": "5"}, "nulls": False},
    "vote": {"settings": {"epochs": "5"}, "volunteers": 0.2, "private_labels": True},
    "privgnn": {"settings": {"K": "8", "queries": "5", "epochs": "3"}, "clients": 200, "nulls": False},
    "ldp-fedavg": {"settings": {"rounds": "2"}, "nulls": False},
    "raw": {"settings": {"epochs": "5"}, "nulls": False},
}
WORDS = [each.word for each in PROTECTIONS]


@cache
def record_of(name: str) -> str:
    return text_of(simulate(RunOptions(**{"method": name, "clients": 120, "out": None, **RUNS[name]})).record)


def written(folder: Path, content: Any, name: str = "result.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def rows(made: str) -> list[list[str]]:
    """Return the cells of all tables of a Markdown document, by code of this test."""
    found = []
    for line in made.splitlines():
        if line.startswith("|"):
            cells = [re.sub(r"(?<!\\)\*", "", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found.append([re.sub(r"\\([\W_])", r"\1", cell) for cell in cells])
    return [cells for cells in found if set("".join(cells)) != {"-"}]


class Cells(HTMLParser):
    """Cells of all tables of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag not in ("script", "img", "a", "iframe") and not any(name.startswith("on") for name, _ in attrs)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def value_at(document: Any, path: str) -> Any:
    for name in path.rstrip(".").split("."):
        document = document[int(name) if isinstance(document, list) else name]
    return document


def check_figures(folder: Path, made: str) -> int:
    """Compare what a row shows with what stands at the key that it names; return the number of these rows."""
    count = 0
    for cells in rows(made):
        source = re.fullmatch(r"(theorem|run): (\S+), (.*)", cells[-1])
        if not source or cells[1] == "none":
            continue
        value = value_at(json.loads((folder / source[2]).read_text()), source[3])
        count += 1
        if source[1] == "theorem" and len(cells) == 7:
            check_level(cells, value)
        elif type(value) in (int, float) and len(cells) <= 3 and re.fullmatch(r"[\d,.]+( %)?", cells[1]):
            shown = float(cells[1].removesuffix(" %").replace(",", "")) * (0.01 if cells[1].endswith("%") else 1)
            assert shown == pytest.approx(value, abs=0.005 if cells[1].endswith("%") else 0.5)
    return count


def check_level(cells: list[str], entry: dict[str, Any]) -> None:
    """Check the row of a level: its losses, its odds, and that nothing without a bound has a word of protection."""
    _, status, loss, guess, word, _, _ = cells
    one = entry.get("of_one") or entry
    assert status == ("in clear" if entry["status"] == "unprotected" else entry["status"])
    figures = [float(each.replace(",", "")) for each in re.findall(r"epsilon ([\d,.]*\d)", loss)]
    if status == "bounded":
        expected = [one["value"], entry["value"]] if entry.get("of_one") else [entry["value"]]
        assert all(0 <= got - true + 1e-9 <= 1.1e-4 for got, true in zip(figures, expected, strict=True))
        assert guess == f"at most {of_100(entry)} of 100 times"
    else:
        assert word == ("not protected" if status == "in clear" else status) and word not in WORDS
        assert guess == ("at most 100 of 100 times" if status == "in clear" else "–")
        assert not figures or loss.startswith("the rest:")


@pytest.mark.parametrize("name", RUNS)
def test_every_figure_of_a_run_is_that_of_its_key_in_both_formats(name: str, tmp_path: Path) -> None:
    made = made_of(written(tmp_path, record_of(name)))
    assert check_figures(tmp_path, made) > 25
    assert Cells(page(made)).rows == rows(made)
    holds = json.loads(record_of(name))["privacy"]["holds"]
    first = made.partition("## 0.")[0].replace("\\", "")
    for level, spec in LEVELS.items():
        assert (f"- {spec.term}: not protected" in first) == (holds[level]["status"] == "unprotected")


@pytest.mark.parametrize("name", RUNS)
def test_it_says_whether_asking_is_worth_it_and_has_no_code_names(name: str, tmp_path: Path) -> None:
    """Names of null models are told in words; keys of a file are in the column of sources alone."""
    record = json.loads(record_of(name))
    made = made_of(written(tmp_path, record)).replace("\\", "")
    (answer,) = re.findall(r"\*\*Is it worth asking\?\*\* (.*) Section 2 has the figures\.", made)
    found = {cells[0]: cells[1] for cells in rows(made) if cells[0].startswith("no reports")}
    if record["verdict"]:
        margin = record["verdict"]["margin"]
        assert f"Asking gains {100 * margin['value']:+.1f} points over graph alone" in answer
        assert answer.count("on the device") == bool(record["verdict"]["device"])
        if margin["low"] <= 0 <= margin["high"]:
            assert re.search(r": not measurable \(\d+ repeats would show 3 points\)", answer)
        free = record["verdict"]["ask_nobody"]
        ((label, share),) = found.items()
        tests = {each: record["nulls"]["shuffled"]["all"] if each == "shuffled_all" else record["nulls"][each]
                 for each in free}  # fmt: skip
        assert share == f"{100 * max(each['test'] for each in tests.values()):.1f} %" and label != "no reports"
    else:
        assert answer == "Not known: the run took no simpler models."
        assert found == {"no reports": "not known: the run took no simpler model that needs no reports"}
    for line in made.splitlines():
        told = line.rpartition("|")[0].rpartition("|")[0] if line.startswith("|") else line
        assert not re.search(r"[a-z]_[a-z]|--[a-z]|null model|\bgrr\b|adjacency", told), told


@pytest.mark.usefixtures("cells_in_this_process")
def test_a_comparison_shows_the_other_methods(tmp_path: Path) -> None:
    options = RunOptions(clients=120, settings={"epochs": "5"}, nulls=False, reference=False, out=tmp_path)
    folder = compare(["hogs", "raw"], options, engine="local", workers=1).folder
    made = made_of(folder)
    check_figures(folder, made)
    (place,) = (path.parent.name for path in folder.glob("raw-*/result.json"))
    (row,) = (cells for cells in rows(made) if cells[0] == "raw")
    test = json.loads((folder / place / "result.json").read_text())["accuracy"]["test"]
    assert row[1:4] == [f"accuracy {100 * test:.1f} %", "person –", "friendship –"]
    assert row[-1] == f"run: {place}/result.json" and made_of(folder, "raw").startswith("# Dossier: raw for 120")


def test_what_is_unprotected_is_never_called_protected(tmp_path: Path) -> None:
    """Combinations of statuses; a loss beside a status that is not bounded changes nothing."""
    record = json.loads(record_of("hogs"))
    record |= {"reconstruction": {}, "groups": None}
    levels = ("relationship", "label", "user")
    for statuses in product(("bounded", "unprotected", "not asked"), repeat=len(levels)):
        given = copy.deepcopy(record)
        for loss, (level, status) in enumerate(zip(levels, statuses, strict=True), 1):
            given["privacy"]["holds"][level] = {
                **Level(status, reason="why", of_one=OfOne(0.1, 0.0, 2)).to_dict(),
                "value": loss / 10, "private_value": loss / 10,
            }  # fmt: skip
        made = made_of(written(tmp_path, given))
        assert check_figures(tmp_path, made) > 25
        for level, status in zip(levels, statuses, strict=True):
            first = made.partition("## 0.")[0]
            assert (f"- {LEVELS[level].term}: not protected" in first) == (status == "unprotected")


def test_text_of_a_file_stays_text_in_both_formats(tmp_path: Path) -> None:
    record = json.loads(record_of("hogs"))
    hostile = "a|b <script>x</script> [c](http://d) ![e](f) `g` **h** &lt; ~~i~~ \\| {{ 1 }}\n\n# j\n<img src=k>"
    record["dataset"]["name"] = hostile
    record["verdict"]["text"] = "<b onclick=x>l</b>"
    record["groups"]["rows"][1] |= {"by": "other", "group": hostile}
    made = made_of(written(tmp_path, record))
    assert "\n# j" not in made and made.count("\n# ") == 0
    cells = Cells(page(made)).rows  # it refuses elements of the file
    assert "<script" not in page("# a\n\n<script>b</script>")  # nor does the converter let one pass
    (row,) = (each for each in cells if each[0] == "data set")
    assert row[1] == " ".join(hostile.split()) and cells == rows(made)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "a part that a dossier needs"),
        ("no JSON", "cannot be read"),
        ([1], "no JSON object"),
        ({"schema": 2, "method": "hogs", "privacy": {"holds": {}}}, "has no"),
        ({"accuracy": {"test": "much"}}, None),
        ({"dataset": {"nodes": []}}, None),
        ({"method": "nobody"}, None),
        ({"privacy": {"holds": {"user": {"status": "bounded", "value": None}}}}, None),
    ],
    ids=str,
)
def test_bad_files_are_errors_of_one_line(content: Any, said: str | None, tmp_path: Path) -> None:
    """A content without words is a change of a whole record."""
    content = content if said else json.loads(record_of("hogs")) | content
    with pytest.raises(ValueError, match=said) as error:
        made_of(written(tmp_path, content))
    assert "\n" not in str(error.value)


def test_the_command_writes_both_files(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", record_of("raw"))

    def ldpsim(*words: object) -> tuple[int, str, str]:
        found = CliRunner().invoke(app, ["dossier", *map(str, words)])
        return found.exit_code, found.stdout, found.stderr

    code, out, _ = ldpsim(folder, "--out", tmp_path / "d")
    text, html = ((tmp_path / "d" / name).read_text() for name in ("dossier.md", "dossier.html"))
    assert code == 0 and out.split() == f"Written to {tmp_path}/d/dossier.html and {tmp_path}/d/dossier.md".split()
    assert text == made_of(folder) and html == page(text) and "<title>Dossier: raw for 120 people</title>" in html
    assert len(html.encode()) < 300_000 and "http://" not in html
    assert set(json.loads(ldpsim(folder, "--json")[1])) == {"dossier.html", "dossier.md"}
    assert ldpsim(folder, "--quiet")[1].strip() == f"{folder}/dossier.html"
    written(tmp_path / "empty", {"folders": []}, "compare.json")
    for words in ([tmp_path], [tmp_path / "nowhere"], [], [tmp_path / "empty"], [folder, "vote"]):
        code, out, error = ldpsim(*words)
        assert code == 2 and out == "" and len(error.strip().splitlines()) == 1


FACTS = PublicFacts(20, 6, 3)
Agreed = tuple[Policy, tuple[Question, ...]]


def agreed(
    method: str = "vote",
    epsilon: float = 2.0,
    *,
    people: int = 3,
    labels: str = "volunteers",
    config: dict[str, Any] | None = None,
    **policy: Any,
) -> Agreed:
    """Return a policy and its questions; labels are of ``volunteers``, ``public`` or ``private``."""
    volunteers = np.arange(people) if labels == "volunteers" else None
    known = np.where(np.arange(FACTS.n) % 2 if labels == "public" else True, -1, 1)
    public = PublicFile(FACTS, known, volunteers)
    given = {"method": method, "epsilon": epsilon, **({"settings": "batches=2"} if method == "vote" else {}),
             **({"eps-labels": 1.0} if labels == "private" else {}), **(config or {})}  # fmt: skip
    return agreed_policy(given, public, **policy), questions_of(given, public)


@cache
def all_agreed() -> dict[str, Agreed]:
    """Return policy and questions by name, for every method and source of labels that a deployment can ask."""
    return dict(_all_agreed())


def _all_agreed() -> Iterator[tuple[str, Agreed]]:
    for method in BUILT_IN:
        if find(method).spec.reads:
            continue
        for labels in ("volunteers", "public", "private"):
            for epsilon in (0.5, 4.0):
                for config in ({}, {"reporting": "one-end"}):
                    try:
                        yield (
                            f"{method} {labels} {epsilon}{' one-end' if config else ''}",
                            agreed(method, epsilon, labels=labels, config=config),
                        )
                    except ValueError:  # such a deployment is refused
                        continue


CASES = all_agreed()


def times_of_100(level: Level) -> int:
    return of_100(level.to_dict())


def of(role: str, made: Agreed) -> Role:
    return next(each for each in roles_of(made[0]) if each.name == role)


def chance(epsilon: float, delta: float = 0.0) -> Decimal:
    with localcontext() as context:
        context.prec = 60
        grown = Decimal(epsilon).exp()
        return min((grown + Decimal(delta)) / (1 + grown), Decimal(1))


@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-3, 0.2])
def test_odds_are_rounded_up_and_by_less_than_one(delta: float) -> None:
    edges = [math.log(times / (100 - times)) for times in range(50, 100)]
    for epsilon in (*edges, *np.linspace(0, 12, 500), *np.random.default_rng(1).exponential(2, 500), 700.0, 1e6):
        exact, times = chance(float(epsilon), delta), times_of_100(Level("bounded", float(epsilon), delta))
        assert exact - Decimal("1e-15") <= Decimal(times) / 100 < exact + Decimal("0.010000001")


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_odds_are_the_success_of_the_best_guess(epsilon: float) -> None:
    """The answers of randomised response are enumerated: no rule of guessing between two labels is right more often."""
    mechanism = GRR.from_epsilon(epsilon, categories=3)
    truth, other = mechanism.truth_probability, mechanism.other_probability
    best = sum(max(pair) for pair in zip((truth, other, other), (other, truth, other), strict=True)) / 2
    assert best <= times_of_100(Level("bounded", mechanism.loss().vector)) / 100
    # With two labels the bound is attained; a third answer says nothing about them.
    binary = GRR.from_epsilon(epsilon, categories=2)
    assert math.ceil(100 * binary.truth_probability - 1e-9) == times_of_100(Level("bounded", binary.loss().vector))


@pytest.mark.parametrize("name", CASES)
def test_no_question_that_the_policy_lets_through_tells_more_than_its_own_sheet(name: str) -> None:
    """The sheet of a policy alone bounds every question: its own, and those of all other cases that it allows."""
    policy, _ = CASES[name]
    (*_, alone) = roles_of(policy)
    if policy.volunteers is not None:
        giving = of(VOLUNTEER, CASES[name])
        assert giving.attributes == giving.clear == ("features", "label")
        for level in ("bit_feature", "vector", "label", "user", "node"):
            assert giving.holds[level].status == "unprotected" and giving.holds[level].value is None
        assert giving.holds["relationship"] == alone.holds["relationship"]
        assert giving.holds["bit_adjacency"].status == "not asked"
    for asked_policy, questions in CASES.values():
        if (asked_policy.volunteers is None) != (policy.volunteers is None):
            continue
        private = [question for question in questions if not question.query.in_clear]
        if not all(policy.allows(question.query, device=FACTS.n - 1) for question in private):
            continue
        holds = local_guarantee(policy.facts, private, claim=Claim("", None), volunteers=True).holds
        for level, held in holds.items():
            if held.status == "bounded":
                assert times_of_100(held) <= times_of_100(alone.holds[level]), level
            else:
                assert held.status == "not asked" or alone.holds[level].status == "unprotected", level


@pytest.mark.parametrize("seed", range(12))
def test_caps_without_a_limit_are_never_a_protection(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def loss() -> float:
        return math.inf if rng.random() < 0.3 else float(rng.exponential(3))

    caps = {name: Cap(loss(), loss(), loss(), float(rng.choice([0.0, 1e-6])))
            for name in ("adjacency", "features", "label") if rng.random() < 0.7}  # fmt: skip
    policy = Policy("report", caps, frozenset({"grr"}), FACTS, reporting=["both", "one-end"][seed % 2],  # type: ignore[arg-type]
                    user_cap=loss())  # fmt: skip
    (role,) = roles_of(policy)
    most = {name: min(cap.vector, cap.user, policy.user_cap) for name, cap in caps.items()}
    for level, attribute in (("vector", "features"), ("label", "label")):
        held = role.holds[level]
        assert (held.status == "not asked") == (attribute not in caps)
        assert (held.status == "unprotected") == math.isinf(most.get(attribute, 0.0))
        assert held.value is None or most[attribute] <= held.value <= most[attribute] + 1e-8
    if caps:
        total = min(sum(most.values()), policy.user_cap)
        assert (role.holds["user"].status == "unprotected") == math.isinf(total)
        assert role.holds["node"].value is None or role.holds["node"].value >= total
    if "adjacency" in caps:
        entry = min(caps["adjacency"].bit, most["adjacency"])
        ends = 2 if policy.reporting == "both" else 1
        assert (role.holds["relationship"].status == "unprotected") == math.isinf(entry)
        assert math.isinf(entry) or role.holds["relationship"].value == pytest.approx(ends * entry, abs=1e-8)
    # a record that is handed over raw is in clear, whatever the caps are
    (owner,) = roles_of(replace(policy, mode="owner"))
    assert {held.status for name, held in owner.holds.items() if name != "central_node"} == {"unprotected"}
    assert owner.clear == owner.attributes


def test_a_training_has_no_sheet() -> None:
    policy, _ = agreed("hogs", labels="public")
    with pytest.raises(ValueError, match="a federated training asks many times"):
        roles_of(replace(policy, mode="federated"))


TERMS = {
    "bit_adjacency": "One entry of your list",
    "bit_feature": "One of your features",
    "relationship": "One connection",
    "vector": "All your features together",
    "label": "Your label alone",
    "user": "All that your device answers",
    "node": "All that your device and others answer about you",
}


def told(made: Agreed, people: tuple[int, ...] | None = None) -> dict[str, str]:
    """Everything that each role is told, on one line."""
    parts = sheet_of(made[0], people).split("\n## ")[1:]
    return {part.partition(" (")[0]: part.replace("\n", " ") for part in parts}


@pytest.mark.parametrize("name", CASES)
def test_the_text_has_the_odds_of_each_level_and_says_what_is_unprotected(name: str) -> None:
    policy, _ = CASES[name]
    made = sheet_of(policy)
    for part, role in zip(made.split("\n## ")[1:], roles_of(policy), strict=True):
        lines = [line for line in part.splitlines() if line.startswith("- **")]
        asked_levels = [level for level, held in role.holds.items() if held.status != "not asked"]
        for level, line in zip(asked_levels, lines, strict=True):
            held, times = role.holds[level], times_of_100(role.holds[level])
            assert line.startswith(f"- **{times} of 100**: ") and f"{TERMS[level]}" in line
            assert ("NOT PROTECTED" in line) == (held.status == "unprotected")
            assert ("No meaningful protection" in line) == (held.status == "bounded" and times > 99)
            assert ("epsilon at most: infinite." in line) == (held.value is None)
    shown = re.sub(r"<[^>]*>", "", page(made)).replace("&quot;", '"')
    assert re.findall(r"\d+ of 100", shown) == re.findall(r"\d+ of 100", made)


@pytest.mark.parametrize(("epsilon", "own", "both_ends"), [(1.0, 74, 89), (2.0, 89, 99), (4.0, 99, 100)])
def test_everybody_else_answers_with_these_odds(epsilon: float, own: int, both_ends: int) -> None:
    """e / (1 + e) = 0.7311, e^2 / (1 + e^2) = 0.8808, e^4 / (1 + e^4) = 0.98201, e^8 / (1 + e^8) = 0.99966."""
    text = told(agreed(epsilon=epsilon))["Everybody else"]
    for term in ("One entry of your list", "All your features together", "All that your device answers"):
        assert f"**{own} of 100**: {term}." in text
    assert re.search(rf"\*\*{both_ends} of 100\*\*: (\*\*No meaningful protection\.\*\* )?One connection, ", text)
    assert "None of your values leaves your device as it is." in text and "Not asked: your label." in text
    assert "Chance changes the answer before it leaves your device: your list of neighbours, all your features." in text


def test_who_gets_the_answer_and_what_a_second_question_gets() -> None:
    policy, questions = agreed()
    for text in told((policy, questions)).values():
        assert "Any curator who asks first: no key is pinned" in text
        assert "If the same collection repeats its question" in text
    pinned = replace(policy, collector="0a" * 32, on_requery="replay")
    for text in told((pinned, questions)).values():
        assert f"Only the curator with this public key: {'0a' * 32}" in text and "Any curator" not in text
        assert "Whoever repeats the question gets the same answer" in text and "the same collection" not in text
