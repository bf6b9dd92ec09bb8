"""Work and memory of an import grow with the files: each reader at two sizes, and short files that stand for much.

Nothing here measures time. Counted are comparisons of names, calls, copied attributes, and bytes (tracemalloc).
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from ldpsim.devices.datasets import load
from ldpsim.strategies.importing import files
from ldpsim.strategies.importing.graph_import import import_graph
from ldpsim.strategies.importing.options import ImportOptions

EDGE = np.array([[0], [1]])


def _write(folder: Path, name: str, lines: Iterable[str]) -> Path:
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


def _edges(folder: Path) -> Path:
    return _write(folder, "e.csv", ["source,target", "0,1"])


def _gml(folder: Path, nodes: Iterable[Iterable[str]], edges: int = 1) -> list[Path]:
    lines = ["graph [", *(line for k, own in enumerate(nodes) for line in ("node [", f"id {k}", *own, "]"))]
    return [_write(folder, "g.gml", [*lines, *["edge [", "source 0", "target 1", "]"] * edges, "]"])]


def _graphml(folder: Path, keys: Iterable[str], nodes: Iterable[str], edges: int = 1) -> list[Path]:
    edge = '<edge source="n0" target="n1"/>'
    return [_write(folder, "g.graphml", [
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        *(f'<key id="k{k}" for="node" attr.name="f{k}">{own}</key>' for k, own in enumerate(keys)), "<graph>",
        *(f'<node id="n{k}">{own}</node>' for k, own in enumerate(nodes)), *[edge] * edges, "</graph></graphml>",
    ])]  # fmt: skip


def _npz(folder: Path, **arrays: Any) -> list[Path]:
    np.savez(folder / "g.npz", edge_index=EDGE, **arrays)
    return [folder / "g.npz"]


def _pt(folder: Path, **parts: Any) -> list[Path]:
    torch.save({"edge_index": torch.from_numpy(EDGE), **parts}, folder / "g.pt")
    return [folder / "g.pt"]


def _wide(folder: Path, k: int) -> list[Path]:
    head = ["id", "label", *(f"f{column}" for column in range(k))]
    rows = [[str(row), "0", *["1"] * k] for row in range(3)]
    return [_write(folder, "p.csv", map(",".join, [head, *rows])), _edges(folder)]


def _categories(folder: Path, k: int) -> list[Path]:
    return [_write(folder, "p.csv", ["id,a", *(f"{row},v{row}" for row in range(k))]), _edges(folder)]


def _sparse(folder: Path, k: int) -> list[Path]:
    return _npz(folder, indptr=np.arange(k + 1), indices=np.arange(k), values=np.full(k, 0.5), num_features=k)


# Files of k columns, rows, nodes, attributes, edges or values, and the choices that read them.
FORMS: dict[str, tuple[Callable[[Path, int], list[Path]], dict[str, Any]]] = {
    "columns of a table": (_wide, {}),
    "rows of a table": (lambda at, k: [_write(at, "p.csv", ["id,f", *(f"{row},1" for row in range(k))]),
                                       _edges(at)], {}),
    "edges in a list": (lambda at, k: [_write(at, "e.txt", (f"{row} {row + 1}" for row in range(k)))], {}),
    "values of a category": (_categories, {"one_hot": ("a",)}),
    "nodes of a GML": (lambda at, k: _gml(at, [["f 1"]] * k), {}),
    "edges of a GML": (lambda at, k: _gml(at, [["f 1"]] * 2, k), {}),
    "attributes of a GML": (lambda at, k: _gml(at, [[f"f{column} 1" for column in range(k)]] * 2), {}),
    "a list of a GML": (lambda at, k: _gml(at, [["f 1"] * k] * 2), {}),
    "lists of a GML": (lambda at, k: _gml(at, [[f"f{n // 2} 1" for n in range(2 * k)]] * 2), {}),
    "nodes of a GraphML": (lambda at, k: _graphml(at, [""], ['<data key="k0">1</data>'] * k), {}),
    "edges of a GraphML": (lambda at, k: _graphml(at, [], [""] * 2, k), {}),
    "attributes of a GraphML": (lambda at, k: _graphml(at, ["<default>1</default>"] * k, [""] * 2), {}),
    "features of an npz": (_sparse, {"scale": "minmax"}),
    "features of a pt": (lambda at, k: _pt(at, x=torch.ones(2, k)), {}),
    "class names of a pt": (lambda at, k: _pt(at, y=torch.tensor([0, 1]), class_names=[f"c{n}" for n in range(k)]), {}),
}  # fmt: skip


def _peak(paths: list[Path], options: dict[str, Any]) -> int:
    """Return the most bytes that an import held at once."""
    tracemalloc.start()
    try:
        import_graph(paths, None, ImportOptions(**options))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", FORMS)
def test_memory_grows_with_the_file(form: str, tmp_path: Path) -> None:
    """Power: one array of k times k numbers takes 32 megabytes at the large size, 64 times those of the small one."""
    write, options = FORMS[form]
    import_graph(write(tmp_path, 50), None, ImportOptions(**options))  # modules are loaded now
    small, large = (_peak(write(tmp_path, size), options) for size in (250, 2000))
    assert large < 12 * small


class Name(str):
    """A name of a column that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    def strip(self, *_: Any) -> Name:
        return self


