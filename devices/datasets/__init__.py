"""Registry of data sets: ``load`` makes a population from a name or a file, ``describe`` lists the names.

A data set is a row of :data:`ldpsim.devices.datasets.published.TABLE`. Importing
this imports neither torch nor PyG nor scipy; the readers do that themselves.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldpsim.devices.data.population import Population, WrongFeature
from ldpsim.devices.datasets import generated
from ldpsim.devices.datasets.files import default_root, locate
from ldpsim.devices.datasets.npz_file import read_npz_file
from ldpsim.devices.datasets.published import TABLE as TABLE
from ldpsim.devices.datasets.pyg_file import read_pyg_file
from ldpsim.devices.datasets.sampling import induced_sample

GENERATED = {"generated": generated}
SMALLEST_GENERATED = 20
ARRAY_FORMS = (".npz", ".pt", ".pth")  # ends of the names of files that load() reads, in small letters
FORMS = "edge list (.txt, .edges, .edgelist, .tsv), .adjlist, .csv, .gml, .graphml, .gexf, .net, .mtx, .npz, .pt"
IMPORT = f"`ldpsim import` makes one of an {FORMS}"
RANGE = (
    "the public range is feature_range in the file; `ldpsim import` states it (--feature-range) or changes the values"
)


def names() -> tuple[str, ...]:
    """Return the names that :func:`load` knows."""
    return (*GENERATED, *TABLE)


def load(
    name_or_path: str,
    *,
    data_dir: Path | None = None,
    clients: int | None = None,
    seed: int = 0,
    facts: Mapping[str, Any] | None = None,
    option: str = "--dataset",
) -> Population:
    """Return a population.

    Args:
        name_or_path: A name of :func:`names`, or the path of a ``.npz`` (``npz_file.py``)
            or ``.pt`` (``pyg_file.py``).
        data_dir: Folder of the data sets; None: ``LDPSIM_DATA``, else the user's cache.
        clients: Number of people: the size of the generated graph, or of an induced sample
            (``sampling.py``); None: all (generated: 3,000).
        seed: Seed of the generated graph or the sample (the population seed).
        facts: Arguments of :func:`generated.with_facts` for generated people; None or empty: the usual ones.
        option: Option that messages name.

    Raises:
        ValueError: one line: an unknown name (with the nearest ones), files that are not
            there (with the folder, the names and the source), data that is not as it
            should be (with row and column), more clients than there are.
    """
    maker = GENERATED.get(name_or_path)
    if maker is not None:
        n = maker.CLIENTS if clients is None else clients
        check_generated(n)
        return maker.with_facts(n, seed=seed, **facts) if facts else maker.generate(n, seed=seed)
    population = _read(name_or_path, data_dir, option)
    return population if clients is None else induced_sample(population, clients, seed)


def check_generated(n: int) -> None:
    """Refuse a number of people that a generated graph is not made for; ValueError in one line."""
    if n < SMALLEST_GENERATED:
        raise ValueError(f"--clients {n}: the generated graph has at least {SMALLEST_GENERATED} nodes")


def _read(name_or_path: str, data_dir: Path | None, option: str) -> Population:
    entry = TABLE.get(name_or_path)
    if entry is None:
        path = Path(name_or_path).expanduser()
        end = path.suffix.lower()
        if end in ARRAY_FORMS:
            try:
                return (read_npz_file if end == ".npz" else read_pyg_file)(path.stem, path)
            except WrongFeature as wrong:
                raise ValueError(f"{wrong}; {RANGE}" if wrong.outside_range else str(wrong)) from None
        near = difflib.get_close_matches(name_or_path.lower(), names(), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(names())};"
        if end in (".txt", ".edges", ".edgelist", ".tsv", ".csv", ".gml", ".graphml") or path.exists():
            raise ValueError(f"{option} {name_or_path}: the path of a data set is a .npz or a PyG .pt; {IMPORT}")
        raise ValueError(
            f"{option} {name_or_path}: no such data set; {hint} or give the path of a .npz or .pt; {IMPORT}"
        )
    root = default_root() if data_dir is None else Path(data_dir)
    form = locate(entry, root)
    form.check_files(root)
    try:
        population = form.read(entry.name, *form.paths(root))
    except ValueError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{entry.name}: {', '.join(form.files)} in {root / form.folder} cannot be read ({reason}); "
            f"source: {entry.source}"
        ) from error
    if entry.digest and population.digest != entry.digest:
        raise ValueError(
            f"{entry.name}: {', '.join(form.files)} in {root / form.folder} has other data than the published ones "
            f"(checksum {population.digest[:12]}, not {entry.digest[:12]}); as your own data: --dataset FILE.npz; "
            f"source: {entry.source}"
        )
    return population


def describe(data_dir: Path | None = None) -> list[dict[str, Any]]:
    """Return one line a data set: name, people, source, licence, checksum, on_disk, nodes, edges, features, classes."""
    root = default_root() if data_dir is None else Path(data_dir)
    lines = [
        (name, "made up, any size", "ldpsim", "Apache-2.0", "", True,
         maker.CLIENTS, maker.EDGES, maker.FEATURES, maker.CLASSES)
        for name, maker in GENERATED.items()
    ]  # fmt: skip
    lines += [
        (e.name, e.people, e.source, e.licence, e.digest, e.find(root) is not None,
         e.nodes, e.edges, e.features, e.classes)
        for e in TABLE.values()
    ]  # fmt: skip
    keys = ("name", "people", "source", "licence", "checksum", "on_disk", "nodes", "edges", "features", "classes")
    return [dict(zip(keys, line, strict=True)) for line in lines]
