# Everything a person or a CI machine does with this repository.
# It needs Rust, Python and a C compiler; the rest goes into ./.venv.

VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
TCPS := tahoe,reno,newreno,sack,cubic

# The first of these that is new enough; `make PYTHON=/path/to/python3.12 demo` names another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
CARGO ?= cargo
export PATH := $(PATH):$(HOME)/.cargo/bin

# On a CI machine the lock file is law; at a desk a new dependency may still enter it.
LOCKED := $(if $(CI),--locked)

# Make's limit of jobs is one of its own parts: cargo would keep to it, too (make 4.4 and newer),
# or look in vain for who hands the jobs out (older; both name it).
unexport MAKEFLAGS MFLAGS

# One interpreter for maturin, clippy and the tests, so that none of them rebuilds PyO3 for the
# next. An extension module takes Python's symbols from its host: nothing links libpython.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PYO3_BUILD_EXTENSION_MODULE := 1
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1

# On a CI machine all is built once, in one profile that is quick to build and not slow to run:
# the extension, the Rust tests, clippy and rustdoc share what they can. At a desk the extension is
# as fast as it gets, and Rust tests are built with what debuggers need.
PROFILE := $(if $(CI),--profile ci)
EXTENSION_PROFILE := $(or $(PROFILE),--release)

# There the parts of `make test` run beside each other. Emulations go first: their clock is the
# world's.
NICE := $(if $(CI),nice -n 19)

# Stamps: what they stand for is done again only when one of their sources changed.
TOOLS := $(VENV)/.tools
EXTENSION := $(VENV)/.extension
QUICK := $(VENV)/.extension-quick
DOCS := $(VENV)-docs/.tools
WHEELS := $(VENV)-wheels/.tools
RUST_SOURCES := $(shell find crates scenarios -type f -not -path '*/tests/*' -not -path '*/benches/*')

.DEFAULT_GOAL := help
# A recipe that fails leaves no file that looks finished.
.DELETE_ON_ERROR:
.PHONY: help demo docs build build-pgo web test-web engine-wasm check-wasm check-node check-chromium wheels wheels-trial validate test test-rust test-python test-emulator test-long lint fmt deny mutants mutants-python bench bench-against bench-cores bench-peers bench-emu lock clean check-machine check-python

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# An extension that `make build` made serves as well.
demo: $(if $(wildcard $(EXTENSION)),$(EXTENSION),$(QUICK)) ## Build into .venv, then download 50 MB over a GEO satellite under five TCPs
	$(BIN)/farlink run geo-omueti2007 --tcp $(TCPS) --out demo/lossless --plot --pcap --snaplen 96
	$(BIN)/farlink run geo-lossy --tcp $(TCPS) --runs 30 --out demo/lossy --plot --pcap --snaplen 96
	@printf '\nPlots (PNG, SVG), traces (Parquet) and captures (pcapng) are in\n  %s\n  %s\n' \
		'$(CURDIR)/demo/lossless' '$(CURDIR)/demo/lossy'

build: $(EXTENSION) ## Build the Python package into .venv

