# What can be done with a checkout. Each recipe is a line or two; the work is cargo's and scripts/'.

.DEFAULT_GOAL := help
.PHONY: help all demo check test bench soak lint types test-agents test-servers test-versions test-neighbours check-windows pictures clean

help: ## show these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

all: ## build the library and the demo agent, optimized
	cargo build --release --locked

demo: all ## show the plugin with a scripted agent; in a pipe, print a tour
	@scripts/demo

check: ## format, lints and the core's tests in half a minute; no Neovim, no download
	@scripts/check

test: ## check, lint, build and test everything; NVIM=/path takes another Neovim
	@test -f "$$NVIM" || scripts/fetch-nvim >/dev/null
	@$(MAKE) --no-print-directory lint types
	cargo build --locked
	cargo test --locked --no-run
	scripts/test-versions install
	scripts/run-tests --locked

lint: ## check the format and the lints of Rust, Lua, scripts and workflows, and the spelling
	cargo fmt --check
	scripts/lint-lua
	scripts/lint-scripts
	scripts/lint-workflows
	scripts/lint-spelling
	cargo clippy --locked --all-targets -- -D warnings

types: ## check the types of the plugin's Lua against Neovim's
	scripts/lint-types

PROFILE ?= dist

bench: ## measure speed beside plain Lua; SCENARIOS="burst paced" takes some, PROFILE=release another build
	cargo bench --locked --profile $(PROFILE) --bench chat -- $(SCENARIOS)
	cargo bench --locked --profile $(PROFILE) --bench decode
	cargo bench --locked --profile $(PROFILE) --bench folders

TURNS ?= 10000
MINUTES ?= 20
SEED ?= 1

soak: ## 10,000 turns with an agent that misbehaves, and a table of what they left; TURNS=, MINUTES=, SEED=, FAULT=name
	@test -f "$$NVIM" || scripts/fetch-nvim >/dev/null
	ACP_SOAK_TURNS=$(TURNS) ACP_SOAK_MINUTES=$(MINUTES) ACP_SOAK_SEED=$(SEED) ACP_SOAK_FAULT=$(FAULT) \
		cargo test --locked --profile $(PROFILE) --test soak -- --nocapture

test-versions: ## run the editor's tests on each Neovim that is supported
	scripts/test-versions

test-agents: ## run a turn with the example agents of the official SDKs
	scripts/test-agents

test-servers: ## have the tools for agents work with other people's language servers, which it fetches
	scripts/test-servers

test-neighbours: ## run beside other people's plugins, which it clones; ACP_NEIGHBOURS=folder takes checkouts
	@test -f "$$NVIM" || scripts/fetch-nvim >/dev/null
	ACP_NEIGHBOURS=$(ACP_NEIGHBOURS) scripts/test-neighbours

check-windows: ## build for Windows, and run that in Wine if it is there
	scripts/check-windows

pictures: ## take the pictures of the README anew, and say which have changed
	cargo build --locked
	NVIM=$$(scripts/fetch-nvim) ACP_WRITE_PICTURES=1 cargo test --quiet --locked --test pictures what_neovim_shows

clean: ## remove all that was built or fetched
	cargo clean
	rm -rf .deps
