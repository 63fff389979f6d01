# make demo         sets up .venv once and runs the main job on embedded data
# make test         sets up .venv once and passes all tests
# make test-quick   leaves out the tests marked slow, for the working loop
# make coverage     says which branches no test takes
# make fuzz         draws new examples for the property tests, and tries faults on purpose (HOSTILE=--full: for hours)
# make docs         builds the site into docs/_build/html, offline, warnings as errors
# make bench        runs the benchmarks with the peers (results go to benchmarks/results, pages to docs/benchmarks)
# make paper        runs the paper's experiments anew (tables and figures go to docs/paper/)
# make paper-appendix  the same for the choices that the paper leaves open, all eight combinations

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := -m pip install --quiet --disable-pip-version-check --constraint
PIP := $(BIN)/python $(INSTALL) constraints.txt
WORKERS ?= 2
HOSTILE ?=
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# What fairfront computes with is also tested as users run it: one process, no setting of threads.
BARE := env -u OMP_NUM_THREADS -u OPENBLAS_NUM_THREADS -u MKL_NUM_THREADS
COMPUTES := core/test_threads.py problems/test_linear_problem.py frontier/test_tracing.py \
  $(foreach each,newton newton_edges pdo pb_pdo minimize,solvers/test_$(each).py)

.PHONY: demo test lint types unit bare test-quick coverage fuzz properties hostile docs bench paper paper-appendix clean

demo: $(VENV)/demo.stamp
	$(BIN)/fairfront demo --overwrite

test: lint types unit bare

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.stamp
	$(BIN)/mypy

unit: $(VENV)/test.stamp $(VENV)/browser.stamp
	$(ONE_THREAD) $(BIN)/pytest -n $(WORKERS) -q

bare: $(VENV)/test.stamp
	$(BARE) $(BIN)/pytest -q $(addprefix tests/,$(COMPUTES))

test-quick: $(VENV)/test.stamp
	$(ONE_THREAD) $(BIN)/pytest -n $(WORKERS) -q -m 'not slow'

coverage: $(VENV)/test.stamp
	$(ONE_THREAD) $(BIN)/pytest -n $(WORKERS) -q --cov --cov-report=term --cov-report=html

fuzz: properties hostile

properties: $(VENV)/test.stamp
	$(ONE_THREAD) FAIRFRONT_DRAWS=fuzz $(BIN)/pytest -n $(WORKERS) -q -m hypothesis

hostile: $(VENV)/test.stamp
	$(ONE_THREAD) $(BIN)/python -m benchmarks.hostile $(HOSTILE)

docs: $(VENV)/docs.stamp
	$(BIN)/python docs/_site/spelling.py
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/_site/browser.py
	@echo "docs/_build/html/index.html"

bench: $(VENV)/bench.stamp
	$(ONE_THREAD) $(BIN)/python -m benchmarks

paper: $(VENV)/test.stamp
	$(ONE_THREAD) $(BIN)/python -m benchmarks.paper --fresh --jobs $(WORKERS)

paper-appendix: $(VENV)/test.stamp
	$(ONE_THREAD) $(BIN)/python -m benchmarks.paper --appendix --fresh --jobs $(WORKERS)

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

$(VENV)/docs.stamp: $(VENV)/python.stamp pyproject.toml constraints.txt
	$(PIP) --editable '.[docs]'
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
	rm -rf $(VENV) htmlcov demo-output docs/_build docs/_pictures docs/gallery docs/reference/_made docs/reference/api
