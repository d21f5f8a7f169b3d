VENV := .venv
PYTHON ?= python3

.PHONY: setup demo test test-slow lint pictures

setup: $(VENV)/.ready  ## create .venv with everything that development needs

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --editable ".[dev]"
	touch $@

demo: setup  ## train, index and evaluate on a drawn collection
	$(VENV)/bin/scenekin demo

test: setup lint  ## lint, then run the tests
	$(VENV)/bin/python -m pytest

test-slow: setup  ## run the tests that take minutes
	$(VENV)/bin/python -m pytest -m slow

lint: setup  ## check style, format and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

pictures: setup  ## make the pictures of the documentation again, from a demo run
	$(VENV)/bin/python docs/pictures.py
