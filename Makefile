# Everything that a person or a machine does with a checkout. `make` alone lists it.
#   PYTHON=python3.12     another interpreter for the environment (3.11 or newer)
#   PORT=8600             another port for the workbench
#   TORCH_INDEX=URL       an extra package index for torch, such as PyTorch's own one of CPU builds
#   WORKERS=4             processes that `make test` shares its files among, one thread each; limits of time are made for two
#   SCRATCH=/mnt/fast     where tests keep their files; memory by default where it has 4 GiB for them, as many wait for the disk
#   ARGS="-k budget"      further arguments for pytest or the benchmarks
#   UPGRADE=1             let `make lock` take newer versions

SHELL := /bin/bash
PYTHON ?= python3
PORT ?= 8501
WORKERS ?= 2
SCRATCH ?= $(shell [ -w /dev/shm ] && [ $$(df -Pk /dev/shm | awk 'END { print $$4 }') -gt 4194304 ] && echo /dev/shm)
VENV := .venv
BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --no-compile $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)") -c constraints.txt
PINS := pyproject.toml constraints.txt
unexport PYTHONDONTWRITEBYTECODE # pip compiles nothing here: the first process that imports a module does, and the others find it

.DEFAULT_GOAL := help
.PHONY: help setup app lab docs slides test test-slow check-gpu lint bench lock
.DELETE_ON_ERROR:

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | awk -F'|' '{ printf "make %-10s %s\n", $$1, $$2 }'

setup: $(VENV)/.app ## make the environment in .venv and install the workbench

app: $(VENV)/.app ## open the workbench on 127.0.0.1:8501; prints the address to open
	@$(BIN)/workbench app --port $(PORT)

lab: $(VENV)/.lab ## open JupyterLab on notebooks/
	$(BIN)/jupyter lab --notebook-dir=notebooks --ip=127.0.0.1

docs: $(VENV)/.docs ## build the site of documents in build/site/html (ARGS=--execute carries out the lessons)
	$(BIN)/python -m docs.site $(ARGS)

slides: $(VENV)/.docs ## make a deck of each lesson in build/slides (ARGS="02_epsilon_itself" takes one)
	$(BIN)/python -m docs.site.slides $(ARGS)

test: $(VENV)/.dev ## run every test but the slow tier (twenty-five minutes on two cores)
	OMP_NUM_THREADS=1 $(if $(SCRATCH),PYTEST_DEBUG_TEMPROOT="$(SCRATCH)") \
		$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=40 $(ARGS)

# Threads that wait give their core back, so that a bar in processor time counts work alone.
test-slow: $(VENV)/.dev ## run the slow tier at full size, skipping what stands; writes docs/slow-tests.md
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -m slow --timeout=0 -v -rs $(ARGS)

check-gpu: $(VENV)/.dev ## check private training on this machine's GPU in five minutes; without one, name what was not checked
	$(BIN)/python -m pytest -m slow --timeout=0 -v -rs tests/slow/test_gpu.py $(ARGS)

lint: $(VENV)/.dev ## check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(VENV)/.dev ## measure speed and memory; writes benchmarks/results.json
	$(BIN)/python -m benchmarks $(ARGS)

lock: $(VENV)/.dev ## pin the newest versions that pyproject.toml allows in constraints.txt (UPGRADE=1 renews them)
	$(BIN)/pip-compile --quiet --all-extras --strip-extras --no-header --no-annotate $(if $(UPGRADE),--upgrade) \
		--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file constraints.txt pyproject.toml
	@sed -i.unstripped -E -e 's/^([^#=]+==[^+ ]+)\+[A-Za-z0-9.]+/\1/' -e '/^(-|#|$$)|file:|:\/\//d' constraints.txt && rm constraints.txt.unstripped

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Expected Python 3.11 or newer, got '$$($(PYTHON) --version 2>&1)'. Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
		|| { echo "$(PYTHON) cannot make environments: its venv module is missing. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check --no-compile -q --upgrade pip # a Python's own may be years old, and half as fast

# One stamp per set of extras: it is renewed when the pins change, and the fuller sets renew the smaller ones.
$(VENV)/.app: $(PINS) | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/.lab: $(PINS) | $(BIN)/python
	$(INSTALL) -e '.[lab]'
	@touch $(VENV)/.app $@

$(VENV)/.docs: $(PINS) | $(BIN)/python
	$(INSTALL) -e '.[docs]'
	@touch $(VENV)/.app $@

$(VENV)/.dev: $(PINS) | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@touch $(VENV)/.app $(VENV)/.lab $(VENV)/.docs $@
