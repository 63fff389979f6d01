# make demo   sets up .venv once and runs the main job on embedded data
# make test   sets up .venv once and passes all tests
# make bench  runs the benchmarks (figures go to docs/benchmarks.md)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
WORKERS ?= 2

.PHONY: demo test lint types unit bench clean

demo: $(VENV)/demo.stamp
	$(BIN)/fairfront demo

test: lint types unit

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.stamp
	$(BIN)/mypy

unit: $(VENV)/test.stamp
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) -q

bench: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks

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

clean:
	rm -rf $(VENV) demo-output
