# A thin front door to Meson; `make help` lists what there is. Each kind of build
# has a directory of its own, so that switching between them costs nothing.

MESON = $(or $(wildcard /usr/bin/meson),meson)
NINJA = $(or $(wildcard /usr/bin/ninja),ninja)

PREFIX ?= /usr/local
DESTDIR ?=
MINUTES ?= 1
# PACKAGES=skip leaves the machine's packages alone.
PACKAGES ?= install

.PHONY: all demo quick check check-full check-san agents-here agents-newest sim sim-mutants soak bench fuzz coverage lint tidy check-fresh install docs \
	failure-times format clean help packages-% compile-%

all: compile-build

help:
	@echo 'make              build (gcc) in build/'
	@echo 'make demo         install what is missing, build, show the main job in a scratch repository'
	@echo 'make quick        lint, unit, golden, scenario and store tests (15 s after a build)'
	@echo 'make check        install what is missing, build with gcc and clang, lint, test (10 min at most)'
	@echo 'make check-full   after check: sanitizers, valgrind, all real agents, full sizes (50 min at most)'
	@echo 'make check-san    of check-full only what runs with ASan and UBSan'
	@echo 'make agents-newest  the tests of the real agents with their newest versions: a report; AGENTS="claude codex"'
	@echo 'make sim          the simulator: fixed seeds; SEED=n shows one, MINUTES=m explores new ones'
	@echo 'make sim-mutants  planted bugs, and by which invariant the simulator finds each of them'
	@echo 'make soak         everything at full size; the result goes to docs/soak.md'
	@echo 'make bench        benchmarks, one JSON line each'
	@echo 'make fuzz         all fuzzers, MINUTES=1 in total'
	@echo 'make coverage     lines covered by the tests; base, data, agent and core need 95 %'
	@echo 'make lint         layers, purity, format, texts'
	@echo 'make tidy         clang-tidy on changed files; ALL=1 for the whole tree'
	@echo 'make check-fresh  make demo and make check in a new Debian 12 (debootstrap, root)'
	@echo 'make install      PREFIX=/usr/local DESTDIR='
	@echo 'make docs         regenerate the documents that come from tables'
	@echo 'make failure-times  measure the times of docs/failures.md anew'
	@echo 'make format       clang-format'
	@echo 'make clean        remove all build directories'

packages-%:
	@$(if $(filter skip,$(PACKAGES)),true,tools/install-packages $(subst -, ,$*))

build/build.ninja:
	CC=gcc $(MESON) setup build
# For what clang has to say, and for its traces of the simulator: neither needs its optimiser.
build-clang/build.ninja:
	CC=clang $(MESON) setup build-clang -Doptimization=0 -Ddebug=false
build-inject/build.ninja:
	CC=gcc $(MESON) setup build-inject -Dinject=true
build-san/build.ninja:
	CC=clang $(MESON) setup build-san -Dinject=true -Db_sanitize=address,undefined -Db_lundef=false
build-cov/build.ninja:
	CC=gcc $(MESON) setup build-cov --buildtype=debug -Db_coverage=true
build-fuzz/build.ninja:
	CC=clang $(MESON) setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false

# A build configured before the test packages were there gets its tests now.
compile-%: %/build.ninja
	@test -e $*/tests/enabled || ! pkg-config --exists cmocka || $(MESON) setup --reconfigure $*
	@$(NINJA) -C $* $(NINJA_TARGETS)

demo: packages-run-build
	@$(MAKE) --no-print-directory all
	@examples/demo/run build

# tests/tiers.toml says which test runs in which tier.
quick: packages-run-build-test
	@$(MAKE) --no-print-directory compile-build
	@tools/run-tests --tier quick

check: packages-run-build-test
	@$(MAKE) --no-print-directory compile-build compile-build-clang
	@$(MAKE) --no-print-directory compile-build-inject NINJA_TARGETS=crash-programs
	@$(MAKE) --no-print-directory agents-here
	@tools/run-tests --results build/results.txt --tier check \
		--step 'the same traces with gcc and clang' 'tools/sim-same build build-clang'

