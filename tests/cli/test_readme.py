"""What the documents tell a person to type has to work."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from typer.main import get_command

from ldpsim.cli.main import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
OF_COMMANDS = [*sorted((ROOT / "docs" / "commands").glob("*.md")), ROOT / "docs" / "methods" / "README.md"]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *OF_COMMANDS]


def test_the_python_of_the_readme_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(code.strip().splitlines()) <= 6
    assert "clients=3000" in code
    exec(
        code.replace(
            "clients=3000", f"clients=60, settings={{'epochs': '3'}}, out=__import__('pathlib').Path({str(tmp_path)!r})"
        )
    )
    out = capsys.readouterr().out
    assert "'status': 'bounded'" in out
    assert list(tmp_path.glob("*-generated-*/result.json"))


def test_accuracies_of_the_readme_stand_on_the_pages_that_it_links() -> None:
    """A figure with one decimal, with its spread if it has one, is on a page of results that its paragraph links."""
    found = 0
    for paragraph in README.split("\n\n"):
        pages = "".join(
            (ROOT / page).read_text() for page in re.findall(r"\]\((docs/results/[a-z-]+\.md)\)", paragraph)
        )
        for figure in re.findall(r"\d+\.\d(?: ± \d+\.\d)?(?= (?:%|points))", paragraph) if pages else ():
            assert figure in pages, figure
            found += 1
    assert found >= 5


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_the_options_that_documents_name_exist() -> None:
    commands, known = [get_command(app)], {"--help", "--extra-index-url", "--disable-runtime-dependency-installation"}
    for command in commands:
        known |= {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        commands += list(command.commands.values()) if isinstance(command, click.Group) else []
    for document in (ROOT / "README.md", ROOT / "docs" / "start.md", *OF_COMMANDS):
        assert set(re.findall(r"--[a-z][a-z-]+", document.read_text())) <= known


@pytest.mark.parametrize("name", ["run", "verdict"])
def test_a_picture_fetches_nothing(name: str) -> None:
    picture = (ROOT / "docs" / "images" / f"{name}.svg").read_text()
    assert not re.findall(r"url\(\s*[\"']?http|@import|<image|href", picture)
