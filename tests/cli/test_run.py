from __future__ import annotations

import gc
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.strategies import RunOptions
from ldpsim.strategies.setup.option_spec import declared
from tests import warm

CLI = [sys.executable, "-m", "ldpsim.cli.main"]
ROOT = Path(__file__).parents[2]
SMALL = ["--clients", "60", "--set", "epochs=4", "--device", "cpu", "--no-nulls"]
Listing = Callable[[Path], dict[str, str]]


def ldpsim(*arguments: object) -> Result:
    """Run a command; afterwards no ledger is open, as at the end of a process."""
    from ldpsim.devices.client_app import open_state

    shown = CliRunner().invoke(app, [str(argument) for argument in arguments])
    open_state.cache_clear()
    if "--state" in arguments:
        gc.collect()
    return shown


def error_line(shown: Result, code: int) -> str:
    """The one line that a person gets, and nothing on standard output."""
    assert shown.exit_code == code, shown.output
    assert shown.stdout == ""
    assert len(shown.stderr.splitlines()) == 1, shown.stderr
    assert shown.stderr.startswith("error: ")
    return shown.stderr


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with enrolled devices that have answered once (``state``) and that run's result."""
    folder = tmp_path_factory.mktemp("world")
    with_nulls = SMALL[:-1]
    shown = ldpsim("run", *with_nulls, "--out", folder / "runs", "--state", folder / "state", "--json")
    assert shown.exit_code == 0, shown.output
    (folder / "record.json").write_text(shown.stdout)
    return folder


def test_the_document_is_the_file(world: Path) -> None:
    (folder,) = (world / "runs").iterdir()
    record = json.loads((world / "record.json").read_text())
    assert json.loads((folder / "result.json").read_text()) == record
    assert folder.name == f"hogs-generated-{record['config_hash']}-0"
    assert {"result.json", "model.safetensors", "config.toml", "log.txt"} <= {path.name for path in folder.iterdir()}


def test_only_the_document_is_on_standard_output(tmp_path: Path) -> None:
    command = [*CLI, "run", *SMALL, "--out", str(tmp_path), "--json", "--no-reference"]
    done = warm.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["reference"]["nonprivate_test"] is None
    assert done.stderr == ""  # no terminal, so no progress


def test_a_budget_without_bound_is_a_word_in_the_document(tmp_path: Path) -> None:
    sent_in_clear = ("--eps-features", "inf", "--eps-labels", "inf", "--no-reference", "--json")
    few = ("--clients", "60", "--set", "epochs=2")
    shown = ldpsim("run", "--method", "lpgnn", *few, *sent_in_clear, "--out", tmp_path)
    assert shown.exit_code == 0, shown.stderr
    document = json.loads(shown.stdout)
    assert document["config"]["eps_features"] == "inf"
    assert document["privacy"]["holds"]["vector"]["status"] == "unprotected"
    (written,) = tmp_path.glob("lpgnn-*/result.json")
    assert json.loads(written.read_text()) == document


def test_the_tables_follow_on_demand_and_quiet_prints_the_path_alone(tmp_path: Path) -> None:
    command = ["run", *SMALL, "--no-reference", "--out", tmp_path, "--again"]
    short, long, quiet = (ldpsim(*command, *more) for more in ((), ("--details",), ("--quiet",)))
    assert "(--details: all tables)" in short.stdout and "In detail" not in short.stdout
    assert "In detail" in long.stdout and "(--details: all tables)" not in long.stdout
    path = Path(quiet.stdout.strip())
    assert path.name == "result.json" and path.is_file() and short.stderr == long.stderr == quiet.stderr == ""


def test_the_accuracy_that_is_shown_early_is_that_of_the_first_screen(tmp_path: Path) -> None:
    shown = ldpsim("run", *SMALL, "--out", tmp_path)
    accuracy = next(line for line in shown.stdout.splitlines() if line.startswith("  hogs ")).split()
    assert shown.stderr == f"{' '.join(accuracy)}; the rest follows\n"


