"""Table of the published data sets, and the readers of the forms that only they have.

Cora, CiteSeer and PubMed are in the Planetoid files (Yang, Cohen and Salakhudinov, 2016): pickles of arrays.
``.npz`` files of word counts are those of Shchur et al. (2018) and Bojchevski and Günnemann (2018). As everywhere
these sets are used, a word is there or not. PyG's classes ``FacebookPagePage``, ``GitHub`` and ``LastFMAsia`` are other
versions (128 dense features); here are the published binary ones.
"""

from __future__ import annotations

import csv
import io
import json
import pickle
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import checked_numbers
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets.array_layouts import of_layout
from ldpsim.devices.datasets.files import DatasetEntry, Form
from ldpsim.devices.datasets.npz_file import load_arrays, population_of, read_npz_file, split_of
from ldpsim.devices.datasets.sampling import induced_population
from ldpsim.devices.facts import LARGEST_SIZE

PLANETOID = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
_VALIDATION = 500  # nodes of the published split
_Size = tuple[int, int, int, int]  # nodes, edges, features, classes

# PubMed's features are TF-IDF weights. The range is a constant of this package, stated
# once for the published corpus; it is never computed from the values that devices hold.
_PUBMED_RANGE = (0.0, 1.3)
# The ten largest of the 18 published countries, a public constant. As in the papers, only people of these are kept.
COUNTRIES = tuple(str(country) for country in (0, 3, 5, 6, 8, 10, 14, 15, 16, 17))


def _read_counts(classes: int, name: str, path: Path) -> Population:
    """Read word counts as words; names of classes in the file play no part."""
    arrays = {key: array for key, array in load_arrays(path)[0].items() if key != "class_names"}
    columns, _ = of_layout(path.name, arrays | {"num_classes": np.array(classes)})
    return population_of(name, path.name, columns | {"values": np.where(columns["values"] > 0, 1, columns["values"])})


def _read_component(name: str, path: Path) -> Population:
    arrays, _ = load_arrays(path)
    population = read_npz_file(name, path)
    return induced_population(population, checked_numbers(f"{path.name}: lcc", arrays["lcc"], len(population)))


def _read_coded(name: str, path: Path) -> Population:
    """Read attributes of people in the 0/1 coding that RGNN uses (Bhaila et al.).

    ``facts.domains`` lists the attributes in the order of their columns: an attribute of two categories is one
    column (its code), one of k > 2 categories is k columns of which exactly one is 1.
    """
    arrays, _ = load_arrays(path)
    sizes = checked_numbers(f"{path.name}: cat_card", arrays["cat_card"], LARGEST_SIZE, first=2)
    population = read_npz_file(name, path)
    # the coding puts attributes of two categories first, each group in its own order
    domains = sizes[np.argsort(sizes > 2, kind="stable")]
    ends = np.cumsum(np.where(domains == 2, 1, domains))
    rows = np.repeat(np.arange(len(population)), np.diff(population.feature_indptr))
    for start, end in zip(ends, ends[1:], strict=False):
        inside = (population.feature_indices >= start) & (population.feature_indices < end)
        wrong = np.flatnonzero(np.bincount(rows[inside], minlength=len(population)) != 1)
        if end - start > 1 and len(wrong):
            raise ValueError(f"{path.name}: row {wrong[0]}, columns {start}..{end - 1}: not exactly one 1")
    return replace(population, facts=replace(population.facts, domains=tuple(domains.tolist())))


def _read_snap(
    column: str, d: int, classes: dict[str, str], kept: bool, name: str, edges: Path, features: Path, target: Path
) -> Population:
    """Read MUSAE's edge, feature and target files (Rozemberczki, Allen and Sarkar, 2021), as SNAP publishes them.

    Args:
        column: Column of the target file that is the class.
        d: Number of features.
        classes: Its texts, with the names of the classes.
        kept: Whether people of other classes are left out, and no fault.
        name: Name of the population.
        edges, features, target: The files.
    """
    with target.open(newline="", encoding="utf-8") as lines:
        table = list(csv.DictReader(lines))
    if not table or "id" not in table[0] or column not in table[0]:
        raise ValueError(f"{target.name}: the columns id and {column} are needed")
    texts = {int(line["id"]): line[column] for line in table}
    n = len(table)
    if sorted(texts) != list(range(n)):
        raise ValueError(f"{target.name}: the ids must be 0..{n - 1}, each once")
    words: dict[str, Any] = json.loads(features.read_text(encoding="utf-8"))
    place = {text: label for label, text in enumerate(classes)}
    labels = np.array([place.get(texts[node], -1) for node in range(n)])
    rows = []
    for node in range(n):
        if str(node) not in words:
            raise ValueError(f"{features.name}: node {node} has no list of features")
        if labels[node] < 0 and not kept:
            raise ValueError(f"{target.name}: node {node} has class {texts[node]!r}, known are {', '.join(classes)}")
        rows.append(np.unique(np.asarray(words[str(node)], dtype=np.int64)))
    population = build_population(
        name, n=n, d=d, edges=np.loadtxt(edges, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2).T,
        feature_indptr=np.concatenate([[0], np.cumsum([len(row) for row in rows])]),
        feature_indices=np.concatenate(rows), feature_values=None, labels=labels, classes=len(classes),
        class_names=tuple(filter(None, classes.values())),
    )  # fmt: skip
    people = np.flatnonzero(labels >= 0)
    if not len(people):
        raise ValueError(f"{target.name}: nobody is of a class of {', '.join(classes)}")
    return induced_population(population, people)


