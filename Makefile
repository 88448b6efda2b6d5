# Two commands: `make reproduce` and `make test`. Both create .venv when it is missing.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
ifneq ($(wildcard ../shared/data),)
export HQMM_DATA ?= $(abspath ../shared/data)
endif

.PHONY: reproduce test lint types unit bench docs clean

reproduce: .venv/installed
	$(BIN)/hqmm reproduce --scale quick

test: lint types unit

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed
	$(BIN)/mypy

unit: .venv/installed
	$(BIN)/pytest -n 2

bench: .venv/installed
	$(BIN)/python -m benchmarks

docs: .venv/installed
	$(BIN)/sphinx-build --nitpicky --fail-on-warning --keep-going --quiet docs docs/_build/html

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	touch $@

clean:
	rm -rf .venv build dist docs/_build docs/gallery docs/reference .mypy_cache .ruff_cache .pytest_cache