# The page for the browser, as static files that the wheel carries; `make engine-wasm` makes its engine.
ENGINE_WASM := web/public/engine.wasm.xz
WEB := python/farlink/web/index.html
WEB_TOOLS := web/node_modules/.package-lock.json
WEB_SOURCES := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/tests/*' -not -name '*.xz')
web: check-node check-wasm $(WEB) ## Build the page for the browser into python/farlink/web (needs Node and wasm32)
$(WEB): $(WEB_SOURCES) $(ENGINE_WASM) $(WEB_TOOLS) tools/pack_page.py
	cd web && $(NICE) npm run --silent build
	$(PYTHON) tools/pack_page.py python/farlink/web python/farlink/web.tar.xz
	@touch $@

# What .ci/run could not install is no failure there; at a desk it is one line and exit code 2.
WEB_LACKS := $(filter node wasm32 chromium,$(FARLINK_NO_TOOLS))
ifeq ($(WEB_LACKS),)
test-web: $(WEB) | check-chromium ## The tests of the page: lints, types, functions, the page in Chromium, wasm against native
	cd web && $(NICE) npm run --silent lint && $(NICE) npm run --silent types
	cd web && $(NICE) npm run --silent unit && $(NICE) npm run --silent browser
	$(NICE) $(CARGO) test $(LOCKED) $(PROFILE) --workspace -q --test wasm -- --ignored recorded_runs_have_equal_digests
else
test-web:
	@echo "the page is not tested: $(WEB_LACKS) could not be installed here"
endif

CHROMIUM ?= /usr/bin/chromium
export CHROMIUM
check-chromium:
	@test -x "$(CHROMIUM)" || { echo "the tests of the page need Chromium, and there is no $(CHROMIUM)." \
		"Install it (Debian: apt-get install chromium), or name it: make CHROMIUM=/path/to/chrome test-web" >&2; exit 2; }

$(WEB_TOOLS): web/package-lock.json web/package.json | check-node
	cd web && npm ci --silent
	@touch $@

check-node:
	@node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null \
		&& npm --version >/dev/null 2>&1 || { echo "the web page needs Node 20.19 or newer with npm, and this is" \
		"$$(node --version 2>/dev/null || echo missing). Everything else works without" >&2; exit 2; }

# The engine for the browser. A toolchain of Debian has the target in the package rustc-web.
engine-wasm: $(ENGINE_WASM) ## Build the engine of the web page into web/public
$(ENGINE_WASM): $(RUST_SOURCES) Cargo.toml Cargo.lock tools/pack_engine.py | check-wasm check-python
	$(CARGO) build $(LOCKED) --profile web -p farlink-web --target wasm32-unknown-unknown
	@mkdir -p $(@D)
	$(PYTHON) tools/pack_engine.py target/wasm32-unknown-unknown/web/farlink_web.wasm $@

check-wasm: check-machine
	@test -d "$$(rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null)" || { \
		echo "the web page needs Rust's target wasm32-unknown-unknown. Run: rustup target add" \
		"wasm32-unknown-unknown (Debian: apt-get install rustc-web lld)" >&2; exit 2; }

# Zig links for each target, so that one machine builds all of them; `make wheels TARGET=...` builds one.
wheels: $(WHEELS) $(WEB) | check-machine ## Write wheels (x86-64, aarch64, musl) and the source archive into dist/
	$(VENV)-wheels/bin/python tools/wheels.py build $(TARGET)

wheels-trial: $(WHEELS) ## Install a wheel of dist/ in a fresh environment of each Python, and use it there
	$(VENV)-wheels/bin/python tools/wheels.py try $(or $(WHEEL),$(wildcard dist/farlink-*manylinux*_x86_64.whl))

# Needs neither Rust nor the extension. Warnings are errors; then links inside the site are checked,
# and that no page requests anything from another host.
SITE := build/site
docs: $(DOCS) ## Build the documentation site into build/site
	$(NICE) $(VENV)-docs/bin/python -m sphinx -q -W --keep-going -j 2 -c tools/docsite -d build/doctrees . $(SITE)
	@rm -rf $(SITE)/live
	@if test -f $(WEB); then mkdir $(SITE)/live && cp -r $(dir $(WEB)). $(SITE)/live && \
		rm -f $(SITE)/live/single.html $(SITE)/live/widget.*; fi
	$(NICE) $(VENV)-docs/bin/python tools/docsite/check.py $(SITE)
	@echo 'The site is $(CURDIR)/$(SITE)/index.html'

# Built once to count what is run, and once more with what was counted. Traces and captures are
# among it: what is never seen to run is taken to be cold.
PROFILES := target/pgo
PROFDATA = $(firstword $(wildcard $(shell rustc --print sysroot)/lib/rustlib/*/bin/llvm-profdata))
build-pgo: $(TOOLS) ## The same, optimised by what typical runs do (minutes; needs llvm-tools of rustup)
	@test -n "$(PROFDATA)" || { echo "this needs llvm-profdata: rustup component add llvm-tools" >&2; exit 2; }
	rm -rf $(PROFILES)
	RUSTFLAGS='-Cprofile-generate=$(CURDIR)/$(PROFILES)/raw' $(RUN) maturin develop --release --target-dir $(PROFILES)/counted
	$(BIN)/python tools/typical_runs.py
	$(PROFDATA) merge -o $(PROFILES)/typical.profdata $(PROFILES)/raw
	RUSTFLAGS='-Cprofile-use=$(CURDIR)/$(PROFILES)/typical.profdata' $(RUN) maturin develop --release --target-dir $(PROFILES)/built
	@touch $(EXTENSION)

# At a desk what is quick comes first; where parts run beside each other, what others wait for.
PARTS := test-rust test-python test-emulator $(if $(CI),test-web)
test: $(if $(CI),$(PARTS) lint docs,lint docs $(PARTS)) ## All that CI checks: format, lints, types, site, Rust and Python tests

# The extension module holds glue only, and is tested from Python; it is in the workspace here, so
# that its dependencies are built with the features that it needs them with.
#
# Properties are tried on the same cases each time: whether a change passes must not be a matter of
# chance. `make test-long` and a `cargo test` of your own look for new ones.
test-rust: check-machine ## The Rust tests
	PROPTEST_RNG_SEED=1 PROPTEST_CASES=100 $(CARGO) test $(LOCKED) $(PROFILE) --workspace

test-python: $(EXTENSION) ## The Python tests, without those of the emulator
	$(NICE) $(RUN) pytest -m "not long" -rs -n auto --dist worksteal tests/repo tests/captures tests/python tests/validation

