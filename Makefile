# dcreport: train, collect, report. `make help` lists what can be made.

VERSION := 0.1.0
PREFIX ?= /usr/local
# Where everything is built. Variants get folders of their own, so that they never mix.
BUILD ?= build$(if $(SANITIZE),-sanitize$(filter thread,$(SANITIZE)))$(if $(DEBUG),-debug)
# The same names whoever calls: what a compiler notes of headers in .d files is of files by these names.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
$(if $(filter $(CURDIR)/%,$(MAKECMDGOALS)),$(error name $(filter $(CURDIR)/%,$(MAKECMDGOALS)) from this folder on, without $(CURDIR)/: no rule has its whole path))

# ---- what this machine has ---------------------------------------------------------------------
# CUDA=0 switches the CUDA parts off although there is a toolkit.
NVCC := $(if $(filter 0,$(CUDA)),,$(or $(wildcard $(CUDA_HOME)/bin/nvcc),$(shell command -v nvcc 2>/dev/null)))
CUDA_ROOT := $(if $(NVCC),$(or $(CUDA_HOME),$(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))))
NO_CUDA := $(if $(NVCC),,$(if $(filter 0,$(CUDA)),switched off by CUDA=0,no nvcc on PATH and none in CUDA_HOME))
NVTX_INC := $(if $(CUDA_ROOT),$(firstword $(foreach d,$(CUDA_ROOT)/include $(CUDA_ROOT)/targets/x86_64-linux/include,\
              $(if $(wildcard $(d)/nvtx3/nvToolsExt.h),$(d)))))
# Long lines only on request: V=1 shows every command, otherwise one short line each; SHORT=1, as `make report` has it,
# one line that changes when somebody looks.
Q := $(if $(V),,@)
say = $(if $(V),,@$(if $(SHORT),[ ! -t 2 ] || printf '\r\033[K  %s' "$(1)" >&2;,echo "  $(1)";))
# In front of what writes $@, in the same shell.
folder = [ -d $(@D) ] || mkdir -p $(@D);
end_say = $(if $(SHORT),[ ! -t 2 ] || printf '\r\033[K' >&2,:)
pc = $(shell pkg-config $(1) $(2) 2>/dev/null)

CC ?= gcc
# The sanitized build is clang's, so that one pass serves the sanitizers, the fuzzers, and clang's warnings.
ifeq ($(SANITIZE),1)
CC := clang
CXX := clang++
WARN_IS_ERROR := -Werror
endif
WARN := -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wformat=2
IS_GCC := $(findstring Free Software Foundation,$(shell $(CC) --version 2>/dev/null))
# gcc's GIMPLE of each file, for make lint-temporaries. A second pass for it would take half a minute. No older one may stay.
DUMP = $(if $(IS_GCC),-fdump-tree-gimple-lineno=$(@:.o=.gimple))
no_old_dump = $(if $(IS_GCC),: >$(@:.o=.gimple);,[ ! -e $(@:.o=.gimple) ] || rm $(@:.o=.gimple);)
# Code without loops over data, and the unit tests, get the sanitizers at -O0, which compiles in a quarter of the time of -O1. Loops over
# data stay at -O1: at -O0 their tests lose more time than that saves. -g1 is enough for profilers and backtraces; DEBUG=1 has all.
WITHOUT_LOOPS = $(filter-out $(UNIT_OF_TRAINER),$(filter $(addsuffix /%,collect/pack collect/record collect/run collect/monitor \
  collect/anonymise collect/export render/findings render/metrics/registry render/pages render/say render/write render/site/pages tests/unit),$<))
CFLAGS ?= $(if $(DEBUG),-O0 -g3,$(if $(SANITIZE),$(if $(WITHOUT_LOOPS),-O0,-O1) -g1,-O2 -g1))
comma := ,
SAN := $(if $(SANITIZE),$(if $(filter thread,$(SANITIZE)),-fsanitize=thread,\
  -fsanitize=address$(comma)undefined$(comma)float-cast-overflow -fno-sanitize-recover=all) -fno-omit-frame-pointer)
# -ffp-contract=off keeps sums reproducible between compilers; kernels that want FMA say so themselves.
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -DDCR_VERSION='"$(VERSION)"' $(WARN) $(WARN_IS_ERROR) -ffp-contract=off -pthread $(CFLAGS) $(SAN)
LDLIBS_COMMON = -pthread -lm -ldl $(SAN) -Wl,--as-needed

# := asks pkg-config once, not for every file.
MPI_CFLAGS := $(call pc,--cflags,ompi-c)
MPI_LIBS := $(call pc,--libs,ompi-c)
BLAS_CFLAGS := $(call pc,--cflags,openblas)
BLAS_LIBS := $(call pc,--libs,openblas)
ZLIB_LIBS := $(call pc,--libs,zlib)
LIB_LIBS := $(call pc,--libs,libarchive nettle jansson)
RENDER_CFLAGS := $(call pc,--cflags,cairo cairo-png fontconfig libpng libcmark)
RENDER_LIBS := $(call pc,--libs,cairo fontconfig libpng libcmark zlib sqlite3)
# Only its header: libhdf5 itself is loaded when the first HDF5 file is read.
HDF5_CFLAGS := $(if $(call pc,--modversion,hdf5),-DHAVE_HDF5 $(call pc,--cflags,hdf5))
HDF5_LIBS = # of bundles
NVTX_CFLAGS = $(if $(NVTX_INC),-DHAVE_NVTX -isystem $(NVTX_INC))

