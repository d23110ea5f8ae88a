# dcreport: train, collect, report. `make help` lists what can be made.

VERSION := 0.1.0
PREFIX ?= /usr/local
# Where everything is built. Variants get folders of their own, so that they never mix.
BUILD ?= build$(if $(SANITIZE),-sanitize)$(if $(DEBUG),-debug)

# ---- what this machine has ---------------------------------------------------------------------
# CUDA=0 switches the CUDA parts off although there is a toolkit.
NVCC := $(if $(filter 0,$(CUDA)),,$(or $(wildcard $(CUDA_HOME)/bin/nvcc),$(shell command -v nvcc 2>/dev/null)))
CUDA_ROOT := $(if $(NVCC),$(or $(CUDA_HOME),$(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))))
NVTX_INC := $(if $(CUDA_ROOT),$(firstword $(foreach d,$(CUDA_ROOT)/include $(CUDA_ROOT)/targets/x86_64-linux/include,\
              $(if $(wildcard $(d)/nvtx3/nvToolsExt.h),$(d)))))
# Long lines only on request: V=1 shows every command, otherwise one short line each; SHORT=1, as `make report` has it,
# one line that changes when somebody looks.
Q := $(if $(V),,@)
say = $(if $(V),,@$(if $(SHORT),[ ! -t 2 ] || printf '\r\033[K  %s' "$(1)" >&2;,echo "  $(1)";))
end_say = $(if $(SHORT),[ ! -t 2 ] || printf '\r\033[K' >&2,:)
pc = $(shell pkg-config $(1) $(2) 2>/dev/null)