def test_a_config_file_runs_the_same_again(world: Path, tmp_path: Path) -> None:
    (folder,) = (world / "runs").iterdir()
    shown = ldpsim("run", "--config", folder / "config.toml", "--state", tmp_path / "s", "--out", tmp_path, "--json")
    assert shown.exit_code == 0, shown.output
    first, again = json.loads((world / "record.json").read_text()), json.loads(shown.stdout)
    assert again["config_hash"] == first["config_hash"]
    assert again["devices"]["reports_sha256"] == first["devices"]["reports_sha256"]
    assert again["accuracy"] == first["accuracy"]


# ---- devices that were asked before --------------------------------------------------


def test_asked_again_devices_refuse_and_nothing_moves(world: Path, listing: Listing) -> None:
    before = listing(world)
    for more, code, said in (
        ([], 3, "REPORT_COLLECTED 60"),
        (["--epsilon", "4"], 3, "refused: none of 60 devices"),
        (["--epsilon", "16"], 3, "refused: none of 60 devices"),
        (["--clients", "61"], 2, "another population"),
        (["--repeats", "2"], 2, "--repeats 2"),
    ):
        shown = ldpsim("run", *SMALL, *more, "--out", world / "runs", "--state", world / "state")
        assert said in error_line(shown, code)
    assert listing(world) == before


def test_a_cap_below_the_question_is_refused(tmp_path: Path, listing: Listing) -> None:
    state = tmp_path / "state"
    line = error_line(ldpsim("run", *SMALL, "--state", state, "--out", tmp_path / "runs", "--cap", "bit=1"), 3)
    assert "POLICY_REFUSED 60" in line
    assert "runs" not in listing(tmp_path)
    assert json.loads(ldpsim("ledger", "show", state, "--json").stdout)["states"][0]["releases"] == []


# ---- mistakes ------------------------------------------------------------------------


def damage(state: Path, how: str) -> None:
    path = state / "ledger.sqlite"
    data = bytearray(path.read_bytes())
    if how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "no ledger":
        path.write_text("something else")
    else:
        with sqlite3.connect(path) as db:
            db.execute("UPDATE answer SET body = body || x'00'")
        db.close()


@pytest.mark.parametrize("how", ["cut", "no ledger", "edited"])
def test_a_damaged_ledger_answers_nothing(how: str, world: Path, tmp_path: Path, listing: Listing) -> None:
    state = tmp_path / "state"
    shutil.copytree(world / "state", state)
    damage(state, how)
    before = listing(tmp_path)
    line = error_line(ldpsim("run", *SMALL, "--state", state, "--out", tmp_path / "runs"), 3)
    assert "LEDGER_DAMAGED 60" in line
    assert listing(tmp_path) == before
    line = error_line(ldpsim("ledger", "show", state), 2)
    assert "ledger.sqlite is damaged" in line
    assert listing(tmp_path) == before


# ---- interruptions -------------------------------------------------------------------


# The command, with a training that does not end; its devices have answered by then.
ENDLESS = """
import sys, time
from ldpsim.curator.methods import HoGS
from ldpsim.cli.main import main

def train(*_, **__):
    print("training", file=sys.stderr, flush=True)
    time.sleep(600)

HoGS.train = train
main()
"""


# The command, with a collection on Ray that does not end.
ENDLESS_RAY = """
import sys, time
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.cli.main import main

def deliver(self, messages):
    print("asking", file=sys.stderr, flush=True)
    time.sleep(600)
    yield

LocalGrid.deliver = deliver
main()
"""


