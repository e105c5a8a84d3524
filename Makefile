# Everything runs in .venv where that exists (see README.md), otherwise with the python on the PATH.
PYTHON ?= $(shell test -x .venv/bin/python && echo .venv/bin/python || echo python3)

.PHONY: check format lint types contracts test bench demo

check: format lint types contracts test

format:
	$(PYTHON) -m ruff format $(FORMAT_OPTIONS) .

lint:
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

contracts:
	$(PYTHON) -c "from importlinter.cli import lint_imports_command; lint_imports_command()" --no-logo

test:
	$(PYTHON) -m pytest -n 2

bench:
	$(PYTHON) -m pytest -m benchmark -p no:xdist tests/benchmarks -s

demo:
	$(PYTHON) -m recui demo