CC ?= gcc
WARN := -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wformat=2
CFLAGS ?= $(if $(DEBUG),-O0 -g3,-O2 -g)
comma := ,
SAN := $(if $(SANITIZE),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
# -ffp-contract=off keeps sums reproducible between compilers; kernels that want FMA say so themselves.
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -DDCR_VERSION='"$(VERSION)"' $(WARN) -ffp-contract=off -pthread $(CFLAGS) $(SAN)
LDLIBS_COMMON = -pthread -lm -ldl $(SAN) -Wl,--as-needed

MPI_CFLAGS = $(call pc,--cflags,ompi-c)
MPI_LIBS = $(call pc,--libs,ompi-c)
BLAS_LIBS = $(call pc,--libs,openblas)
LIB_LIBS = $(call pc,--libs,libarchive nettle jansson)
RENDER_CFLAGS = $(call pc,--cflags,cairo cairo-png fontconfig libpng libcmark)
RENDER_LIBS = $(call pc,--libs,cairo fontconfig libpng libcmark)
NVTX_CFLAGS = $(if $(NVTX_INC),-DHAVE_NVTX -isystem $(NVTX_INC))

# ---- what is made of what ------------------------------------------------------------------------
# Every program is all .c files of its folder; main.c stays out of the archive that the unit tests link.
sources = $(wildcard $(1)/*.c $(1)/*/*.c)
LIB_SRC := $(call sources,lib)
TRAINER_SRC := $(call sources,trainer)
INJECT_SRC := $(wildcard collect/inject/*.c)
COLLECT_SRC := $(wildcard collect/*.c)
RENDER_SRC := $(call sources,render)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
GPU_SRC := $(wildcard tests/gpu/*.cu)
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

BIN := $(BUILD)/bin
INJECT_SO := $(BUILD)/lib/dcreport/libdccollect-inject.so
PROGRAMS := $(BIN)/dcrnn-train $(BIN)/dccollect $(BIN)/dcreport
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SRC))
GPU_TESTS := $(if $(NVCC),$(patsubst tests/gpu/%.cu,$(BUILD)/tests/gpu/%,$(GPU_SRC)))

.PHONY: all programs dcrnn-train dccollect dcreport summary unit-tests gpu-tests
JOBS ?= $(shell nproc)
# As many jobs as the user said, else one per core.
parallel = $(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))
all: | summary
	@+$(parallel) programs gpu-tests
	@$(end_say)
programs: $(PROGRAMS) $(INJECT_SO)
	@:
dcrnn-train: $(BIN)/dcrnn-train
dccollect: $(BIN)/dccollect $(INJECT_SO)
dcreport: $(BIN)/dcreport
unit-tests: $(UNIT_TESTS)
gpu-tests: $(GPU_TESTS)
	@:

summary:
	@.ci/packages --check build
	@echo "CPU    on   trainer (OpenBLAS $(call pc,--modversion,openblas), Open MPI $(call pc,--modversion,ompi-c)), collector, renderer -> $(BUILD)/bin"
	@echo "CUDA   $(if $(NVCC),on   $(NVCC): GPU tests compiled,off  $(if $(filter 0,$(CUDA)),switched off by CUDA=0,no nvcc on PATH and none in CUDA_HOME): no GPU tests)"
	@echo "NVTX   $(if $(NVTX_INC),on   headers in $(NVTX_INC),off  no NVTX headers: marks reach the collector through its own entry points)"

$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,compile $<) $(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

$(call objects,$(TRAINER_SRC)): EXTRA_CFLAGS = -fvisibility=hidden $(MPI_CFLAGS) $(NVTX_CFLAGS) $(call pc,--cflags,openblas)
$(call objects,$(RENDER_SRC)): EXTRA_CFLAGS = $(RENDER_CFLAGS)
# The injected library lives in other people's processes: no sanitizer runtime, nothing but libc, nothing exported
# that is not marked so.
$(call objects,$(INJECT_SRC)): EXTRA_CFLAGS = -fPIC -fvisibility=hidden
$(call objects,$(INJECT_SRC)) $(INJECT_SO): SAN =

$(BUILD)/lib%.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ar rcs $@ $^
$(BUILD)/libdcr.a: $(call objects,$(LIB_SRC))
$(BUILD)/libtrainer.a: $(call objects,$(filter-out trainer/main.c,$(TRAINER_SRC)))
$(BUILD)/libcollect.a: $(call objects,$(filter-out collect/main.c,$(COLLECT_SRC)))
$(BUILD)/librender.a: $(call objects,$(filter-out render/main.c,$(RENDER_SRC)))

link = @mkdir -p $(@D)
$(BIN)/dcrnn-train: $(BUILD)/obj/trainer/main.o $(BUILD)/libtrainer.a $(BUILD)/libdcr.a
	$(link)
	$(call say,link $@) $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(BLAS_LIBS) $(MPI_LIBS)
$(BIN)/dccollect: $(BUILD)/obj/collect/main.o $(BUILD)/libcollect.a $(BUILD)/libdcr.a
	$(link)
	$(call say,link $@) $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS_COMMON) $(LIB_LIBS)
$(BIN)/dcreport: $(BUILD)/obj/render/main.o $(BUILD)/librender.a $(BUILD)/libdcr.a
	$(link)
	$(call say,link $@) $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(RENDER_LIBS)
$(INJECT_SO): $(call objects,$(INJECT_SRC))
	$(link)
	$(call say,link $@) $(CC) $(CFLAGS) -shared -Wl,-z,defs,-z,nodelete -o $@ $^ -pthread -ldl

$(BUILD)/obj/tests/unit/%.o: EXTRA_CFLAGS = $(MPI_CFLAGS) $(NVTX_CFLAGS) $(RENDER_CFLAGS)
$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/libtrainer.a $(BUILD)/libcollect.a $(BUILD)/librender.a $(BUILD)/libdcr.a
	$(link)
	$(call say,link $@) $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS_COMMON) -lcmocka $(LIB_LIBS) $(RENDER_LIBS) $(BLAS_LIBS) $(MPI_LIBS)
$(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(BUILD)/libtrainer.a $(BUILD)/libdcr.a
	$(link)
	$(call say,link $@) $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(BLAS_LIBS)
# CUDA 13 knows no architecture before 7.5; PTX is kept for what comes.
$(BUILD)/tests/gpu/%: tests/gpu/%.cu Makefile
	$(link)
	$(call say,nvcc $<) $(NVCC) -O2 -I. -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=sm_90 \
	  -gencode arch=compute_90,code=compute_90 -o $@ $<
.SECONDARY:
-include $(shell find $(BUILD)/obj $(BUILD)/fuzz -name '*.d' 2>/dev/null)

# ---- the main job --------------------------------------------------------------------------------
NODES ?= 1 2 4
SCHEDULER ?= local
export NODES DATA GRAPH ARGS BUILD

.PHONY: report collect site
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
	@slurm/submit --nodes "$(NODES)" $(if $(DATA),--data "$(DATA)") $(if $(GRAPH),--graph "$(GRAPH)") -- $(ARGS)
else
collect: programs
	@.ci/packages build run
	@collect/series.sh
endif
# The report is of the last series: older archives stay in results/ and can be rendered by hand.
# Status 3 is a report that names its gaps (one node count only, say): made, so no failure of make.
site: $(BIN)/dcreport
	@[ -s results/last-series ] || { echo "no series yet in results/; run 'make collect' first" >&2; exit 2; }
	@$(BIN)/dcreport $$(cat results/last-series) -o site || [ $$? -eq 3 ]

# ---- tests ---------------------------------------------------------------------------------------
SUITES ?= unit golden integration sanitize fuzz memcheck lint browser slurm gpu
.PHONY: test test-programs test-fresh golden-accept
test:
	@.ci/packages build run test
	@$(MAKE) --no-print-directory SHORT=1 all
	@+$(parallel) SHORT=1 test-programs
	@$(end_say)
	@BUILD="$(abspath $(BUILD))" tests/run $(SUITES)
test-programs: unit-tests $(if $(filter sanitize,$(SUITES)),test-sanitize) $(if $(filter fuzz,$(SUITES)),fuzz-programs) ;
.PHONY: test-sanitize fuzz-programs
test-sanitize:
	@$(MAKE) --no-print-directory SANITIZE=1 BUILD=$(BUILD)-sanitize programs unit-tests
# Both commands of the README in a fresh Debian root. FRESH=report leaves out the second, which takes longer.
FRESH ?= report test
test-fresh:
	@.ci/packages test
	@BUILD="$(abspath $(BUILD))" FRESH="$(FRESH)" tests/run fresh
golden-accept:
	ACCEPT=1 BUILD="$(abspath $(BUILD))" tests/run golden

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -DDCR_VERSION='"$(VERSION)"' -O1 -g -fsanitize=fuzzer-no-link,address,undefined
FUZZ_OBJ = $(patsubst %.c,$(BUILD)/fuzz/%.o,$(LIB_SRC) $(filter-out render/main.c,$(RENDER_SRC)))
fuzz-programs: $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ_SRC))
$(BUILD)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(call say,fuzz $<) clang $(FUZZ_CFLAGS) $(RENDER_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/fuzz/librender.a: $(FUZZ_OBJ)
	@rm -f $@
	$(Q)ar rcs $@ $^
$(BUILD)/fuzz/%: tests/fuzz/%.c $(BUILD)/fuzz/librender.a
	$(call say,link $@) clang $(FUZZ_CFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIB_LIBS) $(RENDER_LIBS) -lm

# ---- care ----------------------------------------------------------------------------------------
FORMATTED = $(shell git ls-files '*.c' '*.h' '*.cu' 2>/dev/null)
SCRIPTS = .ci/run .ci/packages $(shell git ls-files '*.sh' '*.sbatch' slurm/submit tests/run tests/slurm/cluster 2>/dev/null)
BANNED := \b(sprintf|vsprintf|strcpy|strcat|gets|atoi|atol|atof|strtok)[ ]*\(
.PHONY: lint format hdr-check bench help clean install
lint: hdr-check
	@clang-format --dry-run -Werror $(FORMATTED)
	@! grep -nE '$(BANNED)' $(FORMATTED) || { echo "banned: say snprintf, memcpy, strtol, strtok_r"; exit 1; }
	@+$(parallel) BUILD=$(BUILD)-lint CC=clang CFLAGS="-O1 -Werror" programs
	@shellcheck -x $(SCRIPTS)
# Every header compiles alone.
hdr-check:
	@for h in $$(git ls-files 'lib/*.h' 'trainer/*.h' 'collect/*.h' 'render/*.h'); do \
	  echo "#include \"$$h\"" | $(CC) -std=c11 -D_GNU_SOURCE -I. $(MPI_CFLAGS) $(RENDER_CFLAGS) -Wall -Wextra -Werror -fsyntax-only -x c - \
	    || { echo "$$h does not compile alone"; exit 1; }; done
# Figures to be read, not tests: nothing here passes or fails.
bench:
	@.ci/packages build run bench
	@$(MAKE) --no-print-directory all
	@for b in tests/bench/*.sh; do echo "== $$b"; BUILD="$(abspath $(BUILD))" bash $$b || exit; done
format:
	clang-format -i $(FORMATTED)
clean:
	rm -rf build build-*

install: programs
	@root="$(DESTDIR)$(PREFIX)" && share="$$root/share" && doc="$$share/doc/dcreport" && \
	install -d "$$root/bin" "$$root/lib/dcreport" "$$share/dcreport" "$$share/man/man1" "$$doc/docs" && \
	install -m 755 $(PROGRAMS) "$$root/bin" && \
	install -m 755 $(INJECT_SO) "$$root/lib/dcreport" && \
	cp -R themes "$$share/dcreport/" && \
	install -m 644 docs/man/*.1 "$$share/man/man1" && \
	install -m 644 README.md LICENSE CHANGELOG.md CONTRIBUTING.md "$$doc" && \
	install -m 644 docs/*.md docs/*.png docs/thresholds "$$doc/docs" && \
	echo "installed in $$root"

help:
	@echo "make report        install what is missing, build, train on NODES='1 2 4', pack results/*.tar, render site/"
	@echo "make test          install what is missing, build, run every test (SUITES='$(SUITES)')"
	@echo "make               build; CUDA=0 without CUDA, DEBUG=1, SANITIZE=1, CC=clang"
	@echo "make collect       train and pack only; NODES=, DATA=, GRAPH=, ARGS=, SCHEDULER=slurm"
	@echo "make site          render the archives of the last series again"
	@echo "make test-fresh    both commands in a fresh Debian root (needs root; FRESH=report for the first only)"
	@echo "make bench         timings: training step, event cost, rendering"
	@echo "make lint format hdr-check golden-accept clean"
	@echo "make install       PREFIX=/usr/local DESTDIR="
