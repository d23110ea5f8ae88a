# install.mk - make install.
.PHONY: install
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
