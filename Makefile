# Everything a developer or CI runs. make help lists it. build needs Go, git and make; test installs or names the rest.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.NOTPARALLEL:

TOOL := go tool -modfile=go.tool.mod
PROGRAMS := ./cmd/volnode ./cmd/volsim ./e2e/cmd/csidriver

# Packages whose tests run real goroutines. The simulator has one thread of control in each world.
RACE := ./engine/... ./hal/linux/... ./cmd/...
# Packages with a target of their own, which no other target runs.
OWN := /(e2e/demo|e2e/killmatrix|e2e/sanity)$$

# Build tags of test builds with faults, and of the programs that write their manual pages. The laws hold for them too: without its tag a file is only parsed, with it it is also type-checked.
TEST_TAGS := volnode_faults volnode_manpages

# The size of things; make test sets smaller ones.
RUNS ?= 100000
BUDGET ?= 30m
SEED ?= 1
WORKERS ?= $(shell nproc)
MUTANT_BUDGET ?= 60s
MUTANT_FLAGS ?= --full --shrink
FUZZTIME ?= 30s
DEPTH ?= 1
EXHAUST_BUDGET ?= 0
EXHAUST_FLAGS ?= $(if $(filter 1,$(DEPTH)),--prune=false)
COUNT ?= 6
ROUNDS ?= 50
SESSIONS ?= 100
EDITS ?= 200
AT_A_TIME ?= 10
BENCHTIME ?= 10s
TURNS ?= 1
SHORT ?=
DIR ?= .

# Where make install puts things. DESTDIR is in front of all of them.
DESTDIR ?=
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSCONFDIR ?= /etc
INSTALL ?= install

.PHONY: build
build: ## build volnode, volsim and the test driver into bin/
	go build -trimpath -o bin/ $(PROGRAMS)

.PHONY: demo
demo: build ## one pod with volumes, from an empty root directory and back, on this host and in the simulator
	if [ -x e2e/demo/demo.sh ]; then e2e/demo/demo.sh; else go run ./e2e/demo; fi

.PHONY: test
test: deps format vet laws unit ## all that proves the project, in reduced size: about 45 minutes on 2 cores
	$(MAKE) --no-print-directory conform
	$(MAKE) --no-print-directory sanity
	$(MAKE) --no-print-directory hunt RUNS=20000 BUDGET=90s
	$(MAKE) --no-print-directory exhaust EXHAUST_FLAGS=
	$(MAKE) --no-print-directory exhaust DEPTH=2 EXHAUST_BUDGET=1m
	$(MAKE) --no-print-directory mutants MUTANT_FLAGS=
	$(MAKE) --no-print-directory kill-matrix SHORT=-short
	go test ./examples/... # a volume source as an outsider adds it
	$(MAKE) --no-print-directory demo

.PHONY: check
check: deps format vet laws lint unit ## what must be clean before a change is proposed

.PHONY: deps
deps: ## install with apt-get what tests need of the system
	e2e/install-deps.sh

.PHONY: format
format: ## check that gofmt has nothing to change
	@files=$$(git ls-files -co --exclude-standard '*.go' | while read -r f; do [ ! -e "$$f" ] || echo "$$f"; done | xargs gofmt -l); \
	if [ -n "$$files" ]; then echo "not formatted (gofmt -w):"; echo "$$files"; exit 1; fi

.PHONY: vet
vet: ## go vet, also of bench
	go vet ./...
	cd bench && go vet ./...

.PHONY: laws
laws: ## what ARCHITECTURE.md has of the code: import arrows, purity, outcome
	@mkdir -p bin
	go build -o bin/volnodelint ./internal/lint/cmd/volnodelint
	bin/volnodelint ./...
	for tag in $(TEST_TAGS); do GOFLAGS="$$(go env GOFLAGS) -tags=$$tag" bin/volnodelint ./...; done

.PHONY: figures
figures: ## sizes, circles, comments of the tree at DIR (.), to compare versions
	go run ./internal/lint/cmd/housefigures -dir $(DIR)

.PHONY: lint
lint: ## golangci-lint
	$(TOOL) golangci-lint run --allow-serial-runners ./...

.PHONY: unit
unit: ## the Go tests, short; with -race where real goroutines run
	go test -race -short $(RACE)
	go test -short $$(go list ./... | grep -vxFf <(go list $(RACE)) | grep -vE '$(OWN)')

# go test -fuzz fails now and then only because its own time is over. This program of awk succeeds if a log tells of nothing else.
ONLY_TIME = /^--- FAIL/ { fails++; getline; time += /^ +context deadline exceeded$$/ } /Failing input|^panic:/ { found = 1 } END { exit found || fails != 1 || time != 1 }

