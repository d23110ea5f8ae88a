# care.mk - rules that the sources must follow.
FORMATTED = $(shell git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' 2>/dev/null)
SCRIPTS = $(shell { git ls-files '*.sh'; git grep -lE '^\#! ?/(usr/)?bin/(env )?(ba)?sh$$'; } 2>/dev/null | sort -u)
BANNED := \b(sprintf|vsprintf|strcpy|strcat|gets|atoi|atol|atof|strtok)[ ]*\(
.PHONY: lint lint-temporaries format hdr-check
lint: hdr-check lint-temporaries test-sanitize
	@clang-format --dry-run -Werror $(FORMATTED)
	@! grep -nE '$(BANNED)' $(FORMATTED) || { echo "banned: say snprintf, memcpy, strtol, strtok_r"; exit 1; }
	@! grep -nE '\bjson_(object_set_new|array_append_new|string|real)\(' $(filter-out %/json_values.c,$(filter render/write/json/% render/findings/%,$(FORMATTED))) || \
	  { echo "banned: a key could get lost; say value_set, value_add, value_string, value_real (render/write/json/json_values.h)"; exit 1; }
	@! grep -nE '^[^/]*"n/a because [^"]' $(filter render/%,$(FORMATTED)) || \
	  { echo "banned: why a value is missing is a row of render/say/reasons.def, and say_reason makes the words"; exit 1; }
	@shellcheck -x $(SCRIPTS)
# Checks that every header compiles alone. For headers that a file includes first, this is already shown.
hdr-check:
	@git grep -m1 -h '^#include' -- '*.c' | sed -n 's/^#include "\(.*\)"$$/\1/p' | sort -u >$(BUILD)/first-included
	@git ls-files 'lib/*.h' 'trainer/*.h' 'collect/*.h' 'render/*.h' | grep -vxFf $(BUILD)/first-included | xargs -P $(JOBS) -I{} sh -c 'echo "#include \"{}\"" | \
	  $(CC) -std=c11 -D_GNU_SOURCE -I. $(MPI_CFLAGS) $(RENDER_CFLAGS) -Wall -Wextra -Werror -fsyntax-only -x c - || \
	  { echo "{} does not compile alone"; exit 255; }'
# Checks that no pointer is kept into a record that a function returned.
LINTED_OBJ := $(call objects,$(LIB_SRC) $(COLLECT_SRC) $(CALIBRATE_SRC) $(INJECT_SRC) $(PRELOAD_SRC) $(TRAINER_SRC) $(RENDER_SRC))
lint-temporaries:
	@+$(if $(IS_GCC),$(parallel) -s $(LINTED_OBJ),:)
	@$(if $(IS_GCC),python3 tests/lint/temporaries.py $(LINTED_OBJ:.o=.gimple),echo "skipped: lint-temporaries reads what gcc writes, and CC is $(CC)")
format:
	clang-format -i $(FORMATTED)
