"""docs/deployment.md: its commands are run as they stand, with TLS, node keys and four vaults, on loopback."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.strategies.flower_app.rehearsal import ROOT, blocks, perform, rehearsing


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    with rehearsing(Path(sys.executable).parents[1], PYTHONPATH=str(ROOT)) as variables:
        yield variables


@pytest.mark.deployment
def test_the_rehearsal(environment: dict[str, str]) -> None:
    *commands, collection, predicting, again, last = blocks("sh")
    assert "device predict" in predicting
    assert "kill" in last
    here, port = Path(environment["HERE"]), int(environment["PORT"])
    # With the real curator's terms: other questions before the collection, and the same one after it.
    outside = """
    printf 'method = "hogs"\nepsilon = 8.0\nfacts = "facts.json"\n' > mine.toml
    ldpsim curator sign mine.toml --curator-key curator --collection one > theirs.toml
    sed 's/^epsilon = .*/epsilon = 0.01/' theirs.toml > other-epsilon.toml
    sed 's/^method = .*/method = "fp-ldpgen"/' theirs.toml > other-method.toml
    sed 's/^collection = .*/collection = "three"/' theirs.toml > other-collection.toml
    for other in other-*.toml; do flwr run app rehearsal --stream --run-config $other; done
    ldpsim ledger show vault-2 --device 2 > before.txt
    """
    replayed = "flwr run app rehearsal --stream --run-config one.toml"
    strangers = f"""
    # Power: a node whose key nobody registered, one without a key, and one that does not trust the authority.
    ssh-keygen -q -t ecdsa -b 384 -N "" -f stranger
    join() {{ FLWR_HOME=$HERE/stranger-home timeout 20 flower-supernode --superlink 127.0.0.1:$PORT --host 127.0.0.1 \
      --port {port + 5} --max-retries 1 --node-config "partition-id=0" "$@"; }}
    join --root-certificates ca.pem --auth-supernode-private-key stranger > stranger-1.log 2>&1 || true
    join --root-certificates ca.pem > stranger-2.log 2>&1 || true
    cp superlink.pem other.pem
    join --root-certificates other.pem --auth-supernode-private-key node-0 > stranger-3.log 2>&1 || true
    flwr supernode list rehearsal --format json > nodes.json
    """
    # Its key is registered, it says that it is device 2, and its vault would answer anybody.
    impersonator = f"""
    cat > own-x.json <<< '{{"facts": {{"n": 4, "d": 16, "classes": 2}},
      "records": {{"2": {{"features": [1], "neighbours": [0]}}}}}}'
    ldpsim device enrol --data own-x.json --policy policy.json --state vault-x
    ldpsim device serve --state vault-x --socket vault-x.socket 2> vault-x.log &
    echo $! >> pids
    ssh-keygen -q -t ecdsa -b 384 -N "" -f node-x
    flwr supernode register node-x.pub rehearsal --name "device-2" --format json > other-x.json
    FLWR_HOME=$HERE/node-home-x flower-supernode --superlink "127.0.0.1:$PORT" --root-certificates ca.pem \
      --auth-supernode-private-key node-x --host 127.0.0.1 --port {port + 6} \
      --node-config "partition-id=2 socket=\\"$HERE/vault-x.socket\\"" > node-x.log 2>&1 &
    echo $! >> pids
    until grep -q "SuperNode ID: " node-x.log; do sleep 1; done
    """
    (first,) = [place for place, block in enumerate(commands) if "ghost" in block]
    commands.insert(first, impersonator)
    told = perform(
        [*commands, outside, collection, replayed, predicting, again, strangers, last, "wait"], environment, 1500
    )
    (path,) = (here / "results").glob("flwr/signed-*/hogs-one/result.json")
    record = json.loads(path.read_text())
    assert record["devices"]["replayed"] == 4 and "asked 4, reported 4" in told, told
    imposter = str(json.loads((here / "other-x.json").read_text())["node-id"])
    assert record["deployment"]["refused_claims"] == {"2": [imposter]}, told
    assert f"number 2 is claimed by node {imposter}: no such claim counts" in told
    assert "released a report" not in (here / "vault-x.log").read_text()
    assert "released" not in (here / "before.txt").read_text()
    # The hostile runs came first and were refused by all; the honest one was answered by all, once.
    told_refusals = re.findall(r"none of 4 devices reported \((\w+) (\d)\)", told)
    assert list(dict.fromkeys(told_refusals)) == [("COLLECTOR_REFUSED", "4"), ("REPORT_COLLECTED", "4")], told
    assert len(list((here / "results").glob("flwr/**/result.json"))) == 1
    (key,) = (line for line in (here / "curator").read_text().splitlines() if "-" not in line)
    assert not any(key in path.read_text(errors="replace") for path in (here / "results").rglob("*") if path.is_file())
    assert "adjacency" in told and "device 2 released" in told
    assert re.search(r"^2 [01]$", told, re.MULTILINE) and "as private as the list" in told
    assert "warning" not in told  # it was signed
    for i in range(4):
        log = (here / f"vault-{i}.log").read_text()
        assert log.count("released a report") == 1 and "reported 1" in log, log
        assert "COLLECTOR_REFUSED 4, REPORT_COLLECTED 1" in log, log
        assert not (here / f"vault-{i}.socket").exists() and not (here / f"own-{i}.json").exists()
        assert {p.stat().st_mode & 0o077 for p in (here / f"vault-{i}").rglob("*")} == {0}
    served = (here / "superlink.log").read_text()
    assert "Uvicorn running on https" in served
    nodes = json.loads((here / "nodes.json").read_text())
    assert len(nodes["nodes"]) == 5  # and no stranger among them
    assert '/v1/fleet/register-node HTTP/1.1" 412' in served
    joined_as = {
        path.name: "SuperNode ID: " in path.read_text() for path in here.glob("*.log") if "vault" not in path.name
    }
    assert {name for name, in_ in joined_as.items() if in_} == {f"node-{i}.log" for i in "0123x"}, told


def test_the_guide_s_options_are_those_of_the_programs() -> None:
    """Each option of a command of ours that the guide writes is one that the command has."""
    from typer.testing import CliRunner

    from ldpsim.cli.main import app

    serve = CliRunner().invoke(app, ["device", "serve", "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    lines = [line for kind in ("sh", "ini") for block in blocks(kind) for line in joined(block)
             if "ldpsim device serve" in line]  # fmt: skip
    assert len(lines) == 2
    for line in lines:
        for option in re.findall(r"--[a-z-]+", line):
            assert option in serve, option


def joined(block: str) -> list[str]:
    return block.replace("\\\n", " ").splitlines()


# A machine for the commands of root, which these processes alone see: a copy of /etc, and an empty /opt, /run and
# /var/lib. /opt/ldpsim is this installation, where other users may look.
MACHINE = """
mkdir etc && cp -a /etc/. etc && mount --bind "$PWD/etc" /etc
mount -t tmpfs tmpfs /var/lib && mount -t tmpfs -o mode=755 tmpfs /opt && mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /opt/python /opt/ldpsim/.venv/bin
mount --bind {prefix} /opt/python
{sites}
printf '#!/bin/sh\\nPYTHONPATH={path} exec /opt/python/bin/python3 -m ldpsim.cli.main "$@"\\n' \\
  > /opt/ldpsim/.venv/bin/ldpsim
