# tests.mk - test programs, and the suites that tests/run starts. Under the sanitizers all unit tests run. The build
# without sanitizers runs those of files with special compiler options (the trainer, lib/trace and lib/reduce), and
# those that tests/memcheck/valgrind.sh takes; with LONG=1 all. test_backend_cuda tests the emulator's code, which both
# builds compile at -O2.
PLAIN_TOO := test_csv test_tar test_trace test_reduce test_summary
UNIT_OF_TRAINER := $(shell grep -l '^#include "trainer/' tests/unit/test_*.c)
UNIT_SRC := $(if $(SANITIZE)$(LONG),$(wildcard tests/unit/test_*.c),\
  $(filter-out tests/unit/test_backend_cuda.c,$(UNIT_OF_TRAINER)) $(PLAIN_TOO:%=tests/unit/%.c))
# Tests that replace a function by their own are separate programs.
UNIT_APART := $(patsubst %,test_%,backend_cuda cupti_clock manifest_sum nvtx_abi payload share sources segment timeline)
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SRC)) $(BUILD)/tests/unit/test_gpu_kernels
# The same device half, run on the CPU by tests/gpu/emulator, which needs no CUDA.
EMULATED_SO := $(BUILD)/tests/lib/libdcrnn-emulated.so
GPU_TESTS := $(if $(NVCC),$(patsubst tests/gpu/%.cu,$(BUILD)/tests/gpu/%,$(GPU_SRC)) $(BUILD)/tests/gpu/backend_gpu \
  $(BUILD)/tests/gpu/bench_step)

.PHONY: unit-tests gpu-tests
unit-tests: $(UNIT_TESTS)
	@rm -f $(filter-out $(UNIT_TESTS),$(wildcard $(BUILD)/tests/unit/test_*))
gpu-tests: $(GPU_TESTS)
	@:

$(BUILD)/lib/dcreport/libdcrnn-cuda.so: $(CUDA_OBJ)
	$(call say,link $@) $(folder) $(NVCC) -shared -cudart static -o $@ $^ -L$(CUDA_ROOT)/lib64 -lcublas -ldl \
	  $(subst -Wl$(comma),-Xlinker ,$(HARDENED_LINK)) -Xlinker -z,defs,-rpath,'$$ORIGIN:$(CUDA_ROOT)/lib64',--exclude-libs,ALL -Xcompiler -static-libstdc++,-static-libgcc

# The trainer without NVTX headers: one file differs.
$(BUILD)/obj/without-nvtx/mark.o: trainer/mark.c $(HOW)
	$(call say,compile $<) $(folder) $(CC) $(ALL_CFLAGS) -fvisibility=hidden -MMD -MP -c -o $@ $<
$(BUILD)/tests/lib/dcrnn-train-without-nvtx: $(BUILD)/obj/trainer/main.o $(BUILD)/obj/without-nvtx/mark.o $(BUILD)/libtrainer.a $(BUILD)/libdcr.a
	$(link) $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(BLAS_LIBS) $(ZLIB_LIBS) $(MPI_LIBS)

$(BUILD)/obj/tests/unit/%.o $(BUILD)/obj/tests/fuzz/%.o: EXTRA_CFLAGS = $(MPI_CFLAGS) $(NVTX_CFLAGS) $(RENDER_CFLAGS)
# Next to the build for Open MPI, if it is installed.
$(BUILD)/obj/tests/unit/test_mpich_abi.o: MPI_CFLAGS = $(call pc,--cflags,mpich)
$(UNIT_APART:%=$(BUILD)/tests/unit/%) $(BUILD)/tests/unit/test_gpu_kernels: $(SANITIZED_OBJ)
LINK_UNIT = $(link) $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS_COMMON) -lcmocka $(LIB_LIBS) $(RENDER_LIBS) $(BLAS_LIBS) $(ZLIB_LIBS) $(MPI_LIBS)
ALL_LIBS := $(patsubst %,$(BUILD)/lib%.a,trainer collect render dcr)
# The unit tests are one program, started under the name of a test. This saves a hundred links, which took a minute.
UNIT_TOGETHER := $(filter-out $(UNIT_APART),$(patsubst tests/unit/%.c,%,$(UNIT_SRC)))
NOTE_MESSAGES := $(foreach f,set sys file while advise,-Wl,--wrap=dcr_err_$(f)) -Wl,--wrap=dcr_say
UNIT_OBJ := $(patsubst %,$(BUILD)/obj/tests/unit/%.o,$(UNIT_TOGETHER))
$(UNIT_OBJ): EXTRA_CFLAGS += -Dmain=$(*F)_main -Wno-missing-prototypes
$(BUILD)/obj/tests/unit/unit.def: always
	@$(folder) printf 'TEST(%s)\n' $(UNIT_TOGETHER) | cmp -s - $@ || printf 'TEST(%s)\n' $(UNIT_TOGETHER) >$@