# Emulations run in real time and mostly wait, so several of them share a machine without
# disturbing each other's clocks; those that are work are in a group that runs one at a time.
test-emulator: $(EXTENSION) ## The tests of the emulator (Linux, root; skipped elsewhere)
	$(RUN) pytest -m "not long" -rs -n 6 --dist loadgroup tests/emulator

# Every property is tried on 256 times the cases, and on new ones each time.
test-long: $(EXTENSION) $(WEB) | check-chromium ## The tests that take minutes: half a million faults for every TCP, long statistics
	$(CARGO) test $(LOCKED) --release --workspace -- --ignored
	PROPTEST_CASES=25600 $(CARGO) test $(LOCKED) --release --workspace --lib --tests
	$(RUN) pytest -m long -rs tests || test $$? = 5 # 5: there is none
	cd web && FARLINK_SEED=$$(date +%s) npm run --silent unit
	cd web && FARLINK_LONG=1 npm run --silent browser -- lesson-hints

# On a CI machine the extension is built before clippy takes cargo's lock: the longest tests wait for it.
lint: $(TOOLS) $(if $(CI),| $(EXTENSION)) ## Format, clippy, documentation links, ruff and mypy, all without changing a file
	$(CARGO) fmt --all --check
	$(NICE) $(CARGO) clippy $(LOCKED) $(PROFILE) --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings -A rustdoc::private_intra_doc_links' $(NICE) $(CARGO) doc $(LOCKED) $(PROFILE) --workspace --no-deps --document-private-items --quiet
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(NICE) $(RUN) mypy --strict python tests tools

# A quarter of an hour on two processors; ROW=bbr makes one row anew. The last line brings the words into the
# pages that the Rust tests hold.
validate: $(EXTENSION) ## Run every TCP over the matrix of docs/validation.md and write words and tables
	$(BIN)/python tests/validation/validate.py $(if $(ROW),$(addprefix --row ,$(ROW)))
	UPDATE_DOCS=1 $(CARGO) test $(LOCKED) $(PROFILE) -p farlink-scenario --lib tcp_pages

# Advisories need their database from the network; without it the rest is checked all the same,
# and tests/repo checks licences and sources where cargo-deny is not installed.
deny: check-machine ## Licences, duplicates, sources and advisories of the Rust tree (needs cargo-deny)
	@$(CARGO) deny --version >/dev/null 2>&1 || { echo "this needs cargo-deny: cargo install cargo-deny" >&2; exit 2; }
	$(CARGO) deny --locked --offline check licenses bans sources
	@if $(CARGO) deny --locked fetch db >/dev/null 2>&1; then $(CARGO) deny --locked check advisories; else \
		echo "the advisory database could not be fetched: advisories were not checked"; fi

fmt: $(TOOLS) ## Format the Rust and Python sources in place
	$(CARGO) fmt --all
	$(RUN) ruff check --fix
	$(RUN) ruff format

# `make mutants SAMPLE=3/40 PLACES='recovery arq'` takes every fortieth of two folders;
# QUICK='--test arq_links' names tests that run before all others.
mutants: $(EXTENSION) ## Wrong changes, one at a time, that a test must notice (hours; SAMPLE=1/40 for a part)
	$(BIN)/python tools/core_mutants.py $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(LAST),--last $(LAST)) $(if $(AGAIN),--again) $(PLACES) $(if $(QUICK),-- $(QUICK))

mutants-python: $(EXTENSION) ## The same of the Python that judges results (minutes)
	$(BIN)/python tools/python_mutants.py

# `make bench CASES='one-hop geo'` runs those whose names contain one of the parts.
bench: check-machine ## Time, instructions and memory of whole runs, beside a bare heap (minutes)
	$(CARGO) bench $(LOCKED) -p farlink-sim --bench workloads -- $(CASES)

# `make bench-against BASE=v1 CASES=geo COUNT=1` counts instructions instead of timing.
bench-against: check-machine ## The same cases with the sources of commit BASE, in turns with these
	@test -n "$(BASE)" || { echo "write what to compare with: make bench-against BASE=commit" >&2; exit 2; }
	$(PYTHON) tools/bench_against.py $(if $(COUNT),--instructions) $(BASE) $(CASES)

bench-cores: check-machine ## One run on several cores: measured here, computed for up to 64
	$(CARGO) bench $(LOCKED) -p farlink-sim --bench cores -- $(if $(SCENARIO),$(abspath $(SCENARIO)))

bench-peers: check-machine ## The same cases beside recorded figures of ns-3 and htsim
	$(PYTHON) tools/bench_peers.py

bench-emu: $(EXTENSION) ## Exactness and throughput of the emulator against bare devices (Linux, root)
	$(BIN)/python tools/bench_emulator.py

