"""Pages of the methods: docs/methods/NAME.md, one for each registered method, made from what the code says.

The paper, the settings and the way a method works come from its docstrings, the losses from the guarantee of its
default question, the example from running it. ``docs/methods/pages.toml`` names results, a figure, and the section of
``docs/methods/README.md`` that belongs to a method. The pages are made again by every build and are not committed.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import io
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stdout
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

from docs.docstrings import structured
from ldpsim.cli import words
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import BUILT_IN, Method, find
from ldpsim.curator.methods.federated.federated import Federated
from ldpsim.curator.methods.owner.owner import LabelAnswers
from ldpsim.curator.methods.parameters import beside_words
from ldpsim.curator.names import paper_name
from ldpsim.curator.options import OF_METHODS
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.devices import datasets
from ldpsim.devices.data.population import Population
from ldpsim.strategies import RunOptions
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.spent import guarantee_before
from ldpsim.strategies.setup.option_spec import declared

FOLDER = Path(__file__).parent / "methods"
PEOPLE = 3000
VOLUNTEERS = 0.1  # of a method that needs some
QUERIES = {"queries": "500"}  # the default of an owner asks about more public nodes than so few people have
_SECTION = re.compile(r"^(Args|Raises|Returns):$", re.MULTILINE)


def pages_file() -> dict[str, dict[str, Any]]:
    """Return what ``pages.toml`` says of each method, and of those that train in rounds together."""
    said: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "pages.toml").read_text())
    in_rounds = said.pop("in_rounds")
    return {**{name: in_rounds for name in BUILT_IN if find(name).spec.in_rounds}, **said}


def of_method(name: str) -> dict[str, Any]:
    """Return what is said of a method.

    Raises:
        ValueError: for a method of which nothing is said.
    """
    said = pages_file()
    if name not in said:
        raise ValueError(f"docs/methods/pages.toml has no [{name}]: it names the pages of its results")
    return said[name]


def documented(kind: type) -> dict[str, str]:
    """Return the meaning of each field from the Args of a class and its bases, by name.

    >>> documented(TrainingSettings)["epochs"]
    'Number of steps.'
    """
    found: dict[str, str] = {}
    for base in kind.__mro__:
        _, _, rest = inspect.cleandoc(base.__dict__.get("__doc__") or "").partition("Args:\n")
        body = re.split(r"^\S", rest, maxsplit=1, flags=re.MULTILINE)[0]
        for entry in re.split(r"^    (?=\S)", body, flags=re.MULTILINE)[1:]:
            names, _, text = entry.partition(": ")
            for name in names.split(","):
                found.setdefault(name.strip(), " ".join(text.split()))
    return found


def in_markdown(text: str) -> str:
    """Return the text of a docstring for a cell: roles are code marks, and no sign ends the cell."""
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text).replace("|", "\\|")


def settings_table(kind: type[Method]) -> Iterator[str]:
    """Yield the rows of the settings of a method, then of its training."""
    meaning = documented(kind)
    yield from ("| setting | default | meaning |", "|---|---|---|")
    for entry in fields(kind):  # type: ignore[arg-type]
        if entry.metadata.get("unused"):
            continue
        default = "" if entry.default is MISSING else f"`{entry.default}`"
        beside = " and ".join(map(beside_words, entry.metadata.get("beside", {}).items()))
        told = in_markdown(meaning.get(entry.name, "")) + (f" Read beside {beside} alone." if beside else "")
        yield f"| `{paper_name(entry.name)}` | {default} | {told} |"
    if kind().effective_spec().trains_network:
        meaning = documented(TrainingSettings)
        own: Mapping[str, Any] = {"gnn": kind.spec.default_gnn, **kind.spec.training_defaults}
        for entry in fields(TrainingSettings):
            usual = entry.name in ("hidden", "lr", "weight_decay", "gnn_dropout", "epochs")
            chosen = kind.spec.options if entry.name == "gnn" else kind.spec.training_read
            read = chosen is None or entry.name in chosen
            if read and (entry.name in own or usual):
                name = "--gnn" if entry.name == "gnn" else entry.name
                yield f"| `{name}` | `{own.get(entry.name, entry.default)}` | {in_markdown(meaning[entry.name])} |"


def options_table(kind: type[Method]) -> Iterator[str]:
    """Yield the rows of the options that only some methods read, and that this one reads or refuses."""
    specs, usual = declared(RunOptions), kind()
    refused = OF_METHODS - usual.effective_spec().options_read
    read = OF_METHODS - refused
    yield from ("| options | |", "|---|---|")
    for told, found in (("read", read), ("refused", refused)):
        flags = [
            f"`{spec.option}`" for name, spec in specs.items() if name in found and name not in kind.settings_of_options
        ]
        yield f"| {', '.join(flags) or 'none'} | {told} |"
    for name, setting in kind.settings_of_options.items():
        yield f"| `{specs[name].option}` | read with `--set {setting}`, else refused |"


def explanations(kind: type[Method]) -> Iterator[tuple[str, str]]:
    """Yield (module, docstring) of the modules that a method is made of, the general one first."""
    seen = set()
    for base in reversed(kind.__mro__):
        module = base.__module__
        shared = module in ("ldpsim.curator.methods.base", "ldpsim.curator.methods.local.links")
        if module.startswith("ldpsim.curator.methods.") and not shared and module not in seen:
            seen.add(module)
            yield module, sys.modules[module].__doc__ or ""


def about(kind: type[Method]) -> str:
    """Return a class docstring without its sections and examples."""
    text = _SECTION.split(inspect.cleandoc(kind.__doc__ or ""))[0]
    return text.partition(">>>")[0].strip()


def paper_link(kind: type[Method]) -> str:
    """Return the address of a method's paper from its docstrings, empty without one or for a method of ldpsim."""
    if kind.spec.paper.startswith("this project"):
        return ""
    if "paper" in (noted := of_method(kind.spec.name)):
        return str(noted["paper"])
    texts = [kind.__doc__ or "", *(text for _, text in reversed([*explanations(kind)]))]
    found = re.search(r"https://[^\s,;)]+", "\n".join(texts))
    return found[0].rstrip(".") if found else ""