.PHONY: fuzz
fuzz: ## every fuzz test, FUZZTIME (30s) each
	@mkdir -p bin
	@grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u | while read -r dir; do \
		for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$$dir"/*_test.go | cut -d' ' -f2); do \
			echo "fuzz $$dir $$f"; \
			go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 50x "$$dir" 2>&1 | tee bin/fuzz.log || awk '$(ONLY_TIME)' bin/fuzz.log; \
		done; \
	done

.PHONY: hunt
hunt: build ## simulated schedules until RUNS (100000) or BUDGET (30m) are used up or one fails; SEED, WORKERS
	bin/volsim hunt --runs $(RUNS) --budget $(BUDGET) --seed $(SEED) --workers $(WORKERS)

# The packages of which COVERED percent of the lines must be run by the simulator: by the catalogue and a hunt, and by no unit test.
SIMULATED := engine/core engine/op engine/plugin engine/plugin/csi engine/plugin/emptydir engine/plugin/flex engine/plugin/gitrepo engine/plugin/hostpath engine/plugin/kinds engine/plugin/local engine/plugin/nfs engine/plugin/projected
COVERED ?= 90

.PHONY: coverage
coverage: ## lines of the engine that the simulator runs; fails below COVERED (90) percent of a package. The rest: bin/coverage.html
	@mkdir -p bin
	go test ./scenarios/fleet -run '^TestEverythingIsReached$$' -count=1 -coverprofile bin/coverage.out \
		-coverpkg "$$(printf './%s,' $(SIMULATED) | sed 's/,$$//')"
	go tool cover -html bin/coverage.out -o bin/coverage.html
	@awk -v least=$(COVERED) 'NR > 1 { split($$1, at, ":"); dir = at[1]; sub("/[^/]*$$", "", dir); all[dir] += $$2; run[dir] += ($$3 > 0) * $$2 } \
		END { for (dir in all) { part = 100 * run[dir] / all[dir]; if (part < least) low = 1; printf "%5.1f %% of %4d  %s\n", part, all[dir], dir } exit low }' \
		bin/coverage.out | sort -k5

.PHONY: exhaust
exhaust: build ## the catalogue with every combination of DEPTH (1) faults on top; WORKERS, EXHAUST_BUDGET (as long as it takes)
	bin/volsim exhaust --depth $(DEPTH) $(EXHAUST_FLAGS) --budget $(EXHAUST_BUDGET) --workers $(WORKERS)

.PHONY: conform
conform: ## one suite, recorded from Linux, on hal/linux and hal/sim
	go run ./hal/haltest/conform

.PHONY: sanity
sanity: build ## csi-sanity against the test driver, mount and block
	go build -trimpath -o bin/ ./e2e/sanity
	bin/sanity --driver bin/csidriver

.PHONY: readme
readme: ## what README.md gives to run on a host, as it stands there, ROUNDS (50) times
	go test -count=1 -timeout 60m -v ./e2e/readme -rounds $(ROUNDS)

.PHONY: edits
edits: ## SESSIONS (100) sessions of EDITS (200) random edits of manifests on this host, AT_A_TIME (10), against a model; SEED
	go test -count=1 -timeout 6h -v ./e2e/edits -run TestSessions -seed $(SEED) -sessions $(SESSIONS) -edits $(EDITS) -at-a-time $(AT_A_TIME)

.PHONY: e2e-vm
e2e-vm: ## a machine of Debian packages, with older kernels, an NFS server, iSCSI targets and Fibre Channel: NFS volumes, their disks, maps of their paths, and hal/linux on its kernels
	CGO_ENABLED=0 go test -count=1 -timeout 80m -parallel 2 -v ./e2e/vm $(VM_FLAGS)

.PHONY: kill-matrix
kill-matrix: ## volnode killed before and after each call of mount, unmount, restart and refresh
	@mkdir -p bin
	go test -count=1 -timeout 60m $(SHORT) -v ./e2e/killmatrix > bin/kill-matrix.log || { grep -vE '^ *(--- PASS|=== )' bin/kill-matrix.log; exit 1; }
	@grep -oE 'mount [0-9]+ of [0-9]+, unmount [0-9]+ of [0-9]+, restart [0-9]+ of [0-9]+, refresh [0-9]+ of [0-9]+' bin/kill-matrix.log | tail -n 1

.PHONY: mutants
mutants: build ## faulty engines that the simulator must tell from the true one, each within MUTANT_BUDGET (60s) of CPU; MUTANT_FLAGS
	bin/volsim mutants --budget $(MUTANT_BUDGET) $(MUTANT_FLAGS)