lock: check-machine ## Resolve the Python packages anew and write the three lock files
	rm -rf $(VENV) && $(PYTHON) -m venv $(VENV)
	$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); \
		print(*p["project"]["dependencies"], *p["dependency-groups"]["development"], sep="\n")' > $(VENV)/wanted
	$(RUN) pip install --upgrade pip -r $(VENV)/wanted
	$(RUN) pip freeze --all --exclude setuptools --exclude wheel > requirements-dev.lock
	rm -rf $(VENV)-docs && $(PYTHON) -m venv $(VENV)-docs
	$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); \
		print(*p["dependency-groups"]["docs"], sep="\n")' > $(VENV)-docs/wanted
	$(VENV)-docs/bin/python -m pip install --upgrade pip -r $(VENV)-docs/wanted -c requirements-dev.lock
	$(VENV)-docs/bin/python -m pip freeze --all --exclude setuptools --exclude wheel > requirements-docs.lock
	rm -rf $(VENV)-wheels && $(PYTHON) -m venv $(VENV)-wheels
	$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); \
		print(*p["dependency-groups"]["wheels"], sep="\n")' > $(VENV)-wheels/wanted
	$(VENV)-wheels/bin/python -m pip install -r $(VENV)-wheels/wanted
	$(VENV)-wheels/bin/python -m pip freeze > requirements-wheels.lock

clean: ## Remove everything that was built
	rm -rf target build $(VENV) $(VENV)-docs $(VENV)-wheels demo dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests -name __pycache__ -prune -exec rm -rf {} +
	rm -rf python/farlink/web python/farlink/web.tar.xz web/node_modules web/public/engine.wasm.xz
	rm -f python/farlink/_farlink*.so

# One line that says what is missing, rather than the tenth message after it.
check-machine: check-python
	@"$(CARGO)" --version >/dev/null 2>&1 || { echo "farlink needs Rust 1.88 or newer, and there" \
		"is no cargo here. Install it from https://rustup.rs" >&2; exit 2; }
	@"$(CARGO)" --version | awk '{ split($$2, v, "."); exit !(v[1] > 1 || v[2] >= 88) }' || { \
		echo "farlink needs Rust 1.88 or newer, and this is $$("$(CARGO)" --version)." \
		"Run: rustup update" >&2; exit 2; }
	@command -v cc >/dev/null || { echo "farlink needs a C compiler to link with, and there is no" \
		"cc here. Install gcc or clang." >&2; exit 2; }

# The lock names all that is needed; what is imported is compiled then.
$(TOOLS): requirements-dev.lock | check-machine
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) cannot make" \
		"a virtual environment: install its venv module (Debian, Ubuntu: python3-venv)" >&2; exit 2; }
	$(RUN) pip install --no-deps --no-compile -r requirements-dev.lock
	@touch $@

$(EXTENSION): $(TOOLS) $(RUST_SOURCES) Cargo.toml Cargo.lock pyproject.toml
	$(RUN) maturin develop $(EXTENSION_PROFILE) $(LOCKED)
	@touch $@

# Crates are compiled while packages are installed: the second waits for the network mostly.
$(QUICK): requirements-dev.lock $(RUST_SOURCES) Cargo.toml Cargo.lock pyproject.toml | check-machine
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) cannot make" \
		"a virtual environment: install its venv module (Debian, Ubuntu: python3-venv)" >&2; exit 2; }
	@$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); \
		print(*p["project"]["dependencies"], *p["build-system"]["requires"], sep="\n")' > $(VENV)/wanted
	@$(CARGO) build $(LOCKED) --profile quick -p farlink-py & \
		$(RUN) pip install --no-compile -r $(VENV)/wanted -c requirements-dev.lock && wait $$!
	$(RUN) maturin develop --profile quick $(LOCKED)
	@touch $@

check-python:
	@$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "farlink needs Python 3.11 or newer, and $(or $(PYTHON),python3) here is" \
		"$$($(or $(PYTHON),python3) -V 2>/dev/null || echo missing)." \
		"Install one, or name it: make PYTHON=/path/to/python3.12" >&2; exit 2; }

$(DOCS): requirements-docs.lock | check-python
	@test -x $(VENV)-docs/bin/pip || $(PYTHON) -m venv $(VENV)-docs || { rm -rf $(VENV)-docs; echo "$(PYTHON) cannot make" \
		"a virtual environment: install its venv module (Debian, Ubuntu: python3-venv)" >&2; exit 2; }
	$(VENV)-docs/bin/python -m pip install --no-deps -r requirements-docs.lock
	@touch $@

$(WHEELS): requirements-wheels.lock | check-python
	@test -x $(VENV)-wheels/bin/pip || $(PYTHON) -m venv $(VENV)-wheels
	$(VENV)-wheels/bin/python -m pip install --no-deps -r requirements-wheels.lock
	@touch $@