# ---- what is made of what ------------------------------------------------------------------------
# Every program is all .c files of its folder; main.c stays out of the archive that the unit tests link.
sources = $(wildcard $(1)/*.c $(1)/*/*.c $(1)/*/*/*.c)
LIB_SRC := $(call sources,lib)
TRAINER_SRC := $(call sources,trainer)
# Compiled a second time, in double precision: trainer/cpu/real.h.
F64_SRC := $(addprefix trainer/,cpu/kernels.c cpu/kernels_portable.c model/adam.c model/dcgru.c model/dcrnn.c model/dcrnn_run.c \
  model/gconv.c model/loss.c tools/verify_run.c)
F64_OBJ = $(patsubst %.c,$(BUILD)/obj/%.f64.o,$(F64_SRC))
INJECT_SRC := $(wildcard collect/guest/*.c collect/guest/nvtx/*.c)
COLLECT_SRC := $(wildcard collect/*.c $(addsuffix /*.c,$(addprefix collect/,drain record run monitor pack export anonymise)))
CALIBRATE_SRC := $(wildcard collect/calibrate/*.c)
RENDER_SRC := $(call sources,render)
# Under the sanitizers all of them run. Without them run those of files that have compiler options of their own (the trainer, lib/trace and
# lib/reduce), and those that tests/memcheck/valgrind.sh takes; with LONG=1 all.
# test_backend_cuda is about the emulator's code, which both builds compile at -O2.
PLAIN_TOO := test_csv test_tar test_trace test_reduce test_summary
UNIT_OF_TRAINER := $(shell grep -l '^#include "trainer/' tests/unit/test_*.c)
UNIT_SRC := $(if $(SANITIZE)$(LONG),$(wildcard tests/unit/test_*.c),\
  $(filter-out tests/unit/test_backend_cuda.c,$(UNIT_OF_TRAINER)) $(PLAIN_TOO:%=tests/unit/%.c))
# Tests that put a function of their own in the place of a real one have programs of their own.
UNIT_APART := $(patsubst %,test_%,backend_cuda cupti_clock manifest_sum nvtx_abi payload share sources segment timeline)
GPU_SRC := $(wildcard tests/gpu/*.cu)
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

BIN := $(BUILD)/bin
INJECT_SO := $(BUILD)/lib/dcreport/libdccollect-inject.so
# A folder each, loaded by LD_PRELOAD or, cupti, by CUDA; they record through the injected library beside them.
PRELOADS := mpi io cudaprof cupti yield
PRELOAD_SO := $(patsubst %,$(BUILD)/lib/dcreport/libdccollect-%.so,$(PRELOADS))
PRELOAD_SRC := $(wildcard $(PRELOADS:%=collect/guest/%/*.c))
# The device half of the trainer, opened at run time: the programs themselves need no CUDA.
CUDA_SRC := $(wildcard trainer/gpu/*.cu)
# The hook for PyTorch programs: the collector puts this folder in front of PYTHONPATH.
PYTHON_HOOK := $(patsubst collect/python/%,$(BUILD)/lib/dcreport/python/%,$(wildcard collect/python/*.py))
CUDA_SO := $(if $(NVCC),$(BUILD)/lib/dcreport/libdcrnn-cuda.so)
# The options of this page are those of --help; the other pages are written by hand.
MADE_PAGES := $(patsubst docs/man/%.in,$(BUILD)/man/%,$(wildcard docs/man/*.1.in))
PROGRAMS := $(BIN)/dcrnn-train $(BIN)/dccollect $(BIN)/dccollect-calibrate $(BIN)/dcreport
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SRC)) $(BUILD)/tests/unit/test_gpu_kernels
# The same device half, run on the CPU by tests/gpu/emulator: needs no CUDA.
EMULATED_SO := $(BUILD)/tests/lib/libdcrnn-emulated.so
GPU_TESTS := $(if $(NVCC),$(patsubst tests/gpu/%.cu,$(BUILD)/tests/gpu/%,$(GPU_SRC)) $(BUILD)/tests/gpu/backend_gpu \
  $(BUILD)/tests/gpu/bench_step)

.PHONY: all programs dcrnn-train dccollect dcreport summary unit-tests gpu-tests
JOBS ?= $(shell OMP_NUM_THREADS= OMP_THREAD_LIMIT= nproc)
# As many jobs as the user said, else one per core.
parallel = $(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))
# `all` is a make of its own: beside it another goal would build the same libraries at the same time.
ifneq ($(and $(filter all,$(MAKECMDGOALS)),$(word 2,$(MAKECMDGOALS))),)
.NOTPARALLEL:
endif
all: | summary
	@+$(parallel) programs
	@$(end_say)
programs: $(PROGRAMS) $(INJECT_SO) $(PRELOAD_SO) $(CUDA_SO) $(PYTHON_HOOK) $(MADE_PAGES)
	@:
dcrnn-train: $(BIN)/dcrnn-train $(CUDA_SO) $(BUILD)/man/dcrnn-train.1
dccollect: $(BIN)/dccollect $(BIN)/dccollect-calibrate $(INJECT_SO) $(PRELOAD_SO) $(PYTHON_HOOK)
dcreport: $(BIN)/dcreport
unit-tests: $(UNIT_TESTS)
	@rm -f $(filter-out $(UNIT_TESTS),$(wildcard $(BUILD)/tests/unit/test_*))
gpu-tests: $(GPU_TESTS)
	@:

summary:
	@.ci/packages --check build
	@echo "CPU    on   trainer (OpenBLAS $(call pc,--modversion,openblas), Open MPI $(call pc,--modversion,ompi-c)), collector, renderer -> $(BUILD)/bin"
	@echo "CUDA   $(if $(NVCC),on   $(NVCC): trainer/gpu is compiled,off  $(NO_CUDA): no --backend cuda)"
	@echo "HDF5   $(if $(HDF5_CFLAGS),on   $(call pc,--modversion,hdf5),off  no libhdf5 that pkg-config knows: --data reads no .h5 files)"
	@echo "NVTX   $(if $(NVTX_INC),on   headers in $(NVTX_INC),off  no NVTX headers: marks reach the collector through its own entry points)"

$(BUILD)/obj/%.o: %.c Makefile
	$(call say,compile $<) $(folder) $(no_old_dump) $(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) $(DUMP) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.f64.o: %.c Makefile
	$(call say,compile $< (f64)) $(folder) $(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -DDCR_REAL_F64 -MMD -MP -c -o $@ $<

$(call objects,$(TRAINER_SRC)) $(F64_OBJ): EXTRA_CFLAGS = -fvisibility=hidden $(MPI_CFLAGS) $(NVTX_CFLAGS) $(HDF5_CFLAGS) $(BLAS_CFLAGS)
# Plain loops over all weights: vectorised, and a root that sets no errno. The same bits, a quarter of the instructions.
$(patsubst %,$(BUILD)/obj/trainer/model/%.o,adam adam.f64 dcgru dcgru.f64): EXTRA_CFLAGS += -O3 -fno-math-errno
# What every event of a trace passes: 4 % of the report of a large one.
$(patsubst %,$(BUILD)/obj/lib/%.o,trace/trace_events trace/trace_blocks reduce/reduce reduce/summary reduce/summary_names): EXTRA_CFLAGS += -O3
$(call objects,$(CALIBRATE_SRC)): EXTRA_CFLAGS = $(MPI_CFLAGS)
# This file alone wants multiply and add fused into one instruction, where the processor has one.
$(BUILD)/obj/collect/calibrate/fma.o: EXTRA_CFLAGS += -ffp-contract=fast
$(call objects,$(RENDER_SRC)): EXTRA_CFLAGS = $(RENDER_CFLAGS)
# The injected library lives in other people's processes: no sanitizer runtime, nothing but libc, nothing exported
# that is not marked so.
$(call objects,$(INJECT_SRC) $(PRELOAD_SRC)): EXTRA_CFLAGS = -fPIC -fvisibility=hidden
# One optimisation over all of the recorder: a tenth less of a pair of events. clang's would need a linker of its own.
$(call objects,$(INJECT_SRC)): EXTRA_CFLAGS += $(if $(IS_GCC),-flto)
ifeq ($(SANITIZE),1)
# What reads files counts the branches it takes, for the fuzzers. Elsewhere that costs three times the time of the tests.
FUZZED_SRC := $(filter lib/% $(addprefix render/,import/% read/% site/theme/%) \
  $(addprefix trainer/,data/% formats/% run/checkpoint.c),$(LIB_SRC) $(TRAINER_SRC) $(RENDER_SRC))
$(call objects,$(FUZZED_SRC)): EXTRA_CFLAGS += -fsanitize=fuzzer-no-link
endif
$(call objects,$(INJECT_SRC) $(PRELOAD_SRC)) $(INJECT_SO) $(PRELOAD_SO): SAN =

$(BUILD)/lib%.a:
	@$(folder) rm -f $@
	$(Q)ar rcs $@ $^
$(BUILD)/libdcr.a: $(call objects,$(LIB_SRC))
$(BUILD)/libtrainer.a: $(call objects,$(filter-out trainer/main.c,$(TRAINER_SRC))) $(F64_OBJ)
$(BUILD)/libcollect.a: $(call objects,$(filter-out collect/main.c,$(COLLECT_SRC)))
$(BUILD)/librender.a: $(call objects,$(filter-out render/main.c,$(RENDER_SRC)))
# The assembler copies the site's JavaScript and two documents into the object.
$(BUILD)/obj/render/site/theme/script.o: render/site/theme/site.js render/site/timeline/timeline.js docs/metrics.md docs/glossary.md

$(BUILD)/lib/dcreport/python/%.py: collect/python/%.py
	$(call say,copy $<) $(folder) cp $< $@

# The options of the sanitizers are linked into each program.
$(PROGRAMS) $(UNIT_APART:%=$(BUILD)/tests/unit/%) $(BUILD)/tests/unit/test_gpu_kernels: $(if $(SANITIZE),$(call objects,tests/lib/sanitized.c))
$(BIN)/dcrnn-train: $(BUILD)/obj/trainer/main.o $(BUILD)/libtrainer.a $(BUILD)/libdcr.a
	$(call say,link $@) $(folder) $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(HDF5_LIBS) $(BLAS_LIBS) $(ZLIB_LIBS) $(MPI_LIBS)
$(BUILD)/man/%.1: docs/man/%.1.in docs/man/options.awk $(BIN)/%
	$(call say,write $@) $(folder) $(BIN)/$* --help >$@.help && awk -f docs/man/options.awk $@.help $< >$@.new && mv $@.new $@ && rm $@.help
$(BIN)/dccollect: $(BUILD)/obj/collect/main.o $(BUILD)/libcollect.a $(BUILD)/libdcr.a
	$(call say,link $@) $(folder) $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS_COMMON) $(LIB_LIBS)
$(BIN)/dccollect-calibrate: $(call objects,$(CALIBRATE_SRC)) $(BUILD)/libcollect.a $(BUILD)/libdcr.a
	$(call say,link $@) $(folder) $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(MPI_LIBS)
$(BIN)/dcreport: $(BUILD)/obj/render/main.o $(BUILD)/librender.a $(BUILD)/libdcr.a
	$(call say,link $@) $(folder) $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(RENDER_LIBS)
$(INJECT_SO): $(call objects,$(INJECT_SRC))
	$(call say,link $@) $(folder) $(CC) $(CFLAGS) -shared -Wl,-z,defs,-z,nodelete,-soname,$(@F) -o $@ $^ -pthread -ldl
$(foreach d,$(PRELOADS),$(eval $(BUILD)/lib/dcreport/libdccollect-$(d).so: $(call objects,$(wildcard collect/guest/$(d)/*.c))))
$(PRELOAD_SO): $(INJECT_SO)
	$(call say,link $@) $(folder) $(CC) $(CFLAGS) -shared -Wl,-z,defs,-z,nodelete,-soname,$(@F),-rpath,'$$ORIGIN' -o $@ $(filter %.o,$^) $(INJECT_SO) -pthread -ldl

# CUDA 13 knows no architecture before 7.5; PTX is kept for what comes. cudart goes in, cuBLAS stays outside, NCCL is opened at run time.
GENCODE := $(foreach a,75 80 90,-gencode arch=compute_$(a),code=sm_$(a)) -gencode arch=compute_90,code=compute_90 \
  $(if $(NVCC),$(shell $(NVCC) --help | grep -q -e --compress-mode && echo --compress-mode=size))
# Files without a kernel are C++ for the host alone, which takes a third of the time.
KERNEL_SRC := $(if $(NVCC),$(shell grep -l __global__ $(CUDA_SRC) $(GPU_SRC)))
NVCCFLAGS = -std=c++17 -O3 -I. $(if $(filter $<,$(KERNEL_SRC)),$(GENCODE),-x c++) --fmad=true -Werror all-warnings \
  -Xcompiler -Wall,-Wextra,-fPIC,-fvisibility=hidden,-D_GNU_SOURCE
# The files of lib that the device code calls.
PIC_OBJ := $(patsubst %,$(BUILD)/obj/lib/base/%.pic.o,err utf8)
CUDA_OBJ := $(patsubst %.cu,$(BUILD)/obj/%.cu.o,$(CUDA_SRC)) $(PIC_OBJ)
$(BUILD)/obj/%.cu.o: %.cu Makefile
	$(call say,nvcc $<) $(folder) $(NVCC) $(NVCCFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/obj/%.pic.o: %.c Makefile
	$(Q)$(folder) $(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -fno-sanitize=all -MMD -MP -c -o $@ $<
# Looked for beside the library first, where a bundle puts them, then where the toolkit is.
$(BUILD)/lib/dcreport/libdcrnn-cuda.so: $(CUDA_OBJ)
	$(call say,link $@) $(folder) $(NVCC) -shared -cudart static -o $@ $^ -L$(CUDA_ROOT)/lib64 -lcublas -ldl \
	  -Xlinker -z,defs,-rpath,'$$ORIGIN:$(CUDA_ROOT)/lib64',--exclude-libs,ALL -Xcompiler -static-libstdc++,-static-libgcc

# The trainer as it is without NVTX headers: one file differs.
$(BUILD)/obj/without-nvtx/mark.o: trainer/mark.c Makefile
	$(call say,compile $<) $(folder) $(CC) $(ALL_CFLAGS) -fvisibility=hidden -MMD -MP -c -o $@ $<
$(BUILD)/tests/lib/dcrnn-train-without-nvtx: $(BUILD)/obj/trainer/main.o $(BUILD)/obj/without-nvtx/mark.o $(BUILD)/libtrainer.a $(BUILD)/libdcr.a
	$(call say,link $@) $(folder) $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(BLAS_LIBS) $(ZLIB_LIBS) $(MPI_LIBS)

$(BUILD)/obj/tests/unit/%.o $(BUILD)/obj/tests/fuzz/%.o: EXTRA_CFLAGS = $(MPI_CFLAGS) $(NVTX_CFLAGS) $(RENDER_CFLAGS)
# Beside Open MPI's, where it is installed.
$(BUILD)/obj/tests/unit/test_mpich_abi.o: MPI_CFLAGS = $(call pc,--cflags,mpich)
LINK_UNIT = $(CC) $(CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS_COMMON) -lcmocka $(LIB_LIBS) $(RENDER_LIBS) $(BLAS_LIBS) $(ZLIB_LIBS) $(MPI_LIBS)
ALL_LIBS := $(patsubst %,$(BUILD)/lib%.a,trainer collect render dcr)
# The unit tests are one program, started under the name of one of them: a hundred links less, which took a minute.
UNIT_TOGETHER := $(filter-out $(UNIT_APART),$(patsubst tests/unit/%.c,%,$(UNIT_SRC)))
UNIT_OBJ := $(patsubst %,$(BUILD)/obj/tests/unit/%.o,$(UNIT_TOGETHER))
$(UNIT_OBJ): EXTRA_CFLAGS += -Dmain=$(*F)_main -Wno-missing-prototypes
$(BUILD)/obj/tests/unit/unit.def: always
	@$(folder) printf 'TEST(%s)\n' $(UNIT_TOGETHER) | cmp -s - $@ || printf 'TEST(%s)\n' $(UNIT_TOGETHER) >$@
.PHONY: always
always:
$(BUILD)/obj/tests/lib/unit_main.o: EXTRA_CFLAGS = -I$(BUILD)/obj/tests/unit
$(BUILD)/obj/tests/lib/unit_main.o: $(BUILD)/obj/tests/unit/unit.def
$(BUILD)/tests/unit/unit: $(BUILD)/obj/tests/lib/unit_main.o $(if $(SANITIZE),$(BUILD)/obj/tests/lib/sanitized.o) $(UNIT_OBJ) $(ALL_LIBS)
	$(Q)! nm -g --defined-only $(UNIT_OBJ) | grep ' [TDBRC] ' | grep -v '_main$$' || { echo "list the test of this function in UNIT_APART, or make it static" >&2; false; }
	$(call say,link $@) $(folder) $(LINK_UNIT)
$(UNIT_TOGETHER:%=$(BUILD)/tests/unit/%): $(BUILD)/tests/unit/unit
	@ln -sf unit $@
$(UNIT_APART:%=$(BUILD)/tests/unit/%): $(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(ALL_LIBS)
	$(call say,link $@) $(folder) $(LINK_UNIT)
$(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(BUILD)/libtrainer.a $(BUILD)/libdcr.a
	$(call say,link $@) $(folder) $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(BLAS_LIBS) $(ZLIB_LIBS)
# Of the GPU tests kernels_gpu and bench_kernels reach into the device half, backend_gpu and bench_step are plain C over it.
KERNEL_OBJ = $(patsubst %,$(BUILD)/$(1)/trainer/gpu/%.cu.o,cell reduce products)
$(BUILD)/tests/gpu/%: $(BUILD)/obj/tests/gpu/%.cu.o
	$(call say,link $@) $(folder) $(NVCC) -o $@ $^ $(GPU_LIBS) -Xcompiler -static-libstdc++,-static-libgcc
$(BUILD)/tests/gpu/kernels_gpu $(BUILD)/tests/gpu/bench_kernels: $(call KERNEL_OBJ,obj) $(PIC_OBJ)
$(BUILD)/tests/gpu/kernels_gpu $(BUILD)/tests/gpu/bench_kernels: GPU_LIBS = -L$(CUDA_ROOT)/lib64 -lcublas \
  -Xlinker -rpath,'$$ORIGIN/../../lib/dcreport:$(CUDA_ROOT)/lib64'
$(BUILD)/tests/gpu/backend_gpu: $(BUILD)/obj/tests/gpu/backend_cases.o $(BUILD)/obj/tests/gpu/backend_exact.o
$(BUILD)/tests/gpu/backend_gpu $(BUILD)/tests/gpu/bench_step: $(BUILD)/tests/gpu/%: $(BUILD)/obj/tests/gpu/%.o \
  $(BUILD)/libtrainer.a $(BUILD)/libdcr.a
	$(call say,link $@) $(folder) $(CC) $(CFLAGS) -o $@ $(filter %.o,$^) $(BUILD)/libtrainer.a $(BUILD)/libdcr.a $(LDLIBS_COMMON) \
	  $(LIB_LIBS) $(BLAS_LIBS) $(ZLIB_LIBS) $(MPI_LIBS)

EMULATED_SRC := $(wildcard tests/gpu/emulator/*.cpp) $(CUDA_SRC)
EMULATED_OBJ := $(patsubst %,$(BUILD)/emulated/%.o,$(EMULATED_SRC)) $(PIC_OBJ)
# clang's checks of C++ types would need the C++ part of its runtime in programs that are C.
EMULATED_FLAGS = -std=c++17 -O2 -g -fPIC -fvisibility=hidden -fno-strict-aliasing -ffp-contract=off -Wall -Wextra \
  -Wno-unknown-pragmas -DDCRNN_EMULATED -Itests/gpu/emulator -I. $(BLAS_CFLAGS) \
  $(SAN) $(if $(filter 1,$(SANITIZE)),-fno-sanitize=vptr$(comma)function)
$(BUILD)/emulated/%.o: % Makefile
	$(call say,emulate $<) $(folder) $(CXX) -x c++ $(EMULATED_FLAGS) -MMD -MP -c -o $@ $<
$(EMULATED_SO): $(EMULATED_OBJ)
	$(call say,link $@) $(folder) $(CXX) $(SAN) -shared -Wl,-soname,$(@F) -o $@ $^ $(BLAS_LIBS) -pthread -ldl
$(BUILD)/tests/unit/test_gpu_kernels: $(BUILD)/emulated/tests/gpu/kernels_gpu.cu.o $(EMULATED_OBJ)
	$(call say,link $@) $(folder) $(CXX) $(SAN) -o $@ $^ $(BLAS_LIBS) -pthread -ldl
$(BUILD)/tests/unit/test_backend_cuda: $(BUILD)/obj/tests/gpu/backend_cases.o $(BUILD)/obj/tests/gpu/backend_exact.o | $(EMULATED_SO)
.SECONDARY:
-include $(shell find $(BUILD)/obj $(BUILD)/emulated -name '*.d' 2>/dev/null)

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
	  echo "make collect: NODE_CPU, NODE_NET and EMULATE describe nodes of this machine; leave them out with SCHEDULER=slurm" >&2; exit 2; }
	@slurm/submit --nodes "$(NODES)" $(if $(REPEAT),--repeat "$(REPEAT)") $(if $(DATA),--data "$(DATA)") $(if $(GRAPH),--graph "$(GRAPH)") -- $(ARGS)
else
collect: programs
	@.ci/packages build run
	@collect/series.sh
endif
# The report is of the last series: older archives stay in results/ and can be rendered by hand.
# Status 3 is a report that names its gaps (one node count only, say): made, so no failure of make.
site: $(BIN)/dcreport
	@[ -s results/last-series ] || { ls results/*.tar >/dev/null 2>&1 && \
	  echo "results/last-series, the list of the last series, is gone; name the archives: $(BIN)/dcreport results/*.tar -o site" >&2 || \
	  echo "no series yet in results/; run 'make collect' first" >&2; exit 2; }
	@$(BIN)/dcreport $$(cat results/last-series) -o site || [ $$? -eq 3 ]
# Tries the first advice of that report: results/fix/*.tar, and site-fix/, which compares both runs with the forecast.
demo-fix: programs
	@.ci/packages build run
	@collect/demo_fix.sh

# ---- tests ---------------------------------------------------------------------------------------
SUITES ?= unit golden integration faults scenarios sanitize fuzz memcheck lint browser slurm gpu
# Longer versions of these suites: integration scripts with the other build (tests/run), scenarios on 1 and 4 ranks, all unit tests
# as users compile them, all cases and random seeds under sanitizers, longer fuzzing. Tests read LONG=1.
LONG_SUITES ?= swapped faults scenarios unit sanitize fuzz
.PHONY: test test-long test-programs test-fresh golden-accept
test:
	@.ci/packages build run test
	@$(MAKE) --no-print-directory SHORT=1 summary
	@+$(parallel) SHORT=1 test-programs
	@$(end_say)
	@BUILD="$(abspath $(BUILD))" tests/run $(SUITES)
test-long:
	@from=$$(od -An -N3 -tu4 /dev/urandom | tr -d ' '); \
	  $(MAKE) --no-print-directory test LONG=1 PROPERTY_SEEDS="$(or $(PROPERTY_SEEDS),$$from-$$((from + 299)))" SUITES="$(LONG_SUITES)"
test-programs: programs gpu-tests unit-tests $(if $(filter integration swapped,$(SUITES)),$(EMULATED_SO)) $(if $(filter sanitize integration swapped fuzz lint,$(SUITES)),test-sanitize) ;
.PHONY: test-sanitize fuzz-programs
test-sanitize:
	@$(MAKE) --no-print-directory SANITIZE=1 BUILD=$(BUILD)-sanitize CUDA_SO= programs unit-tests fuzz-programs
# make report, make demo-fix and make test in a fresh Debian root. FRESH=report leaves out make test, which takes longest.
FRESH ?= report test
test-fresh:
	@.ci/packages test
	@BUILD="$(abspath $(BUILD))" FRESH="$(FRESH)" tests/run fresh
golden-accept:
	ACCEPT=1 BUILD="$(abspath $(BUILD))" tests/run golden

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
fuzz-programs: $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ_SRC))
$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/libtrainer.a $(BUILD)/librender.a $(BUILD)/libdcr.a
	$(call say,link $@) $(folder) $(CC) $(CFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(RENDER_LIBS) $(BLAS_LIBS) \
	  $(ZLIB_LIBS) $(MPI_LIBS)

# ---- for machines without packages ---------------------------------------------------------------
# A thin bundle has to be small. Debian's libarchive.so brings XML and Unicode (35 MB) for a format that nobody here writes: in
# a bundle the parts that are used go into the programs, and the two formats that would bring libraries are cut off.
libdir = $(wildcard $(call pc,--variable=libdir,$(1))/$(2))
BUNDLE_LIB_LIBS = $(if $(call libdir,libarchive,libarchive.a),\
  -Wl$(comma)--defsym=archive_write_set_format_xar=0$(comma)--defsym=archive_write_set_format_7zip=0 \
  $(call libdir,libarchive,libarchive.a) $(ARCHIVE_NEEDS) $(call pc,--libs,nettle jansson),$(LIB_LIBS))
# By their names at run time: not all have a package for compiling here.
ARCHIVE_NEEDS = $(shell ldd $(call libdir,libarchive,libarchive.so) | grep -oE '/[^ ]*/lib(z|zstd|lzma|bz2)\.so[^ ]*')
# So does libhdf5, which brings curl and thirty more for files on web servers: what trainer/formats/read_hdf5.c asks for by name goes into
# the program, where it is found like in a library.
HDF5_ARCHIVE = $(if $(HDF5_CFLAGS),$(firstword $(wildcard $(patsubst -L%,%/libhdf5.a,$(call pc,--libs-only-L,hdf5)) \
  $(call libdir,hdf5,libhdf5.a))))
HDF5_CALLED = $(shell grep -oE ' X.H5\w+|"H5\w+_g"' trainer/formats/read_hdf5.c | grep -oE 'H5\w+')
BUNDLE_HDF5_LIBS = $(if $(HDF5_ARCHIVE),$(foreach f,$(HDF5_CALLED),-Wl,-u,$(f),--export-dynamic-symbol=$(f)) \
  $(HDF5_ARCHIVE) $(foreach l,sz aec,$(if $(findstring /,$(shell $(CC) -print-file-name=lib$(l).a)),-l:lib$(l).a)) -lz -ldl)
.PHONY: bundle bundle-thin
bundle bundle-thin:
	@.ci/packages build run bundle
	@+$(parallel) SHORT=1 BIN="$(BUILD)/bundle/programs" LIB_LIBS="$(BUNDLE_LIB_LIBS)" HDF5_LIBS="$(BUNDLE_HDF5_LIBS)" programs gpu-tests
	@$(end_say)
	@BUILD="$(abspath $(BUILD))" PROGRAMS="$(abspath $(BUILD)/bundle/programs)" VERSION="$(VERSION)" CUDA_ROOT="$(CUDA_ROOT)" \
	  NO_CUDA="$(NO_CUDA)" THIN="$(if $(filter %-thin,$@),1)" bundle/make.sh

# ---- care ----------------------------------------------------------------------------------------
FORMATTED = $(shell git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' 2>/dev/null)
SCRIPTS = .ci/run .ci/packages $(shell git ls-files '*.sh' '*.sbatch' slurm/submit tests/run tests/slurm/cluster tests/scenarios/truth 2>/dev/null)
BANNED := \b(sprintf|vsprintf|strcpy|strcat|gets|atoi|atol|atof|strtok)[ ]*\(
.PHONY: lint lint-temporaries format hdr-check bench bench-collect help clean install
lint: hdr-check lint-temporaries test-sanitize
	@clang-format --dry-run -Werror $(FORMATTED)
	@! grep -nE '$(BANNED)' $(FORMATTED) || { echo "banned: say snprintf, memcpy, strtol, strtok_r"; exit 1; }
	@! grep -nE '\bjson_(object_set_new|array_append_new|string|real)\(' $(filter-out %/json_values.c,$(filter render/write/json/% render/findings/%,$(FORMATTED))) || \
	  { echo "banned: a key could get lost; say value_set, value_add, value_string, value_real (render/write/json/json_values.h)"; exit 1; }
	@! grep -nE '^[^/]*"n/a because [^"]' $(filter render/%,$(FORMATTED)) || \
	  { echo "banned: why a value is missing is a row of render/say/reasons.def, and say_reason makes the words"; exit 1; }
	@shellcheck -x $(SCRIPTS)
# Every header compiles alone. A file that includes a header first shows that already.
hdr-check:
	@git grep -m1 -h '^#include' -- '*.c' | sed -n 's/^#include "\(.*\)"$$/\1/p' | sort -u >$(BUILD)/first-included
	@git ls-files 'lib/*.h' 'trainer/*.h' 'collect/*.h' 'render/*.h' | grep -vxFf $(BUILD)/first-included | xargs -P $(JOBS) -I{} sh -c 'echo "#include \"{}\"" | \
	  $(CC) -std=c11 -D_GNU_SOURCE -I. $(MPI_CFLAGS) $(RENDER_CFLAGS) -Wall -Wextra -Werror -fsyntax-only -x c - || \
	  { echo "{} does not compile alone"; exit 255; }'
# No pointer is kept into a record that a function returned.
LINTED_OBJ := $(call objects,$(LIB_SRC) $(COLLECT_SRC) $(CALIBRATE_SRC) $(INJECT_SRC) $(PRELOAD_SRC) $(TRAINER_SRC) $(RENDER_SRC))
lint-temporaries:
	@+$(if $(IS_GCC),$(parallel) -s $(LINTED_OBJ),:)
	@$(if $(IS_GCC),python3 tests/lint/temporaries.py $(LINTED_OBJ:.o=.gimple),echo "skipped: lint-temporaries reads what gcc writes, and CC is $(CC)")
# Figures to be read, not tests: nothing here passes or fails.
bench:
	@.ci/packages build run bench
	@$(MAKE) --no-print-directory all
	@for b in tests/bench/*.sh; do echo "== $$b"; BUILD="$(abspath $(BUILD))" bash $$b || exit; done
.PHONY: bench-train bench-instructions
# Matrix products beside OpenBLAS, and the training step beside the yardstick and the rate in registers: docs/performance.md. ARGS as in the script's head.
bench-train:
	@.ci/packages build run bench
	@BUILD="$(abspath $(BUILD))" bash tests/bench/step.sh --all --rounds 3 $(ARGS)
# Instructions of a small step beside the recorded; ACCEPT=1 records.
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
# The site in a browser: paint, a timeline of 10^6 ranges, 64 runs of 64 ranks; LIGHTHOUSE=1 as well.
.PHONY: bench-site screenshots
bench-site:
	@.ci/packages build run test
	@$(MAKE) --no-print-directory SHORT=1 programs
	@BUILD="$(abspath $(BUILD))" bash tests/bench/site.sh
screenshots:
	@BUILD="$(abspath $(BUILD))" bash tests/bench/screenshots.sh
# docs/report.png anew, from the site/ that make report made.
.PHONY: picture
picture:
	@bash tests/bench/picture.sh
bench-collect:
	@.ci/packages build run bench
	@$(MAKE) --no-print-directory SHORT=1 programs
	@BUILD="$(abspath $(BUILD))" bash tests/bench/collect.sh
# Packing and rendering 1,024 ranks, with full traces and with summaries: RANKS=, STEPS=.
.PHONY: bench-pack
bench-pack:
	@.ci/packages build run bench
	@$(MAKE) --no-print-directory SHORT=1 programs
	@BUILD="$(abspath $(BUILD))" bash tests/bench/pack.sh
# How large the bottleneck of each scenario is on this machine, and what the report says: SCENARIOS="data io", ROUNDS=5, LINES=FILE.
.PHONY: scenarios
scenarios:
	@.ci/packages build run test
	@$(MAKE) --no-print-directory SHORT=1 all
	@BUILD="$(abspath $(BUILD))" tests/scenarios/truth $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(LINES),--lines "$(LINES)") $(SCENARIOS)
# Times on a GPU; without one both say so.
.PHONY: bench-gpu
bench-gpu:
	@$(MAKE) --no-print-directory programs gpu-tests
	@for b in bench_kernels bench_step; do [ ! -x $(BUILD)/tests/gpu/$$b ] && echo "skipped: $$b is not built: no nvcc" || $(BUILD)/tests/gpu/$$b || [ $$? -eq 77 ]; done
format:
	clang-format -i $(FORMATTED)
clean:
	rm -rf build build-*

install: programs
	@root="$(DESTDIR)$(PREFIX)" && share="$$root/share" && doc="$$share/doc/dcreport" && \
	install -d "$$root/bin" "$$root/lib/dcreport" "$$share/dcreport" "$$share/man/man1" "$$doc/docs" && \
	install -m 755 $(PROGRAMS) "$$root/bin" && \
	install -m 755 $(INJECT_SO) $(PRELOAD_SO) $(CUDA_SO) "$$root/lib/dcreport" && \
	install -d "$$root/lib/dcreport/python" && install -m 644 $(PYTHON_HOOK) "$$root/lib/dcreport/python" && \
	cp -R themes "$$share/dcreport/" && \
	install -m 644 docs/man/*.1 $(MADE_PAGES) "$$share/man/man1" && \
	install -m 644 README.md LICENSE CHANGELOG.md CONTRIBUTING.md "$$doc" && \
	install -m 644 docs/*.md docs/*.png docs/thresholds "$$doc/docs" && \
	echo "installed in $$root"

help:
	@echo "make report        install what is missing, build, train on NODES='1 2 4', pack results/*.tar, render site/"
	@echo "make test          install what is missing, build, run every test (SUITES='$(SUITES)')"
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
	@echo "make install       PREFIX=/usr/local DESTDIR="