chmod 755 /opt/ldpsim/.venv/bin/ldpsim
"""
SERVED = """
install -d -o ldpsim-vault -g ldpsim-ask -m 710 /run/ldpsim-vault  # RuntimeDirectory=
runuser -u ldpsim-vault -g ldpsim-ask -- {serve} 2> vault.log &
until [ -S /run/ldpsim-vault/socket ]; do kill -0 $! && sleep 0.1; done
question="from ldpsim.devices.vault.client import VaultDevice
print(VaultDevice('/run/ldpsim-vault/socket', 2, 3.0).answer(b'x').name)"
ask() {{ echo $1 $(PYTHONPATH={path} runuser -u $1 -- /opt/python/bin/python3 -c "$question"); }}
ask flower
ask nobody
runuser -u flower -- ls /var/lib/ldpsim-vault || echo "flower sees no state"
kill %1; wait
"""


@pytest.mark.deployment
def test_the_commands_of_root_make_a_vault_with_a_user_of_its_own(tmp_path: Path) -> None:
    """The blocks as they stand, and the unit's command, on a machine that only these processes see."""
    places = ("unshare", "useradd", "runuser", "shred")
    if os.geteuid() or any(shutil.which(tool) is None for tool in places):
        pytest.skip(f"needs root, and {', '.join(places)}")
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("needs mount namespaces")
    given = [str(ROOT), *(each for each in sys.path if each.endswith("site-packages"))]
    names = [f"/opt/site-{number}" for number in range(len(given))]
    sites = "\n".join(f"mkdir {name} && mount --bind {each} {name}" for name, each in zip(names, given, strict=True))
    path = ":".join(names)
    users, enrolment = blocks("sh-root")
    (serve,) = re.findall(r"^ExecStart=(.*device serve.*)$", blocks("ini")[0], re.MULTILINE)
    records = {"2": {"features": [2, 10], "neighbours": [1, 3]}}
    files = f"""
    cat > facts.json <<< '{{"facts": {{"n": 4, "d": 16, "classes": 2}}, "labels": {{"0": 0, "1": 1}}}}'
    cat > own.json <<< '{{"facts": {{"n": 4, "d": 16, "classes": 2}}, "records": {json.dumps(records)}}}'
    /opt/ldpsim/.venv/bin/ldpsim curator keygen curator
    /opt/ldpsim/.venv/bin/ldpsim device policy --facts facts.json > policy.json
    """
    script = "\n".join([
        "set -eu", MACHINE.format(prefix=sys.base_prefix, sites=sites, path=path), files, users, enrolment,
        SERVED.format(serve=serve, path=path),
    ])  # fmt: skip
    done = subprocess.run(["unshare", "--mount", "bash", "-c", script], cwd=tmp_path, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.splitlines()
    assert "flower COLLECTOR_REFUSED" in told  # the vault heard it, and wants its collector's signature
    assert "nobody LEDGER_DAMAGED" in told  # the client's word for a vault that it cannot reach
    assert "flower sees no state" in told
    assert not (tmp_path / "own.json").exists()
    assert "ldpsim-vault" not in Path("/etc/passwd").read_text()  # this machine is as it was