@cache
def people() -> Population:
    """Return the people of the default question."""
    seeds = RunOptions().seeds_of(0)
    return datasets.load("generated", data_dir=None, clients=PEOPLE, seed=seeds.population)


def default_guarantee(name: str) -> tuple[Guarantee, str]:
    """Return the guarantee of a method's default question to 3,000 people, and what the question spends in words."""
    given = QUERIES if issubclass(find(name), LabelAnswers) else {}
    volunteers = VOLUNTEERS if find(name).needs_volunteers else None
    setup = prepare(RunOptions(method=name, clients=PEOPLE, settings=given, volunteers=volunteers), population=people())
    guarantee = guarantee_before(setup)
    spent = ""
    if isinstance(setup.method, LabelAnswers):
        spent = f", {setup.method.queries} queries, lambda {setup.method.lambda_:g}"
    elif any(level.status == "bounded" for level in guarantee.holds.values()):
        spent = f", epsilon {setup.budget.epsilon:g}"
    return guarantee, spent


def guarantee_table(guarantee: Guarantee) -> Iterator[str]:
    """Yield the rows of what holds, level by level."""
    yield from ("| level | when | loss (epsilon) that holds | best guess |", "|---|---|---|---|")
    for name, spec in LEVELS.items():
        held = guarantee.holds[name]
        guess = words.best_guess(held.value, held.delta) if held.value is not None else ""
        yield f"| `{name}` | {spec.changes} | {words.level(held.to_dict())} | {guess} |"


def example(name: str) -> str:
    """Return a small run of a method in Python."""
    kind = find(name)
    unused = {entry.name for entry in fields(kind) if entry.metadata.get("unused")}  # type: ignore[arg-type]
    short = {"epochs": "10"} if not issubclass(kind, Federated) else {} if "rounds" in unused else {"rounds": "1"}
    if issubclass(kind, LabelAnswers):
        short = {"queries": "10", **short}
    given = f", settings={short}" if short and kind().effective_spec().trains_network else ""
    given += f", volunteers={VOLUNTEERS:g}" if kind.needs_volunteers else ""
    return "\n".join((
        ">>> from ldpsim.strategies import RunOptions, simulate",
        f'>>> options = RunOptions(method="{name}", clients=100{given}, nulls=False, reference=False)',
        ">>> result = simulate(options)",
        '>>> result.record["devices"]["asked"]',
        '>>> for name, held in result.record["privacy"]["holds"].items():',
        '...     print(name, held["status"], held["value"])',
    )).replace("'", '"')  # fmt: skip


