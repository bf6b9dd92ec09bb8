"""The server's side of the edited app: ask every node, and write down what came."""

from __future__ import annotations

import json
import time
from pathlib import Path

from flwr.app import Context, Message
from flwr.serverapp import Grid, ServerApp

from ldpsim.devices.query import Query
from ldpsim.devices.wire import QUERY_TYPE, query_content

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Take what the devices' machines give."""
    told = json.loads(str(context.run_config["told"]))
    deadline = time.monotonic() + 90
    while len(nodes := sorted(grid.get_node_ids())) < told["nodes"] and time.monotonic() < deadline:
        time.sleep(0.5)
    question = query_content(Query.from_bytes(told["question"].encode()))
    replies = grid.send_and_receive([Message(question, node, QUERY_TYPE) for node in nodes], timeout=200)
    loot = []
    for reply in replies:
        if reply.has_error():
            loot.append({"error": str(reply.error)})
        else:
            loot.append(json.loads(str(reply.content["loot"]["loot"])))
    Path(told["out"]).write_text(json.dumps(loot, indent=1))
    print(f"loot: {told['out']}", flush=True)
