# make run    diagnose the example incident on a stack of its own
# make test   every test
# make check  everything that needs no test: style, types, import law, schemas
# make mutants  break the product on purpose and see that a named test notices each time
# make soak   hostile input, store faults and a hundred runs at once, for hours instead of minutes; the load for
#             CASEBOUND_SOAK_MINUTES (60), hostile input in CASEBOUND_SOAK_EXAMPLES (600) batches of six runs a store,
#             and of SQL texts where a test database is named
# make chaos  crash tests at full length, among them CASEBOUND_CHAOS_MINUTES (10) of random kills, stops and freezes under
#              load; then the store faults
# make lock   renew requirements/*.txt
#
# All make their own environment in .venv from the locked requirements. PYTHON=... names the
# interpreter to make it with; otherwise it is looked for.

VENV := .venv
BIN := $(VENV)/bin
PACKAGES := boundary activities workflows casebound
EXAMPLE := examples/checkout-outage

PIP_FLAGS := -qq --disable-pip-version-check

MAKEFLAGS += --no-print-directory
.PHONY: run test check mutants soak chaos lock clean
.DEFAULT_GOAL := run

run: $(VENV)/.run
	@$(BIN)/casebound diagnose --config $(EXAMPLE)/casebound.toml --runbook $(EXAMPLE)/runbook.yaml

# Two processes: most of the time is waiting, for heartbeats to be missed and for processes to start.
test: $(VENV)/.ci
	@$(BIN)/pytest --numprocesses=2 --dist=worksteal

soak: $(VENV)/.ci
	@CASEBOUND_SOAK=1 $(BIN)/pytest -s tests/fuzz tests/sql/test_fuzz_statements.py tests/faults tests/load

chaos: $(VENV)/.ci
	@CASEBOUND_SOAK=1 $(BIN)/pytest -s tests/crash
	@$(BIN)/pytest tests/faults

check: $(VENV)/.ci
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/temporalint $(PACKAGES)
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml

# Needs uv. No index or host is written, so that the files hold for every mirror.
LOCK := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --no-header --quiet
lock:
	$(LOCK) --group build -o requirements/run.txt > /dev/null
	$(LOCK) --group dev -c requirements/run.txt -o requirements/ci.txt > /dev/null

mutants: $(VENV)/.ci
	@$(BIN)/python -m tests.mutants

clean:
	rm -rf $(VENV)

$(VENV)/.run: requirements/run.txt pyproject.toml | $(BIN)/pip
	@echo "casebound: installing into $(VENV) (once)" >&2
	@$(BIN)/pip install $(PIP_FLAGS) --require-hashes -r requirements/run.txt
	@$(BIN)/pip install $(PIP_FLAGS) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.ci: requirements/ci.txt $(VENV)/.run
	@echo "casebound: installing test tools into $(VENV) (once)" >&2
	@$(BIN)/pip install $(PIP_FLAGS) --require-hashes -r requirements/ci.txt
	@touch $@

# A command that answers is not enough: it may be too old, or a shim of a version that is not there.
# 3.11 to 3.13 first: not every dependency has a wheel for the newest Python on its first day.
define FIND_PYTHON
is() { "$$1" -c "import sys; sys.exit(not $$2 <= sys.version_info[:2] < $$3)" 2> /dev/null; }; \
for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11); do \
	if is "$$python" "(3, 11)" "(3, 14)"; then echo "$$python"; exit; fi; \
done; \
for python in $(or $(PYTHON),python3); do if is "$$python" "(3, 14)" "(4,)"; then echo "$$python"; fi; done
endef

$(BIN)/pip:
	@python=$$($(FIND_PYTHON)); \
	if [ -z "$$python" ]; then \
		echo "casebound: $(or $(PYTHON),python3) is no Python 3.11 or newer; install one, or name it:" \
			"make $(or $(MAKECMDGOALS),run) PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi; \
	"$$python" -m venv $(VENV) || { rm -rf $(VENV); \
		echo "casebound: '$$python -m venv' failed; on Debian and Ubuntu install the package python3-venv" >&2; exit 1; }
