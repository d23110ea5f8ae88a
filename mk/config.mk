# config.mk - finds compilers, CUDA and libraries of this machine.
pc = $(shell pkg-config $(1) $(2) 2>/dev/null)

# CUDA=0 switches the CUDA parts off even if there is a toolkit.
NVCC := $(if $(filter 0,$(CUDA)),,$(or $(wildcard $(CUDA_HOME)/bin/nvcc),$(shell command -v nvcc 2>/dev/null)))
CUDA_ROOT := $(if $(NVCC),$(or $(CUDA_HOME),$(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))))
NO_CUDA := $(if $(NVCC),,$(if $(filter 0,$(CUDA)),switched off by CUDA=0,no nvcc on PATH and none in CUDA_HOME))
NVTX_INC := $(if $(CUDA_ROOT),$(firstword $(foreach d,$(CUDA_ROOT)/include $(CUDA_ROOT)/targets/x86_64-linux/include,\
              $(if $(wildcard $(d)/nvtx3/nvToolsExt.h),$(d)))))

# := runs pkg-config once, not for every file.
MPI_CFLAGS := $(call pc,--cflags,ompi-c)
MPI_LIBS := $(call pc,--libs,ompi-c)
BLAS_CFLAGS := $(call pc,--cflags,openblas)
BLAS_LIBS := $(call pc,--libs,openblas)
ZLIB_LIBS := $(call pc,--libs,zlib)
LIB_LIBS := $(call pc,--libs,libarchive nettle jansson)
RENDER_CFLAGS := $(call pc,--cflags,cairo cairo-png fontconfig libpng libcmark)
RENDER_LIBS := $(call pc,--libs,cairo fontconfig libpng libcmark zlib sqlite3)
# Only its header is needed, because libhdf5 itself is loaded when the first HDF5 file is read.
HDF5_CFLAGS := $(if $(call pc,--modversion,hdf5),-DHAVE_HDF5 $(call pc,--cflags,hdf5))
HDF5_LIBS = # used for bundles
NVTX_CFLAGS = $(if $(NVTX_INC),-DHAVE_NVTX -isystem $(NVTX_INC))
