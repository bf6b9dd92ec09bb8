"""Sample of mutants: drawn by folder from all mutants, the same for one seed.

Every place of the code where an operator applies gets a rank, the hash of the seed and of the change's
own text. The lowest ranks of a folder are its sample. A test does not change the sample, and a change of
one module changes only its own part of it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path

from benchmarks.mutants.mutant import Mutant, mutants_of

PACKAGES = ("devices", "curator", "strategies", "cli")


def rooms(root: Path) -> tuple[str, ...]:
    """Return all rooms of the product: each folder of a package, and each module in its root without its suffix."""
    modules = (path.relative_to(root) for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    names = (module.with_suffix("").parts[:2] for module in modules)
    return tuple(dict.fromkeys("/".join(name) for name in names if name[-1] != "__init__"))


def modules_of(root: Path, folder: str) -> list[Path]:
    """Return the modules of a room: of a folder, those below it included, or the one module in a package's root."""
    place = root / folder
    found = place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
    return sorted(path.relative_to(root) for path in found)


def mirrored(root: Path, module: Path) -> tuple[str, ...]:
    """Return the test files of a module: the one of its name, and those whose first lines say that they cover it.

    Raises:
        LookupError: There is none.
    """
    own = Path("tests") / module.with_name(f"test_{module.name}")
    stem = module.with_suffix("").as_posix()
    others = [test for test, folder, words in _covering(root) if any(_means(word, stem, folder) for word in words)]
    found = tuple(dict.fromkeys([own.as_posix(), *others] if (root / own).is_file() else others))
    if not found:
        raise LookupError(f"{module} has no test file {own}, and no test file below tests/ says that it covers it")
    return found


def _means(word: str, stem: str, folder: str) -> bool:
    """Return whether a word of a test file in a folder means a module: by its path, or by its name in that folder."""
    if word.endswith("/*"):
        return stem.startswith(word[:-1])
    return stem in (word, f"{folder}/{word}") or ("/" in word and stem.endswith(f"/{word}"))


@cache
def _covering(root: Path) -> list[tuple[str, str, list[str]]]:
    """Return each test file that covers more than its own module, its folder without tests/, and the words it says."""
    found = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        _, covers, rest = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("overs ")
        if covers:
            rest = re.sub(r"all modules below (`*[\w./]+)", r"\1/*", rest)
            words = [word.removesuffix(".py").replace(".", "/") for word in re.findall(r"[\w./]*[\w*]", rest)]
            test = path.relative_to(root)
            found.append((test.as_posix(), test.parent.relative_to("tests").as_posix(), words))
    return found


def draw(root: Path, size: int, seed: int, folders: Sequence[str] | None = None) -> dict[str, list[Mutant]]:
    """Return the sample by folder (default: all :func:`rooms`); a part is proportional to its number of places."""
    folders = rooms(root) if folders is None else folders
    places = {folder: _places(root, folder, seed) for folder in folders}
    wanted = shares({folder: len(found) for folder, found in places.items()}, size)
    return {folder: _first(places[folder], wanted[folder]) for folder in folders}


def shares(counts: Mapping[str, int], size: int) -> dict[str, int]:
    """Divide a number in proportion to counts, by largest remainders.

    >>> shares({"a": 5, "b": 3, "c": 2}, 5)
    {'a': 3, 'b': 1, 'c': 1}
    """
    total = sum(counts.values())
    exact = {name: min(size * count / total, count) for name, count in counts.items()}
    whole = {name: int(part) for name, part in exact.items()}
    by_rest = sorted(counts, key=lambda name: whole[name] - exact[name])
    for name in by_rest[: min(size, total) - sum(whole.values())]:
        whole[name] += 1
    return whole


def _places(root: Path, folder: str, seed: int) -> list[list[Mutant]]:
    """Return the alternatives of each place, the first place and its first alternative to draw first."""
    places: dict[tuple[str, object, str], list[Mutant]] = defaultdict(list)
    for path in modules_of(root, folder):
        for mutant in mutants_of(path.as_posix(), (root / path).read_text()):
            places[mutant.module, mutant.site, mutant.operator].append(mutant)
    ranked = sorted(places.values(), key=lambda found: _rank(f"{seed} place", min(found, key=lambda m: m.name)))
    return [sorted(found, key=partial(_rank, f"{seed}")) for found in ranked]


def _rank(salt: str, mutant: Mutant) -> bytes:
    return sha256(f"{salt}|{mutant.name}".encode()).digest()


def _first(places: list[list[Mutant]], wanted: int) -> list[Mutant]:
    """Return one mutant of each of the first places that has one."""
    good = ([mutant for mutant in found if mutant.is_python()][:1] for found in places)
    return list(islice(chain.from_iterable(good), wanted))
