# Everything a developer or CI does here; `make` alone lists it. Nothing is installed outside .venv and .cache.

VENV := .venv
PYTEST_ARGS ?=
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Where every framework is: one environment per major version of `openai`, beside .venv, which stays small.
STANDS := openai2 openai3
STAND_STAMPS := $(STANDS:%=.venv-%/.installed)

# An empty or read-only HOME must do.
UV_CACHE_DIR ?= $(CURDIR)/.cache/uv
# The Python is the one found below; uv fetches none.
UV_PYTHON_DOWNLOADS ?= never
export UV_CACHE_DIR UV_PYTHON_DOWNLOADS
# A Python path from outside would put other packages before the pinned ones.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

# uv reads no pip settings. Who has set up pip for a proxy's certificates or for a mirror has set up uv too.
define uv
pip_setting() { $(BIN)/python -m pip config list 2>/dev/null | sed -n "s/^global\.$$1='\(.*\)'\$$/\1/p"; }; \
cert="$${SSL_CERT_FILE:-$${PIP_CERT:-$$(pip_setting cert)}}"; \
index="$${UV_DEFAULT_INDEX:-$${UV_INDEX_URL:-$${PIP_INDEX_URL:-$$(pip_setting index-url)}}}"; \
if [ -n "$$cert" ]; then export SSL_CERT_FILE="$$cert"; fi; \
if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi; \
$(BIN)/uv
endef

compile = $(uv) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
  --annotation-style line $(if $(UPGRADE),--upgrade)

.DEFAULT_GOAL := help
.PHONY: help setup stands check test conformance figures overhead demo build requirements clean

help:
	@echo 'make setup         create $(VENV) with everything pinned in requirements/ (PYTHON=python3.13 picks the Python)'
	@echo 'make stands        create .venv-openai2 and .venv-openai3, which hold every framework (1.5 GB)'
	@echo 'make check         format, lint, types, and who imports whom'
	@echo 'make test          check, then the tests (PYTEST_ARGS="-k digest" goes to pytest)'
	@echo 'make conformance   start programs in every way we know and let them misbehave: docs/launching.md'
	@echo 'make demo          run the demo'
	@echo 'make figures       measure docs/figures.md again, by the tests that it names'
	@echo 'make overhead      measure docs/overhead.md again: what recording costs on each framework'
	@echo 'make build         wheel and sdist into dist/'
	@echo 'make requirements  pin requirements/ again from pyproject.toml (UPGRADE=1 takes newer releases)'
	@echo 'make clean         remove all that make has made, $(VENV) and .cache too'

setup: $(STAMP)

# An environment that still works is brought up to date, not made again. To change its Python: make clean setup PYTHON=…
$(STAMP): pyproject.toml requirements/uv.txt requirements/dev.txt
	@set -eu; \
	fail() { printf 'make setup: expected %s\n            found    %s\n            next     %s\n' "$$1" "$$2" "$$3" >&2; exit 1; }; \
	usable='import sys; sys.exit(sys.version_info < (3, 11))'; \
	if ! $(BIN)/python -c "$$usable" 2>/dev/null || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  python=; found=; tried='$(or $(PYTHON),python3 python3.13 python3.12 python3.11)'; \
	  for candidate in $$tried; do \
	    version=$$("$$candidate" -c 'import platform; print(platform.python_version())' 2>/dev/null) || continue; \
	    if ! "$$candidate" -c "$$usable"; then found="$$found, $$candidate is $$version"; continue; fi; \
	    if ! "$$candidate" -c 'import ensurepip, venv' 2>/dev/null; then found="$$found, $$candidate ($$version) lacks venv or ensurepip"; continue; fi; \
	    python=$$candidate; break; \
	  done; \
	  [ -n "$$python" ] || fail 'a Python 3.11 or newer with venv and ensurepip' "none among $$tried$${found:+:$${found#,}}" \
	    'install one (on Debian and Ubuntu python3-venv too), or name one: make setup PYTHON=/path/to/python3'; \
	  echo "setup: $(VENV) with $$python ($$version)"; \
	  "$$python" -m venv --clear $(VENV); \
	fi
	@echo 'setup: uv, then the pinned requirements'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/uv.txt
	@$(uv) pip sync --quiet --python $(BIN)/python --require-hashes requirements/uv.txt requirements/dev.txt
	@$(uv) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@
	@echo 'setup: done'

# The programs of the framework tests run in these; pytest itself stays in .venv.
stands: $(STAND_STAMPS)

.venv-%/.installed: pyproject.toml requirements/%.txt $(STAMP)
	@echo 'setup: .venv-$* with the frameworks of requirements/$*.txt'
	@$(uv) venv --quiet --allow-existing --python $(BIN)/python .venv-$*
	@$(uv) pip sync --quiet --python .venv-$*/bin/python --require-hashes requirements/$*.txt
	@$(uv) pip install --quiet --python .venv-$*/bin/python --no-deps --no-build-isolation --editable .
	@touch $@

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-logo

# Two processes, since most of a test's time is a program that starts; a file's tests stay together and share their stand.
test: check stands
	$(BIN)/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

conformance: setup stands
	ANCHORED_CONFORMANCE=20 ANCHORED_FRAMEWORKS=docs/frameworks.md ANCHORED_LAUNCHING=docs/launching.md \
	  $(BIN)/python -m pytest -q -n 2 --dist loadfile tests/conformance tests/frameworks/test_conformance.py

figures: setup
	ANCHORED_THOROUGH=1 ANCHORED_FIGURES=docs/figures.md $(BIN)/python -m pytest -q tests/frameworks tests/storage tests/replaying

overhead: setup stands
	$(BIN)/python benchmarks/overhead.py --page docs/overhead.md

demo: setup
	$(BIN)/python demo/run.py

# The build tools are pinned in .venv, so no isolated environment fetches others.
build: setup
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

# core.txt is dev.txt less what only developers need, so that what is tested is what is installed.
requirements: setup
	@$(compile) --group bootstrap --output-file requirements/uv.txt
	@$(compile) --extra testing --extra ag2 --group dev --output-file requirements/dev.txt pyproject.toml
	@$(compile) --constraints requirements/dev.txt --output-file requirements/core.txt pyproject.toml
	@for stand in $(STANDS); do $(compile) --group $$stand --output-file requirements/$$stand.txt pyproject.toml; done
	@if grep -nE '://|file:|^ *-(-[^h]|[^-])' requirements/*.txt; then echo 'requirements: an address, a path or an option has got in (above)' >&2; exit 1; fi
	@git diff --stat -- requirements 2>/dev/null || true

clean:
	rm -rf $(VENV) $(STANDS:%=.venv-%) .cache build dist .hypothesis .import_linter_cache .pytest_cache .ruff_cache
