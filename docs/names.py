"""Words that are not used, beside their limits: ``python -m docs.names``.

``--write`` sets the limits to today's counts. A participle (``found``, ``known``) names nothing, so it is no name in
code. The glossary has one word for each thing; :data:`SYNONYMS` are the words that it does not use. Pages have none of
them. In the code both are counted by package, and the limits of ``names.toml`` only go down.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = Path(__file__).with_name("names.toml")
PACKAGES = ("devices", "curator", "strategies", "cli", "benchmarks")
PARTICIPLES = {"asked", "found", "given", "kept", "known", "named", "said", "told"}
# What is not used, and the glossary's word for it. The glossary names these words, too.
SYNONYMS = {
    r"collectors?": "curator",
    r"quer(?:y|ies)": "question",
    r"(?:an|each|more|the|honest|thousand|\d[\d,]*) asks?": "question",
    r"attain\w*": "tight",
    r"laws?": "distribution",
    r"silent|silence": "dropout",
    r"rooms?|floors?|scenes?|furniture|theatre|house": "layer",
}
_FORBIDDEN = re.compile(rf"\b(?:{'|'.join(SYNONYMS)})\b", re.IGNORECASE)
_CODE = re.compile(r"^```.*?^```|`+[^`]*`+|\]\([^)]*\)|^    .*?$|<!--.*?-->", re.DOTALL | re.MULTILINE)


def participles(text: str) -> int:
    """Return how often a module's code has a participle as a name.

    >>> participles("found = known.x(told=1)  # kept")
    3
    """
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.NAME and token.string in PARTICIPLES for token in tokens)


def synonyms(text: str) -> list[str]:
    """Return the words of a text that the glossary does not use; code, links and indented lines are left out.

    >>> synonyms("The collector, a `collector`, and the law of [a](law.md)")
    ['collector', 'law']
    """
    return _FORBIDDEN.findall(_CODE.sub(" ", text))


def docstrings(text: str) -> Iterator[str]:
    """Yield the docstrings of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def counted(root: Path = ROOT) -> dict[str, dict[str, int]]:
    """Return the participles and the synonyms in docstrings of each package."""
    texts = {name: [path.read_text() for path in (root / name).rglob("*.py")] for name in PACKAGES}
    words = {name: [len(synonyms(doc)) for text in several for doc in docstrings(text)]
             for name, several in texts.items()}  # fmt: skip
    return {
        "participles": {name: sum(map(participles, several)) for name, several in texts.items()},
        "synonyms": {name: sum(each) for name, each in words.items()},
    }


def main(words: list[str]) -> int:
    """Print a line for each package; return 1 if one is above its limit."""
    counts = counted()
    if words == ["--write"]:
        lines = LIMITS.read_text().partition("\n[")[0].rstrip().splitlines()
        for kind, each in counts.items():
            lines += ["", f"[{kind}]", *(f"{name} = {number}" for name, number in each.items())]
        LIMITS.write_text("\n".join(lines) + "\n")
        return 0
    too_many = False
    for kind, limits in tomllib.loads(LIMITS.read_text()).items():
        for name, limit in limits.items():
            above = counts[kind][name] > limit
            too_many |= above
            line = f"{name:<12}{counts[kind][name]:>7,} {kind} (limit {limit:,})"
            print(line + "  TOO MANY: see docs/names.py" * above)
    return int(too_many)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
