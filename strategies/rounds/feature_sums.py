"""FedGCN's one exchange before training: the server adds up neighbours' features, for devices or for silos.

Paper: Yao et al. 2023, https://arxiv.org/abs/2201.12433.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from flwr.app import ConfigRecord, Message
from scipy.sparse import csr_array

from ldpsim.curator.linear.propagation import adjacency_matrix, gcn_matrix
from ldpsim.devices.facts import IntArray
from ldpsim.devices.federated.exchange import Sums, read_contribution
from ldpsim.devices.federated.silo import SiloTask, pack_silo_rows, read_rows
from ldpsim.devices.federated.wire import EXCHANGE_TYPE, RECEIVE_TYPE, read_sender, round_content
from ldpsim.devices.network import usable
from ldpsim.devices.training_task import Task
from ldpsim.strategies.rounds.training_grid import TrainingGrid


def exchange_sums(grid: TrainingGrid, task: Task, nodes: Sequence[int], trained: np.ndarray) -> None:
    """Collect features and neighbours, and send its sums to each device of ``trained``.

    A device has one person, so its contribution is its whole record. It gets the rows of S X
    of itself and its neighbours, and its row of S. An edge counts if both ends listed it.

    Args:
        grid: Takes the messages.
        task: The task.
        nodes: All nodes (node = device + 1).
        trained: Nodes that get sums.
    """
    n = len(nodes)
    columns, values, counts, ends = [], [], np.zeros(n, np.int64), []
    for node, told in _contributions(grid, task, nodes):
        device = node - 1
        neighbours, own_columns, own_values = read_contribution(told)
        columns.append(own_columns)
        values.append(own_values)
        counts[device] = len(own_columns)
        ends.append(np.stack([np.full(len(neighbours), device), neighbours]))
    if not columns:
        return
    size = (n, task.d)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    features = csr_array((np.concatenate(values), np.concatenate(columns), indptr), shape=size)
    listed = adjacency_matrix(n, np.concatenate(ends, axis=1))
    spread = gcn_matrix(csr_array(listed.minimum(listed.T)))
    sums = csr_array(spread @ features)
    sums.sort_indices()
    sent = {}
    for node in trained.tolist():
        a, b = spread.indptr[node - 1], spread.indptr[node]
        rows = sums[spread.indices[a:b]]
        own = Sums(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), usable(rows.data.astype(np.float32)),
                   spread.data[a:b].astype(np.float32))  # fmt: skip
        sent[node] = own.to_bytes()
    _send(grid, task, sent)


def exchange_silo_sums(grid: TrainingGrid, task: SiloTask, nodes: Sequence[int], people: int) -> None:
    """Add up the contributions of all silos to S X, and send each silo the rows of its members and their neighbours.

    A silo divides a member's features by the root of the member's degree plus one. The server
    divides each row once more, by the root of the degree plus one of the row's own person.
    """
    total, degrees = csr_array((people, task.d), dtype=np.float32), np.zeros(people, np.int64)
    wanted: dict[int, IntArray] = {}
    for node, contribution in _contributions(grid, task, nodes):
        ids, rows, known = read_rows(contribution, task.d)
        # The first half are the global ids of the members, the second half their degrees.
        members, told = known[: len(known) // 2], known[len(known) // 2 :]
        spread = csr_array((np.ones(len(ids), np.float32), (ids, np.arange(len(ids)))), shape=(people, len(ids)))
        total = csr_array(total + spread @ rows)
        degrees[members] = told
        wanted[node] = ids
    scale = (1 / np.sqrt(degrees + 1.0)).astype(np.float32)
    sent = {}
    for node, ids in wanted.items():
        rows = csr_array(total[ids].multiply(scale[ids][:, None]))
        sent[node] = pack_silo_rows(ids, rows, degrees=degrees[ids])
    _send(grid, task, sent)


def _contributions(grid: TrainingGrid, task: Task | SiloTask, nodes: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Ask the nodes for their contributions; yield (node, bytes)."""
    content = round_content(None, ConfigRecord({"task": task.to_bytes()}))
    for reply in grid.exchange([Message(content, node, EXCHANGE_TYPE) for node in nodes], "contribution"):
        sender = read_sender(reply)
        assert sender is not None
        yield reply.metadata.src_node_id, sender[1] or b""


def _send(grid: TrainingGrid, task: Task | SiloTask, sums: Mapping[int, bytes]) -> None:
    """Send each node its sums."""
    config = ConfigRecord({"task": task.to_bytes()})
    messages = [Message(round_content(None, config, own), node, RECEIVE_TYPE) for node, own in sums.items()]
    grid.exchange(messages, "sums")
