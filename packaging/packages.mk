# SPDX-License-Identifier: GPL-3.0-only
# packages.mk - what others get: installed files, a release, packages, static programs, an image. Part of Makefile.

MANDIR ?= $(PREFIX)/share/man
LIBEXECDIR ?= $(PREFIX)/libexec
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions

.PHONY: install uninstall dist
# Workloads that are for users: the front end `iot` finds them beside itself in a clone, in LIBEXECDIR/iot when installed.
user_scripts := $(filter-out workloads/demo.sh,$(sort $(wildcard workloads/*.sh workloads/*.bash workloads/*.py workloads/*.tsv)))
completions := $(foreach s,bash zsh,$(foreach p,iot iot-trace iot-analyze,$(B)/completions/$s/$p))
$(B)/completions/%/iot: workloads/iot
	$(Q)mkdir -p $(@D)
	$(Q)$< completion $* >$@
$(B)/completions/%/iot-trace: $(B)/iot-trace
	$(Q)mkdir -p $(@D)
	$(Q)$< --completion $* >$@
$(B)/completions/%/iot-analyze: $(B)/iot-analyze
	$(Q)mkdir -p $(@D)
	$(Q)$< completion $* >$@

# MODE:FOLDER:FILE...: what install puts where, and uninstall takes away. To add a file: its name here.
to = $(patsubst %,$1:%,$2)
installed = $(call to,755:$(PREFIX)/sbin,$(B)/iot-trace) \
	$(call to,755:$(PREFIX)/bin,$(B)/iot-analyze $(B)/iot-io working_trace.sh workloads/iot) \
	$(call to,755:$(LIBEXECDIR)/iot,$(filter %.sh,$(user_scripts))) \
	$(call to,644:$(LIBEXECDIR)/iot,$(filter-out %.sh,$(user_scripts))) \
	$(call to,644:$(PREFIX)/share/iot,tracer/systems/systems.json) \
	$(call to,644:$(MANDIR)/man1,workloads/iot.1 analyzer/iot-analyze.1) \
	$(call to,644:$(MANDIR)/man5,tracer/iot-systems.5) \
	$(call to,644:$(MANDIR)/man7,analyzer/iot-cookbook.7) \
	$(call to,644:$(MANDIR)/man8,tracer/iot-trace.8) \
	$(call to,644:$(BASH_COMPLETIONS),$(filter $(B)/completions/bash/%,$(completions))) \
	$(foreach f,$(filter $(B)/completions/zsh/%,$(completions)),644:$(ZSH_COMPLETIONS):$f:_$(notdir $f))

## make install   install into $(DESTDIR)$(PREFIX)
install: all $(completions)
	@packaging/install install '$(DESTDIR)' $(installed)

## make uninstall remove what `make install` with the same PREFIX put there
uninstall:
	@packaging/install uninstall '$(DESTDIR)' $(installed)

# One time for everything that is packed: that of the commit, or of the newest source of a release.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)
export SOURCE_DATE_EPOCH

## make dist      a release: sources and kernel objects, $(B)/iot-VERSION.tar.xz, which builds without clang
dist: $(bpf_obj) $(B)/bpf/made_by
	$(call say,PACK,$(B)/iot-$(VERSION).tar.xz)
	$(Q)packaging/dist iot-$(VERSION) $(B) $(target)
