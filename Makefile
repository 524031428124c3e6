# decodesim: each target says what it does in the comment that follows it; `make` prints them.

SHELL   := bash
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
BINARY  := bin/decodesim
PROFILE := cmd/decodesim/default.pgo
DEMO    := demo-out
VENV    := notebooks/.venv
VLLM    := $(CURDIR)/bin/vllm
DIFFERENTIAL := tools/differential
CASES   ?= 100

# Both can be given on the command line: make bench BENCHTIME=1x COUNT=10
BENCHTIME ?= 1s
COUNT     ?= 1

# Measurements are not part of the repository: they lie in groundtruth/ of this folder.
DECODESIM_SHARED ?= ../shared
TRUTH    := $(DECODESIM_SHARED)/groundtruth
FITTED   := A_aic_silicon.csv A3_gptoss120b_h200_vllm022.csv C_vllm_blis_experiments.csv D_runs.jsonl F_splitwise_perf.csv G_published_results.csv H_steps.csv
UNFITTED := B_vllm_h100_inferenceperf.csv E_token_position_h200.csv
FIGURES  := G_published_results.csv
LOGS     := H_steps.csv H_comm.csv H_moe.csv H_mla.csv H_serving.csv
FIT       = go run -trimpath -pgo=$(CURDIR)/$(PROFILE) ./tools/accuracy $(FITTED:%=--data $(TRUTH)/%) $(UNFITTED:%=--unfitted $(TRUTH)/%) \
	$(FIGURES:%=--published $(TRUTH)/%) $(LOGS:%=--logs $(TRUTH)/%) --report docs/accuracy.md --expected internal/expected/errors.json

# Fewer collections make compiling and testing a fifth faster, and tests, whose heaps are small, a twentieth more; without
# cgo no C compiler is needed.
build wasm test-pages published lint: export GOGC = 400
test test-long: export GOGC = 800
export CGO_ENABLED = 0

.PHONY: help build demo test test-long soak published bytes recompute race mutate fuzz differential differential-latest bench profile calibrate accuracy trial truth defaults lint live soak-live notebooks clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Where a program begins that finds out whether its standard output is closed before the runtime puts /dev/null there.
START := $(if $(filter linux/amd64 linux/arm64,$(shell go env GOOS GOARCH | paste -sd /)),-E main.start)

build: ## build bin/decodesim
	go build -trimpath -ldflags "$(START) -X main.version=$(VERSION)" -o $(BINARY) ./cmd/decodesim

# The simulator for a page, and what of Go it needs there: bin/wasm is where explore --out looks for it.
WASM := bin/wasm
SITE ?= bin/site
.PHONY: wasm site test-pages
wasm:
	GOOS=js GOARCH=wasm go build -trimpath -pgo=off -ldflags "-s -w -X main.version=$(VERSION)" -o $(WASM)/decodesim.wasm ./cmd/explorer
	@install -m 644 "$$(go env GOROOT)/lib/wasm/wasm_exec.js" "$$(go env GOROOT)/LICENSE" $(WASM)

site: build wasm ## the explorer as static files, in SITE
	@rm -rf $(SITE)
	$(BINARY) explore --out $(SITE)

test-pages: OPENED = PAGES_IN_BROWSER=1 go test -v -count 1 -pgo=off -vet=off
test-pages: site ## those files, the explorer and every report in a headless browser: by clicks and keys, in the dark and on paper; SCREENSHOTS keeps what was seen
	@$(if $(SCREENSHOTS),mkdir -p $(SCREENSHOTS))
	DECODESIM_SITE=$(abspath $(SITE)) DECODESIM_SCREENSHOTS=$(abspath $(SCREENSHOTS)) $(OPENED) ./internal/explore
	$(OPENED) ./internal/page
	$(OPENED) ./cmd/decodesim -run Report

demo: build ## simulate a 70B model on H100s: a table here, plots and a report in demo-out/
	@rm -rf $(DEMO)
	$(BINARY) run chat-70b --out $(DEMO)

