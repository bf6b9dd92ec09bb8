"""Places of counters: a folder, and a PostgreSQL server that is started here."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ldpsim.devices.ledger.ledger import Ledger


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server of one test run.

    Args:
        folder: Its folder, with the socket, a ``passfile`` and the ``log``.
        port: Its port on loopback, where it wants the password.
        password: The password.
    """

    folder: Path
    port: int
    password: str = "a word that nothing may print"

    @property
    def address(self) -> str:
        """Address of the socket, which asks for no password."""
        return f"postgresql://ldpsim@/postgres?host={self.folder}&port={self.port}"

    @property
    def loopback(self) -> str:
        """Address on loopback; the password is in the passfile."""
        return f"postgresql://ldpsim@127.0.0.1:{self.port}/postgres"


def _missing(what: str) -> None:
    text = f"{what}: the counters in PostgreSQL are not tested (apt-get install postgresql; pip install 'ldpsim[dev]')"
    if os.environ.get("LDPSIM_POSTGRES") == "required":
        pytest.fail(text)
    pytest.skip(text)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """Start Debian's PostgreSQL in a temporary folder, as a user of its own where this one is root."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not found:
        _missing("there is no /usr/lib/postgresql/*/bin/initdb")
    psycopg = pytest.importorskip("psycopg") if "LDPSIM_POSTGRES" not in os.environ else __import__("psycopg")
    # In /tmp, whatever TMPDIR says: the server's user has to reach it, and the path of a socket has to be short.
    programs, folder = found[-1].parent, Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    user = None
    if os.getuid() == 0:  # PostgreSQL refuses root
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
    become = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Server(folder, port)
    (folder / "word").write_text(made.password)
    (folder / "word").chmod(0o644)
    (folder / "passfile").write_text(f"127.0.0.1:{port}:*:ldpsim:{made.password}\n")
    (folder / "passfile").chmod(0o600)
    log = (folder / "log").open("wb")
    subprocess.run(
        [programs / "initdb", "--pgdata", folder / "data", "--username", "ldpsim", "--no-sync", "--auth-local", "trust",
         "--auth-host", "scram-sha-256", "--pwfile", folder / "word"],
        check=True, cwd=folder, stdout=log, stderr=log, **become,
    )  # fmt: skip
    server = subprocess.Popen(
        [programs / "postgres", "-D", folder / "data", "-k", folder, "-p", str(port),
         "-c", "listen_addresses=127.0.0.1", "-c", "log_statement=all", "-c", "synchronous_commit=off"],
        cwd=folder, stdout=log, stderr=log, **become,
    )  # fmt: skip
    try:
        while True:
            try:
                psycopg.connect(made.address).close()
                break
            except psycopg.OperationalError:
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.05)
        yield made
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
        log.close()
        shutil.rmtree(folder)


@pytest.fixture(params=["folder", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a place of counters for an enrolment, one of each kind."""
    if request.param == "folder":
        return str(tmp_path / "apart")
    return str(request.getfixturevalue("postgres_server").address)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "ledger.sqlite")