def _read_planetoid(classes: int, feature_range: tuple[float, float], name: str, *paths: Path) -> Population:
    """Read the files of :data:`PLANETOID`, in this order."""
    from scipy.sparse import csr_array, vstack

    file = dict(zip(PLANETOID, paths, strict=True))
    allx, tx, y, ally, ty = (_table(file[part]) for part in ("allx", "tx", "y", "ally", "ty"))
    tested = np.loadtxt(file["test.index"], dtype=np.int64, ndmin=1)
    first, many = ally.shape[0], ally.shape[0] + len(tested)
    fits = allx.shape[0] == first and tx.shape == (len(tested), allx.shape[1])
    fits = fits and ally.shape == (first, classes) and ty.shape == (len(tested), classes)
    if not fits or len(np.unique(tested)) < len(tested) or np.any((tested < first) | (tested >= 2 * many)):
        raise ValueError(f"{name}: the files ind.{name}.* do not belong together")
    # Row i of tx is node tested[i]. Some nodes of CiteSeer are in no file: they have no feature, and class 0.
    nodes = np.concatenate([np.arange(first), tested])
    n = max(first, int(nodes.max(initial=-1)) + 1)
    x = vstack([allx, tx]).tocoo()
    features = csr_array((x.data, (nodes[x.row], x.col)), shape=(n, allx.shape[1]))
    labels = np.zeros(n, np.int64)
    labels[nodes] = vstack([ally, ty]).toarray().argmax(axis=1)
    population = build_population(
        name, n=n, d=features.shape[1], edges=_edges(file["graph"]), feature_indptr=features.indptr,
        feature_indices=features.indices, feature_values=features.data, labels=labels, classes=classes,
        feature_range=feature_range,
    )  # fmt: skip
    train = np.arange(y.shape[0])
    return split_of(name, population, {"train": train, "val": len(train) + np.arange(_VALIDATION), "test": tested})


def _table(file: Path) -> Any:
    """Return the CSR array that a pickle holds, dense or sparse."""
    from scipy.sparse import csr_array

    table = _plain_pickle(file)
    if getattr(table, "ndim", 0) != 2 or table.dtype.kind not in "biuf":
        raise ValueError(f"{file.name} is no table of numbers")
    if hasattr(table, "check_format"):
        table.check_format(full_check=True)
    return csr_array(table)


def _edges(file: Path) -> NDArray[np.int64]:
    """Return the edges (2, m) of a dict of lists."""
    lists = _plain_pickle(file)
    try:
        sizes = [len(ends) for ends in lists.values()]
        if sum(sizes) > file.stat().st_size:  # one long list, named by many nodes: an honest edge takes two bytes
            raise ValueError
        left = np.repeat(np.array(list(lists), np.int64), sizes)
        return np.stack([left, np.fromiter(chain.from_iterable(lists.values()), np.int64)])
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise ValueError(f"{file.name} is no dict of lists of node numbers") from None


