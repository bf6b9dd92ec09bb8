# Everything here works on a fresh clone: the environment is made first and kept in .venv.
#   make run      the main simulation, with its result in runs/; installs what a run needs
#   make test     the tests; real data are used where LDPSIM_DATA names their folder; installs the tools of tests and pages
#   make gpu      the tests on a CUDA device; without one they are skipped
#   make wheel    the wheel and the source package, in dist/
#   make wheel-test  that wheel in a fresh environment outside the checkout: its commands, engines, extras, and the
#                 deployment guide with two devices
#   make deployment  SuperLinks, SuperNodes and vaults on loopback, with all commands of the deployment guide (minutes)
#   make test-newest, make test-oldest  the engine tests with the newest, and the oldest, Flower and Ray that pyproject.toml
#                 admits, each in an environment beside .venv (minutes)
#   make test-pythons  the quick tests on every Python from 3.11 on that is found, each in an environment beside .venv
#   make lint-docker  two linters of npm's registry on the Dockerfile, which needs no Docker
#   make lint     ruff (rules and format), mypy, and limits that only go down: docs/lines.toml has lines of code by package
#                 and words of docs
#   make docs     the documentation site, strictly, with its notebooks executed: docs/_build/html/index.html
#   make bench    the benchmarks: ratios, with the machine beside absolute figures
#   make torture  a thousand kill -9 in the middle of collections (minutes)
#   make slow     tests that take minutes: the same plans, votes and cells on Ray and Flower once more (minutes)
#   make cluster  two Ray nodes on loopback, one of them killed in the middle of a collection (minutes)
#   make faults SEEDS=N  N schedules of faults (docs/testing.md): crashes, copies, old disks, lost messages; a failing
#                 one is told in twenty lines
#   make tables   the papers' accuracy tables in docs/results (hours; goes on where it was stopped)
#   make tables-quick: one column of each table, in runs/
#   make tables-check  30 stored rows of docs/results once more, with today's code (20 minutes of one core); fails where
#                 a figure leaves its interval. CHECK_ARGS adds options, for example CHECK_ARGS="--rows 3 --seed 1"
# PYTHON names another interpreter (3.11 or newer), TEST_ARGS adds to pytest, for example TEST_ARGS="-n 0 -x" for one
# process. PIP_ARGS adds to `pip install`, which then installs in the place of uv (install.sh).

PYTHON ?= python3
VENV ?= .venv
PIP_ARGS ?=
TEST_ARGS ?=
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.run-ready
READY := $(VENV)/.ready

.DEFAULT_GOAL := run
.PHONY: run test slow cluster gpu wheel wheel-test deployment test-newest test-oldest test-pythons lint-docker lint docs bench torture tables tables-quick tables-check
.PHONY: clean faults

$(RUN_READY) $(READY): export PYTHON := $(PYTHON)
$(RUN_READY) $(READY): export VENV := $(VENV)
$(RUN_READY) $(READY): export PIP_ARGS := $(PIP_ARGS)
$(RUN_READY): pyproject.toml constraints.txt
	@./install.sh
	@touch $@

$(READY): $(RUN_READY)
	@./install.sh dev docs
	@touch $@

run: $(RUN_READY)
	$(BIN)/ldpsim run --clients 3000 --method hogs --feature-share 0.3

# The quick tests, on several processes.
QUICK := -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder \
	-m "not slow and not deployment and not gpu and not wheel and not cluster"

# The tests' networks are small: more threads would only wait for one another.
# A worker for each core and one for the tests that wait for servers, four at most: each needs a gigabyte.
# tests/conftest.py says how many, and which tests stay together.
# Byte code is kept: the tests start many Python processes, and each would compile everything again.
test: export OMP_NUM_THREADS ?= 1
test: export PYTHONDONTWRITEBYTECODE =
test: $(READY)
	$(BIN)/python -m pytest -q $(QUICK) $(TEST_ARGS)

gpu: $(READY)
	$(BIN)/python -m pytest -q -m gpu tests/test_cuda.py $(TEST_ARGS)

# uv is installed with Flower. The wheel is built from the source package, so that one is whole too. Left-overs of an
# earlier build go first: setuptools would ship files that they list.
wheel: $(READY)
	rm -rf dist build *.egg-info
	$(BIN)/python -m uv build --quiet --python $(BIN)/python --out-dir dist

# PyTorch's CPU build: from the folder that PIP_FIND_LINKS names, else from PyTorch's own index.
wheel-test: export OMP_NUM_THREADS ?= 1
wheel-test: export PYTHONDONTWRITEBYTECODE =
wheel-test: export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
wheel-test: wheel
	$(if $(UV_FIND_LINKS),,UV_TORCH_BACKEND=cpu) $(BIN)/python -m pytest -q -m wheel --durations=5 tests/packaging $(TEST_ARGS)

