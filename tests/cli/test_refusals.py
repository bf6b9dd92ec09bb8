"""Words and files that a command refuses: exit code 2, one line that names the option, nothing written."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app

# The words of a command, and below them: further words, and what the line says.
REFUSALS: dict[str, list[tuple[str, ...]]] = {
    "": [
        ("rnu", "Did you mean 'run'?", "--help"),
        ("import", "Missing argument 'SOURCE...'"),
        ("ledger show", "Missing argument"),
        ("compare", "Missing argument"),
        ("report", "Missing argument"),
        ("dossier", "Missing argument"),
        ("methods privgn", "did you mean privgnn"),
        ("report empty", "no result.json there"),
        ("report nowhere", "there is no such folder"),
        ("dossier empty", "no result.json or compare.json"),
    ],
    "run": [
        ("--clients many", "'many' is not a valid integer", "--help"),
        ("--epsilom 3", "--epsilon"),
        ("--epsilon", "--epsilon"),
        ("--clients 3", "--clients 3"),
        ("--dataset good.npz --clients 31", "31", "30"),
        ("--dataset nan.npz", "row 4, column 2", "not a finite number"),
        ("--dataset large.npz", "row 5, column 1", "outside [0, 1]; feature_range states"),
        ("--dataset edge.npz", "edge 7 joins 3 and 30", "0..29"),
    ],
    "run --clients 60": [
        ("--dataset coraa", "--dataset coraa", "cora"),
        ("--dataset missing.npz", "missing.npz"),
        ("--dataset student --data-dir empty", "empty", "student.npz", "github.com"),
        ("--method hog", "hog", "hogs"),
        ("--method vote --public-features --save-graph npz", "--save-graph npz: vote reconstructs no graph"),
        ("--save-graph graph.pt", "a graph is saved as .npz, .graphml, .csv"),
        ("--save-graph none/graph.npz", "the folder none does not exist"),
        ("--method raw --save-graph npz", "--save-graph npz: raw reads the true records, so no graph is reconstructed"),
        ("--epsilon=0", "--epsilon 0"),
        ("--epsilon=-1", "--epsilon -1"),
        ("--epsilon=nan", "--epsilon nan"),
        ("--epsilon inf", "--epsilon inf", "at most 1,000,000"),
        ("--eps-features 1e308", "--eps-features 1e+308: ", "above 0 and at most 1,000,000"),
        ("--method dp-fedavg --epsilon 1e6", "--epsilon 1e+06: must be above 0 and at most 1000 for dp-fedavg"),
        ("--method rr --epsilon 1e6", "--epsilon 1e+06: epsilon 1e+06 is beyond what a 64-bit threshold can hold"),
        ("--method rgnn --epsilon 1e6", "is beyond what a 64-bit threshold can hold (about 44)"),
        ("--eps-adjacency=0", "--eps-adjacency 0"),
        ("--eps-features=0", "--eps-features 0"),
        ("--eps-features=nan", "--eps-features nan"),
        ("--eps-labels=0", "--eps-labels 0"),
        ("--eps-labels=-2", "--eps-labels -2"),
        ("--feature-share=1", "--feature-share 1"),
        ("--feature-share=-0.1", "--feature-share -0.1"),
        ("--feature-share=nan", "--feature-share nan"),
        ("--feature-share=much", "--feature-share much: must be auto, or a number of 0 or more and below 1"),
        ("--out file/below", "--out", "file"),
        ("--state file/below", "--state", "file"),
        ("--state file", "--state", "file"),
        ("--state foreign", "--state", "photo.jpg"),
        ("--set epochs", "--set epochs", "KEY=VALUE"),
        ("--set tau=.8 --set tau=.9", "--set tau=.9", "twice"),
        ("--set tua=.8", "--set tua", "tau"),
        ("--set tau=high", "tau=high"),
        ("--cap edge=1", "--cap edge=1", "bit, all-features, person"),
        ("--cap bit=little", "--cap bit=little"),
        ("--cap bit=nan", "--cap bit=nan"),
        ("--seed -1", "--seed -1"),
        ("--noise-seed new", "--noise-seed new", "os"),
        (f"--split-seed {1 << 63}", "--split-seed"),
        ("--dropout 1", "--dropout 1"),
        ("--dropout=-0.1", "--dropout -0.1"),
        ("--label-rate 0", "--label-rate 0"),
        ("--repeats 0", "--repeats 0"),
        ("--label-mechanism clear_label", "hogs does not ask for labels"),
        ("--private-labels --eps-labels 60", "beyond what a 64-bit"),
        ("--repeats 2 --state here", "--state with --repeats 2"),
        ("--workers 0", "--workers 0"),
        ("--clients 2147483648", "at most 2^31 - 1 are possible"),
        ("--device tpu", "--device tpu"),
        ("--reporting none", "--reporting none"),
        ("--on-requery maybe", "--on-requery maybe"),
        ("--engine local --ray-address a:1", "--ray-address with --engine local"),
        ("--set tau=1.5", "--set tau=1.5", "between 0 and 1"),
        ("--set epochs=1.5", "--set epochs=1.5: not a value of type int"),
        ("--set lr=nan", "--set lr=nan"),
        ("--set gat_heads=1", "--set gat_heads: a gcn has no attention heads"),
        ("--set topology=ring", "--set topology=ring: must be one of"),
        ("--friends-tell lists", "--friends-tell lists: must be one of guess, features, label, nothing"),
        ("--friends-share 0", "--friends-share 0: must be above 0 and at most 1"),
        ("--friends-tell nothing --friends-share .5", "has no effect: nobody tells friends anything\n"),
        ("--engine warp", "--engine warp", "must be one of auto, local, ray"),
        ("--split half", "--split half", "split42"),
        ("--gnn gin", "--gnn gin", "gcn, sage, gat, or a class of your own as package:Class"),
        ("--config code.toml", "--config code.toml: gnn is code of whoever wrote the file; give it yourself:"),
        ("--from-reports nowhere", "nowhere"),
        ("--config nowhere.toml", "--config", "nowhere.toml"),
        ("--config wrong.toml", "--config", "wrong.toml"),
        ("--config key.toml", "--config", "epsilom", "epsilon"),
        ("--config number.toml", "--config number.toml: --repeats 2.5: must be a whole number\n"),
        ("--config truth.toml", "--config truth.toml: --no-reference false: must be True or False\n"),
        ("--config table.toml", "--config table.toml: --set x: must be a table of names and values\n"),
        ("--config seed.toml", "--config seed.toml: seeds has no nose (there are population, "),
        ("--config seeds.toml", "--config seeds.toml", "seeds 3: must be a table of names and values\n"),
        ("--curator-key nowhere", "No such file"),
        ("--curator-key empty.key", "no secret key"),
        ("--curator-key open.key", "other users can read it"),
    ],
    "run --clients 60 --private-labels --eps-labels 1": [
        (f"--label-mechanism {name}", f"--label-mechanism {name}: must be grr, or a mechanism about the label that an")
        for name in ("nothing", "clear_label", "one_bit")
    ],
    "run --clients 60 --method": [  # options that a method does not read, and more than there is
        ("hogs --eps-labels 3", "hogs does not ask for labels without --private-labels"),
        ("raw --epsilon 4", "error: raw is not private: it takes no --epsilon\n"),
        ("raw --friends-tell label", "error: raw publishes no device model: it takes no --friends-tell\n"),
        ("raw --friends-share .5", "error: raw publishes no device model: it takes no --friends-share\n"),
        ("fedavg-mlp --friends-tell features", "fedavg-mlp publishes no device model: it takes no --friends-tell"),
        ("raw --state people", "error: raw asks no devices: it takes no --state\n"),
        ("privgnn --epsilon 4", "privgnn has its budget in --set lambda_: it takes no --epsilon"),
        ("fedavg-mlp --defence all", "fedavg-mlp collects updates, not reports: it takes no --defence"),
        ("rr --public-features", "rr has public features in any case: it takes no --public-features"),
        ("rgnn --eps-adjacency 2", "rgnn does not ask for friendships: it takes no --eps-adjacency"),
        ("sbp --set asks=lpgnn --eps-adjacency 2", "sbp does not ask for friendships: it takes no --eps-adjacency"),
        ("lpgnn --eps-adjacency 2", "lpgnn takes no --eps-adjacency without --set adjacency=private"),
        ("hogs --epsilon 4 --eps-adjacency 3 --eps-features 1",
         "error: --epsilon 4 has no effect: --eps-adjacency and --eps-features set every part\n"),
        ("hogs --epsilon 4 --eps-adjacency 3 --public-features", "--epsilon 4 has no effect: --eps-"),
        ("rr --epsilon 4 --eps-adjacency 3", "--epsilon 4 has no effect: --eps-"),
        ("hogs --eps-features 1 --public-features", "--eps-features 1 has no effect: features are public (--public-"),
        ("hogs --repeats-vary noise", "--repeats-vary noise has no effect: there is one repeat (--repeats)"),
        ("hogs --false-alarm 0.01", "--false-alarm 0.01 has no effect: there is no --defence"),
        ("vote --no-reference --gnn sage", "vote trains no network", "--no-reference: it takes no --gnn"),
        ("hogs --set degree_share=0.2", "--set degree_share=0.2 has no effect: it is read beside topology=blink alone"),
        ("hogs --set public_scaling=literal", "it is read beside public_features=true alone"),
        ("rgnn --set alpha=0 --set C=4", "--set C=4 has no effect: it is read beside alpha above 0 alone"),
        ("isolate --set rounds=3", "isolate takes no --set rounds"),
        ("fedavg-gnn --set server_lr=0.1", "it is read beside server_optimiser=adam alone"),
        ("fedavg-mlp --set weight_decay=0", "fedavg-mlp takes no --set weight_decay"),
        ("fedavg-mlp --set epochs=5 --no-reference", "beside --no-reference"),
        ("fedprox --set server_optimiser=adam", "server_optimiser=adam: must be one of average"),
        ("fedavg-gnn --set server_optimiser=adam", "server_optimiser=adam: must be one of average"),
        ("dp-fedavg --set noise_multiplier=1 --epsilon 3", "has its budget in --set noise_multiplier: it takes"),
        ("hogs --feature-share 0", "--feature-share 0: hogs cannot do without private features"),
        ("rgnn --feature-share 0", "--feature-share 0: rgnn cannot do without private features"),
        ("hogs --feature-share auto", "--feature-share auto has no effect: give a number, as hogs has no rule"),
        ("sbp --eps-adjacency 3 --feature-share auto", "--feature-share auto with --eps-adjacency 3: nothing is left"),
        ("sbp --feature-share 0 --public-features", "--feature-share 0 has no effect: features are public"),
        ("sbp --eps-adjacency 3 --eps-features 1 --feature-share 0.2", "--feature-share 0.2 has no effect: --eps-"),
        ("rgnn --set m=601", "--set m=601: of 600 features 1..600 can be sampled"),
        ("rgnn --set m=201 --set group=4", "--set m=201: of 150 features 1..150 can be sampled"),
        ("rgnn --set m=0", "--set m=0: must be 1.."),
        ("rgnn --set C=61", "--set C=61: 60 nodes cannot be cut into more clusters than there are nodes"),
        ("lpgnn --set m=0", "--set m=0: must be optimal, floor or a whole number of at least 1"),
        ("lpgnn --set version=text --gnn gat", "--gnn gat: lpgnn trains gcn alone"),
        ("lpgnn --set m=601", "--set m=601: of 600 features 1..600 can be sampled"),
        ("solitude --set m=601", "--set m=601: of 600 features 1..600 can be sampled"),
        ("ldpgen --set groups=61", "--set groups=61: there are only 60 people to group"),
        ("fp-ldpgen --set first_groups=61", "--set first_groups=61: there are only 60 people to group"),
    ],
    "sweep": [
        ("", "nothing to run"),
        ("nowhere.toml", "nowhere.toml: No such file"),
        ("wrong.toml", "wrong.toml"),
        ("twice.toml", "twice"),
        ("code-grid.toml", "code-grid.toml: gnn is code of whoever wrote the file"),
        ("-g epsilom=3", "did you mean epsilon"),
        ("-g epsilon=3,3", "different values"),
        ("-g clients", "KEY=VALUE"),
        ("-g clients=60 -g settings.tau=7", "no cell can run"),
        ("-g epsilon=3 --engine flower", "--engine flower"),
        ("-g epsilon=3 --workers 0", "--workers 0"),
        ("-g epsilon=3 --state here", "--state"),
        ("-g epsilon=3 --out file", "cannot be written"),
    ],
    "compare hogs --clients 60": [
        ("--match user", "--match"),
        ("--match user much", "--match"),
        ("--match people 2", "--match people: the level must be one of friendship, person, feature"),
        ("--state here", "--state"),
        ("--engine flower", "--engine flower"),
    ],
    "compare --clients 60": [
        ("hogs hogs", "hogs is named twice"),
        ("hogs raw --set tua=1", "none of hogs, raw takes --set tua=1: ", "did you mean tau"),
        ("lpgnn --set selection=loss", "lpgnn chooses its epoch by a rule"),
        ("hogs raw --eps-labels 3", "none of hogs, raw takes --eps-labels 3: hogs does not ask for labels without "
         "--private-labels; raw is not private"),
        ("raw mlp --epsilon 4", "none of raw, mlp takes --epsilon 4: raw is not private; mlp is"),
        ("hogs solitude --set lambda_1=2 --set structure_rate=0", "none of hogs, solitude takes --set lambda_1=2: "),
        ("vote lp-and --set epochs=3", "none of vote, lp-and takes --set epochs=3: vote trains no network"),
        ("hogs --match user 0", "must be a finite number above 0"),
        ("hogs --match user 1 --epsilon 2", "with --epsilon"),
        ("raw hogs --match user 1 --epsilon 2", "with --epsilon"),
        ("raw --set epochs=-1", "no cell can run"),
    ],
    "tune hogs --clients 60 --set epochs=3": [
        ("--grid tua=.5", "--grid tua", "did you mean tau"),
        ("--grid tau=high", "--grid tau=high"),
        ("--grid tau=.5,", "--grid tau=.5,", "commas"),
        ("--grid tau=.5,.5", "different values"),
        ("--grid tau", "--grid tau", "KEY=VALUE"),
        ("--grid epochs=2,3", "--grid epochs", "--set"),
        ("--epsilon 0", "--epsilon 0"),
        ("--dataset coar", "coar", "cora"),
        ("--state here", "--state"),
    ],
    "plan": [
        ("--level planet", "--level planet"),
        ("--holds 0", "--holds"),
        ("--max-attack 0.4", "--max-attack"),
        ("--max-bytes 100", "No such option '--max-bytes'"),
        ("vote --repeats 3", "No such option '--repeats'"),
        ("vote --no-nulls", "No such option '--no-nulls'"),
        ("--like coraa", "cora"),
        ("--clients 12.5", "'12.5' is not a valid integer"),
        ("--homophily 3", "--homophily 3"),
        ("--feature-rate 7", "--feature-rate 7"),
        ("hog", "hogs"),
        ("rr rr", "rr"),
        ("rr --set nothing=1", "nothing"),
        ("hogs --epsilon 1e-300", "--epsilon"),
        ("hogs --eps-adjacency 9e-16", "--eps-adjacency 9e-16: no report says anything with less than 1e-15"),
        ("hogs --clients 5", "--clients 5"),
    ],
    "poison hogs --clients 60": [
        ("--attack pair", "did you mean pairs"),
        ("--epsilon a", "--epsilon a: numbers joined by commas"),
        ("--defence weight", "--defence weight"),
        ("--shares 1", "--shares 1: a share of all people"),
        ("--shares 0.001", "--shares 0.001: is nobody of 60 people"),
        ("--state here", "--state"),
        ("--noise-seed os", "--noise-seed os: nobody is really asked"),
    ],
    "poison --clients 60": [
        ("vote --volunteers 0.3 --join", "--join: accounts"),
        ("privgnn", "privgnn: its records are in the hands of an owner"),
        ("fedavg-mlp --defence degree", "--defence degree: fedavg-mlp takes no reports"),
        ("lpgnn --attack largest-degree", "--attack largest-degree: lpgnn asks nobody for a list"),
    ],
    "stress": [
        ("--asks one", "--asks"),
        ("--asks 0", "--asks 0: must be numbers of 1 to 65,535"),
        ("--protection vault", "--protection"),
        ("--adversary nobody", "--adversary"),
        ("--epsilon-bit -1", "--epsilon-bit"),
        ("--workers -1", "--workers"),
        ("--clients 2", "--clients 2"),
        ("--adversary new-rum", "did you mean"),
    ],
    "audit": [
        ("",),
        ("grr --all",),
        ("gr", "did you mean grr"),
        ("grr --trials 1", "--trials"),
        ("grr --confidence 1", "--confidence"),
        ("grr --workers -1", "--workers"),
        ("grr --seed -1", "--seed"),
        ("grr --claims 1", "--claims"),
        ("grr --epsilon 4", "--epsilon"),
        ("vote --epsilon -4", "--epsilon -4"),
        ("raw --epsilon 4", "raw is not private: it takes no --epsilon"),
        ("--all --epsilon 4", "--epsilon"),
        ("vote --set candidate=2", "did you mean candidates"),
        ("pate-m --set queries=9", "one small setting"),
        ("m:f --domain 0:1 --claims 1 --epsilon 1", "--claims"),
        ("no_such_module:f --domain 0:1 --claims 1", "no_such_module"),
        ("vote --out nowhere/a.html", "--out nowhere/a.html"),
        ("raw --shadows 8", "--shadows: only with --released-model"),
        ("raw mlp --released-model", "one method"),
        ("--all --released-model", "one method"),
        ("rawe --released-model", "did you mean raw"),
        ("raw --released-model --shadows 9", "--shadows 9: must be an even number"),
        ("raw --released-model --epsilon 1", "raw is not private: it takes no --epsilon"),
        ("b1 --released-model", "no class or probabilities for everybody"),
    ],
    "ledger show": [
        ("nowhere", "no such folder"),
        ("empty", "holds no enrolled devices"),
        ("file", "no such folder"),
    ],
    "import": [
        ("graph.pkl", "graph.pkl: a pickle runs code when it is opened"),
        ("graph.xlsx", "graph.xlsx: a spreadsheet is not read; save each sheet as CSV in UTF-8"),
        ("edges.csv --feature-range 1", "--feature-range 1: two numbers with a comma between"),
        ("edges.csv --scale log", "--scale log: must be one of clip, binary, minmax"),
        ("edges.csv --out people.csv", "--out people.csv: the name of the file must end with .npz"),
        ("people.csv", "no edges: people.csv lists people"),
        ("none.csv", "no such file: none.csv"),
        ("edges.csv good.npz", "good.npz: a .npz or .pt holds a whole graph; give it alone"),
        ("bytes.csv", "bytes.csv: is not text in UTF-8 (invalid start byte at byte 0)"),
        ("bytes.gml", "bytes.gml: is not text in UTF-8"),
        ("edges.csv --masks all", "--masks all: must be one of keep, drop"),
        ("edges.csv --scale minmax --feature-range 0,1", "--scale minmax: the range is then 0 to 1"),
        ("edges.csv --feature-range 1,0", "--feature-range 1,0: two finite numbers, the smaller one first"),
        ("edges.csv --feature-range 0,inf", "--feature-range 0,inf: two finite numbers"),
        ("edges.csv --class-names a,a", "--class-names: a name is given twice"),
        ("edges.csv people.csv --one-hot city=A,A", "city: a name is given twice"),
        ("edges.csv --missing guess", "--missing guess: must be one of refuse, unknown, zero, mean, drop"),
    ],
    "device policy --facts facts.json": [
        ("--method hogs", "--eps-labels is needed: labels are private, and hogs's"),
        ("--on-requery answer", "one of refuse, replay"),
        ("--epsilon 0", "a number above 0"),
        ("--method raw", "asks no device"),
        ("--method secure-sum", "it trusts a sum, which is simulated only"),
        ("--cap life=1", "level must be"),
    ],
}  # fmt: skip
ROWS = [(f"{command} {words}", said) for command, rows in REFUSALS.items() for words, *said in rows]


def write_graph(path: str, **changed: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "edge_index": rng.integers(0, 30, (2, 60)),
        "labels": np.arange(30) % 3,
        "x": rng.integers(0, 2, (30, 8)).astype(np.float32),
        "num_classes": np.array(3),
    }
    np.savez(path, **{**arrays, **changed})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Be in a folder with the files that the rows name; no row changes it."""
    place = tmp_path_factory.mktemp("mistakes")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(place)
        write_files()
        yield place