check-full: packages-run-build-test
	@$(MAKE) --no-print-directory compile-build compile-build-clang compile-build-san
	@$(MAKE) --no-print-directory compile-build-inject NINJA_TARGETS=crash-programs
	@$(MAKE) --no-print-directory agents-here
	@tools/run-tests --results build-san/results.txt --tier full \
		--step 'clang-tidy on changed files' tools/tidy

check-san: packages-run-build-test
	@$(MAKE) --no-print-directory compile-build-san
	@tools/run-tests --tier full --only build-san

agents-here:
	@$(if $(filter skip,$(PACKAGES)),,tools/install-packages agents &&) tools/agents-cache >build/agents.json || \
		{ cat build/agents.json; echo 'The real agents are not here: their tests will say so.'; }

# What npm calls the newest changes from one day to the next: a report, and no part of the tiers.
agents-newest: packages-run-build-test
	@$(MAKE) --no-print-directory compile-build
	@$(if $(filter skip,$(PACKAGES)),,tools/install-packages agents &&) tools/agents-try --jobs 2 $(AGENTS)

# SEED=n shows one history, and takes what a failure prints: WITHOUT= SKIP= GOALS= NODES= FLEET=1 NIGHT=1.
SIM = build/tests/sim/sim
SIM_OPTIONS = $(WITHOUT:%=--without %) $(SKIP:%=--skip %) $(GOALS:%=--goals %) $(NODES:%=--nodes %) \
	$(if $(FLEET),--fleet) $(if $(NIGHT),--night)
sim: packages-run-build-test
	@$(MAKE) --no-print-directory compile-build NINJA_TARGETS=tests/sim/sim
ifdef SEED
	@$(SIM) --seed $(SEED) $(SIM_OPTIONS)
else ifeq ($(origin MINUTES),file)
	@$(SIM) --file tests/sim/seeds.txt
	@$(SIM) --seeds 1..2000 $(SIM_OPTIONS)
	@tests/sim/test_reports.py $(SIM) 1..500
	@$(MAKE) --no-print-directory compile-build-cov NINJA_TARGETS=tests/sim/sim
	@tools/sim-coverage build-cov
else
	@$(SIM) --minutes $(MINUTES) --all $(SIM_OPTIONS)
endif

sim-mutants: packages-run-build-test
	@tools/sim-mutants --jobs 2 --work build/mutants

lint: packages-run-build-test
	@$(MAKE) --no-print-directory compile-build
	@tools/run-tests build:lint

tidy: packages-run-build-test
	@$(MAKE) --no-print-directory compile-build-clang
	@tools/tidy $(if $(ALL),--all)

coverage: packages-run-build-test
	@$(MAKE) --no-print-directory compile-build-cov
	@tools/coverage build-cov

fuzz: packages-run-build-test
	@$(MAKE) --no-print-directory compile-build-fuzz NINJA_TARGETS=fuzzers
	@tools/fuzz build-fuzz $(MINUTES)

bench: packages-run-build
	@$(MAKE) --no-print-directory compile-build
	@tests/bench/run build

soak: packages-run-build-test
	@tools/soak

check-fresh: packages-package
	@tools/check-fresh

install: all
	$(MESON) configure build -Dprefix=$(PREFIX)
	DESTDIR=$(DESTDIR) $(MESON) install -C build

docs: all
	@tools/gen-docs build
	@tools/failures-table
	@tools/hearing-table

# What the recovery of each row of docs/failures.md takes.
failure-times: all
	@rm -f build/failure-times.jsonl
	OV_FAILURE_TIMES=$(CURDIR)/build/failure-times.jsonl $(MESON) test -C build --no-rebuild --suite failures
	@tools/failures-table --times build/failure-times.jsonl

format:
	@tools/check-format --fix

clean:
	rm -rf build build-clang build-inject build-san build-cov build-fuzz
