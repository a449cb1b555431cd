# SPDX-License-Identifier: GPL-3.0-only
# packages.mk - what others get: installed files, a release, packages, static programs, an image. Part of Makefile.

MANDIR ?= $(PREFIX)/share/man
LIBEXECDIR ?= $(PREFIX)/libexec
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions

.PHONY: install uninstall dist deb static image check-packages
# Workloads that are for users: the front end `iot` finds them beside itself in a clone, in LIBEXECDIR/iot when installed.
user_scripts := $(filter-out workloads/demo.sh,$(sort $(wildcard workloads/*.sh workloads/*.bash workloads/*.py workloads/*.tsv)))
user_programs = $(shell grep -l '^\#!' $(user_scripts))
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

$(B)/iot-glossary.7: packaging/glossary analyzer/command/terms.def
	$(Q)mkdir -p $(@D)
	$(Q)$< man analyzer/command/terms.def >$@

## make doc/GLOSSARY.md  the glossary, of the words that `iot-analyze help` knows; it is kept in git
doc/GLOSSARY.md: packaging/glossary analyzer/command/terms.def
	$(Q)$< markdown analyzer/command/terms.def >$@

# MODE:FOLDER:FILE...: what install puts where, and uninstall takes away. To add a file: its name here.
to = $(patsubst %,$1:%,$2)
installed = $(call to,755:$(PREFIX)/sbin,$(B)/iot-trace) \
	$(call to,755:$(PREFIX)/bin,$(B)/iot-analyze $(B)/iot-io working_trace.sh workloads/iot) \
	$(call to,755:$(LIBEXECDIR)/iot,$(user_programs)) \
	$(call to,644:$(LIBEXECDIR)/iot,$(filter-out $(user_programs),$(user_scripts))) \
	$(call to,644:$(PREFIX)/share/iot,tracer/process/systems/systems.json) \
	$(call to,644:$(MANDIR)/man1,workloads/iot.1 analyzer/command/iot-analyze.1) \
	$(call to,644:$(MANDIR)/man5,tracer/iot-systems.5) \
	$(call to,644:$(MANDIR)/man7,analyzer/command/iot-cookbook.7 $(B)/iot-glossary.7) \
	$(call to,644:$(MANDIR)/man8,tracer/iot-trace.8) \
	$(call to,644:$(BASH_COMPLETIONS),$(filter $(B)/completions/bash/%,$(completions))) \
	$(foreach f,$(filter $(B)/completions/zsh/%,$(completions)),644:$(ZSH_COMPLETIONS):$f:_$(notdir $f))

## make install   install into $(DESTDIR)$(PREFIX)
install: all $(completions) $(B)/iot-glossary.7
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

## make deb       the Debian packages iot and iot-doc into $(B)/deb (needs dpkg-dev and debhelper)
deb:
	$(Q)packaging/deb $(B)

# Static programs. Where Debian has no archive of a library, it is built from Debian's source of it.
static_dir := $(B)/static
static_flags := -static-pie -Wl,-z,relro,-z,now $(foreach f,dlopen dlsym dlclose dlerror,-Wl,--wrap=$f)
# zstd: libelf of Debian 13 wants it.
static_libs = -lelf -lz $(filter /%,$(shell $(CC) -print-file-name=libzstd.a)) -lm -pthread
$(static_dir)/libcjson.a: packaging/static-library
	$(call say,STATIC,$@)
	$(Q)CC='$(CC)' CFLAGS='-O2 -g1 $(HARDEN) $(SAME_BYTES) $(CFLAGS)' $< cjson $(@D)
cjson_archive = $(or $(filter /%,$(shell $(CC) -print-file-name=libcjson.a)),$(static_dir)/libcjson.a)
$(static_dir)/static.o: packaging/static.c Makefile packaging/packages.mk | $(B)/.tools
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -Wno-missing-prototypes -c $< -o $@
$(static_dir)/iot-trace: $(tracer_obj) $(stream_obj) $(base_obj) $(static_dir)/static.o $(cjson_archive)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ -o $@ $(static_flags) $(LDFLAGS) -lbpf -lsqlite3 $(static_libs)
	$(Q)$(STRIP) $@
$(static_dir)/iot-analyze: $(analyzer_obj) $(stream_obj) $(base_obj) $(static_dir)/static.o $(cjson_archive)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ -o $@ $(static_flags) $(LDFLAGS) -lsqlite3 -lm
	$(Q)$(STRIP) $@
$(static_dir)/iot-io: $(B)/iot-io
	$(Q)mkdir -p $(@D)
	$(Q)$(STRIP) $< -o $@

## make static    iot-trace, iot-analyze and iot-io as one file each, for any distribution or an initramfs, into $(B)/static
STRIP ?= $(or $(patsubst %gcc,%strip,$(filter %-gcc,$(CC))),strip)
static: $(addprefix $(static_dir)/,iot-trace iot-analyze iot-io)

## make image     an OCI image of the static programs, $(B)/iot-VERSION-ARCH.oci.tar, for Docker, podman and Kubernetes
oci_arch := $(or $(patsubst x86,amd64,$(filter x86,$(target))),$(target))
image: static
	$(call say,IMAGE,$(B)/iot-$(VERSION)-$(oci_arch).oci.tar)
	$(Q)packaging/image $(VERSION) $(oci_arch) $(static_dir) $(B)/iot-$(VERSION)-$(oci_arch).oci.tar

## make check-packages  packages, static programs and image, in bare Debian 11, 12 and 13 and in a machine with 6.1 (root)
check-packages: all
	$(Q)IOT_PACKAGES=1 tests/run tests/tools/packaging.bats tests/machine/packaging_bare.bats
