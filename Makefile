# Heddle, for people. CMakePresets.json has the builds themselves.
#
#   make deps        install what is needed (Debian packages; root)
#   make build       the program in build/PRESET, with CUDA if nvcc is there; the files of a folder are compiled as one, which
#                    `cmake --preset cuda -DHEDDLE_UNITY=OFF` ends while you change few of them
#   make demo        run the demo chain on a capture of real traffic
#   make test        all tests that this machine can run, JOBS at once; HEDDLE_TEST_LOAD=4: beside four busy loops
#   make test-all    the same with all combinations of options in the place of pairs, and random tests much longer (HEDDLE_FULL=1)
#   make fuzz        the fuzz targets under ASan, SECONDS=480 in all; ONLY=NAME for one; FUZZ_SEED=N repeats a run
#   make bench       benchmarks: table and build/bench.json; ONLY=NAME for one
#   make figures     the papers' figures, as far as this machine can: docs/results; ONLY=NAME for one
#   make asan tsan   the tests under sanitizers (tsan: clang's, those of shared memory)
#   make lint fmt    check, or mend, style
#   make docs        docs/elements/ from the headers
#   make man         manual pages in build/*/man: heddle(1), and heddle-CLASS(7) of each element
#   make bundle      one folder for a GPU machine without internet, DPDK or compiler
#   make gpu-test gpu-bench   the same on a machine with a GPU; a skipped GPU test is a failure
#   python3 tests/soak.py PROGRAM   ten minutes each of all that can change under load (the bundle: soak/soak.py)
#   make clean

SHELL := /bin/bash
NVCC := $(shell command -v nvcc)
PRESET ?= $(if $(NVCC),cuda,cpu)
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
COMMIT := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
PYTHON := /usr/bin/python3
# Sources whose style is ours to keep.
CXX_FILES = $(shell git ls-files '*.h' '*.cc' '*.cu' '*.cuh' 'simt/include/*')

.PHONY: help deps build demo test test-all test-cpp test-whole asan tsan fuzz bench figures lint tidy fmt docs man bundle gpu-test gpu-bench clean

help:
	@sed -n '3,/^$$/s/^#\( \|$$\)//p' Makefile

# Debian 12 has the newest of Suricata in its backports; other systems take what they have.
BACKPORTS := bookworm-backports
deps:
	@if grep -q bookworm /etc/os-release && ! grep -rqs $(BACKPORTS) /etc/apt/sources.list /etc/apt/sources.list.d; then \
	  echo "adding $(BACKPORTS) to apt's sources" && $(SUDO) apt-get update -qq && mirror=$$(apt-get indextargets --format '$$(REPO_URI)' 'Codename: bookworm' | head -n 1) && \
	  echo "deb $${mirror:?run apt-get update} $(BACKPORTS) main" | $(SUDO) tee /etc/apt/sources.list.d/$(BACKPORTS).list >/dev/null; fi
	$(SUDO) apt-get update -qq
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	  $$(grep -q bookworm /etc/os-release && grep -v '^#' dependencies.txt || sed '/^#/d; s|/.*||' dependencies.txt)

build/%/build.ninja: CMakePresets.json
	cmake --preset $* >/dev/null

build: $(BUILD)/build.ninja
	ninja -C $(BUILD) -j $(JOBS) --quiet

demo: build
	$(BUILD)/heddle plan chains/demo.click
	$(BUILD)/heddle run chains/demo.click
	@ls -l build/demo_*

test: build test-cpp test-whole

test-all: export HEDDLE_FULL := 1
test-all: test

test-cpp: build
	JOBS=$(JOBS) tests/run.sh $(BUILD) cpp

test-whole: build
	$(PYTHON) -m pytest -q -n $(JOBS) gopt/tests
	JOBS=$(JOBS) tests/run.sh $(BUILD) whole

# One tree for the tests and the fuzz targets: they link the same objects. Without launch mode sync of tests that have
# async, too: it launches the same kernels, and waits. And of tests of functions, and of their matrix (MatrixTest),
# whose code is the same in every mode, without three modes more: they run on the CPU, where packets lie (persistent)
# and in copies of them (async_coalescent; not those of a classifier's changes, which are to its tables). Rule sets of
# ClassBench are not built once more by auto, which takes another engine's structure, and large ones not as trees,
# which take longest. Tests of the modes themselves, in engine/ and tests/, keep these; without ASan all tests have
# all modes and engines.
OF_FUNCTIONS = $(shell grep -rhoP 'HEDDLE_ON_EVERY(_FIXED)?_BACKEND.\K\w+' functions) MatrixTest
LESS_FOR_ASAN = */simt_sync $(foreach mode,gather landing and_cpu,$(OF_FUNCTIONS:%=*/%.*/simt_$(mode))) \
  */ClassifierChangeTest.*/simt_async_coalescent:*/RuleEngineTest.FindsTheFirstOf*ClassBenchSets/auto \
  */RuleEngineTest.FindsTheFirstOfLargeClassBenchSets/hypersplit
