VENV := .venv
PYTHON ?= python3

.PHONY: setup demo test lint

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --editable ".[dev]"
	touch $@

demo: setup
	$(VENV)/bin/scenekin demo

test: setup lint
	$(VENV)/bin/python -m pytest

lint: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
