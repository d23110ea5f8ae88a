# dcreport: train, collect, report. `make help` lists the targets.

VERSION := 1.0.0
# The build folder. Variants get separate folders, so that they never mix.
BUILD ?= build$(if $(SANITIZE),-sanitize$(filter thread,$(SANITIZE)))$(if $(DEBUG),-debug)
# The same paths for every caller, because the compiler writes them into .d files.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
$(if $(filter $(CURDIR)/%,$(MAKECMDGOALS)),$(error name $(filter $(CURDIR)/%,$(MAKECMDGOALS)) from this folder on, without $(CURDIR)/: no rule has its whole path))

include $(addprefix mk/,$(addsuffix .mk,config flags programs tests bench care install package))
.SECONDARY:
-include $(shell find $(BUILD)/obj $(BUILD)/emulated -name '*.d' 2>/dev/null)

.DEFAULT_GOAL := all
.PHONY: all summary help clean
JOBS ?= $(shell OMP_NUM_THREADS= OMP_THREAD_LIMIT= nproc)
# The user's number of jobs, else one per core.
parallel = $(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))
# `all` is a separate make, because another goal running beside it would build the same libraries at the same time.
ifneq ($(and $(filter all,$(MAKECMDGOALS)),$(word 2,$(MAKECMDGOALS))),)
.NOTPARALLEL:
endif
all: | summary
	@+$(parallel) programs
	@$(end_say)

summary:
	@.ci/packages --check build
	@echo "CPU    on   trainer (OpenBLAS $(call pc,--modversion,openblas), Open MPI $(call pc,--modversion,ompi-c)), collector, renderer -> $(BUILD)/bin"
	@echo "CUDA   $(if $(NVCC),on   $(NVCC): trainer/gpu is compiled,off  $(NO_CUDA): no --backend cuda)"
	@echo "HDF5   $(if $(HDF5_CFLAGS),on   $(call pc,--modversion,hdf5),off  no libhdf5 that pkg-config knows: --data reads no .h5 files)"
	@echo "NVTX   $(if $(NVTX_INC),on   headers in $(NVTX_INC),off  no NVTX headers: marks reach the collector through its own entry points)"

# ---- the main job --------------------------------------------------------------------------------
NODES ?= 1 2 4
SCHEDULER ?= local
export NODES REPEAT NODE_CPU NODE_NET EMULATE DATA GRAPH ARGS BUILD

.PHONY: report collect site demo-fix
report:
	@.ci/packages build run
	@$(MAKE) --no-print-directory SHORT=1 all
	@$(MAKE) --no-print-directory SHORT=1 collect
	@$(if $(filter slurm,$(SCHEDULER)),,$(MAKE) --no-print-directory site)
ifneq ($(filter-out local slurm,$(SCHEDULER)),)
$(error SCHEDULER is '$(SCHEDULER)'; it can be local or slurm)
endif
ifeq ($(SCHEDULER),slurm)
collect:
	@[ -z "$(NODE_CPU)$(NODE_NET)$(EMULATE)" ] || { \
	  echo "make collect: NODE_CPU, NODE_NET and EMULATE describe nodes of this machine. Leave them out with SCHEDULER=slurm." >&2; exit 2; }
	@slurm/submit --nodes "$(NODES)" $(if $(REPEAT),--repeat "$(REPEAT)") $(if $(DATA),--data "$(DATA)") $(if $(GRAPH),--graph "$(GRAPH)") -- $(ARGS)
else
collect: programs
	@.ci/packages build run
	@collect/series.sh
endif
# The report shows the last series. Older archives stay in results/ and can be rendered by hand. Status 3 means that the
# report names gaps, such as a single node count. The report was made, so make does not fail.
site: $(BIN)/dcreport
	@[ -s results/last-series ] || { ls results/*.tar >/dev/null 2>&1 && \
	  echo "make site: results/last-series, the list of the last series, is gone. Name the archives: $(BIN)/dcreport results/*.tar -o site" >&2 || \
	  echo "make site: no series yet in results/. Run make collect first." >&2; exit 2; }
	@$(BIN)/dcreport $$(cat results/last-series) -o site || [ $$? -eq 3 ]
# Tries the first advice of that report: makes results/fix/*.tar, and site-fix/, which compares both runs with the
# forecast.
demo-fix: programs
	@.ci/packages build run
	@collect/demo_fix.sh

clean:
	rm -rf build build-*

help:
	@echo "make report        install what is missing, build, train on NODES='1 2 4', pack results/*.tar, render site/"
	@echo "make test          install what is missing, build, run the tests (SUITES='$(SUITES)')"
	@echo "make test-release  the tests that take long or need a browser or Slurm (SUITES='$(RELEASE_SUITES)')"
	@echo "make test-long     longer versions of the tests (SUITES='$(LONG_SUITES)')"
	@echo "make               build; CUDA=0 without CUDA, DEBUG=1, SANITIZE=1 (or thread), CC=clang"
	@echo "make collect       train and pack only; NODES=, REPEAT=, NODE_CPU=, NODE_NET=, EMULATE=ranks, DATA=, GRAPH=, ARGS=, SCHEDULER=slurm, CALIBRATE=0"
	@echo "make site          render the archives of the last series again"
	@echo "make demo-fix      run the command that the report in site/ advises first, and compare both runs with the forecast in site-fix/"
	@echo "make test-fresh    the commands of the README in a fresh Debian root (needs root; FRESH=report leaves out make test)"
	@echo "make bench         timings: training step, event cost, rendering; bench-collect: what the collector costs; bench-site: the pages"
	@echo "make screenshots   every page of site/ at three widths, light and dark, into build/screenshots"
	@echo "make picture       docs/report.png, the picture of the README, from the site/ of a default series"
	@echo "make bench-render  dcreport over 570 MB of Kineto JSON and native traces of 10^6 and 10^7 ranges: seconds, memory, rates"
	@echo "make bench-pack    size, time and memory of packing and rendering 1,024 ranks"
	@echo "make bench-train   matrix products beside OpenBLAS, a training step beside PyTorch's; ARGS='--threads 2'"
	@echo "make accuracy      test errors on real readings over three seeds (half an hour); ARGS='--epochs 24 --seeds 1'"
	@echo "make bench-instructions   instructions of one step, compared with the recorded count (ACCEPT=1 replaces it)"
	@echo "make scenarios     how large each bottleneck of docs/scenarios.md is here, and what the report says of it (about 15 minutes)"
	@echo "make lint format hdr-check golden-accept clean"
	@echo "make bundle        one folder that runs without packages elsewhere, and a tar of it; bundle-thin without CUDA's libraries"
	@echo "make install       copies what is built: PREFIX=/usr/local BINDIR= LIBDIR= MANDIR= DESTDIR=; make uninstall removes it"
	@echo "make deb           a Debian package, checked by lintian; make dist: a tar of the last commit; make compile_commands.json: for editors"
