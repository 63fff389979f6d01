# make demo   sets up .venv once and runs the main job on embedded data
# make test   sets up .venv once and passes all tests
# make fuzz   draws new examples for the property tests, and tries faults on purpose (HOSTILE=--full: for hours)
# make bench  runs the benchmarks with the peers (results go to benchmarks/results, pages to docs/benchmarks)
# make paper  regenerates the paper's experiments (tables and figures go to docs/paper/)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
WORKERS ?= 2
HOSTILE ?=

# What fairfront computes with is also tested as users run it: one process, no setting of threads.
BARE := env -u OMP_NUM_THREADS -u OPENBLAS_NUM_THREADS -u MKL_NUM_THREADS -u FAIRFRONT_THREADS
COMPUTES := core/test_threads.py problems/test_linear_problem.py frontier/test_tracing.py \
  $(foreach each,newton newton_edges pdo pb_pdo minimize checkpoints_kills,solvers/test_$(each).py)

.PHONY: demo test lint types unit bare fuzz properties hostile bench paper clean

demo: $(VENV)/demo.stamp
	$(BIN)/fairfront demo --overwrite

test: lint types unit bare

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.stamp
	$(BIN)/mypy

unit: $(VENV)/test.stamp $(VENV)/browser.stamp
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) -q

bare: $(VENV)/test.stamp
	$(BARE) $(BIN)/pytest -q $(addprefix tests/,$(COMPUTES))

fuzz: properties hostile

properties: $(VENV)/test.stamp
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 FAIRFRONT_DRAWS=fuzz $(BIN)/pytest -n $(WORKERS) -q -m hypothesis

hostile: $(VENV)/test.stamp
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.hostile $(HOSTILE)

bench: $(VENV)/bench.stamp
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

paper: $(VENV)/test.stamp
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.paper

$(VENV)/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fairfront needs Python 3.11 or newer; say which with: make PYTHON=python3.12 demo"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/demo.stamp: $(VENV)/python.stamp pyproject.toml constraints.txt
	$(PIP) --editable '.[plot]'
	touch $@

$(VENV)/test.stamp: $(VENV)/python.stamp pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	touch $@

$(VENV)/browser.stamp: $(VENV)/python.stamp
	@command -v chromium >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
	  echo "chromium is missing and could not be installed: the browser tests will skip"
	@touch $@

$(VENV)/bench.stamp: $(VENV)/test.stamp
	$(PIP) --editable '.[dev,bench]'
	touch $@

clean:
	rm -rf $(VENV) demo-output