def test_names_of_columns_are_not_compared_each_with_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: one loop inside another compares 400 names at least 400 * 399 / 2 times."""
    read = pd.read_csv

    def counted(*given: Any, **keywords: Any) -> Any:
        cells = read(*given, **keywords)
        if keywords.get("nrows") != 1:
            return cells
        names = [[Name(name) for name in row] for row in cells.to_numpy(object)]
        return pd.DataFrame(names, columns=cells.columns, dtype=object)  # no texts of Arrow

    monkeypatch.setattr(files.pd, "read_csv", counted)
    found = []
    for k in (100, 400):
        Name.compared = 0
        import_graph(_wide(tmp_path, k), None)
        found.append(Name.compared)
    assert 0 < found[0] and found[1] <= 5 * found[0]


def test_attributes_that_are_lists_are_joined_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each join copies the whole table."""
    calls: list[str] = []

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **keywords: (calls.append(name), function(*given, **keywords))[1]

    for place, name in ((pd.DataFrame, "join"), (pd.DataFrame, "pop"), (pd.DataFrame, "insert"), (pd, "concat")):
        monkeypatch.setattr(place, name, counted(name, getattr(place, name)))
    found = []
    for k in (5, 20):
        calls.clear()
        graph = FORMS["lists of a GML"][0](tmp_path, k)
        assert import_graph(graph, None)["features"] == 2 * k
        found.append(len(calls))
    assert found[0] == found[1]


def test_defaults_of_attributes_are_not_copied_for_each_edge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = []

    class Counted(dict[Any, Any]):
        def __init__(self, given: Any = (), **more: Any) -> None:
            super().__init__(given, **more)
            copied.append(len(self))

    monkeypatch.setattr(files, "dict", Counted, raising=False)
    (path,) = _graphml(tmp_path, ["<default>1</default>"] * 50, [""] * 2, 500)
    assert import_graph([path], None)["features"] == 50
    assert sum(copied) <= 500  # 50 for each of 1,000 ends is 50,000


