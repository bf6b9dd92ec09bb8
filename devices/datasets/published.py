"""Table of the published data sets, and the readers of the forms that only they have.

Cora, CiteSeer and PubMed are in the Planetoid files (Yang, Cohen and Salakhudinov, 2016): pickles of arrays.
``.npz`` files of word counts are those of Shchur et al. (2018) and Bojchevski and Günnemann (2018). As everywhere
these sets are used, a word is there or not. PyG's classes ``FacebookPagePage``, ``GitHub`` and ``LastFMAsia`` are other
versions (128 dense features); here are the published binary ones.

The readers are ours, and a test compares them with PyG's where that is safe: PyG's reader of Planetoid unpickles
whatever is in the files, and its reader of ``.npz`` needs torch, which devices do not have, and makes features dense.
"""

from __future__ import annotations

import csv
import io
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import checked_numbers
from ldpsim.devices.data.population import Population, build_population, distinct
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
COUNTRIES = (0, 3, 5, 6, 8, 10, 14, 15, 16, 17)

_ARRAYS = "edge_index, indptr, indices, labels, num_features"
_NAMED = f"{_ARRAYS}, class_names"
_CODED = "edge_index, x, cat_card, labels"


def _read_counts(classes: int, name: str, path: Path) -> Population:
    """Read word counts as words; names of classes in the file play no part."""
    arrays = {key: array for key, array in load_arrays(path)[0].items() if key != "class_names"}
    columns, _ = of_layout(path.name, arrays | {"num_classes": np.array(classes)})
    return population_of(name, path.name, columns | {"values": np.where(columns["values"] > 0, 1, columns["values"])})


def _read_component(name: str, path: Path) -> Population:
    arrays, _ = load_arrays(path)
    population = read_npz_file(name, path)
    return induced_population(population, checked_numbers(f"{path.name}: lcc", arrays["lcc"], len(population)))


def _read_countries(name: str, path: Path) -> Population:
    population = read_npz_file(name, path)
    population = induced_population(population, np.flatnonzero(np.isin(population.labels, COUNTRIES)))
    labels = np.searchsorted(COUNTRIES, population.labels)
    return replace(population, labels=labels, facts=replace(population.facts, classes=len(COUNTRIES)))


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
    widths = np.where(domains == 2, 1, domains)
    ends = np.cumsum(widths)
    if ends[-1] != population.facts.d:
        raise ValueError(f"{path.name}: cat_card describes {ends[-1]} columns, x has {population.facts.d}")
    n, rows = len(population), np.repeat(np.arange(len(population)), np.diff(population.feature_indptr))
    attribute = np.searchsorted(ends, population.feature_indices, side="right")
    people = np.bincount(distinct(rows * len(ends) + attribute) % len(ends), minlength=len(ends))
    ones = np.bincount(attribute, minlength=len(ends))
    for k in np.flatnonzero((widths > 1) & ((people != n) | (ones != n)))[:1]:
        wrong = np.flatnonzero(np.bincount(rows[attribute == k], minlength=n) != 1)
        raise ValueError(
            f"{path.name}: row {wrong[0]}, columns {ends[k] - widths[k]}..{ends[k] - 1}: not exactly one 1"
        )
    return replace(population, facts=replace(population.facts, domains=tuple(domains.tolist())))


