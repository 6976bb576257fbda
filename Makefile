# `make demo` and `make test` need nothing but Python (3.11 or newer) and make.
PYTHON ?= python3
VENV ?= .venv
DEMO ?= demo
# Processes: half as many again as cores, since tests wait for what they start a third of the time.
WORKERS ?= $(shell $(PYTHON) -c "import os; print((3 * len(os.sched_getaffinity(0)) + 1) // 2)")
# What `make coverage` runs.
TESTS ?= tests
# What `make check` leaves out: tests/README.md has the markers.
CHEAP := not (process or server or compiles or browser or data or slow or full)
BIN := $(VENV)/bin
# Tests of a file share what they build first, so they stay together.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Of 8,000 modules a fifth is ever imported: Python compiles those when it first does, and keeps
# what it compiled, or else every process would do so again.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --no-compile

.PHONY: help demo check test doors test-full coverage lint kernels docs pictures explorer-pictures findings learning-rates clean

help:
	@echo "make demo       install, build the whole iris cube (6.3 million fits) in $(DEMO)/, show it"
	@echo "make check      lint, types and the cheap tests: before every commit"
	@echo "make test       install, lint, types, all tests at reduced counts"
	@echo "make doors      all tests again: is every argument and option tried by one?"
	@echo "make test-full  all tests at full counts (hours; LIMIT=1800 begins no test after that)"
	@echo "make coverage   which branches the tests take (TESTS=PATH for some), as build/coverage/index.html"
	@echo "make lint       formatting, lint and types alone"
	@echo "make docs       the pages of docs/ and an API reference as a site in build/docs"
	@echo "make pictures   docs/pictures and the notebooks' figures, from the databases that ship"
	@echo "make findings   docs/findings.md, every_n.md, trials.md and their figures, from what ships"
	@echo "make learning-rates   scores of a network under cross-validation in docs/own_data.md"
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
	@echo
	@echo "The picture is $(DEMO)/quantiles.svg. What to do next:"
	@echo "  $(BIN)/lcdb explore $(DEMO)       look at it in a browser"
	@echo "  $(BIN)/lcdb report $(DEMO)        one page: who wins, from where on, and how sure that is"
	@echo "  $(BIN)/lcdb explore reference  the same of ten learners on nine datasets, which ship"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/check_house.py

# Compiled beforehand, or else each of the tests' workers would compile what another one is at.
kernels: $(VENV)/.dev
	$(BIN)/lcdb compile

check: lint kernels
	$(PYTEST) -q -m "$(CHEAP)"

test: lint kernels
	$(PYTEST) -q -m "not full"

doors: kernels
	$(PYTEST) -q --doors

# Another file first every day, for runs that a limit ends.
LIMIT ?= 0
test-full: kernels
	LCDB_FULL=1 $(PYTEST) -q --limit $(LIMIT) --rotate $$(date +%j | sed 's/^0*//')

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

pictures: $(VENV)/.dev
	PYTHONPATH=docs $(BIN)/python docs/pictures.py docs/pictures
	$(BIN)/python -m tests.support.notebook_runs

findings: $(VENV)/.demo
	PYTHONPATH=docs $(BIN)/python -m findings
	PYTHONPATH=docs $(BIN)/python -m trials

learning-rates: $(VENV)/.demo
	$(BIN)/python docs/learning_rates.py

explorer-pictures: $(VENV)/.dev
	$(BIN)/python -m tests.support.explorer_pictures docs/pictures/explorer

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
