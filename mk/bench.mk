# bench.mk - benchmarks, whose numbers a person reads. Only Lighthouse passes or fails here.
.PHONY: bench bench-collect
bench:
	@.ci/packages build run bench
	@$(MAKE) --no-print-directory all
	@for b in tests/bench/*.sh; do echo "== $$b"; BUILD="$(abspath $(BUILD))" bash $$b || exit; done
	@$(MAKE) --no-print-directory bench-collect
.PHONY: bench-train bench-instructions
# Matrix products compared with OpenBLAS, and the training step compared with the yardstick and the rate in registers:
# docs/performance.md. ARGS as in the script's head.
bench-train:
	@.ci/packages build run bench
	@BUILD="$(abspath $(BUILD))" bash tests/bench/step.sh --all --rounds 3 $(ARGS)
# Instructions of a small step compared with the recorded number; ACCEPT=1 records a new one.
bench-instructions:
	@.ci/packages build run test
	@BUILD="$(abspath $(BUILD))" ACCEPT="$(ACCEPT)" bash tests/bench/instructions/count.sh || [ $$? -eq 77 ]
.PHONY: accuracy
# Test errors over several seeds, docs/accuracy.md. Takes long; ARGS as in the script's head.
accuracy:
	@.ci/packages build run $(if $(findstring --yardstick,$(ARGS)),bench)
	@$(MAKE) --no-print-directory SHORT=1 programs
	@BUILD="$(abspath $(BUILD))" bash tests/bench/accuracy/accuracy.sh $(ARGS)
bench-render:
	@.ci/packages build run bench
	@$(MAKE) --no-print-directory SHORT=1 programs
	@BUILD="$(abspath $(BUILD))" bash tests/bench/render_traces.sh $(ARGS)
.PHONY: bench-render
# The site in a browser: paint, a timeline of 10^6 ranges, 64 runs of 64 ranks. LIGHTHOUSE=1 as well, which fails below 95.
.PHONY: bench-site screenshots
bench-site:
	@.ci/packages build run test release
	@$(MAKE) --no-print-directory SHORT=1 programs
	@BUILD="$(abspath $(BUILD))" bash tests/bench/site.sh
screenshots:
	@BUILD="$(abspath $(BUILD))" bash tests/bench/screenshots.sh
# Makes docs/report.png anew, as a test demands when the front page has changed.
.PHONY: picture
picture:
	@.ci/packages build run test
	@$(MAKE) --no-print-directory SHORT=1 programs
	@BUILD="$(abspath $(BUILD))" bash tests/browser/picture
# The collector's cost per recorded event, 30 pairs a number; ARGS="nvtx calls" or "--pairs 8", as in the script's head.
bench-collect:
	@.ci/packages build run bench
	@$(MAKE) --no-print-directory SHORT=1 programs
	@BUILD="$(abspath $(BUILD))" python3 tests/bench/collector/bench.py $(ARGS)
# Packing and rendering 1,024 ranks, with full traces and with summaries: RANKS=, STEPS=.
.PHONY: bench-pack
bench-pack:
	@.ci/packages build run bench
	@$(MAKE) --no-print-directory SHORT=1 programs
	@BUILD="$(abspath $(BUILD))" bash tests/bench/pack.sh
# The size of each scenario's bottleneck on this machine, and the report's answer: SCENARIOS="data io", ROUNDS=5,
# LINES=FILE.
.PHONY: scenarios
scenarios:
	@.ci/packages build run test
	@$(MAKE) --no-print-directory SHORT=1 all
	@BUILD="$(abspath $(BUILD))" tests/scenarios/truth $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(LINES),--lines "$(LINES)") $(SCENARIOS)
# Times on a GPU; without one both print that.
.PHONY: bench-gpu
bench-gpu:
	@$(MAKE) --no-print-directory programs gpu-tests
	@for b in bench_kernels bench_step; do [ ! -x $(BUILD)/tests/gpu/$$b ] && echo "skipped: $$b is not built: no nvcc" || $(BUILD)/tests/gpu/$$b || [ $$? -eq 77 ]; done