def write_files() -> None:
    x = np.zeros((30, 8), np.float32)
    x[4, 2], x[9, 0] = np.nan, np.inf
    write_graph("nan.npz", x=x)
    x = np.zeros((30, 8), np.float32)
    x[5, 1] = 1.5
    write_graph("large.npz", x=x)
    edges = np.ones((2, 9), np.int64)
    edges[:, 7] = 3, 30
    write_graph("edge.npz", edge_index=edges)
    write_graph("good.npz")
    texts = {
        "file": "a regular file: nobody can make a folder below it, root included",
        "foreign/photo.jpg": "x",
        "empty/note.txt": "x",
        "wrong.toml": "epsilon = = 3",
        "key.toml": "epsilom = 3",
        "number.toml": "repeats = 2.5",
        "truth.toml": 'reference = "false"',
        "table.toml": 'settings = "x"',
        "seed.toml": "[seeds]\nnose = 1",
        "seeds.toml": "seeds = 3",
        "code.toml": 'gnn = "mine:Net"\n',
        "code-grid.toml": '[grid]\ngnn = ["gcn", "mine:Net"]\n',
        "facts.json": '{"facts": {"n": 60, "d": 4, "classes": 3}, "labels": {}}',
        "twice.toml": "[fixed]\nclients = 60\n[grid]\nepsilon = [3, 8]\n[[cells]]\n",
        "empty.key": "nothing",
        "open.key": "nothing",
        "edges.csv": "source,target\na,b\nb,c\n",
        "people.csv": "id,tall,label\na,1,red\nb,0,blue\nc,1,red\n",
    }
    for name, text in texts.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    for name in ("bytes.csv", "bytes.gml"):
        Path(name).write_bytes(b"\xff\xfe")
    Path("empty.key").chmod(0o600)
    Path("open.key").chmod(0o640)