SHORT: dict[str, tuple[Callable[[Path], list[Path]], dict[str, Any]]] = {
    "rows without cells": (lambda at: [_write(at, "p.csv", [",".join(["id", *(f"f{k}" for k in range(4000))]),
                                                            *map(str, range(4000))]), _edges(at)], {"missing": "zero"}),
    "nodes without attributes": (lambda at: _graphml(at, ["<default>1</default>"] * 4000, [""] * 4000), {}),
    "each node an attribute": (lambda at: _gml(at, [[f"f{k} 1"] for k in range(4000)]), {"missing": "zero"}),
    "people of edges alone": (
        lambda at: [*_wide(at, 2000)[:1], _write(at, "e.csv", ["source,target", *(f"{k},0" for k in range(20_000))])],
        {"without_row": "keep", "missing": "zero"}),
    "a long class name": (lambda at: [_write(at, "p.csv", ["id,label", *(f"{k},c{k}" for k in range(4000)),
                                                           f"4000,{'c' * 4000}"]), _edges(at)], {}),
    "features below 0": (lambda at: _npz(at, indptr=np.arange(4001), indices=np.arange(4000),
                                         values=np.full(4000, -1.0), num_features=4000), {"scale": "minmax"}),
    "stated people": (lambda at: _npz(at, num_nodes=2 * 10**9), {}),
    "people of one edge": (lambda at: _pt(at, edge_index=torch.tensor([[0], [2 * 10**9]])), {}),
    "people without features": (lambda at: _npz(at, x=np.zeros((10**9, 0))), {}),
    "a tensor without features": (lambda at: _pt(at, x=torch.zeros(10**9, 0)), {}),
    "one number in all places": (lambda at: _pt(at, y=torch.zeros(1, dtype=torch.long).expand(10**9)), {}),
    "sizes of a sparse tensor": (lambda at: _pt(at, edge_index=None, adj_t=torch.sparse_coo_tensor(
        torch.from_numpy(EDGE), torch.ones(1), (2 * 10**9, 2 * 10**9))), {}),
    "a long text in a list": (lambda at: _pt(at, class_names=["a"] * 20_000 + ["b" * 20_000]), {}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("form", SHORT)
def test_a_short_file_that_stands_for_much_is_one_line(form: str, tmp_path: Path) -> None:
    write, options = SHORT[form]
    paths = write(tmp_path)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="too many for a file of this size") as caught:
            import_graph(paths, None, ImportOptions(**options))
        assert "\n" not in str(caught.value)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def test_lists_that_stand_in_many_places_of_others(tmp_path: Path) -> None:
    shared: list[Any] = ["a"]
    for _ in range(12):
        shared = [shared] * 10
    with pytest.raises(
        ValueError, match=r"g\.pt: class_names .*1,000,000,000,000 entries of lists.*: too many for a file of this size"
    ):
        import_graph(_pt(tmp_path, class_names=shared), None)
    parts: dict[str, Any] = {"x": torch.ones(2, 1)}
    for _ in range(40):
        parts = {"a": parts, "b": parts}
    with pytest.raises(ValueError, match=r"g\.pt has more than 10,000 parts"):
        import_graph(_pt(tmp_path, **parts), None)


@pytest.mark.parametrize("read", [lambda path: import_graph([path], None), lambda path: load(str(path))])
def test_names_that_take_no_bytes(read: Callable[[Path], Any], tmp_path: Path) -> None:
    """Texts of width 0 are as many as the header says: here a billion, or five."""
    for count, said in ((10**9, "too many for a file of this size"), (5, "class_names has 5 texts of width 0")):
        (path,) = _npz(tmp_path, labels=np.zeros(2, np.int64), class_names=np.ndarray(count, "<U0"))
        with pytest.raises(ValueError, match=said) as caught:
            read(path)
        assert "\n" not in str(caught.value)


def test_a_class_of_a_large_number_takes_no_room(tmp_path: Path) -> None:
    paths = _npz(tmp_path, y=np.array([0, 10**7]), num_classes=10**7 + 1)
    assert _peak(paths, {}) < 1 << 23


def test_names_and_classes_of_many_digits(tmp_path: Path) -> None:
    """Python reads no number of more than 4,300 digits, and takes quadratic time for fewer."""
    digits = "9" * 5000
    edges = _write(tmp_path, "e.csv", ["source,target", f"0,{digits}"])
    people = _write(tmp_path, "p.csv", ["id,label", "0,1", f"{digits},{digits}"])
    assert import_graph([_write(tmp_path, "e.txt", [f"0 {digits}"])], None)["people"] == 2
    assert import_graph([edges, people], None)["public"]["class_names"] == ["1", digits]
