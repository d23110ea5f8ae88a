# programs.mk - the parts of programs and libraries.
# Every program consists of all .c files of its folder; main.c stays out of the archive that the unit tests link.
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
GPU_SRC := $(wildcard tests/gpu/*.cu)

BIN := $(BUILD)/bin
# The recorder with NVTX and the calls on files, and the same with the calls of MPI. A process loads one of the two,
# because each library costs it time. Both have one soname, so that the libraries below find the one that is loaded.
INJECT_SO := $(BUILD)/lib/dcreport/libdccollect-inject.so
MPI_SO := $(BUILD)/lib/dcreport/libdccollect-mpi.so
IO_SRC := $(wildcard collect/guest/io/*.c)
MPI_SRC := $(wildcard collect/guest/mpi/*.c)
# Loaded beside it where they are needed, by LD_PRELOAD or, cupti, by CUDA. One folder for each library.
BESIDE := cudaprof cupti yield
BESIDE_SO := $(patsubst %,$(BUILD)/lib/dcreport/libdccollect-%.so,$(BESIDE))
PRELOAD_SO := $(MPI_SO) $(BESIDE_SO)
PRELOAD_SRC := $(IO_SRC) $(MPI_SRC) $(wildcard $(BESIDE:%=collect/guest/%/*.c))
# The device half of the trainer, opened at run time, so that the programs themselves need no CUDA.
CUDA_SRC := $(wildcard trainer/gpu/*.cu)
# The hook for PyTorch programs: the collector puts this folder in front of PYTHONPATH.
PYTHON_HOOK := $(patsubst collect/python/%,$(BUILD)/lib/dcreport/python/%,$(wildcard collect/python/*.py))
CUDA_SO := $(if $(NVCC),$(BUILD)/lib/dcreport/libdcrnn-cuda.so)
# The options of the manual pages come from --help.
MADE_PAGES := $(patsubst docs/man/%.in,$(BUILD)/man/%,$(wildcard docs/man/*.1.in))
COMPLETIONS := $(foreach p,dcrnn-train dccollect dcreport,$(BUILD)/completions/bash/$(p) $(BUILD)/completions/zsh/_$(p))
PROGRAMS := $(BIN)/dcrnn-train $(BIN)/dccollect $(BIN)/dccollect-calibrate $(BIN)/dcreport

.PHONY: programs dcrnn-train dccollect dcreport
programs: $(PROGRAMS) $(INJECT_SO) $(PRELOAD_SO) $(CUDA_SO) $(PYTHON_HOOK) $(MADE_PAGES) $(COMPLETIONS)
	@:
dcrnn-train: $(BIN)/dcrnn-train $(CUDA_SO) $(BUILD)/man/dcrnn-train.1
dccollect: $(BIN)/dccollect $(BIN)/dccollect-calibrate $(INJECT_SO) $(PRELOAD_SO) $(PYTHON_HOOK) $(BUILD)/man/dccollect.1
dcreport: $(BIN)/dcreport $(BUILD)/man/dcreport.1

$(call objects,$(TRAINER_SRC)) $(F64_OBJ): EXTRA_CFLAGS = -fvisibility=hidden $(MPI_CFLAGS) $(NVTX_CFLAGS) $(HDF5_CFLAGS) $(BLAS_CFLAGS)
# Plain loops over all weights: these options allow vector code and a root without errno. They give the same bits in a
# quarter of the instructions.
$(patsubst %,$(BUILD)/obj/trainer/model/%.o,adam adam.f64 dcgru dcgru.f64): EXTRA_CFLAGS += -O3 -fno-math-errno
# Code that every event of a trace passes: 4 % of the time for a large report.
$(patsubst %,$(BUILD)/obj/lib/%.o,trace/trace_events trace/trace_blocks reduce/reduce reduce/summary reduce/summary_names): EXTRA_CFLAGS += -O3
$(call objects,$(CALIBRATE_SRC)): EXTRA_CFLAGS = $(MPI_CFLAGS)
# Only this file wants multiply and add fused into one instruction, if the processor has one.
$(BUILD)/obj/collect/calibrate/loops.o: EXTRA_CFLAGS += -ffp-contract=fast
$(call objects,$(RENDER_SRC)): EXTRA_CFLAGS = $(RENDER_CFLAGS)
# The injected library runs in other people's processes: no sanitizer runtime, no library except libc, and only marked
# functions are exported.
$(call objects,$(INJECT_SRC) $(PRELOAD_SRC)): EXTRA_CFLAGS = -fPIC -fvisibility=hidden
# Optimisation over the whole recorder takes a tenth less for a pair of events. With clang it would need another linker.
$(call objects,$(INJECT_SRC)): EXTRA_CFLAGS += $(if $(IS_GCC),-flto)
ifeq ($(SANITIZE),1)
# Code that reads files counts its branches for the fuzzers. Elsewhere that would triple the time of the tests.
FUZZED_SRC := $(filter lib/% $(addprefix render/,import/% read/% site/theme/%) \
  $(addprefix trainer/,data/% formats/% run/checkpoint.c),$(LIB_SRC) $(TRAINER_SRC) $(RENDER_SRC))
$(call objects,$(FUZZED_SRC)): EXTRA_CFLAGS += -fsanitize=fuzzer-no-link
endif
$(call objects,$(INJECT_SRC) $(PRELOAD_SRC)) $(INJECT_SO) $(PRELOAD_SO): SAN =

$(BUILD)/lib%.a:
	@$(folder) rm -f $@
	$(Q)ar rcsD $@ $^
$(BUILD)/libdcr.a: $(call objects,$(LIB_SRC))
$(BUILD)/libtrainer.a: $(call objects,$(filter-out trainer/main.c,$(TRAINER_SRC))) $(F64_OBJ)
$(BUILD)/libcollect.a: $(call objects,$(filter-out collect/main.c,$(COLLECT_SRC)))
$(BUILD)/librender.a: $(call objects,$(filter-out render/main.c,$(RENDER_SRC)))
# The assembler copies the site's JavaScript and two documents into the object.
$(BUILD)/obj/render/site/theme/script.o: render/site/theme/site.js render/site/timeline/timeline.js docs/metrics.md docs/glossary.md

$(BUILD)/lib/dcreport/python/%.py: collect/python/%.py
	$(call say,copy $<) $(folder) cp $< $@

# The sanitizers' options are linked into each program.
SANITIZED_OBJ := $(if $(SANITIZE),$(call objects,tests/lib/sanitized.c))
$(PROGRAMS): $(SANITIZED_OBJ)
$(BIN)/dcrnn-train: $(BUILD)/obj/trainer/main.o $(BUILD)/libtrainer.a $(BUILD)/libdcr.a
	$(link) $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(HDF5_LIBS) $(BLAS_LIBS) $(ZLIB_LIBS) $(MPI_LIBS)
# FILTER of the program's --help; a program that fails leaves no file.
from_help = $(call say,write $@) $(folder) $(BIN)/$* --help >$@.help && awk $(1) >$@.new && mv $@.new $@ && rm $@.help
$(BUILD)/man/%.1: docs/man/%.1.in docs/man/options.awk $(BIN)/%
	$(call from_help,-f docs/man/options.awk $@.help $<)
$(BUILD)/completions/bash/%: packaging/completion.awk $(BIN)/%
	$(call from_help,-v shell=bash -v program=$* -f $< $@.help)
$(BUILD)/completions/zsh/_%: packaging/completion.awk $(BIN)/%
	$(call from_help,-v shell=zsh -v program=$* -f $< $@.help)
# One dccollect starts with each rank, and the loader takes 13 ms for the eleven libraries that libarchive.so needs.
$(BIN)/dccollect: $(BUILD)/obj/collect/main.o $(BUILD)/libcollect.a $(BUILD)/libdcr.a
	$(link) $^ $(LDLIBS_COMMON) $(BUNDLE_LIB_LIBS)
$(BIN)/dccollect-calibrate: $(call objects,$(CALIBRATE_SRC)) $(BUILD)/libcollect.a $(BUILD)/libdcr.a
	$(link) $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(MPI_LIBS)
$(BIN)/dcreport: $(BUILD)/obj/render/main.o $(BUILD)/librender.a $(BUILD)/libdcr.a
	$(link) $^ $(LDLIBS_COMMON) $(LIB_LIBS) $(RENDER_LIBS)
# Two segments instead of four, and no table between the parts of the library.
$(INJECT_SO): $(call objects,$(INJECT_SRC) $(IO_SRC))
$(MPI_SO): $(call objects,$(INJECT_SRC) $(IO_SRC) $(MPI_SRC))
$(INJECT_SO) $(MPI_SO):
	$(link_library) -Wl,-soname,$(notdir $(INJECT_SO)) -Wl,-z,noseparate-code,-Bsymbolic-functions $(filter %.o,$^) -pthread -ldl
$(foreach d,$(BESIDE),$(eval $(BUILD)/lib/dcreport/libdccollect-$(d).so: $(call objects,$(wildcard collect/guest/$(d)/*.c))))
$(BESIDE_SO): $(INJECT_SO)
	$(link_library) -Wl,-rpath,'$$ORIGIN' $(filter %.o,$^) $(INJECT_SO) -pthread -ldl

# CUDA 13 supports no architecture before 7.5; PTX is kept for future ones. cudart is linked in, cuBLAS stays outside,
# NCCL is opened at run time.
GENCODE := $(foreach a,75 80 90,-gencode arch=compute_$(a),code=sm_$(a)) -gencode arch=compute_90,code=compute_90 \
  $(if $(NVCC),$(shell $(NVCC) --help | grep -q -e --compress-mode && echo --compress-mode=size))
# Files without a kernel are compiled as host C++ only, which takes a third of the time.
KERNEL_SRC := $(if $(NVCC),$(shell grep -l __global__ $(CUDA_SRC) $(GPU_SRC)))
# nvcc writes names of temporary files into objects with kernels, and in /tmp they hold the number of its process.
NVCCFLAGS = -std=c++17 -O3 -I. $(if $(filter $<,$(KERNEL_SRC)),--objdir-as-tempdir $(GENCODE),-x c++) --fmad=true -Werror all-warnings \
  -Xcompiler -Wall,-Wextra,-fPIC,-fvisibility=hidden,-D_GNU_SOURCE
# Files of lib that the device code calls.
PIC_OBJ := $(patsubst %,$(BUILD)/obj/lib/base/%.pic.o,err utf8)
CUDA_OBJ := $(patsubst %.cu,$(BUILD)/obj/%.cu.o,$(CUDA_SRC)) $(PIC_OBJ)
$(BUILD)/obj/%.cu.o: %.cu $(HOW)
	$(call say,nvcc $<) $(folder) $(NVCC) $(NVCCFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/obj/%.pic.o: %.c $(HOW)
	$(Q)$(folder) $(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -fno-sanitize=all -MMD -MP -c -o $@ $<
# Searched first beside the library, where a bundle puts them, then in the toolkit.
