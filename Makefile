# `make` lists what there is to do. Everything runs in .venv, from the locked versions and nothing else.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
PARALLEL ?= -n auto --dist loadfile --no-loadscope-reorder
export PYTHONPATH := .
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install chat test check studio ingest bench manual lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

install: .venv/product ## make .venv with the product in it

chat: .venv/product ## install if need be, then chat with the book
	@$(BIN)/python run.py

test: .venv/development ## install what tests need and run the whole suite
	@$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

check: .venv/development ## what CI checks: style, types, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

studio: .venv/development ## LangGraph Studio's server on 127.0.0.1:2024, offline and without an account
	@$(BIN)/python -m graph.studio $(ARGS)

ingest: .venv/product ## make ingest SOURCE=folder: read a book into the index
	@$(BIN)/python run.py ingest $(SOURCE) $(ARGS)

bench: .venv/development ## measure start-up and the first answer
	@$(BIN)/python bench/startup.py

manual: .venv/product ## embed the manual anew, after a page of docs/ has changed
	@$(BIN)/python -m rag.ingest.manual

lock: .venv/development ## resolve the versions anew (needs the package index)
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 pyproject.toml --group dev -o requirements-dev.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 pyproject.toml -c requirements-dev.lock -o requirements.lock

clean: ## remove .venv and caches; books and conversations in .askbook stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .langgraph_api

# The marks are as old as the installation: a newer lock is installed, an older one costs nothing.
.venv/product: requirements.lock | .venv/bin/python
	@echo "Installing askbook into .venv (once, about a minute) ..." >&2
	@$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	@touch $@

.venv/development: requirements-dev.lock | .venv/bin/python
	@echo "Installing what tests need into .venv (once, about a minute) ..." >&2
	@$(BIN)/pip install --quiet --require-hashes -r requirements-dev.lock
	@touch .venv/product $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "askbook needs Python 3.11 to 3.13; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv .venv
