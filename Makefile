# The few commands a person needs; CMake does the work. `make help` lists them.
BUILD := build
JOBS := $(shell nproc)
PREFIX ?= /usr/local

.PHONY: help deps build console run sim test test-bare test-gateways test-valkey compare-peers install bench bench-peers soak fuzz mutate tidy format clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

deps: ## install what the build needs (Debian 12 packages)
	@scripts/install-deps.sh build

$(BUILD)/build.ninja: | deps
	@scripts/configure.sh release

build: deps $(BUILD)/build.ninja ## build the program: build/bin/weir
	@cmake --build $(BUILD) --parallel $(JOBS) --target weir_program

console: deps $(BUILD)/build.ninja ## build the program again with the web console, after npm could not be used
	@rm -rf $(BUILD)/console $(BUILD)/src/console_files.cc
	@cmake --build $(BUILD) --parallel $(JOBS) --target weir_program

run: build ## build, then serve on the embedded store with the quickstart rules
	@echo; echo "Built $(BUILD)/bin/weir. It serves until Ctrl-C; in another terminal, try:"; echo
	@echo "  $(BUILD)/bin/weir check tenant=acme api_key=demo           ask it whether a request may proceed"
	@echo "  $(BUILD)/bin/weir --help                                   what else it can do; your own rules: docs/rules.md"; echo
	@$(BUILD)/bin/weir serve

test: ## install what the tests need, build, run everything
	@scripts/install-deps.sh build test
	@scripts/test.sh

test-bare: ## `make run` in a minimal Debian 12 without any of our packages (as root, or with sudo)
	@scripts/install-deps.sh bare
	@scripts/test-bare.sh

test-gateways: ## test with a real Envoy and OpenTelemetry collector, and Traefik if there is one
	@scripts/install-deps.sh build test
	@scripts/test-gateways.sh

test-valkey: build ## the tests of the Redis store, on Valkey 8 from bookworm-backports
	@cmake --build $(BUILD) --parallel $(JOBS)
	@scripts/test-valkey.sh

install: build ## install program, library, headers and CMake package below PREFIX
	cmake --build $(BUILD) --parallel $(JOBS) --target weir
	cmake --install $(BUILD) --prefix $(PREFIX)

bench: ## measure; prints a table and writes build/bench.json
	@scripts/install-deps.sh build bench
	@scripts/bench.sh

bench-peers: ## measure beside envoyproxy/ratelimit, throttlecrab and redis-cell (needs go, cargo)
	@scripts/install-deps.sh build test bench
	@scripts/bench-peers.sh

compare-peers: ## published cases of other rate limiters; random requests to envoyproxy/ratelimit and Weir (needs go)
	@scripts/install-deps.sh build test
	@scripts/compare-peers.sh

sim: ## many seeds of simulated nodes, clocks and networks (SEEDS=10000); part of it runs in `make test`
	@scripts/install-deps.sh build test
	@scripts/sim.sh

soak: ## run the concurrency and memory suites for long
	@scripts/install-deps.sh build test
	@scripts/soak.sh

fuzz: ## fuzz the parsers with libFuzzer (SECONDS_EACH=60)
	@scripts/install-deps.sh build fuzz
	@scripts/fuzz.sh

mutate: ## change one line at a time and see whether a test notices (COUNT=100 SEED=… ROOMS=engine,rules)
	@scripts/install-deps.sh build test
	@scripts/mutate.py --count $(or $(COUNT),100) $(if $(SEED),--seed $(SEED)) $(if $(ROOMS),--rooms $(ROOMS))

tidy: ## clang-tidy over the sources
	@scripts/install-deps.sh build tidy
	@scripts/clang-tidy.sh

format: ## clang-format over the sources
	@scripts/install-deps.sh tidy
	@git ls-files '*.cc' '*.h' | xargs clang-format-14 -i

clean: ## remove the build folder
	rm -rf $(BUILD)
