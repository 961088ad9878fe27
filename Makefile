# `make` lists what there is to do. Each target does one thing and says it after "##".

PYTHON ?= python3
VENV ?= .venv
NUMBER ?= 100000
ROUNDS ?= 10
BIN := $(VENV)/bin
# The day that printed outputs are made for: 2026-11-22.
TODAY := 1795305600
export CARGO_TARGET_DIR ?= $(CURDIR)/target

.DEFAULT_GOAL := help
.PHONY: help forge proof readers readers-core pages challenge homes site coverage nightly develop format lint types test test-rust test-python explorer explorer-check report exports-parse fuzz queueing sessions options schema readme prices bench bench-fleet calibrate calibrate-engines calibrate-training fidelity-serving fidelity-training measurements sixty backtest accuracy ci wheel clean brute staircase audit overlays soak faults engines engines-truth mutants large peers

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

develop: $(BIN)/python ## Editable install with everything that the tests need, in .venv
	$(BIN)/pip install --quiet 'maturin>=1.12.1,<2'
	$(BIN)/pip install --quiet --editable '.[test,arrow]' \
	  --config-settings=build-args=--profile=dev

format: ## Format Rust and Python
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: ## What review expects: formatting and lints of both languages, and types
	cargo fmt --all --check
	cargo clippy --all-targets -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PYTHONPATH=studies $(BIN)/lint-imports
	$(MAKE) types

types: ## mypy over the Python, stubtest over the compiled module
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest planopt._native --allowlist .mypy-stubtest-allowlist

test: test-rust test-python ## All tests

test-rust: ## Tests of the Rust core
	cargo test

test-python: ## Tests of the Python package and of the command line
	$(BIN)/pytest

explorer: ## Write planopt.html, the explorer's page over the core in WebAssembly (rustup target add wasm32-unknown-unknown)
	cargo build --quiet --package planopt-wasm --target wasm32-unknown-unknown --profile page
	$(BIN)/python tests/support/write_explorer.py \
	  $(CARGO_TARGET_DIR)/wasm32-unknown-unknown/page/planopt_wasm.wasm planopt.html

explorer-check: ## The explorer's page in Chromium; skipped where there is none
	env -u CI $(BIN)/pytest tests/explore

report: ## The report in Chromium, and its workbook in LibreOffice; skipped where there is none
	env -u CI $(BIN)/pytest tests/report

exports-parse: ## Exports through the tools' own parsers, as far as PARSERS=python has the tools
	rm -rf target/exports
	PYTHONPATH=tests/support $(BIN)/python tests/support/parse_exports.py write target/exports
	$(or $(PARSERS),$(BIN)/python) tests/support/parse_exports.py parse target/exports

fuzz: ## Laws, properties and the independent reference with new random cases, ROUNDS=10 times over
	for round in $$(seq $(ROUNDS)); do \
	  cargo test --release --quiet --package planopt-core --test laws || exit 1; \
	  env -u CI $(BIN)/pytest --quiet tests/properties tests/differential || exit 1; \
	done

forge: ## Change every leaf of saved plans (PLANS= files), or NUMBER= of them, and list which changes `planopt verify` takes
	PYTHONPATH=tests/support:python $(BIN)/python tests/support/forging.py $(PLANS) $(if $(findstring command,$(origin NUMBER)),--number $(NUMBER))

proof: ## Plans held against all columns of their questions, bounds by CP-SAT, HiGHS and SCIP from MPS (ten minutes)
	env -u CI $(BIN)/pytest --quiet --timeout 1800 tests/unit/test_proof.py

readers: ## Change what readers read, NUMBER=100000 times each (READERS= some of them), and keep what they fell over
	PYTHONPATH=tests/support:python:studies $(BIN)/python tests/support/fuzzing.py $(READERS) --number $(NUMBER)

readers-core: ## The same of the core's readers, NUMBER=100000 times each (START= the first)
	READERS_NUMBER=$(NUMBER) READERS_START=$(or $(START),0) cargo test --release --quiet --package planopt-core --test readers

queueing: ## The closed form of an engine against its simulation, 200 random cases (some 20 minutes)
	cargo test --release --package planopt-core --test queueing -- --ignored --nocapture two_hundred_random_cases

sessions: ## What sessions find against its simulation: 600 loads, 200 engines behind routers, both traces
	cargo test --release --package planopt-core --test queueing --test laws -- --ignored --nocapture 600_session behind_routers ten_capacities

options: ## Write types of keywords and docs/reference/options.md from the table of options
	$(BIN)/python tests/support/write_options.py

schema: ## Write docs/reference/plan.md from the documents
	$(BIN)/python tests/support/write_schema.py

readme: ## Show in README what its first command prints now
	COLUMNS=100 SOURCE_DATE_EPOCH=$(TODAY) $(BIN)/planopt solve --target 5tok/s --budget 20000 \
	  2>/dev/null | python3 tests/readme_commands.py --write README.md

prices: ## Show in docs/reference/catalogs.md how old the prices are that decide
	COLUMNS=120 SOURCE_DATE_EPOCH=$(TODAY) $(BIN)/planopt catalog prices \
	  | python3 tests/readme_commands.py --write docs/reference/catalogs.md