.PHONY: always
always:
$(BUILD)/obj/tests/lib/unit_main.o: EXTRA_CFLAGS = -I$(BUILD)/obj/tests/unit
$(BUILD)/obj/tests/lib/unit_main.o: $(BUILD)/obj/tests/unit/unit.def
$(BUILD)/tests/unit/unit: $(BUILD)/obj/tests/lib/unit_main.o $(BUILD)/obj/tests/lib/note_messages.o $(SANITIZED_OBJ) $(UNIT_OBJ) $(ALL_LIBS)
	$(Q)! nm -g --defined-only $(UNIT_OBJ) | grep ' [TDBRC] ' | grep -v '_main$$' || { echo "list the test of this function in UNIT_APART, or make it static" >&2; false; }
	$(LINK_UNIT) $(NOTE_MESSAGES)
$(UNIT_TOGETHER:%=$(BUILD)/tests/unit/%): $(BUILD)/tests/unit/unit
	@ln -sf unit $@
$(UNIT_APART:%=$(BUILD)/tests/unit/%): $(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/obj/tests/lib/note_messages.o $(ALL_LIBS)
	$(LINK_UNIT) $(NOTE_MESSAGES)
$(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(BUILD)/libtrainer.a $(BUILD)/libdcr.a
	$(link) $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(BLAS_LIBS) $(ZLIB_LIBS)
# Of the GPU tests, kernels_gpu and bench_kernels use the inside of the device half; backend_gpu and bench_step are
# plain C on top of it.
KERNEL_OBJ = $(patsubst %,$(BUILD)/$(1)/trainer/gpu/%.cu.o,cell reduce products)
$(BUILD)/tests/gpu/%: $(BUILD)/obj/tests/gpu/%.cu.o
	$(call say,link $@) $(folder) $(NVCC) -o $@ $^ $(GPU_LIBS) -Xcompiler -static-libstdc++,-static-libgcc
$(BUILD)/tests/gpu/kernels_gpu $(BUILD)/tests/gpu/bench_kernels: $(call KERNEL_OBJ,obj) $(PIC_OBJ)
$(BUILD)/tests/gpu/kernels_gpu $(BUILD)/tests/gpu/bench_kernels: GPU_LIBS = -L$(CUDA_ROOT)/lib64 -lcublas \
  -Xlinker -rpath,'$$ORIGIN/../../lib/dcreport:$(CUDA_ROOT)/lib64'
$(BUILD)/tests/gpu/backend_gpu: $(BUILD)/obj/tests/gpu/backend_cases.o $(BUILD)/obj/tests/gpu/backend_exact.o
$(BUILD)/tests/gpu/backend_gpu $(BUILD)/tests/gpu/bench_step: $(BUILD)/tests/gpu/%: $(BUILD)/obj/tests/gpu/%.o \
  $(BUILD)/libtrainer.a $(BUILD)/libdcr.a
	$(link) $(filter %.o,$^) $(BUILD)/libtrainer.a $(BUILD)/libdcr.a $(LDLIBS_COMMON) \
	  $(LIB_LIBS) $(BLAS_LIBS) $(ZLIB_LIBS) $(MPI_LIBS)

EMULATED_SRC := $(wildcard tests/gpu/emulator/*.cpp) $(CUDA_SRC)
EMULATED_OBJ := $(patsubst %,$(BUILD)/emulated/%.o,$(EMULATED_SRC)) $(PIC_OBJ)
# clang's checks of C++ types would need its C++ runtime in programs that are C.
EMULATED_FLAGS = -std=c++17 -O2 -g1 -fPIC -fvisibility=hidden -fno-strict-aliasing -ffp-contract=off -Wall -Wextra \
  -Wno-unknown-pragmas -DDCRNN_EMULATED -Itests/gpu/emulator -I. $(BLAS_CFLAGS) \
  $(SAN) $(if $(filter 1,$(SANITIZE)),-fno-sanitize=vptr$(comma)function)
$(BUILD)/emulated/%.o: % $(HOW)
	$(call say,emulate $<) $(folder) $(CXX) -x c++ $(EMULATED_FLAGS) -MMD -MP -c -o $@ $<
$(EMULATED_SO): $(EMULATED_OBJ)
	$(call say,link $@) $(folder) $(CXX) $(SAN) -shared -Wl,-soname,$(@F) -o $@ $^ $(BLAS_LIBS) -pthread -ldl
$(BUILD)/tests/unit/test_gpu_kernels: $(BUILD)/emulated/tests/gpu/kernels_gpu.cu.o $(EMULATED_OBJ)
	$(call say,link $@) $(folder) $(CXX) $(SAN) -o $@ $^ $(BLAS_LIBS) -pthread -ldl
$(BUILD)/tests/unit/test_backend_cuda: $(BUILD)/obj/tests/gpu/backend_cases.o $(BUILD)/obj/tests/gpu/backend_exact.o | $(EMULATED_SO)

SUITES ?= unit golden integration faults scenarios sanitize fuzz memcheck lint gpu
# These tests take long or need more packages: bundles and installations, a browser, a Slurm cluster.
RELEASE_SUITES ?= release browser slurm
# Longer versions of these suites: integration scripts with the other build (tests/run), scenarios on 1 and 4 ranks, all
# unit tests in the users' build, all cases and random seeds under sanitizers, longer fuzzing. Tests read LONG=1.
LONG_SUITES ?= swapped faults scenarios unit sanitize fuzz
.PHONY: test test-long test-release test-programs test-fresh golden-accept
test:
	@.ci/packages build run test $(if $(filter $(RELEASE_SUITES),$(SUITES)),release)
	@$(MAKE) --no-print-directory SHORT=1 summary
	@+$(parallel) SHORT=1 test-programs
	@$(end_say)
	@BUILD="$(abspath $(BUILD))" tests/run $(SUITES)
test-release:
	@$(MAKE) --no-print-directory test SUITES="$(RELEASE_SUITES)"
test-long:
	@from=$$(od -An -N3 -tu4 /dev/urandom | tr -d ' '); \
	  $(MAKE) --no-print-directory test LONG=1 PROPERTY_SEEDS="$(or $(PROPERTY_SEEDS),$$from-$$((from + 299)))" SUITES="$(LONG_SUITES)"
test-programs: programs gpu-tests unit-tests $(if $(filter integration swapped,$(SUITES)),$(EMULATED_SO)) $(if $(filter sanitize integration swapped fuzz lint,$(SUITES)),test-sanitize) ;
.PHONY: test-sanitize fuzz-programs
test-sanitize:
	@$(MAKE) --no-print-directory SANITIZE=1 BUILD=$(BUILD)-sanitize CUDA_SO= programs unit-tests fuzz-programs
# make report, make demo-fix, make test and make deb in a fresh Debian root. FRESH="report deb" leaves out make test,
# which takes longest.
FRESH ?= report test deb
test-fresh:
	@.ci/packages test
	@BUILD="$(abspath $(BUILD))" FRESH="$(FRESH)" tests/run fresh
golden-accept:
	ACCEPT=1 BUILD="$(abspath $(BUILD))" tests/run golden

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
fuzz-programs: $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ_SRC))
$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/libtrainer.a $(BUILD)/librender.a $(BUILD)/libdcr.a
	$(link) -fsanitize=fuzzer $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(RENDER_LIBS) $(BLAS_LIBS) \
	  $(ZLIB_LIBS) $(MPI_LIBS)
