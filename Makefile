# make demo and make test do all of their own set-up; nothing else is needed but python3 (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: demo serve test install bench clean

demo: $(VENV)/.installed  ## cut, shuffle and solve a photograph
	$(BIN)/jigsolve demo --force

serve: $(VENV)/.installed-web  ## open a page to watch puzzles being solved
	$(BIN)/jigsolve serve --open

test: $(VENV)/.installed-dev  ## lint, types and tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest

install: $(VENV)/.installed  ## set up .venv with the command jigsolve

bench: $(VENV)/.installed  ## measure speed; BASE=COMMIT compares with another commit, IMAGES=DIR uses its image sets
	$(BIN)/python -m $(if $(BASE),benchmarks.compare $(BASE),benchmarks) $(if $(IMAGES),--images $(IMAGES))

clean:
	rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jigsolve needs Python 3.11 or later, this is " + sys.version.split()[0] + "; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "setting up $(VENV) (the first time takes about a minute)"
	$(PIP) --editable .
	@touch $@

$(VENV)/.installed-web: pyproject.toml | $(VENV)/.installed
	$(PIP) --editable '.[web]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/.installed
	$(PIP) --editable '.[dev]'
	@touch $@