# What compiles fast and is compiled once: without the command's profile, which would have everything compiled a second
# time, and without debug information, which the tests of a package are linked without. What takes no time when it runs is
# compiled without inlining, which is a seventh of all compiling: all but what simulates, fits and draws. make lint vets.
MODULE := github.com/decodesim/decodesim
INLINED := std gonum.org/... golang.org/x/image/... $(patsubst %,$(MODULE)/%/...,sim policies hardware workloads internal/calibration internal/plot)
QUICK = -pgo=off '-gcflags=all=-dwarf=false -l' $(INLINED:%=-gcflags=%=-dwarf=false) $(patsubst %,'-gcflags=%/...=-dwarf=false -l',crypto net go vendor)

# In the environment the flags also hold for what a test compiles: it links the standard library that is there already.
# Some tests wait, for leases or signals: one more package at a time than there are cores leaves none of those idle.
test test-long: export GOFLAGS = $(QUICK)
# What only authors run, what make published runs again and the house rules, which make lint checks, are left out.
AUTHORS := ./tools/... ./internal/measured/logs
test: ## the tests of every change: of what takes long, and of the draws of laws, a part
	@BRIEF_TESTS=1 go test -vet=off -p $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )) \
		$$(go list ./... | grep -vxFf <(go list $(AUTHORS) ./internal/published ./internal/tidy))