class _PlainPickle(pickle.Unpickler):
    """Reader of pickles of arrays, CSR matrices and dicts. A pickle names functions; any other one is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _IN_PICKLES:
            raise ValueError(f"it names {module}.{name}, which is no array of numbers")
        return super().find_class(_IN_PICKLES[module, name], name)


def _plain_pickle(path: Path) -> Any:
    """Return what a pickle holds; ValueError, one line, where it names anything but arrays of numbers."""
    try:
        return _PlainPickle(io.BytesIO(path.read_bytes()), encoding="latin1").load()
    except Exception as error:  # a hostile file ends in any of them
        raise ValueError(f"{path.name} is no pickle of arrays: {' '.join(str(error).split())}") from None


# The names in pickles of arrays, old and new, and the module where each is today.
_IN_PICKLES = {
    ("numpy", "dtype"): "numpy", ("numpy", "ndarray"): "numpy",
    ("numpy.core.multiarray", "_reconstruct"): "numpy._core.multiarray",
    ("numpy._core.multiarray", "_reconstruct"): "numpy._core.multiarray",
    ("scipy.sparse.csr", "csr_matrix"): "scipy.sparse", ("scipy.sparse._csr", "csr_matrix"): "scipy.sparse",
    ("_codecs", "encode"): "_codecs", ("collections", "defaultdict"): "collections",
    ("__builtin__", "list"): "builtins", ("builtins", "list"): "builtins",
}  # fmt: skip


def _planetoid(title: str, size: _Size, span: tuple[float, float] = (0.0, 1.0)) -> DatasetEntry:
    url = "https://github.com/kimiyoung/planetoid/raw/master/data"
    files = tuple(f"ind.{title.lower()}.{part}" for part in PLANETOID)
    form = Form(f"{title}/raw", files, partial(_read_planetoid, size[-1], span))
    return DatasetEntry(title.lower(), f"{url} (PyG Planetoid)", *size, (form,), url)


def _counts(name: str, folder: str, file: str, url: str, kind: str, size: _Size) -> DatasetEntry:
    form = Form(folder, (file,), partial(_read_counts, size[-1]))
    return DatasetEntry(name, f"{url}/{file} (PyG {kind})", *size, (form,), url)


def _snap(
    name: str, archive: str, prefix: str, column: str, classes: dict[str, str], size: tuple[int, int, int],
    publisher: str = "", folders: tuple[str, ...] = (),
) -> DatasetEntry:  # fmt: skip
    files = tuple(f"{prefix}_{part}" for part in ("edges.csv", "features.json", "target.csv"))
    read = partial(_read_snap, column, size[-1], classes, not publisher)
    raw = tuple(Form(folder, files, read) for folder in folders or (archive,))
    forms = (Form(".", (f"{name}.npz",), read_npz_file), *raw) if publisher else raw
    return DatasetEntry(name, f"https://snap.stanford.edu/data/{archive}.zip{publisher}", *size, len(classes), forms)


_GRAPH2GAUSS = "https://github.com/abojchevski/graph2gauss/raw/master/data"
_SHCHUR = "https://github.com/shchur/gnn-benchmark"
_LCC_SOURCE = f"{_SHCHUR} data/npz/citeseer.npz, as arrays edge_index, indptr, indices, labels, num_features, " + (
    "class_names, lcc"
)
_RGNN = "https://github.com/karuna-bhaila/RGNN, RGNN/datasets/{}, as arrays edge_index, x, cat_card, labels"
_PAGES = {page: page for page in ("company", "tvshow", "politician", "government")}
_MUSAE = " (benedekrozemberczki/MUSAE)"
_LCC = "citeseer_lcc.npz"

TABLE: dict[str, DatasetEntry] = {
    entry.name: entry
    for entry in (
        _planetoid("Cora", (2708, 5278, 1433, 7)),
        _planetoid("CiteSeer", (3327, 4552, 3703, 6)),
        DatasetEntry("citeseer-3312", _LCC_SOURCE, 3312, 4536, 3703, 6, (Form(".", (_LCC,), read_npz_file),)),
        DatasetEntry("citeseer-lcc", _LCC_SOURCE, 2110, 3668, 3703, 6, (Form(".", (_LCC,), _read_component),)),
        # In a folder of its own: "CiteSeer" (Planetoid) and "citeseer" are one name on some file systems.
        _counts("citeseer-full", "citeseer_full/citeseer/raw", "citeseer.npz", _GRAPH2GAUSS, "CitationFull",
                (4230, 5337, 602, 6)),
        _planetoid("PubMed", (19717, 44324, 500, 3), span=_PUBMED_RANGE),
        _counts("dblp", "dblp/raw", "dblp.npz", _GRAPH2GAUSS, "CitationFull", (17716, 52867, 1639, 4)),
        _counts("computers", "Computers/raw", "amazon_electronics_computers.npz", f"{_SHCHUR}/raw/master/data/npz",
                "Amazon", (13752, 245861, 767, 10)),
        _snap("facebook", "facebook_large", "musae_facebook", "page_type", _PAGES, (22470, 170823, 4714),
              publisher=_MUSAE),
        _snap("github", "git_web_ml", "musae_git", "ml_target", {"0": "web", "1": "ml"}, (37700, 289003, 4005),
              publisher=_MUSAE),
        DatasetEntry("german", _RGNN.format("german"), 955, 9990, 46, 2, (Form(".", ("german.npz",), _read_coded),)),
        DatasetEntry("student", _RGNN.format("student"), 577, 4243, 60, 2, (Form(".", ("student.npz",), _read_coded),)),
        # The second folder is how the published archive spells it.
        _snap("lastfm", "lastfm_asia", "lastfm_asia", "target", dict.fromkeys(COUNTRIES, ""), (7083, 25814, 7842),
              folders=("lastfm_asia", "lasftm_asia")),
    )
}  # fmt: skip
