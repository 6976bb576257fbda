# `make demo` and `make test` need nothing but Python (3.11 or newer) and make.
PYTHON ?= python3
VENV ?= .venv
DEMO ?= demo
# Tests of a file share what they build first, so they stay together.
WORKERS ?= 3
# What `make coverage` runs.
TESTS ?= tests
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
# Of 8,000 modules a fifth is ever imported: Python compiles those when it first does, and keeps
# what it compiled, or else every process would do so again.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --no-compile

.PHONY: help demo test test-full coverage lint docs pictures explorer-pictures findings learning-rates clean

help:
	@echo "make demo       install, build the whole iris cube (6.3 million fits) in $(DEMO)/, show it"
	@echo "make test       install, lint, type-check, run all tests at reduced counts"
	@echo "make test-full  the same tests at full counts (an hour or more)"
	@echo "make coverage   which branches the tests take (TESTS=PATH for some), as build/coverage/index.html"
	@echo "make lint       formatting, lint and types alone"
	@echo "make docs       the pages of docs/ and an API reference as a site in build/docs"
	@echo "make pictures   docs/pictures, from the database that ships"
	@echo "make findings   docs/findings.md, every_n.md, trials.md and their figures, from what ships"
	@echo "make learning-rates   the picture of a network under cross-validation in docs/own_data.md"
	@echo "make explorer-pictures   those of the explorer, with the Chromium of this machine"
	@echo "make clean      remove the virtual environment and caches (never a database)"

# Two environments' worth of packages in one place: each stamp installs what its target needs.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "lcdb needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@# Older ones take minutes to find versions that go together.
	$(PIP) --upgrade pip

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(PIP) --editable '.[build,plot]'
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: $(BIN)/python pyproject.toml
	$(PIP) --editable '.[docs]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/lcdb build demo --out $(DEMO)
	$(BIN)/lcdb info $(DEMO)
	@# Each takes one core: both at once.
	$(BIN)/lcdb plot $(DEMO) --figure 1a --dataset 61 --out $(DEMO)/quantiles.svg & \
	  $(BIN)/lcdb tables $(DEMO) --table 1 --table text && wait $$!

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Compiled beforehand, or else each of the tests' workers would compile what another one is at.
test: $(VENV)/.dev lint
	$(BIN)/lcdb compile
	$(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test-full: $(VENV)/.dev lint
	$(BIN)/lcdb compile
	LCDB_FULL=1 $(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# One process after the other: what kernels do is seen where tests run them as plain Python, in
# children, which are measured too.
coverage: $(VENV)/.dev
	$(BIN)/lcdb compile
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(TESTS); status=$$?; \
	  $(BIN)/coverage combine --quiet && $(BIN)/coverage html --quiet && $(BIN)/coverage report \
	  && exit $$status

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -b html --fail-on-warning --keep-going --quiet docs build/docs
	$(BIN)/lcdb site reference --cubes none --out build/docs/explore
	@echo build/docs/index.html

pictures: $(VENV)/.demo
	$(BIN)/python docs/pictures.py docs/pictures

findings: $(VENV)/.demo
	PYTHONPATH=docs $(BIN)/python -m findings
	PYTHONPATH=docs $(BIN)/python -m trials

learning-rates: $(VENV)/.demo
	$(BIN)/python docs/learning_rates.py

explorer-pictures: $(VENV)/.dev
	$(BIN)/python -m tests.support.explorer_pictures docs/pictures/explorer

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
