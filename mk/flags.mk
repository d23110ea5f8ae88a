# flags.mk - compilers, their options, the output of make, and the rules for objects. V=1 shows every command; otherwise
# each gets one short line. With SHORT=1, as in `make report`, there is one line, which changes on a terminal.
Q := $(if $(V),,@)
say = $(if $(V),,@$(if $(SHORT),[ ! -t 2 ] || printf '\r\033[K  %s' "$(1)" >&2;,echo "  $(1)";))
# Printed before the command for $@, in the same shell.
folder = [ -d $(@D) ] || mkdir -p $(@D);
end_say = $(if $(SHORT),[ ! -t 2 ] || printf '\r\033[K' >&2,:)

CC ?= gcc
# The sanitized build is clang's, so that one pass serves the sanitizers, the fuzzers, and clang's warnings.
ifeq ($(SANITIZE),1)
CC := clang
CXX := clang++
WARN_IS_ERROR := -Werror
endif
WARN := -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wformat=2
IS_GCC := $(findstring Free Software Foundation,$(shell $(CC) --version 2>/dev/null))
# Writes gcc's GIMPLE of each file for make lint-temporaries, because a second pass for it would take half a minute. An
# older file must not stay.
DUMP = $(if $(IS_GCC),-fdump-tree-gimple-lineno=$(@:.o=.gimple))
no_old_dump = $(if $(IS_GCC),: >$(@:.o=.gimple);,[ ! -e $(@:.o=.gimple) ] || rm $(@:.o=.gimple);)
# Code without loops over data, and the unit tests, get the sanitizers at -O0, which compiles in a quarter of the time
# of -O1. Loops over data stay at -O1, because at -O0 their tests lose more time than that saves. -g1 is enough for
# profilers and backtraces; DEBUG=1 gives full debug information.
WITHOUT_LOOPS = $(filter-out $(UNIT_OF_TRAINER),$(filter $(addsuffix /%,collect/pack collect/record collect/run collect/monitor \
  collect/anonymise collect/export render/findings render/metrics/registry render/pages render/say render/write render/site/pages tests/unit),$<))
CFLAGS ?= $(if $(DEBUG),-O0 -g3,$(if $(SANITIZE),$(if $(WITHOUT_LOOPS),-O0,-O1) -g1,-O2 -g1))
comma := ,
SAN := $(if $(SANITIZE),$(if $(filter thread,$(SANITIZE)),-fsanitize=thread,\
  -fsanitize=address$(comma)undefined$(comma)float-cast-overflow -fno-sanitize-recover=all) -fno-omit-frame-pointer)
# Builds for users are hardened. The sanitizers check more than hardening, and _FORTIFY_SOURCE needs an optimised build.
ifeq ($(SANITIZE)$(DEBUG),)
HARDENED := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
HARDENED_LINK := -Wl,-z,relro,-z,now
PIE := -pie
endif
# The same sources give the same bytes in any folder. Optimisation at link time needs the option there too.
SAME_BYTES := '-ffile-prefix-map=$(CURDIR)=.'
# -ffp-contract=off keeps sums reproducible between compilers. Kernels that want FMA ask for it.
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -DDCR_VERSION='"$(VERSION)"' $(WARN) $(WARN_IS_ERROR) $(SAME_BYTES) -ffp-contract=off -pthread \
  $(HARDENED) $(CPPFLAGS) $(CFLAGS) $(SAN)
# Rules for a program and for a library; libraries and objects follow.
link = $(call say,link $@) $(folder) $(CC) $(CFLAGS) $(PIE) $(HARDENED_LINK) $(LDFLAGS) -o $@
link_library = $(call say,link $@) $(folder) $(CC) $(CFLAGS) $(SAME_BYTES) -shared $(HARDENED_LINK) $(LDFLAGS) -Wl,-z,defs,-z,nodelete,-soname,$(@F) -o $@
LDLIBS_COMMON = -pthread -lm -ldl $(SAN) -Wl,--as-needed

# When the compile command changes, every object is made anew.
HOW := Makefile $(addprefix mk/,config.mk flags.mk programs.mk tests.mk)
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
$(BUILD)/obj/%.o: %.c $(HOW)
	$(call say,compile $<) $(folder) $(no_old_dump) $(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) $(DUMP) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.f64.o: %.c $(HOW)
	$(call say,compile $< (f64)) $(folder) $(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -DDCR_REAL_F64 -MMD -MP -c -o $@ $<