# Runs before an issue about devices, engines or the curator's app is called resolved.
deployment: export OMP_NUM_THREADS ?= 1
deployment: export PYTHONDONTWRITEBYTECODE =
deployment: $(READY)
	$(BIN)/python -m pytest -q -n 0 -m deployment --durations=0 tests/strategies $(TEST_ARGS)

# An environment beside .venv with the newest or the oldest flwr and ray that the ranges admit, and all else as
# constraints.txt has it. torch stays there too: PyPI's newer builds bring gigabytes of CUDA. FREED are pins of
# constraints.txt that such a Flower may forbid.
FREED := flwr ray certifi uv
EDGES := .venv-newest/.ready .venv-oldest/.ready
RESOLUTION_oldest := --resolution lowest-direct
$(EDGES): .venv-%/.ready: $(READY)
	$(BIN)/python -m uv venv --quiet --clear --python $(BIN)/python .venv-$*
	$(BIN)/python -m uv pip compile --quiet --no-deps --no-header --no-annotate $(RESOLUTION_$*) pyproject.toml > .venv-$*/all.txt
	grep -E '^(flwr|ray)==' .venv-$*/all.txt > .venv-$*/edge.txt
	grep -vE "^($$(echo $(FREED) | tr ' ' '|'))==" constraints.txt > .venv-$*/rest.txt
	$(if $(UV_FIND_LINKS),,UV_TORCH_BACKEND=cpu) $(BIN)/python -m uv pip install --quiet --python .venv-$*/bin/python \
		-c .venv-$*/edge.txt -c .venv-$*/rest.txt -e '.[dev]'
	touch $@

test-newest test-oldest: export OMP_NUM_THREADS ?= 1
test-newest test-oldest: export PYTHONDONTWRITEBYTECODE =
test-newest test-oldest: export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
test-newest test-oldest: export CI =  # trackers are not installed there: their tests are skipped, and run in .venv
test-newest test-oldest: test-%: .venv-%/.ready
	cat .venv-$*/edge.txt
	.venv-$*/bin/python -m pytest -q $(QUICK) \
		tests/strategies/engines tests/strategies/rounds tests/strategies/flower_app tests/strategies/test_server_app.py $(TEST_ARGS)

# NEWEST_ONLY=--newest: devices, ledgers and faults on the newest one alone.
test-pythons: export OMP_NUM_THREADS ?= 1
test-pythons: export PYTHONDONTWRITEBYTECODE =
test-pythons: $(READY)
	$(BIN)/python -m tests.pythons $(NEWEST_ONLY) -q $(QUICK) $(TEST_ARGS)

lint-docker:
	npx --yes dockerfilelint@1.8.0 Dockerfile
	npx --yes dockerfile-utils@0.16.3 lint Dockerfile

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m docs.lines

# A warning is an error: a link, a page or a name that is missing. LDPSIM_NOTEBOOKS=off executes no notebook.
docs: export OMP_NUM_THREADS ?= 1
docs: $(READY)
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html

bench: $(READY)
	for script in benchmarks/speed/bench_*.py; do $(BIN)/python -m benchmarks.speed.$$(basename $$script .py) || exit 1; done


torture: export OMP_NUM_THREADS ?= 1
torture: $(READY)
	$(BIN)/python -m tests.strategies.attacks.stress.kill --kills 1000 --devices 500

slow: export OMP_NUM_THREADS ?= 1
slow: $(READY)
	$(BIN)/python -m pytest -q -m slow tests $(TEST_ARGS)

# Two Ray nodes on loopback, one of them killed; small ones, as a laptop has memory for.
cluster: export OMP_NUM_THREADS ?= 1
cluster: $(READY)
	$(BIN)/python -m pytest -q -s -m cluster tests/strategies/engines tests/cli $(TEST_ARGS)

SEEDS ?= 10000
faults: export OMP_NUM_THREADS ?= 1
faults: $(READY)
	$(BIN)/python -m tests.faults.run --seeds $(SEEDS)
	$(BIN)/python -m tests.faults.run --seeds $(SEEDS) --kind trainings
	$(BIN)/python -m tests.faults.run --seeds $(SEEDS) --kind races
	$(BIN)/python -m tests.faults.run --seeds $(SEEDS) --kind removals

tables: $(READY)
	$(BIN)/python -m benchmarks.papers.tables

tables-quick: $(READY)
	$(BIN)/python -m benchmarks.papers.tables --quick

tables-check: export OMP_NUM_THREADS ?= 1
tables-check: $(READY)
	$(BIN)/python -m benchmarks.papers.check $(CHECK_ARGS)

clean:
	rm -rf build dist docs/_build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
