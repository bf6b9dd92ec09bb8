"""Files that other programs write and that were once read wrongly, each from a public report.

Arrays are read by `import`, by `run --dataset` and by AskOnce: all three have to find the same people.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric import EdgeIndex
from torch_geometric.data import Data

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import load
from ldpsim.devices.datasets.pyg_file import people_of
from ldpsim.strategies.importing.graph_import import import_graph
from ldpsim.strategies.importing.options import ImportOptions

N = 40
RING = torch.stack([torch.arange(N), (torch.arange(N) + 1) % N])
X = (torch.rand(N, 4, generator=torch.Generator().manual_seed(0)) > 0.5).float()
Y = torch.arange(N) % 2


def _imported(folder: Path, *files: Path, **options: Any) -> Population:
    import_graph(files, folder / "mine.npz", ImportOptions(**options), force=True)
    return load(str(folder / "mine.npz"))


def _graphml(folder: Path, smokes: str, label: str, nodes: list[str]) -> Path:
    """Write four people in a row; a key's default stands between its tags."""
    keys = f'<key id="k0" for="node" attr.name="smokes" {smokes}</key>'
    keys += f'<key id="k1" for="all" attr.name="label" {label}</key>'
    people = "".join(f'<node id="n{k}">{data}</node>' for k, data in enumerate(nodes))
    edges = "".join(f'<edge source="n{k}" target="n{k + 1}"/>' for k in range(3))
    (folder / "g.graphml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        f'{keys}<graph edgedefault="undirected">{people}{edges}</graph></graphml>'
    )
    return folder / "g.graphml"


def _data(smokes: str | None, label: str | None) -> str:
    parts = {"k0": smokes, "k1": label}
    return "".join(f'<data key="{key}">{text}</data>' for key, text in parts.items() if text is not None)


@pytest.mark.parametrize(
    ("kind", "default", "given", "smokes"),
    [
        ("boolean", "true", ["true", None, "false", None], [1, 1, 0, 1]),
        ("boolean", "false", ["true", None, "false", None], [1, 0, 0, 0]),
        ("boolean", " False ", ["True", None, "0", None], [1, 0, 0, 0]),
        ("int", "1", ["0", None, "0", None], [0, 1, 0, 1]),
        ("double", "\n0.5\n", ["0", None, "1", None], [0, 0.5, 1, 0.5]),
        ("boolean", "", [" true ", "true", "\n false\n", "1"], [1, 1, 0, 1]),
    ],
)
def test_defaults_and_spaces_of_graphml(
    tmp_path: Path, kind: str, default: str, given: list[str | None], smokes: list[float]
) -> None:
    nodes = [_data(value, str(k % 2)) for k, value in enumerate(given)]
    path = _graphml(tmp_path, f'attr.type="{kind}"><default>{default}</default>', 'attr.type="int">', nodes)
    people = _imported(tmp_path, path)
    assert [float(sum(people.record(k).feature_values)) for k in range(4)] == smokes
    assert people.labels.tolist() == [0, 1, 0, 1] and people.edges.shape[1] == 3


def _three(folder: Path, data: Data) -> Population:
    """Return the people of a Data object, which all three readers find."""
    torch.save(data, folder / "g.pt")
    imported, run = _imported(folder, folder / "g.pt"), load(str(folder / "g.pt"))
    asked = people_of("g", data)
    assert run.digest == imported.digest == asked.digest
    assert (run.own_split is None) == (imported.own_split is None) == (asked.own_split is None)
    return run


def _nan_at(place: int) -> torch.Tensor:
    labels = Y.float()[:, None].clone()
    labels[place] = float("nan")
    return labels


PLAIN = {"x": X, "edge_index": RING, "y": Y}
MASKS = {
    f"{part}_mask": (torch.arange(N) % 3 == k)[:, None].expand(N, 10) for k, part in enumerate(("train", "val", "test"))
}


