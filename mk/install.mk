# install.mk - make install copies built files and builds nothing. make uninstall with the same folders removes them.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
MANDIR ?= $(PREFIX)/share/man
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
NEEDED := $(PROGRAMS) $(INJECT_SO) $(PRELOAD_SO) $(PYTHON_HOOK) $(MADE_PAGES) $(COMPLETIONS)
not_built = $(filter-out $(wildcard $(NEEDED)),$(NEEDED))
FOLDERS = BUILD="$(BUILD)" DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" BINDIR="$(BINDIR)" LIBDIR="$(LIBDIR)" MANDIR="$(MANDIR)" ZSHDIR="$(ZSHDIR)"

.PHONY: install uninstall
install:
	@$(if $(not_built),echo "make install: $(firstword $(not_built)) is not built. Run make first." >&2; exit 2)
	@$(FOLDERS) packaging/install.sh install
uninstall:
	@$(FOLDERS) packaging/install.sh uninstall
