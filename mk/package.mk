# package.mk - make dist, make deb, and make bundle for machines without packages. The tar holds the last commit, with
# the same bytes each time.
.PHONY: dist deb compile_commands.json
dist:
	@git rev-parse -q --verify HEAD >/dev/null || { echo "make dist: this is no git checkout. The tar is made of the last commit." >&2; exit 2; }
	@mkdir -p $(BUILD)
	@git diff --quiet HEAD || echo "make dist: changes that are not committed are left out" >&2
	@git archive --prefix=dcreport-$(VERSION)/ HEAD | gzip -9n >$(BUILD)/dcreport-$(VERSION).tar.gz.new
	@mv $(BUILD)/dcreport-$(VERSION).tar.gz.new $(BUILD)/dcreport-$(VERSION).tar.gz && echo "$(BUILD)/dcreport-$(VERSION).tar.gz"
# A Debian package. dcrnn-train's CUDA library is not in it, because the toolkit is not a Debian package. DEB_MAINTAINER
# is the contact for its users.
DEB_MAINTAINER ?= dcreport developers <dcreport@example.org>
deb:
	@.ci/packages build run package
	@+$(parallel) SHORT=1 programs
	@$(end_say)
	@BUILD="$(BUILD)" VERSION="$(VERSION)" MAINTAINER="$(DEB_MAINTAINER)" packaging/deb.sh
# For editors: the compiler's command lines.
compile_commands.json:
	@$(MAKE) --no-print-directory -nB V=1 programs unit-tests | awk -v folder="$(CURDIR)" -f packaging/compile_commands.awk >$@.new && mv $@.new $@

# ---- bundle --------------------------------------------------------------------------------------
# A thin bundle has to be small. Debian's libarchive.so brings XML and Unicode (35 MB) for a format that is not used here.
# So the used parts of libarchive are linked statically into dccollect, and in a bundle into all programs. The two formats
# that need further libraries are left out.
libdir = $(wildcard $(call pc,--variable=libdir,$(1))/$(2))
BUNDLE_LIB_LIBS = $(if $(call libdir,libarchive,libarchive.a),\
  -Wl$(comma)--defsym=archive_write_set_format_xar=0$(comma)--defsym=archive_write_set_format_7zip=0 \
  $(call libdir,libarchive,libarchive.a) $(ARCHIVE_NEEDS) $(call pc,--libs,nettle jansson),$(LIB_LIBS))
# Linked by their run-time names, because not all of them have a development package here.
ARCHIVE_NEEDS = $(shell ldd $(call libdir,libarchive,libarchive.so) | grep -oE '/[^ ]*/lib(z|zstd|lzma|bz2)\.so[^ ]*')
# libhdf5 also needs curl and thirty more libraries, for files on web servers. So the functions that
# trainer/formats/read_hdf5.c looks up by name are linked into the program, where they are found as in a library.
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