.PHONY: bench
bench: ## the engine beside its peers and goals, TURNS (1) times; the simulator, BENCHTIME (10s) a world; BASE=<commit>: packages beside that commit's
	cd bench && go test -run '^$$' -bench Goals -benchtime $(TURNS)x . && go test -run '^$$' -bench 'Hunt|Large|Short' -benchtime $(BENCHTIME) .
ifdef BASE
	@mkdir -p bin
	go test -run '^$$' -bench . -benchmem -count $(COUNT) ./... | tee bin/bench.new
	rm -rf bin/base && git worktree prune && git worktree add --detach bin/base $(BASE)
	cd bin/base && go test -run '^$$' -bench . -benchmem -count $(COUNT) ./... > ../bench.old; cd ../.. && git worktree remove --force bin/base
	$(TOOL) benchstat bin/bench.old bin/bench.new
endif

.PHONY: golden
golden: ## rewrite the golden files and show what changed
	go test $$(grep -rlE --include='*_test.go' 'cockroachdb/datadriven|"rewrite"' . | xargs -r -n1 dirname | sort -u) -rewrite
	git --no-pager diff --stat
	git --no-pager diff

.PHONY: vuln
vuln: ## known vulnerabilities in what is linked (asks vuln.go.dev)
	$(TOOL) govulncheck ./...

# The sections of the manual: volnode is for administrators. What shells want of a program, in the order bash, zsh, fish.
SECTIONS := volnode/8 volsim/1
COMPLETIONS = $(DATADIR)/bash-completion/completions/$(1) $(DATADIR)/zsh/site-functions/_$(1) $(DATADIR)/fish/vendor_completions.d/$(1).fish

.PHONY: manuals
manuals: ## manual pages and shell completions, into bin/man and bin/completions
	rm -rf bin/man bin/completions
	export SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct || date +%s)}; \
	for s in $(SECTIONS); do \
		program=$${s%/*} dir=bin/man/man$${s#*/}; mkdir -p $$dir bin/completions/$$program; \
		go run -trimpath -tags volnode_manpages ./cmd/$$program $$dir; \
		for shell in bash zsh fish; do go run -trimpath ./cmd/$$program completion $$shell > bin/completions/$$program/$$shell; done; \
	done

.PHONY: install
install: build manuals ## programs, systemd unit, manual pages, completions; PREFIX (/usr/local), DESTDIR, BINDIR, DATADIR, MANDIR, UNITDIR, SYSCONFDIR
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(UNITDIR) $(DESTDIR)$(SYSCONFDIR)/volnode/manifests
	$(INSTALL) -m 0755 bin/volnode bin/volsim $(DESTDIR)$(BINDIR)
	for f in volnode.service config.yaml; do \
		sed -e '/^# Copy this file/d; /^# Make .*Then run:$$/d; /^# systemctl /d' -e 's|/usr/bin/|$(BINDIR)/|; s|/etc/volnode|$(SYSCONFDIR)/volnode|' examples/systemd/$$f > bin/$$f; done
	$(INSTALL) -m 0644 bin/volnode.service $(DESTDIR)$(UNITDIR)
	[ -e $(DESTDIR)$(SYSCONFDIR)/volnode/config.yaml ] || $(INSTALL) -m 0644 bin/config.yaml $(DESTDIR)$(SYSCONFDIR)/volnode
	cd bin/man; for f in */*; do $(INSTALL) -D -m 0644 $$f $(DESTDIR)$(MANDIR)/$$f; done
	$(foreach s,$(SECTIONS),set -- $(call COMPLETIONS,$(patsubst %/,%,$(dir $s))); \
		for shell in bash zsh fish; do $(INSTALL) -D -m 0644 bin/completions/$(dir $s)$$shell $(DESTDIR)$$1; shift; done;)

.PHONY: uninstall
uninstall: ## remove what make install has made, with the same variables; it keeps SYSCONFDIR/volnode, which is the node's configuration
	rm -f $(DESTDIR)$(BINDIR)/volnode $(DESTDIR)$(BINDIR)/volsim $(DESTDIR)$(UNITDIR)/volnode.service
	rm -f $(DESTDIR)$(MANDIR)/man8/volnode{,-*}.8 $(DESTDIR)$(MANDIR)/man1/volsim{,-*}.1
	rm -f $(addprefix $(DESTDIR),$(call COMPLETIONS,volnode) $(call COMPLETIONS,volsim))

.PHONY: clean
clean: ## remove what was built
	rm -rf bin

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