asan: build/asan/build.ninja
	ninja -C build/asan -j $(JOBS) --quiet simt_test heddle_test
	@RC_PARAMS=max_success=20 JOBS=$(JOBS) tests/run.sh build/asan cpp "-$$(tr ' ' : <<<'$(LESS_FOR_ASAN)')"

# What several threads run, of the files that HEDDLE_TEST_FILES (CMakePresets.json) names.
# Not Buffer.OtherThreadsTakeOver: a Pipeliner drops after 100 ms, which is short under tsan. Nor what simt cannot show
# as it is: tables that a copy engine patches word by word while kernels read them (UpdateTest on simt), and rings whose
# kernel orders relaxed stores by fences while peers acquire (RingKernel; simt/include/simt_cuda/memory.h).
TSAN_TESTS := *Concurrent*:*SlotRing*:*MirrorTest*simt*:*XorTest*simt*:Control.*:PacketPool.*:*EngineTest*cpu*
TSAN_TESTS := $(TSAN_TESTS):Buffer.*:MinBatch.*:CPUSwitch.*:FrontDropQueue.*:Epoch.*:FairMutex.*
TSAN_TESTS := $(TSAN_TESTS):Sequences.TwoThreads*:LaneDriver.*:WorkersRoom.*:WorkersReconfigured.*
TSAN_TESTS := $(TSAN_TESTS):*/Workers*/simt_persistent_direct:*/Workers*/simt_async_coalescent
TSAN_TESTS := $(TSAN_TESTS):ReconfigureThreads.*:ReconfigureHandlers.*:*OrderTest.EachThreadKeepsItsOwn/*
TSAN_TESTS := $(TSAN_TESTS):*UpdateTest.EveryPacket*/cpu:*UpdateTest.WaitsFor*/cpu
TSAN_TESTS := $(TSAN_TESTS):ReplayWindow.ThreadsMark*:Nids*.*OfAllThreads*:FlowFind.*
ANSWERS := *RuleEngineTest.AnswersByOneStateOfTheSetWhileItChanges
TSAN_TESTS := $(TSAN_TESTS):$(ANSWERS)/bitvector:$(ANSWERS)/tuple:$(ANSWERS)/hypersplit
TSAN_TESTS := $(TSAN_TESTS):*ImageEngineTest.IsBuiltAnewAside*:*ImageEngineTest.EndsWhile*:AclBesideTables.*-*OtherThreadsTakeOver
tsan: build/tsan/build.ninja
	ninja -C build/tsan -j $(JOBS) --quiet simt_test heddle_test
	JOBS=$(JOBS) SIMT_FILTER='-*Death*' TSAN_OPTIONS=suppressions=$(CURDIR)/cmake/tsan_suppressions.txt \
	  tests/run.sh build/tsan cpp '$(TSAN_TESTS)'

SECONDS ?= 480
fuzz: build/asan/build.ninja
	ninja -C build/asan -j $(JOBS) --quiet fuzz_targets
	tests/fuzz/run.sh build/asan $(SECONDS) $(ONLY)

bench: build
	$(BUILD)/bench/heddle_bench --json build/bench.json --commit $(COMMIT) $(ONLY)

# What has been measured is drawn, also when something could not be.
figures: build
	$(PYTHON) bench/figures run --build $(BUILD) $(ONLY); status=$$?; $(PYTHON) bench/figures draw && exit $$status

lint:
	@clang-format --dry-run -Werror $(CXX_FILES)
	@$(PYTHON) cmake/layers.py $(CXX_FILES)
	$(PYTHON) cmake/comments.py check
	cmake/ruff.sh check
	cmake/ruff.sh format --check

tidy: build/cpu/build.ninja
	ninja -C build/cpu --quiet
	git ls-files '*.cc' | grep -v _test.cc | xargs -P $(JOBS) -n 4 clang-tidy -p build/cpu --quiet --warnings-as-errors='*'

fmt:
	$(PYTHON) cmake/comments.py mend
	@clang-format -i $(CXX_FILES)
	cmake/ruff.sh check --fix
	cmake/ruff.sh format

docs:
	$(PYTHON) cmake/manuals.py pages docs/elements elements/*/*.h functions/*/*.h

man: build
	$(PYTHON) cmake/man.py $(BUILD)/heddle $(BUILD)/man

bundle: build
	cmake/bundle.sh $(BUILD) bundle $(COMMIT)

gpu-test: bundle
	bundle/gpu-test

gpu-bench: bundle
	bundle/gpu-bench $(ONLY)

clean:
	rm -rf build bundle
