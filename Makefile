# make demo         sets up .venv once and runs the main job on embedded data
# make test         sets up .venv once and passes all tests
# make test-quick   leaves out the tests marked slow, for the working loop
# make test-lowest  passes all tests on the oldest versions that pyproject.toml allows, in .venv-lowest
# make test-bare    passes the tests that need no extra, in .venv-bare
# make test-wheel   builds sdist and wheel, installs them in .venv-wheel, and passes the quick tests there
# make test-notebook  drives the widget in JupyterLab, in .venv-notebook
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
BARE := env -u OMP_NUM_THREADS -u OPENBLAS_NUM_THREADS -u MKL_NUM_THREADS -u FAIRFRONT_THREADS
COMPUTES := core/test_threads.py problems/test_linear_problem.py frontier/test_tracing.py \
  $(foreach each,newton newton_edges pdo pb_pdo minimize,solvers/test_$(each).py)

.PHONY: demo test lint types unit bare test-quick test-lowest test-bare test-wheel test-notebook coverage fuzz properties hostile docs bench paper paper-appendix clean

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

# What is old warns of what is new: packages that these depend on are not the oldest.
test-lowest: .venv-lowest/test.stamp
	$(ONE_THREAD) .venv-lowest/bin/pytest -n $(WORKERS) -q -W ignore::DeprecationWarning

test-bare: .venv-bare/test.stamp
	$(ONE_THREAD) .venv-bare/bin/pytest -n $(WORKERS) -q

test-wheel: .venv-wheel/test.stamp
	$(ONE_THREAD) .venv-wheel/bin/pytest -n $(WORKERS) -q -m 'not slow'

test-notebook: .venv-notebook/test.stamp $(VENV)/browser.stamp
	$(ONE_THREAD) .venv-notebook/bin/pytest -q tests/explorer/test_widget.py tests/explorer/test_notebook_server.py

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

.venv-lowest/test.stamp: $(VENV)/python.stamp pyproject.toml constraints.txt .ci/lowest.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) .ci/lowest.py >.venv-lowest/constraints.txt
	.venv-lowest/bin/python $(INSTALL) .venv-lowest/constraints.txt --editable '.[dev]'
	touch $@

.venv-bare/test.stamp: $(VENV)/python.stamp pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-bare
	.venv-bare/bin/python $(INSTALL) constraints.txt --editable . hypothesis pytest pytest-xdist
	touch $@

# The wheel is made from the sdist, so that what is missing in either is noticed.
.venv-wheel/test.stamp: $(VENV)/python.stamp pyproject.toml constraints.txt $(shell find src -type f -not -name '*.pyc')
	rm -rf dist .venv-wheel
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python $(INSTALL) constraints.txt hatchling hypothesis pytest pytest-xdist
	.venv-wheel/bin/python -m hatchling build -t sdist -d dist
	.venv-wheel/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w dist dist/*.tar.gz
	.venv-wheel/bin/python $(INSTALL) constraints.txt dist/*.whl
	touch $@

.venv-notebook/test.stamp: $(VENV)/python.stamp pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-notebook
	.venv-notebook/bin/python $(INSTALL) constraints.txt --editable '.[notebook,pandas,plot]' jupyterlab hypothesis playwright pytest
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
	rm -rf $(VENV) .venv-lowest .venv-bare .venv-wheel .venv-notebook htmlcov demo-output docs/_build docs/_pictures docs/gallery docs/reference/_made docs/reference/api