def with_output(source: str) -> str:
    """Run an example in an empty folder, and return it with what each line prints.

    >>> with_output(">>> a = 3\\n>>> a + 1")
    '>>> a = 3\\n>>> a + 1\\n4'
    """
    names: dict[str, Any] = {}
    shown = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for line in doctest.DocTestParser().get_examples(source):
            out = io.StringIO()
            with redirect_stdout(out):
                code = compile(ast.Interactive(ast.parse(line.source).body), "example", "single")
                exec(code, names)
            first, *more = line.source.rstrip().splitlines()
            shown += [f">>> {first}", *(f"... {rest}" for rest in more), *out.getvalue().splitlines()]
    return "\n".join(shown)


def section(heading: str) -> str:
    """Return the text below a heading of ``docs/methods/README.md``."""
    text = (FOLDER / "README.md").read_text()
    _, found, rest = text.partition(f"\n## {heading}\n")
    if not found:
        raise ValueError(f"docs/methods/README.md has no section {heading!r}")
    return re.split(r"\n## ", rest, maxsplit=1)[0].strip()


def page(name: str) -> str:
    """Return the page of a method, in Markdown."""
    kind, noted = find(name), of_method(name)
    guarantee, spent = default_guarantee(name)
    link = paper_link(kind)
    private = ", ".join(kind.spec.private) or "nothing"
    mechanisms = ", ".join(f"`{each}`" for each in kind.spec.mechanisms) or "none"
    parts = [
        f"# `{name}`",
        f"{kind.spec.paper}" + (f" ([paper]({link}))." if link else "."),
        f"Trust: {guarantee.trust}. Trusted: {kind.spec.trusted}. Private: {private}. Mechanisms: {mechanisms}.",
        f"```sh\nldpsim run --method {name}{' --set queries=500' if issubclass(kind, LabelAnswers) else ''}"
        f"{f' --volunteers {VOLUNTEERS:g}' if kind.needs_volunteers else ''}\n```",
        f"```{{eval-rst}}\n{chr(10).join(structured(about(kind).splitlines()))}\n```",
        "## What holds",
        f"For the default question ({PEOPLE:,} people of `generated`{spent}). "
        f"Claimed: {guarantee.claimed.statement}. [Concepts](../concepts.md) explains the levels, and "
        "[guarantees](../guarantees.md) has the theorem behind each figure. A best guess is the chance of identifying "
        "which of two possible values is the person's.",
        "\n".join(guarantee_table(guarantee)),
        "\n".join(f"- {reason}" for reason in guarantee.why_they_differ),
        "## How it works",
    ]
    for module, text in explanations(kind):
        lines = "\n".join(structured(inspect.cleandoc(text).splitlines()))
        parts.append(f"`{module}`\n\n```{{eval-rst}}\n{lines}\n```")
    if "section" in noted:
        parts += ["## Remarks", section(noted["section"])]
    parts += ["## Settings", "`--set NAME=VALUE`, or `settings` in Python.", "\n".join(settings_table(kind))]
    refusal = "Every method reads the other options. An option that nothing reads is refused in one line, with exit "
    refusal += "status 2; `compare` and `sweep` run the method without it."
    parts += ["## Options", refusal, "\n".join(options_table(kind))]
    parts += ["## Results", "Accuracy beside null models, chance, and the same network without noise:"]
    parts.append("\n".join(f"- [{stem}](../results/{stem}.md)" for stem in noted["results"]))
    if "figure" in noted:
        parts.append(f"![{noted['caption']}](../results/{noted['figure']})")
    parts += ["## Example", f"```python\n{with_output(example(name))}\n```"]
    return "\n\n".join(part for part in parts if part) + "\n"


def list_of_methods() -> str:
    """Return the table of all methods, with links to their pages."""
    rows = ["| method | trusted | private | paper |", "|---|---|---|---|"]
    for name in BUILT_IN:
        kind = find(name)
        private = ", ".join(kind.spec.private) or "nothing"
        rows.append(f"| [{name}]({name}.md) | {kind.spec.trusted} | {private} | {kind.spec.paper} |")
    return "\n".join(rows)


def write_pages(app: Any = None) -> None:
    """Write the page of every method; a page that stays as it was is not touched."""
    for name in BUILT_IN:
        path, text = FOLDER / f"{name}.md", page(name)
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    write_pages()