# Packages whose tests leave something out of make test, by package soak or as every test of figures does. make published
# has the pages.
LONG := soak\.(TakesLong|Part|Least|Brief)\(|plottest\.Check\(
test-long: ## with nothing left out, the packages of which make test leaves something out
	@go test -vet=off -skip ^TestDocumentation $(AUTHORS) \
		$$(grep -rlE '$(LONG)' --include=*_test.go cmd configs hardware internal policies sim workloads | xargs -n1 dirname | sort -u | sed 's#^#./#')

soak: ## the laws of the simulator over many more random scenarios, and a thousand kills at random instants
	@set -o pipefail; DECODESIM_SOAK=1 go test -v -count 1 -timeout 60m ./sim/... ./hardware ./internal/steady ./internal/validation ./configs/huggingface | grep -vE '^=== |\[rapid\]'
	DECODESIM_SOAK=1 go test -pgo=off -vet=off -v -count 1 -timeout 60m -run AKillLeavesAllOrNothing ./cmd/decodesim

.PHONY: soak-workers
soak-workers: ## sweeps by 1, 2 and 4 worker processes, which are killed and suspended past their lease, as are the coordinator and a server of three
	DECODESIM_SOAK=1 go test ./cmd/decodesim -run 'TestWorkersOnRealMachines|TestWorkersAreHired$$|TestAClusterLosesAServer' -v -count 1

published: ## what was published, all of it, and the pages of docs/ whose commands take long: each is what is printed today
	DECODESIM_SOAK=1 go test ./internal/published
	DECODESIM_SOAK=1 go test -run TheDocumentation ./internal/traffic
	DECODESIM_SOAK=1 go test $(QUICK) -run '^Test(DocumentationShowsRealOutput|FigureOfTheDocumentationOfSensitivity)$$' ./cmd/decodesim

bytes: ## the same bytes of every output from programs for amd64 v1 and v3, and for arm64 where qemu-aarch64 is in the PATH
	DECODESIM_SOAK=1 go test -pgo=off -v -count 1 -timeout 60m -run TheBytesAreTheSame ./cmd/decodesim

SCENARIOS ?= 300
SEED ?= 1
recompute: build $(VENV)/installed ## the summaries of SCENARIOS random scenarios, recomputed in Python from requests and gaps
	$(VENV)/bin/python tools/recompute/keys.py
	$(VENV)/bin/python tools/recompute/recompute.py $(BINARY) $(SCENARIOS) $(SEED)

# The race detector needs cgo and a C compiler.
race: ## the tests of what runs in several goroutines, under the race detector
	CGO_ENABLED=1 go test -race -pgo=off -vet=off ./internal/run ./internal/live/... ./internal/output ./internal/progress \
		./internal/sweep ./internal/compare ./internal/headroom
	CGO_ENABLED=1 go test -race -pgo=off -vet=off -run 'Apart|Live|Cores' ./sim
	CGO_ENABLED=1 go test -race -pgo=off -vet=off -run 'Signal|Killed|Serve|ByteForByte|SameToTheByte' ./cmd/decodesim

MUTANTS ?= 40
mutate: ## MUTANTS mistakes in sim, policies, hardware and workloads: the tests have to notice 95 % of them
	go run -trimpath ./tools/mutate -n $(MUTANTS) -seed $(SEED)

FUZZTIME ?= 30s
fuzz: ## every reader on bytes that nobody meant, FUZZTIME each; a failure leaves its input in testdata/fuzz
	@set -o pipefail; for target in $$(grep -rhoE '^func Fuzz[A-Za-z]+' --include=*_test.go . | cut -c6- | sort); do \
		dir=$$(dirname $$(grep -rlE "^func $$target\(" --include=*_test.go .)); echo "$$target in $$dir"; \
		go test $$dir -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x | tail -1 || exit 1; done

differential: ## compare vllm-v1 and sglang step by step with the schedulers of the pinned releases of vLLM and SGLang, CASES per scenario, where the package index can be reached
	@$(DIFFERENTIAL)/setup.sh $(VLLM) 0.22.1 0.33.0 || { [ $$? = 3 ] && echo "left out" && exit 0; exit 1; }; \
	go build -o $(VLLM)/differential ./tools/differential && \
	for release in 0.22.1 0.33.0; do DIFFERENTIAL=$(VLLM)/differential $(VLLM)/venv/bin/python $(DIFFERENTIAL)/harness.py \
		--vllm $(VLLM)/vllm-$$release --cases $(CASES) || exit 1; done; \
	$(DIFFERENTIAL)/sglang/setup.sh $(VLLM) $(VLLM)/venv/bin/python || { [ $$? = 3 ] && echo "SGLang left out" && exit 0; exit 1; }; \
	go test -pgo=off -vet=off -c -o $(VLLM)/sglang.test ./$(DIFFERENTIAL)/sglang && \
	$(VLLM)/venv/bin/python $(DIFFERENTIAL)/sglang/harness.py --sglang $(VLLM)/sglang-0.5.23 --binary $(VLLM)/sglang.test \
		--cases $$(( ($(CASES) + 7) / 8 ))

differential-latest: ## what the newest release of vLLM does otherwise
	@$(DIFFERENTIAL)/setup.sh $(VLLM) latest
	@go build -o $(VLLM)/differential ./tools/differential
	@DIFFERENTIAL=$(VLLM)/differential $(VLLM)/venv/bin/python $(DIFFERENTIAL)/harness.py --vllm $(VLLM)/latest --cases $(CASES) --drift

# The benchmarks are built as the command is: go build takes the profile beside a command's main package by itself.
bench: ## benchmarks of the simulator; BENCHTIME and COUNT set how long and how often
	go test -pgo=$(CURDIR)/$(PROFILE) -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -count $(COUNT) \
		./sim/... ./workloads/... ./configs

profile: ## measure anew the profile that builds are optimised by
	go test -run '^$$' -bench 'Run/^(load|saturated|output|batch|replicas)|Attribution' -benchtime 300000x -o /dev/null -cpuprofile $(PROFILE) ./sim

truth: # the measurements are there
	@test -d $(TRUTH) || { echo "no measurements in $(TRUTH); expected DECODESIM_SHARED to name the folder that holds groundtruth/"; exit 1; }

calibrate: truth ## fit efficiencies to measurements: configs/catalog/engines/efficiencies/, docs/accuracy.md and the errors to expect anew
	$(FIT) --catalog configs/catalog/engines/efficiencies
	@$(MAKE) --no-print-directory build

TRIAL ?= bin/trial.gob
trial: truth ## errors of another form of step prices in a minute or two, on batches that TRIAL keeps; PRIOR="KEY=VALUE ..." changes what it starts from
	go run -trimpath ./tools/accuracy --trial $(TRIAL) $(PRIOR:%=--prior %) $(FITTED:%=--data $(TRUTH)/%) \
		$(UNFITTED:%=--unfitted $(TRUTH)/%) $(FIGURES:%=--unfitted $(TRUTH)/%)

accuracy: truth ## docs/accuracy.md anew: how accurate that fit is
	$(FIT)

defaults: ## the defaults of engines against the source of their releases, from the Python package index
	go run -trimpath ./tools/defaults

CLIENTS ?= bin/clients
STREAMS ?= 200 1000
live: build ## real clients against decodesim serve: what each reports, beside what the simulator says of the same requests
	tools/live/setup.sh $(CLIENTS)
	@rm -rf bin/live
	VLLM_SOURCE=$(abspath $(CLIENTS))/source/vllm-0.33.0 python3 tools/live/live.py $(BINARY) $(CLIENTS) bin/live $(STREAMS)

.PHONY: live-sessions
live-sessions: build ## the sessions of docs/live.md once more, with real clients: what the page says is still so
	tools/live/setup.sh $(CLIENTS)
	@rm -rf bin/sessions
	VLLM_SOURCE=$(abspath $(CLIENTS))/source/vllm-0.33.0 python3 tools/live/sessions.py $(BINARY) $(CLIENTS) bin/sessions

SOAK_S ?= 3600
soak-live: ## SOAK_S seconds of 1,000 streams: goroutines and memory stay flat
	DECODESIM_SOAK_S=$(SOAK_S) go test ./internal/live/openai -run TestManyStreamsLeaveNothing -timeout 0 -v

lint: ## formatting, vet, staticcheck, house rules, products that are added unrounded, and whether the model still builds for a web page
	@unformatted=$$(gofmt -l $$(go list -f '{{.Dir}}' ./...)); \
	if [ -n "$$unformatted" ]; then echo "not formatted; run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go test -pgo=off -vet=off ./internal/tidy
	go tool -modfile=tools/lint/go.mod staticcheck ./...
	@$(MAKE) --no-print-directory wasm
	GOARCH=arm64 go build -trimpath -pgo=off -o bin/decodesim-arm64 ./cmd/decodesim
	go run -trimpath ./tools/fused bin/decodesim-arm64

# Each notebook runs in its own directory with the environment's own kernel; an exception in a cell fails the target.
# Those in the tree stay without outputs: notebooks/pages has what they print.
RENDER = env -u MPLBACKEND PYDEVD_DISABLE_FILE_VALIDATION=1 JUPYTER_PREFER_ENV_PATH=1 DECODESIM="$(CURDIR)/$(BINARY)" \
	$(VENV)/bin/python notebooks/render.py
notebooks: build $(VENV)/installed ## run every notebook from its first cell to its last: it prints what its page in notebooks/pages says
	$(RENDER) --check

.PHONY: notebook-pages
notebook-pages: build $(VENV)/installed ## notebooks/pages anew
	$(RENDER)

.PHONY: lab
LAB ?=
lab: build $(VENV)/installed ## open the notebooks in a browser, by JupyterLab; LAB is its arguments, such as --no-browser
	$(VENV)/bin/pip install --quiet --disable-pip-version-check jupyterlab==4.6.6
	cd notebooks && DECODESIM="$(CURDIR)/$(BINARY)" .venv/bin/jupyter lab $(LAB)

$(VENV)/installed: notebooks/requirements.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

clean: ## remove what the other targets write
	rm -rf bin $(DEMO) $(VENV)
