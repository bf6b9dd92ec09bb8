"""FedGCN's one exchange before training: the server adds up neighbours' features, for devices or for silos.

Paper: Yao et al. 2023, https://arxiv.org/abs/2201.12433.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message
from scipy.sparse import csr_array

from ldpsim.curator.linear.propagation import adjacency_matrix, gcn_matrix
from ldpsim.devices.federated.exchange import Shared, read_contribution, rows_record
from ldpsim.devices.federated.local_steps import SparseRows
from ldpsim.devices.federated.wire import EXCHANGE_TYPE, RECEIVE_TYPE, round_content, take_others
from ldpsim.devices.training_task import Task
from ldpsim.strategies.rounds.training_grid import TrainingGrid


def exchange_sums(grid: TrainingGrid, task: Task, nodes: Sequence[int], people: int, trained: Sequence[int]) -> None:
    """Collect contributions, and send sums to the parties of ``trained``.

    Args:
        grid: Takes the messages.
        task: The task.
        nodes: All nodes.
        people: Number of people; node = device + 1 where the parties are devices.
        trained: Nodes that get sums.
    """
    config = ConfigRecord({"task": task.to_bytes()})
    content = round_content(None, config)
    replies = grid.exchange([Message(content, node, EXCHANGE_TYPE) for node in nodes], "contribution")
    came = {reply.metadata.src_node_id: read_contribution(take_others(reply), task, people) for reply in replies}
    if came:
        sums = _sums_of_silos(came, task, people) if task.of_silos else _sums_of_devices(came, task, people, trained)
        grid.exchange([Message(round_content(None, config, own), node, RECEIVE_TYPE) for node, own in sums], "sums")


def _sums_of_devices(
    came: Mapping[int, Shared], task: Task, people: int, trained: Sequence[int]
) -> Iterator[tuple[int, ArrayRecord]]:
    """Yield the rows of S X of each device and its neighbours, and its row of S; an edge counts if both ends listed it.

    A device has one person, so its contribution is its whole record.
    """
    counts, devices = np.zeros(people, np.int64), [node - 1 for node in came]
    counts[devices] = [len(told.rows.columns) for told in came.values()]
    columns, values = (np.concatenate([getattr(told.rows, part) for told in came.values()])
                       for part in ("columns", "values"))  # fmt: skip
    features = SparseRows(np.concatenate([[0], np.cumsum(counts)]), columns, values).matrix(task.d)
    heads = [told.more["neighbours"] for told in came.values()]
    ends = np.stack([np.repeat(devices, [len(each) for each in heads]), np.concatenate(heads)])
    listed = adjacency_matrix(people, ends)
    spread = gcn_matrix(csr_array(listed.minimum(listed.T)))
    sums = csr_array(spread @ features)
    sums.sort_indices()
    for node in trained:
        own = slice(spread.indptr[node - 1], spread.indptr[node])
        yield node, rows_record(SparseRows.of(sums[spread.indices[own]]), weights=spread.data[own])


def _sums_of_silos(came: Mapping[int, Shared], task: Task, people: int) -> Iterator[tuple[int, ArrayRecord]]:
    """Yield the rows of S X of each silo's members and their neighbours.

    A silo divides a member's features by the root of the member's degree plus one. The server
    divides each row once more, by the root of the degree plus one of the row's own person.
    """
    total, degrees = csr_array((people, task.d), dtype=np.float32), np.zeros(people, np.int64)
    for told in came.values():
        ids = told.more["ids"]
        spread = csr_array((np.ones(len(ids), np.float32), (ids, np.arange(len(ids)))), shape=(people, len(ids)))
        total = csr_array(total + spread @ told.rows.matrix(task.d))
        degrees[told.more["members"]] = told.more["degrees"]
    scale = (1 / np.sqrt(degrees + 1.0)).astype(np.float32)
    for node, told in came.items():
        ids = told.more["ids"]
        rows = csr_array(total[ids].multiply(scale[ids][:, None]))
        yield node, rows_record(SparseRows.of(rows), ids=ids, degrees=degrees[ids])