def _read_snap(
    column: str, d: int, classes: dict[str, str], lenient: bool, name: str, edges: Path, features: Path, target: Path
) -> Population:
    """Read MUSAE's edge, feature and target files (Rozemberczki, Allen and Sarkar, 2021), as SNAP publishes them.

    Args:
        column: Column of the target file that is the class.
        d: Number of features.
        classes: Its texts, with the names of the classes.
        lenient: Whether people of other classes are left out, and no fault.
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
        if labels[node] < 0 and not lenient:
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


def _planetoid(title: str, people: str, size: _Size, span: tuple[float, float] = (0.0, 1.0)) -> DatasetEntry:
    url = "https://github.com/kimiyoung/planetoid/raw/master/data"
    files = tuple(f"ind.{title.lower()}.{part}" for part in PLANETOID)
    form = Form(f"{title}/raw", files, partial(_read_planetoid, size[-1], span))
    return DatasetEntry(title.lower(), people, f"{url} (PyG Planetoid)", "MIT", *size, (form,), url)


def _counts(
    name: str, people: str, folder: str, file: str, url: str, kind: str, size: _Size, *, digest: str = ""
) -> DatasetEntry:
    read = partial(_read_counts, size[-1])
    forms = (Form(folder, (file,), read), *([Form(".", (_file(name),), read)] if digest else []))
    return DatasetEntry(name, people, f"{url}/{file} (PyG {kind})", "MIT", *size, forms, url, digest)


def _snap(
    name: str, people: str, archive: str, prefix: str, column: str, classes: dict[str, str],
    size: tuple[int, int, int], licence: str, *, publisher: str = "", folders: tuple[str, ...] = (),
    blobs: tuple[tuple[str, str], ...] = (), digest: str = "",
) -> DatasetEntry:  # fmt: skip
    files = tuple(f"{prefix}_{part}" for part in ("edges.csv", "features.json", "target.csv"))
    read = partial(_read_snap, column, size[-1], classes, not publisher)
    raw = tuple(Form(folder, files, read, blobs) for folder in folders or (archive,))
    forms = (Form(".", (_file(name),), read_npz_file), *raw) if publisher else raw
    source = f"https://snap.stanford.edu/data/{archive}.zip{publisher}"
    return DatasetEntry(name, people, source, licence, *size, len(classes), forms, digest=digest)


def _arrays(
    name: str, people: str, source: str, licence: str, size: _Size, read: Callable[..., Population], *,
    file: str = "", arrays: str = _ARRAYS, digest: str = "",
) -> DatasetEntry:  # fmt: skip
    """Return a data set that is one file of arrays, made of what is published in another form."""
    form = Form(".", (file or _file(name),), read)
    return DatasetEntry(name, people, f"{source}, as arrays {arrays}", licence, *size, (form,), digest=digest)


def _file(name: str) -> str:
    return f"{name.replace('-', '_')}.npz"


_GRAPH2GAUSS = "https://github.com/abojchevski/graph2gauss/raw/master/data"
_SHCHUR = "https://github.com/shchur/gnn-benchmark"
_NPZ = f"{_SHCHUR}/raw/master/data/npz"
_CITESEER = f"{_SHCHUR} data/npz/citeseer.npz"
_RGNN = "https://github.com/karuna-bhaila/RGNN, RGNN/datasets"
_GRAPHDATA = "https://github.com/EdisonLeeeee/GraphData, datasets"
_FACEBOOK100 = "https://github.com/CUAI/Non-Homophily-Large-Scale, data/facebook100"
_PAGES = {page: page for page in ("company", "tvshow", "politician", "government")}
_MUSAE = " (benedekrozemberczki/MUSAE)"
_ROZEMBERCZKI = "MIT (benedekrozemberczki/datasets)"
_LCC = "citeseer_lcc.npz"

TABLE: dict[str, DatasetEntry] = {
    entry.name: entry
    for entry in (
        _planetoid("Cora", "papers, by topic", (2708, 5278, 1433, 7)),
        _planetoid("CiteSeer", "papers, by topic", (3327, 4552, 3703, 6)),
        _arrays("citeseer-3312", "papers, by topic", _CITESEER, "MIT", (3312, 4536, 3703, 6), read_npz_file, file=_LCC,
                arrays=f"{_NAMED}, lcc"),
        _arrays("citeseer-lcc", "papers, by topic", _CITESEER, "MIT", (2110, 3668, 3703, 6), _read_component, file=_LCC,
                arrays=f"{_NAMED}, lcc"),
        # In a folder of its own: "CiteSeer" (Planetoid) and "citeseer" are one name on some file systems.
        _counts("citeseer-full", "papers, by topic", "citeseer_full/citeseer/raw", "citeseer.npz", _GRAPH2GAUSS,
                "CitationFull", (4230, 5337, 602, 6)),
        _planetoid("PubMed", "papers, by disease", (19717, 44324, 500, 3), span=_PUBMED_RANGE),
        _counts("dblp", "papers, by topic", "dblp/raw", "dblp.npz", _GRAPH2GAUSS, "CitationFull",
                (17716, 52867, 1639, 4)),
        _counts("computers", "products, by kind", "Computers/raw", "amazon_electronics_computers.npz", _NPZ, "Amazon",
                (13752, 245861, 767, 10)),
        _counts("coauthor-cs", "authors, by field", "CS/raw", "ms_academic_cs.npz", _NPZ, "Coauthor",
                (18333, 81894, 6805, 15),
                digest="981f2e9db9bc0d47df311935852a9c5c6c16e81fe9455dc438deedcfd4eebe40"),
        _snap("facebook", "pages, by kind", "facebook_large", "musae_facebook", "page_type", _PAGES,
              (22470, 170823, 4714), f"{_ROZEMBERCZKI}; GPL-3.0 (MUSAE)", publisher=_MUSAE),
        _snap("github", "developers, by field", "git_web_ml", "musae_git", "ml_target", {"0": "web", "1": "ml"},
              (37700, 289003, 4005), f"{_ROZEMBERCZKI}; GPL-3.0 (MUSAE)", publisher=_MUSAE),
        _arrays("german", "borrowers, by credit", f"{_RGNN}/german", "none stated", (955, 9990, 46, 2), _read_coded,
                arrays=_CODED),
        _arrays("student", "pupils, by mark", f"{_RGNN}/student", "none stated", (577, 4243, 60, 2), _read_coded,
                arrays=_CODED),
        # The second folder is how the published archive spells it.
        _snap("lastfm", "users, by country", "lastfm_asia", "lastfm_asia", "target",
              dict.fromkeys(map(str, COUNTRIES), ""), (7083, 25814, 7842), _ROZEMBERCZKI,
              folders=("lastfm_asia", "lasftm_asia"),
              blobs=(("lastfm_asia_features.json", "e8606ab45b45f53ab763c6c57e9da0b6f7e5ab01"),)),
        _arrays("lastfm-graph", "users, by country", "https://github.com/benedekrozemberczki/FEATHER", "MIT",
                (7083, 25814, 0, 10), _read_countries, file="lastfm_asia_graph_only.npz", arrays="edge_index, labels",
                digest="87d5cd64152e76f0bc68a748e33efb2b779e3363cc1e2f676673202daef81569"),
        _snap("deezer-europe", "listeners, by gender", "deezer_europe", "deezer_europe", "target", {"0": "", "1": ""},
              (28281, 92752, 31241), _ROZEMBERCZKI, publisher=" (benedekrozemberczki/FEATHER)",
              digest="cf4aa87468c6f067f3446c95fe77df44dcc0ceeb8610cd761745f89b8c268528"),
        _arrays("twitch-de", "streamers, by rating", f"{_GRAPHDATA}/musae/DE", _ROZEMBERCZKI, (9498, 153138, 3170, 2),
                read_npz_file, arrays=_NAMED,
                digest="cc4c5c3a786ee293971c1c798043bb098e766bb1853a685946270d27ab017f16"),
        _arrays("twitch-engb", "streamers, by rating", f"{_GRAPHDATA}/musae/ENGB", _ROZEMBERCZKI,
                (7126, 35324, 3170, 2), read_npz_file, arrays=_NAMED,
                digest="bf6798315ffc6b83ff12c5063fbbc5e40994b8cd78ab2255936ab7a087c5f9ab"),
        _arrays("flickr", "users, by class", f"{_GRAPHDATA}/flickr.npz", "none stated",
                (7575, 239738, 12047, 9), read_npz_file,
                digest="b7280d6c8927087e4b9b9fc1bbc4b61e2f27adae1314bfe2bd0aca6d4699973c"),
        _arrays("facebook100-reed98", "students, by gender", f"{_FACEBOOK100}/Reed98.mat", "none stated",
                (962, 18812, 136, 2), _read_coded, arrays=f"{_NAMED}, cat_card",
                digest="0631753f5078ae38bccc49d24fe40c72197a7b042de6c532dde0ba04ce3e9d52"),
        _arrays("facebook100-amherst41", "students, by gender", f"{_FACEBOOK100}/Amherst41.mat", "none stated",
                (2235, 90954, 117, 2), _read_coded, arrays=f"{_NAMED}, cat_card",
                digest="43106c3ae6b37dcad1892495f5941143d824e20f9d9e4ab1f3c5e7596729c173"),
    )
}  # fmt: skip
