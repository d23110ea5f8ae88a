# package.mk - a bundle, for machines without packages.
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