@pytest.mark.usefixtures("cells_in_this_process")
@pytest.mark.parametrize(("words", "said"), ROWS)
def test_a_mistake_is_one_line_and_changes_nothing(
    words: str, said: list[str], folder: Path, listing: Callable[[Path], dict[str, str]]
) -> None:
    before = listing(folder)
    shown = CliRunner().invoke(app, words.split())
    assert (shown.exit_code, shown.stdout) == (2, ""), shown.output
    assert len(shown.stderr.splitlines()) == 1 and shown.stderr.startswith("error: "), shown.stderr
    for text in said:
        assert text in shown.stderr
    assert listing(folder) == before


SECONDS = 60  # of CPU or waiting; an endless file takes all of them


@pytest.fixture
def no_endless_read() -> Iterator[None]:
    def stop(*_: object) -> None:
        pytest.fail("it reads on and on")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("no_endless_read")
@pytest.mark.parametrize("kind", ["zero", "full", "pipe.npz"])
@pytest.mark.parametrize(
    "words",
    [
        ["run", "--clients", "60", "--curator-key", "{}"],
        ["run", "--config", "{}"],
        ["run", "--dataset", "{}"],
        ["sweep", "{}"],
        ["import", "{}"],
        ["device", "enrol", "--data", "{}", "--policy", "{}", "--state", "state"],
        ["device", "policy", "--facts", "{}", "--method", "hogs", "--epsilon", "8"],
    ],
    ids=" ".join,
)
def test_no_device_and_no_pipe_is_read(
    words: list[str], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.npz")
    path = "pipe.npz" if kind == "pipe.npz" else f"/dev/{kind}"
    shown = CliRunner().invoke(app, [word.format(path) for word in words])
    assert shown.exit_code in (1, 2), shown.output
    assert [line[:6] for line in shown.stderr.splitlines()] == ["error:"], shown.stderr
    assert path in shown.stderr


@pytest.mark.usefixtures("no_endless_read")
def test_a_report_leaves_out_a_result_that_is_a_pipe(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "a" / "result.json")
    (tmp_path / "b" / "result.json").write_text(json.dumps({"schema": 0}))
    shown = CliRunner().invoke(app, ["report", str(tmp_path), "--out", str(tmp_path / "page.html")])
    assert shown.exit_code == 2 and "none of 2" in shown.output