@pytest.mark.cluster
def test_sigterm_ends_a_run_on_ray_as_a_local_one(tmp_path: Path) -> None:
    """Ray's own handler of SIGTERM aborts the process (signal 6)."""
    command = [sys.executable, "-c", ENDLESS_RAY, "run", *SMALL, "--no-reference", "--out", str(tmp_path)]
    with subprocess.Popen(
        [*command, "--engine", "ray", "--workers", "1"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        try:
            assert "asking\n" in iter(process.stderr.readline, "")
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate()
        finally:
            process.kill()
    (folder,) = tmp_path.iterdir()
    print(f"\nSIGTERM: exit {process.returncode}, {err.splitlines()[-1]}")
    assert (process.returncode, out) == (130, "")
    line = f"error: interrupted: no device has answered yet; the same command goes on in {folder}"
    assert err.splitlines()[-1] == line


@contextmanager
def training_elsewhere(out: Path, *more: object) -> Iterator[subprocess.Popen[str]]:
    """Another process in the middle of ``ldpsim run``, with no end."""
    command = [sys.executable, "-c", ENDLESS, "run", *SMALL, "--no-reference", "--out", str(out), *map(str, more)]
    with warm.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert "training\n" in iter(process.stderr.readline, "")
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_say_what_is_kept_and_leave_a_run_that_can_be_continued(
    tmp_path: Path, number: signal.Signals
) -> None:
    with training_elsewhere(tmp_path) as process:
        (folder,) = tmp_path.iterdir()
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == (
        "error: interrupted: 60 of 60 devices have answered and their answers are kept; "
        f"the same command goes on in {folder}"
    )
    assert not (folder / "result.json").exists()
    (state,) = json.loads(ldpsim("ledger", "show", folder, "--json").stdout)["states"]
    assert [release["devices"] for release in state["releases"]] == [60, 60]


def test_a_second_run_in_one_folder_takes_the_next_number_and_a_killed_one_is_continued(tmp_path: Path) -> None:
    command = ["run", *SMALL, "--no-reference", "--out", tmp_path, "--json"]
    with training_elsewhere(tmp_path) as process:
        (busy,) = tmp_path.iterdir()
        before = {path.name for path in busy.iterdir()}
        second = json.loads(ldpsim(*command).stdout)
        assert (second["devices"]["reported"], second["devices"]["replayed"]) == (60, 0)  # people of its own
        assert {path.name for path in tmp_path.iterdir()} == {busy.name, f"{busy.name}-2"}
        assert {path.name for path in busy.iterdir()} == before
        process.kill()
    third = json.loads(ldpsim(*command).stdout)
    assert (third["devices"]["reported"], third["devices"]["replayed"]) == (0, 60)
    assert (busy / "result.json").is_file()
    assert third["accuracy"] == second["accuracy"]


def test_devices_that_another_process_uses_are_left_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with training_elsewhere(tmp_path / "a", "--state", state) as process:
        line = error_line(ldpsim("run", *SMALL, "--out", tmp_path / "b", "--state", state), 2)
        used = f"error: --state {state}: these devices are in use (process {process.pid}); "
        assert line == f"{used}wait for it, or name another folder\n"
        assert not (tmp_path / "b").exists()
        process.kill()
    again = ldpsim("run", *SMALL, "--no-reference", "--out", tmp_path / "a", "--state", state, "--json")
    assert json.loads(again.stdout)["devices"]["replayed"] == 60


def test_kept_reports_are_worked_on_without_asking_anybody(tmp_path: Path) -> None:
    command = ["run", *SMALL, "--no-reference", "--json", "--out"]
    first = json.loads(ldpsim(*command, tmp_path / "a", "--save-reports").stdout)
    (reports,) = (tmp_path / "a").glob("*/reports")
    again = json.loads(ldpsim(*command, tmp_path / "b", "--from-reports", reports).stdout)
    assert again["devices"]["asked"] == 0
    assert again["accuracy"] == first["accuracy"]
    assert again["reconstruction"] == first["reconstruction"]
    line = error_line(ldpsim("run", "--clients", "61", "--out", tmp_path / "c", "--from-reports", reports), 2)
    assert "another population" in line


DISK = """
set -e
mount -t tmpfs -o size=260k none "$1"
run() {
  "$2" -m ldpsim.cli.main run --clients 300 --device cpu --no-nulls --no-reference --set epochs=4 --out "$1" --json
}
run "$1" "$2" > "$1.out" 2> "$1.err" && exit 1 || test $? = 1
mount -o remount,size=20m "$1"
run "$1" "$2"
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs a file system of its own")
def test_a_full_disk_is_one_line_and_the_run_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """On a real disk of 260 kB, which then gets 20 MB: a mount that this process alone sees."""
    disk = tmp_path / "disk"
    disk.mkdir()
    own_mounts = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c"]
    if subprocess.run([*own_mounts, f"mount -t tmpfs none {disk}"], capture_output=True).returncode:
        pytest.skip("this system gives no mounts of one's own")
    done = subprocess.run(
        [*own_mounts, DISK, "bash", str(disk), sys.executable], cwd=ROOT, capture_output=True, text=True
    )
    assert (tmp_path / "disk.out").read_text() == ""
    (line,) = (tmp_path / "disk.err").read_text().splitlines()
    assert line.startswith(f"error: {disk}")
    assert "300 devices could not answer" in line and line.endswith("and the same command goes on")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["devices"]["reported"] == 300


# ---- options from a file, secrets from the system -------------------------------------


def test_a_config_file_gives_defaults_and_the_command_line_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place that the reader gives, here one of them in the environment, wins over the file's too."""
    (tmp_path / "c.toml").write_text(
        'clients = 60\nreference = false\nnulls = false\nrepeats = 2\nout = "/nowhere"\ndata_dir = "/evil"\n'
        '[settings]\nepochs = "3"\n[caps]\nbit = 99.0\n'
    )
    monkeypatch.setenv("LDPSIM_DATA", str(tmp_path))
    config = ["run", "--config", tmp_path / "c.toml", "--out", tmp_path / "runs", "--json"]
    record = json.loads(ldpsim(*config, "--repeats", "1", "--set", "tau=.8").stdout)
    assert record["dataset"]["nodes"] == 60
    assert record["reference"]["nonprivate_test"] is None
    assert len(record["accuracy"]["per_repeat"]) == 1
    assert record["config"]["caps"] == {"bit": 99.0}
    assert record["config"]["settings"] == {"tau": ".8"}  # a list that is given replaces the file's
    assert record["config"]["data_dir"] == str(tmp_path) and record["config"]["out"] == str(tmp_path / "runs")


@pytest.mark.parametrize("name", [name for name, spec in declared(RunOptions).items() if spec.is_path])
def test_a_config_file_names_no_place_of_its_reader(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LDPSIM_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(f'clients = 60\n{name} = "/there"\n')
    line = error_line(ldpsim("run", "--config", "c.toml"), 2)
    assert line == (
        f"error: --config c.toml: {name} is a place on the machine of whoever wrote the file; give it yourself: "
        f"{declared(RunOptions)[name].option} /there\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"]


def test_the_options_of_a_run_that_are_places_are_declared_as_places() -> None:
    """Every path and every address is one; a file's name in ``--dataset`` is the data, which a config repeats."""
    for name, spec in declared(RunOptions).items():
        assert spec.is_path == (Path in spec.types or name.endswith("address")), name
        assert not spec.is_path or spec.local, name


def test_secrets_from_the_operating_system(tmp_path: Path) -> None:
    command = ["run", *SMALL, "--no-reference", "--noise-seed", "os", "--json", "--out"]
    one, two = (json.loads(ldpsim(*command, tmp_path / name).stdout) for name in ("a", "b"))
    assert one["simulation_seeded"] is False
    assert one["seeds"]["noise"] is None
    assert one["devices"]["reports_sha256"] != two["devices"]["reports_sha256"]
    assert one["config_hash"] == two["config_hash"]
    (config,) = (tmp_path / "a").glob("*/config.toml")
    again = json.loads(ldpsim("run", "--config", config, "--out", tmp_path / "c", "--json").stdout)
    assert again["simulation_seeded"] is False
    assert again["config_hash"] == one["config_hash"]