bench: ## Wall time and peak memory of the commands (release build; see docs/performance.md)
	$(BIN)/python benchmarks/commands.py

bench-fleet: ## What planning a fleet costs: five named instances, as a table
	$(BIN)/python benchmarks/fleet.py

calibrate: $(BIN)/python ## Fit what accelerators reach: TABLES= systems/data, PROFILE= rtx4090-llama-3.1-8b, VERSION=, DATE=
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.fits --tables "$(TABLES)" --profile "$(PROFILE)" --version "$(VERSION)" --date "$(DATE)"

calibrate-engines: $(BIN)/python ## Fit engines to serving figures: FILES= inference.csv and others, DATE=
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.fits.serving $(FILES) --date "$(DATE)"

fidelity-serving: $(BIN)/python ## Errors of serving left out, by engine, and groups that lean, seeded: FILES=
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.fits.serving $(FILES)

calibrate-training: $(BIN)/python ## Fit training and its error bars: DATA= files, DATE= (ten minutes of one core, release build)
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.fits.training $(foreach file,$(DATA),--data "$(file)") --date "$(DATE)"

fidelity-training: $(BIN)/python ## Errors of training in use and left out, seeded: DATA= files (four minutes of one core)
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.fits.fidelity --once $(foreach file,$(DATA),--data "$(file)")

measurements: $(BIN)/python ## Bring sources of measurements into the schema: SOURCES= folder
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.prepare \
	  $(addprefix $(SOURCES)/,training.csv inference.csv microbench.csv) \
	  --out catalogs/measurements --page docs/reference/measurements.md \
	  --floor $(addprefix $(SOURCES)/,serving_silicon.csv serving_silicon_dense_b200.csv mlperf_training.csv nonnvidia_inference.csv nonnvidia_training.csv)

pages: ## Write what commands print into the pages that show it
	COLUMNS=100 SOURCE_DATE_EPOCH=$(TODAY) $(BIN)/python tests/support/pages.py
	$(BIN)/python tests/support/write_codes.py
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.wrong

challenge: ## Write docs/explanation/challenge.md: the cheapest dollar for a speed (release build, ten minutes)
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.challenge

homes: ## Write docs/explanation/homes.md: the article's last chapter (five minutes)
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.homes

site: ## The documentation as a site in target/site; a link that leads nowhere fails
	$(BIN)/pip install --quiet 'mkdocs-material>=9.5' 'mkdocstrings[python]>=0.29'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --config-file .ci/mkdocs.yml

coverage: ## Lines that tests reach (TESTS= some): of the core by its own and by all of them, of Python (an hour of one core)
	$(BIN)/pip install --quiet 'coverage>=7.10'
	VENV=$(VENV) nice .ci/coverage $(TESTS)

nightly: ## Everything that is too long for the gate (hours)
	.ci/nightly

sixty: ## Sixty questions of a SEED: status, price, CPU seconds, and late requests with a seed never used
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.sixty $(if $(SEED),--seed $(SEED))

brute: ## Two hundred small catalogs, enumerated: no plan is dearer, none is cheaper than may be
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.brute

overlays: ## Random catalogs, steady steps: whether another search buys better than `solve` (1,000, some ten minutes)
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.overlays

staircase: ## Twenty staircases of promises: no plan is dearer than a cheaper one that holds
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.staircase

faults: ## POINTS=200 commands at a random moment of bad luck: disks, streams, signals, spoiled files (ten minutes)
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.faults $(if $(POINTS),--points $(POINTS))

peers: ## Ten questions beside another tool: PEER= its executable (some ten minutes)
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.peers $(PEER)

soak: ## A million evaluations and ten thousand questions on a hundred threads (hours)
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.soak

mutants: ## Two hundred formulas changed by SEED=2026, or SHARD=1/20 of them: whether tests notice (an hour in all; needs cargo-mutants)
	$(BIN)/pip install --quiet 'cosmic-ray>=8.4'
	command -v cargo-mutants >/dev/null || cargo install --quiet --locked cargo-mutants
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.mutants $(if $(SHARD),--shard $(SHARD)) $(if $(SEED),--seed $(SEED))

large: ## Questions of the largest sizes: what each takes (five minutes)
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.large

audit: ## What the search leaves out by itself, and what each of it costs who does not ask (six minutes)
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.audit

engines: ## Short runs of 300 engines against their truth by class, the bound of 1,000 (some ten minutes)
	cargo test --release --package planopt-core --test queueing engines -- --ignored --nocapture --skip the_truth

engines-truth: ## Write that truth again, after a change of what is simulated
	cargo test --release --package planopt-core --test queueing the_truth -- --ignored

backtest: $(BIN)/python ## What choices by predictions are worth: FILES= measurements of serving, prepared (two minutes); PEER= AISimulate's command, optional
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.backtest $(FILES) $(if $(PEER),--peer "$(PEER)")

accuracy: $(BIN)/python ## Write the error tables of README and docs from catalogs/measurements
	PYTHONPATH=studies:python $(BIN)/python -m planopt_studies.accuracy

wheel: $(BIN)/python ## A release wheel in dist/
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

ci: ## The gate, exactly as it runs for a change
	.ci/run

clean: ## Remove what was built
	cargo clean
	rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache
