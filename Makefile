# Everything works from a fresh clone with Python 3.11+ and make. `make help` lists the targets.
PYTHON ?= python3
PY := .venv/bin/python
JOBS ?= 2
# The slow tests wait a lot, for processes and clocks, so twice as many of them fit on the same cores.
SLOW_JOBS ?= 4
# Where it is set, every process compiles anew what it imports, and a run of the tests starts a thousand.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup clients docs run test check style layers types fast golden bench bench-keep bench-parts bench-instructions bench-postgres bench-postgres-grown bench-postgres-processes bench-peers bench-compare bench-policies figures soak lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | sort | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("clew needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

# uv installs in two seconds what takes pip thirty; but a registry that is set in pip's own configuration only pip knows.
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
UV := .venv/bin/uv pip install --quiet --python

.venv/.ready: requirements/dev.txt pyproject.toml | .venv/bin/python
	@sed -n '/^uv==/,/[^\\]$$/p' $< > .venv/uv.txt
	$(PIP) --require-hashes -r .venv/uv.txt
	$(UV) $(PY) --require-hashes -r $< || $(PIP) --require-hashes -r $<
	$(UV) $(PY) --no-deps --no-build-isolation -e . || $(PIP) --no-deps --no-build-isolation -e .
	@touch $@

setup: .venv/.ready ## make .venv with clew and all tools in it

CLIENTS := tests/clients/node_modules/.ready
$(CLIENTS): tests/clients/package-lock.json tests/clients/.npmrc | .venv/.ready
	$(PY) -m tests.clients.npm ci
	@touch $@

PYTHON_CLIENTS := tests/clients/.venv/.ready
$(PYTHON_CLIENTS): requirements/clients.txt | .venv/.ready
	.venv/bin/uv venv --quiet --clear --seed --python $(PY) tests/clients/.venv
	$(UV) tests/clients/.venv --only-binary :all: --require-hashes -r $< \
	  || tests/clients/.venv/bin/python -m pip install --quiet --only-binary :all: --require-hashes -r $<
	@touch $@

clients: $(CLIENTS) $(PYTHON_CLIENTS) ## install the clients that the tests run: two Claude Codes, Codex, opencode, SDKs

# `exec`: a shell between make and the gateway would be ended by Ctrl-C, and make would call that an error.
run: .venv/.ready ## the gateway with three simulated backends: nothing to configure, no key
	exec env CLEW_HOME=$(CURDIR)/.demo .venv/bin/clew serve --demo

# At the same time: each says what it has to say when it is done, and only the tests while they run.
AT_ONCE := $(MAKE) --no-print-directory --jobs --output-sync=target

check: .venv/.ready ## format, lint, types, layers, fast tests (under two minutes)
	$(AT_ONCE) layers types fast

test: .venv/.ready ## everything, with small counts (under ten minutes)
	$(AT_ONCE) $(CLIENTS) $(PYTHON_CLIENTS) layers types fast
	$(PY) -m pytest -q -n $(SLOW_JOBS) --dist worksteal -m slow

style: .venv/.ready
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .

layers: style
	.venv/bin/lint-imports --no-cache

types: style
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 .venv/bin/pyright --warnings

fast: style
	+$(PY) -m pytest -q -n $(JOBS) --dist worksteal -m "not slow"

# The site's builder decides nothing for clew's environment, so it has its own.
DOCS_TOOLS := build/docs-tools
$(DOCS_TOOLS)/.ready: requirements/docs.txt | .venv/.ready
	.venv/bin/uv venv --quiet --clear --seed --python $(PY) $(DOCS_TOOLS)
	.venv/bin/uv pip install --quiet --python $(DOCS_TOOLS) --only-binary :all: --require-hashes -r $< \
	  || $(DOCS_TOOLS)/bin/python -m pip install --quiet --only-binary :all: --require-hashes -r $<
	@touch $@

docs: $(DOCS_TOOLS)/.ready ## build the docs as a site in build/site, and check its links and its search
	$(DOCS_TOOLS)/bin/python docs/build_site.py

golden: .venv/.ready ## rewrite the golden transcripts; review the diff
	CLEW_GOLDEN=write $(PY) -m pytest -q tests/golden

bench: .venv/.ready ## what the core, the store and the gateway cost, as ratios (the gateway's to nginx)
	$(PY) bench/core.py
	$(PY) bench/store.py
	$(PY) bench/gateway.py $(OPTIONS)

bench-keep: .venv/.ready ## what the gateway costs, by its parts, and what noise is, kept in docs and README.md; takes long, and needs a quiet machine
	$(PY) bench/gateway.py --keep $(OPTIONS)
	$(PY) bench/parts.py --keep
	$(PY) bench/compare.py HEAD HEAD --keep --only session json-many stream translated big-known $(OPTIONS)

bench-postgres: .venv/.ready ## what a commit costs in PostgreSQL, beside SQLite
	PYTHONPATH=. $(PY) bench/postgres.py $(OPTIONS)

bench-postgres-grown: .venv/.ready ## how a store in PostgreSQL grows: OPTIONS="100000 1000000" recordings, 5 GB of disk
	PYTHONPATH=. $(PY) bench/postgres_grown.py $(OPTIONS)

bench-postgres-processes: .venv/.ready ## turns per second of 1, 2 and 4 gateways on one PostgreSQL
	PYTHONPATH=. $(PY) bench/postgres_processes.py $(OPTIONS)

bench-parts: .venv/.ready ## where the CPU of a request goes, by the parts of the gateway
	$(PY) bench/parts.py $(OPTIONS)

bench-instructions: .venv/.ready ## instructions for a request, which do not depend on who else uses the machine
	PYTHONPATH=. $(PY) bench/instructions.py $(OPTIONS)

bench-peers: .venv/.ready ## the same work in LiteLLM and claude-code-router, which it installs, and in the programs that CLIPROXYAPI and BIFROST name
	$(PY) bench/peers.py

bench-compare: .venv/.ready ## two commits in one run: make bench-compare A=main~3 B=main
	$(PY) bench/compare.py $(or $(A),$(error say which commits: make bench-compare A=main~1 B=main)) $(or $(B),HEAD) $(OPTIONS)

bench-policies: .venv/.ready ## what four ways of treating thinking lose; kept in docs/numbers
	$(PY) bench/policies.py

figures: .venv/.ready ## figures of the code, and what one request passes through; S=… counts another checkout
	$(PY) bench/code_figures.py $(if $(S),--source $(S))

soak: .venv/.ready $(CLIENTS) $(PYTHON_CLIENTS) ## the long counts, and a table of their numbers
	$(PY) -m tests.soak

lock: | .venv/bin/python ## compile requirements/*.txt and the clients' lock
	$(PY) -m pip install --quiet uv
	.venv/bin/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --group dev pyproject.toml -o requirements/dev.txt
	.venv/bin/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 pyproject.toml -o requirements/run.txt
	.venv/bin/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --extra postgres --extra jwt -c requirements/run.txt pyproject.toml -o requirements/image.txt
	.venv/bin/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --group pyproject.toml:clients -o requirements/clients.txt
	.venv/bin/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --group pyproject.toml:docs -o requirements/docs.txt
	$(MAKE) --no-print-directory .venv/.ready
	$(PY) -m tests.clients.npm install --package-lock-only

clean: ## remove what the targets made
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build bench/out tests/clients/node_modules tests/clients/.venv