@pytest.mark.parametrize(
    "changes",
    [
        {"x": X.bfloat16()}, {"x": X.half()}, {"x": X.double()}, {"x": X.bool()}, {"x": X.clone().requires_grad_()},
        {"x": X.to_sparse()}, {"x": X.to_sparse_csr()}, {"x": X.to_sparse_csc()}, {"y": Y[:, None]}, {"y": Y.float()},
        {"edge_index": RING.int()}, {"edge_index": EdgeIndex(RING, sparse_size=(N, N))},
        {"edge_index": torch.cat([RING, RING.flip(0), torch.stack([torch.arange(N)] * 2)], 1)},
        {"edge_index": None, "adj_t": torch.sparse_coo_tensor(RING, torch.ones(N), (N, N)).to_sparse_csr()},
        {"edge_attr": torch.ones(N, 1)},
    ],
    ids=str,
)  # fmt: skip
def test_the_same_people_in_another_form(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert _three(tmp_path, Data(**{**PLAIN, **changes})).digest == people_of("g", Data(**PLAIN)).digest


def test_missing_labels_masks_of_many_splits_and_no_features(tmp_path: Path) -> None:
    assert _three(tmp_path, Data(**{**PLAIN, "y": _nan_at(3)})).labels[2:5].tolist() == [0, -1, 0]
    assert _three(tmp_path, Data(**PLAIN, **MASKS)).own_split is not None
    assert _three(tmp_path, Data(edge_index=RING, y=Y)).facts.d == 0
    assert len(_three(tmp_path, Data(x=X, edge_index=torch.zeros(2, 0, dtype=torch.long), y=Y)).edges[0]) == 0


def test_a_sparse_adjacency_is_never_made_dense(tmp_path: Path) -> None:
    n = 200_000
    ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    adjacency = torch.sparse_coo_tensor(ring, torch.ones(n), (n, n)).to_sparse_csr()
    data = Data(x=torch.ones(n, 1), edge_index=ring, adj_t=adjacency, y=torch.arange(n) % 2)
    people = _three(tmp_path, data)
    assert (len(people), people.edges.shape[1]) == (n, n)


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_a_sparse_tensor_whose_parts_do_not_fit_is_one_line(layout: str) -> None:
    if layout == "coo":
        wrong = torch.sparse_coo_tensor(torch.tensor([[0], [99]]), torch.ones(1), (N, 4), check_invariants=False)
    else:
        parts = torch.arange(N + 1), torch.full((N,), 99), torch.ones(N)
        wrong = torch.sparse_csr_tensor(*parts, (N, 4), check_invariants=False)
    with pytest.raises(ValueError, match="g: x cannot be read as an array of numbers") as caught:
        people_of("g", Data(**{**PLAIN, "x": wrong}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [([1, 2, 3], ("1", "2", "3")), ([0, 1_000_000], ("0", "1000000")), ([0, 1, 2], ()), (["None", "a"], ("None", "a"))],
)
def test_labels_are_classes_in_every_container(tmp_path: Path, labels: list[Any], classes: tuple[str, ...]) -> None:
    """Labels from 1 have no empty class 0, and a class may be called None."""
    every = [labels[k % len(labels)] for k in range(N)]
    np.savez(tmp_path / "g.npz", x=X.numpy(), edge_index=RING.numpy(), labels=np.array(every))
    (tmp_path / "e.txt").write_text("".join(f"{a} {b}\n" for a, b in RING.T.tolist()))
    rows = [f"{k},{','.join(map(str, row))},{every[k]}" for k, row in enumerate(X.tolist())]
    (tmp_path / "p.csv").write_text("\n".join(["id,a,b,c,d,label", *rows]) + "\n")
    found = [_imported(tmp_path, tmp_path / "g.npz"), load(str(tmp_path / "g.npz")),
             _imported(tmp_path, tmp_path / "p.csv", tmp_path / "e.txt")]  # fmt: skip
    if not isinstance(labels[0], str):
        found.append(_three(tmp_path, Data(x=X, edge_index=RING, y=torch.tensor(every))))
    for people in found:
        assert people.facts.classes == len(labels) and people.facts.class_names == classes
        assert people.labels.tolist() == [k % len(labels) for k in range(N)]
    assert len({people.digest for people in found}) == 1
