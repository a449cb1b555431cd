# SPDX-License-Identifier: GPL-3.0-only
# iot: one non-recursive makefile. `make help` lists the targets. V=1 shows the commands.
MAKEFLAGS += -rR
.SHELLFLAGS = -ec
.DELETE_ON_ERROR:
.SUFFIXES:

PREFIX ?= /usr/local
DESTDIR ?=
CC = cc
CLANG ?= clang
CFLAGS ?= -g1
VERSION := 0.1

B := build
Q := $(if $(V),,@)
say = $(if $(V),,$(info $()  $1	$2))

# Packages of Debian 12 and 13: `make setup` installs what builds and runs, `make setup-check` also what the tests need.
PKGS_BUILD := gcc libc6-dev make clang libbpf-dev libelf-dev zlib1g-dev libcjson-dev libsqlite3-dev uthash-dev
PKGS_RUN := gnuplot-nox sqlite3 util-linux mount e2fsprogs kmod
PKGS_TEST := attr bindfs xfsprogs btrfs-progs libclang-rt-dev llvm bats fio iproute2 strace libaio-dev dmsetup lvm2 mdadm bcache-tools \
	python3-minimal qemu-system-x86 busybox-static cpio xz-utils shellcheck codespell git procps util-linux-extra zsh man-db texlive-latex-base

# A second compiler for the kernel side (tests/machine/compilers.bats): not the one that the package clang is.
PKGS_TEST += $(if $(shell grep -s '^12' /etc/debian_version),clang-19,clang-17)

# WERROR=-Werror: warnings of either side are errors (make dev).
WERROR ?=
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter -Wno-missing-field-initializers $(WERROR)
# Sanitizers check more than FORTIFY_SOURCE does, and without optimisation there is none.
fortify = $(if $(filter -O0 -fsanitize% -D_FORTIFY_SOURCE%,$(CPPFLAGS) $(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
CPPFLAGS_ALL = -D_GNU_SOURCE -DIOT_VERSION='"$(VERSION)"' $(fortify) $(CPPFLAGS)
# The flags with which Debian hardens programs; a build in another folder gives the same bytes.
branch_x86 := -fcf-protection
branch_arm64 := -mbranch-protection=standard
HARDEN = -fPIE -fstack-protector-strong -fstack-clash-protection $(branch_$(target))
SAME_BYTES := -ffile-prefix-map=$(CURDIR)=.
# What a byte costs is decided in few places: those are optimised twice as long ($(hot)). CFLAGS comes last, and wins.
OPT := -O1
CFLAGS_ALL = -std=gnu11 $(WARN) $(CPPFLAGS_ALL) $(OPT) $(HARDEN) $(SAME_BYTES) $(CFLAGS)
LDFLAGS_ALL = -pie -Wl,-z,relro,-z,now $(LDFLAGS)
# Who may include whom: what is not named here is not found. Beside these, everybody has his own folder.
inc_base :=
# stream/ itself holds the headers and tables for other folders: its rooms are found by no one else.
inc_stream/record := -Ibase -Ibpf -Istream
inc_stream/dirty := -Ibase -Ibpf -Istream -Istream/record
inc_stream/store := -Ibase -Ibpf -Istream -Istream/record
# The rooms of the tracer, from the lowest: each includes what its row names, so that none includes one above it.
inc_tracer/platform := -Ibase -Ibpf -Istream
inc_tracer/probe := -Ibase -Ibpf -Itracer/platform
inc_tracer/process/systems := -Ibase -Istream
inc_tracer/process := $(inc_tracer/platform) -Itracer/platform -Itracer/probe
inc_tracer/options := $(inc_tracer/process) -Itracer/process
inc_tracer/output := $(inc_tracer/options) -Itracer/options
inc_tracer/run := $(inc_tracer/output) -Itracer/output
inc_tracer := $(inc_tracer/run) -Itracer/run
inc_analyzer/print := -Ibase -Ianalyzer
inc_analyzer/sql := $(inc_analyzer/print) -Istream -Ianalyzer/print
inc_analyzer/report := $(inc_analyzer/sql) -Ianalyzer/sql
inc_analyzer/chart := $(inc_analyzer/report) -Ianalyzer/report
inc_analyzer/command := $(inc_analyzer/chart) -Ianalyzer/chart
inc_tests := $(inc_tracer) -Istream/record -Istream/store -Iworkloads
inc_tests/model := -Iworkloads
# The rooms of bpf/, each with those whose headers it may include: what all programs stand on, what the running thread is at, pages and their
# owners, what file systems say of theirs, bytes that go dirty, calls, bios and requests, one file system each; then what is compiled.
inc_bpf/core := $(addprefix -Ibpf/,core)
inc_bpf/task := $(addprefix -Ibpf/,task core)
inc_bpf/page := $(addprefix -Ibpf/,page task core)
inc_bpf/fs := $(addprefix -Ibpf/,fs page task core)
inc_bpf/dirty := $(addprefix -Ibpf/,dirty fs page task core)
inc_bpf/call := $(addprefix -Ibpf/,call dirty fs page task core)
inc_bpf/block := $(addprefix -Ibpf/,block dirty fs page task core)
inc_bpf/fs/ext4 := $(addprefix -Ibpf/,fs/ext4 call dirty fs page task core)
inc_bpf/fs/xfs := $(addprefix -Ibpf/,fs/xfs call dirty fs page task core)
inc_bpf/fs/btrfs := $(addprefix -Ibpf/,fs/btrfs call dirty fs page task core)
inc_bpf/vfs := $(addprefix -Ibpf/,vfs page task core)
inc_bpf/object := $(addprefix -Ibpf/,object vfs block call dirty fs page task core)
inc_bpf/reduced := $(addprefix -Ibpf/,reduced object block call dirty fs page task core)
includes = $(inc_$(patsubst %/,%,$(dir $1)))
# For another architecture: make CC=aarch64-linux-gnu-gcc B=build/arm64. The kernel side is compiled for that of $(CC) (bpf/core/arch.h).
machine := $(shell $(CC) -dumpmachine 2>/dev/null)
target := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(firstword $(subst -, ,$(machine)))))
# -g makes BTF, which the loader needs, and DWARF, which it passes over: that is made small instead of being taken out by a tool of its own, and
# names no folder of this machine.
BPF_DEBUG := -g -gz -gno-column-info -fdebug-compilation-dir=.
BPFFLAGS := -std=gnu11 -O2 $(BPF_DEBUG) -target bpf -mcpu=v3 -D__IOT_KERNEL__ -D__TARGET_ARCH_$(target) -Wall -Wno-unused-function $(WERROR) -Ibpf \
	-I/usr/include/$(machine) -I/usr/$(machine)/include

# Each of these is an object, which is called like it: the other programs are included by one of them.
bpf_src := $(sort $(wildcard bpf/object/*.bpf.c bpf/fs/*/*.bpf.c bpf/reduced/*.bpf.c))
bpf_name := $(notdir $(bpf_src))
bpf_obj := $(bpf_name:%.c=$(B)/bpf/%.o) $(patsubst %.bpf.c,$(B)/bpf/%.no_cast.bpf.o,$(filter-out who.% reduced_%,$(bpf_name)))
vpath %.bpf.c $(sort $(dir $(bpf_src)))
base_obj := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard base/*.c)))
stream_src := $(sort $(wildcard stream/*/*.c))
stream_obj := $(stream_src:%.c=$(B)/%.o)
systems_src := $(sort $(wildcard tracer/process/systems/*.c))
tracer_obj := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tracer/*.c tracer/*/*.c)) $(systems_src))
io_obj := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard workloads/*.c)))
random_obj := $(patsubst %.c,$(B)/%.o,tests/model/random-worker.c $(wildcard tests/model/random_*.c) workloads/uring.c)
analyzer_obj := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard analyzer/*/*.c))) $(B)/reports.o
# What runs once an event, a row or a cell.
hot := $(base_obj) $(stream_obj) $(addprefix $(B)/tracer/,run/aggregate.o run/filesums.o run/run_ring.o run/run_events.o output/text.o output/text_parts.o output/text_trace.o output/text_table.o output/text_detail.o output/text_names.o)
$(hot): OPT := -O2
reports := $(sort $(wildcard reports/*.sql reports/*.gp reports/views/*.sql))

.PHONY: all dev kernel-side check-compilers help setup setup-check demo check check-mutants check-asan check-systems check-vm check-release five bench fuzz install clean
all: $(B)/iot-trace $(B)/iot-analyze $(B)/iot-io
	@:

help:
	@sed -n 's/^## //p' Makefile packaging/packages.mk

## make setup     install the Debian packages that build and run iot, where one is missing (root)
setup:
	$(Q)tests/tools/setup $(PKGS_BUILD) $(PKGS_RUN)

## make setup-check  install these, and what the tests need (root)
setup-check:
	$(Q)tests/tools/setup $(PKGS_BUILD) $(PKGS_RUN) $(PKGS_TEST)

## make all       build iot-trace, iot-analyze and the workload generator into build/
# One line that names the package, instead of a compiler's error.
need = command -v $1 >/dev/null || { echo "iot: '$1' is missing: install the Debian package '$2' (make setup installs all)" >&2; exit 1; }
$(B)/.tools:
	@$(call need,$(CC),gcc)
	@for h in bpf/libbpf.h:libbpf-dev libelf.h:libelf-dev cjson/cJSON.h:libcjson-dev sqlite3.h:libsqlite3-dev uthash.h:uthash-dev; do \
		echo "#include <$${h%:*}>" | $(CC) -E - >/dev/null 2>&1 || \
		{ echo "iot: header <$${h%:*}> is missing: install the Debian package '$${h#*:}' (make setup installs all)" >&2; exit 1; }; done
	@mkdir -p $(B) && touch $@

# A compiler that cannot write leaves nothing that the next make would take for whole, and the cure is said behind its own words.
no_room = { s=$$?; rm -f $@ $(@:.o=.d); df -Pk $(B) $${TMPDIR:-/tmp} | awk 'NR > 1 && $$4 < 32768 && !said[$$6]++ { \
	print "iot: no space left to build: " $$6 " has " int($$4 / 1024) " MB free, and 64 MB are needed: free some, or take another folder (make B=FOLDER TMPDIR=FOLDER)" }' >&2; exit $$s; }

# The kernel side needs clang, or what a release carries: prebuilt/ARCH holds the objects that clang made of the same sources (`make dist`).
# Each object is made twice: for kernels that cast addresses to types, and for those that do not yet.
ifeq ($(shell command -v $(CLANG)),)
IOT_PREBUILT := 1
endif
ifneq ($(IOT_PREBUILT),)
.PHONY: prebuilt_fit
prebuilt_fit:
	@packaging/objects check $(target)
$(B)/bpf/%.bpf.o: $(wildcard prebuilt/$(target)/sources) | $(B)/.tools prebuilt_fit
	$(call say,COPY,$@)
	$(Q)mkdir -p $(@D) && cp prebuilt/$(target)/$(@F) $@
$(B)/bpf/made_by: $(bpf_obj)
	$(Q)sed 's/$$/, prebuilt/' prebuilt/$(target)/made_by >$@
else
define bpf_object
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPFFLAGS) $(call includes,$<) -MMD -MP -c $< -o $@ || $(no_room)
endef
$(B)/bpf/%.no_cast.bpf.o: BPFFLAGS += -DIOT_NO_CAST
$(B)/bpf/%.no_cast.bpf.o: %.bpf.c Makefile | $(B)/.tools
	$(bpf_object)
$(B)/bpf/%.bpf.o: %.bpf.c Makefile | $(B)/.tools
	$(bpf_object)
$(B)/bpf/made_by: $(bpf_obj)
	$(Q)$(CLANG) --version | sed -n '1s/.*\(clang\) version \([^ ]*\).*/\1 \2, for $(target)/p' >$@
endif

$(B)/tracer/probe/probe_version.o: $(B)/bpf/made_by
$(B)/tracer/probe/probe_version.o: CFLAGS_ALL += -Wa,-I$(B)/bpf

# What any tracer of system calls costs, for the bench.
$(B)/floor.bpf.o: tests/tools/floor.bpf.c Makefile | $(B)/.tools
	$(call say,BPF,$<)
	$(Q)$(CLANG) $(BPFFLAGS) -c $< -o $@
$(B)/floor: tests/tools/floor.c $(B)/floor.bpf.o
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $< -o $@ -lbpf

$(B)/operations: tests/tools/operations.c | $(B)/.tools
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $< -o $@

# The rules are carried inside the tracer.
$(B)/tracer/process/systems/load.o: tracer/process/systems/systems.json

# Test programs that need no kernel side.
base_src := $(wildcard base/*.c)
detect_src := $(systems_src) $(base_src)
$(B)/tests/detect: tests/unit/detect.c $(detect_src:%.c=$(B)/%.o)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(inc_tests) $^ -o $@ -lcjson
$(B)/tests/detect-asan: tests/unit/detect.c $(detect_src) $(wildcard tracer/*/*.h tracer/process/systems/*.h stream/*.h stream/*.def base/*.h) tracer/process/systems/systems.json
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(inc_tests) -U_FORTIFY_SOURCE -O1 -fsanitize=address,undefined -fno-sanitize-recover=all $(filter %.c,$^) -o $@ -lcjson

$(B)/stats: tests/analyze/stats.c $(B)/analyzer/command/stats.o $(B)/base/clean.o
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(inc_tests) $^ -o $@ -lm

$(B)/packs: tests/trace/packs.c $(B)/tracer/probe/event_batch.o $(base_src:%.c=$(B)/%.o)
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(inc_tests) $^ -o $@ -lpthread

$(B)/netcalls: tests/trace/netcalls.c Makefile | $(B)/.tools
	$(call say,CC,$@)
	$(Q)$(CC) $(filter-out -fsanitize%,$(CFLAGS_ALL)) $(inc_tests) $< -o $@

$(B)/pages: tests/trace/pages.c
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ -o $@

# The objects are carried inside the tracer: the assembler looks for them there.
$(B)/tracer/probe/probe_rows.o: $(bpf_obj)
$(B)/tracer/probe/probe_rows.o: CFLAGS_ALL += -Wa,-I$(B)/bpf

# iot-trace with the kernel side of another compiler: make build/clang-19/iot-trace
compilers := $(B)/clang-%/iot-trace
$(compilers): $(B)/iot-trace $(bpf_src)
	$(Q)$(MAKE) --no-print-directory CLANG=clang-$* B=$(B)/clang-$* kernel-side
	$(call say,LD,$@)
	$(Q)mkdir -p $(B)/clang-$*/tracer/probe
	$(Q)$(CC) $(CFLAGS_ALL) $(call includes,tracer/probe/) -Wa,-I$(B)/clang-$*/bpf -c tracer/probe/probe_rows.c -o $(B)/clang-$*/tracer/probe/probe_rows.o
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $(patsubst %/tracer/probe/probe_rows.o,%/clang-$*/tracer/probe/probe_rows.o,$(tracer_obj)) $(stream_obj) $(base_obj) \
		-o $@ -lbpf -lelf -lcjson -lsqlite3
kernel-side: $(bpf_obj)

$(B)/%.o: %.c Makefile | $(B)/.tools
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(call includes,$*) -MMD -MP -c $< -o $@ || $(no_room)

# Reports, and the systems whose aliases it takes, are carried inside the analyzer: each file as one string. The folder itself is a prerequisite so that a removed file counts.
$(B)/reports.c: $(reports) tracer/process/systems/systems.json reports reports/views Makefile
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q){ echo '#include "../analyzer/report/report.h"'; echo 'const struct report_file report_files[] = {'; \
	for f in $(reports) tracer/process/systems/systems.json; do n=$${f#reports/}; echo "{ \"$${n#tracer/process/systems/}\","; sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' "$$f"; echo '},'; done; \
	echo '{ 0 } };'; } > $@

$(B)/reports.o: $(B)/reports.c analyzer/report/report.h | $(B)/.tools
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS_ALL) $(inc_analyzer/report) -MMD -MP -c $< -o $@ || $(no_room)

$(B)/iot-trace: $(tracer_obj) $(stream_obj) $(base_obj)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ -o $@ $(LDFLAGS_ALL) -lbpf -lelf -lcjson -lsqlite3 || $(no_room)

$(B)/iot-analyze: $(analyzer_obj) $(stream_obj) $(base_obj)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ -o $@ $(LDFLAGS_ALL) -lcjson -lsqlite3 -lm || $(no_room)

# Static, or loaded into other programs: there are no sanitizers for those.
$(io_obj) $(random_obj) $(B)/iot-io $(B)/random-worker $(B)/forker $(B)/leaver $(B)/namer $(B)/vfs-calls $(B)/uring-ops $(B)/faulty.so: CFLAGS_ALL := $(filter-out -fsanitize%,$(CFLAGS_ALL))

# Static: what it reads is what it was told to read, not libraries.
$(B)/iot-io: $(io_obj)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(io_obj) -o $@ -static $(filter-out -pie,$(LDFLAGS)) -pthread || $(no_room)

$(B)/random-worker: $(random_obj)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(random_obj) -o $@ -static -pthread

$(B)/forker $(B)/leaver $(B)/namer $(B)/vfs-calls: $(B)/%: tests/lib/%.c Makefile | $(B)/.tools
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS_ALL) $< -o $@ -static

$(B)/uring-ops: tests/trace/uring_ops.c workloads/uring.c workloads/uring.h Makefile | $(B)/.tools
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS_ALL) -Iworkloads $(filter %.c,$^) -o $@ -static

# Calls that go wrong, and who looks at what is left then.
$(B)/faulty.so: tests/unit/faulty.c tests/unit/faulty.h Makefile | $(B)/.tools
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -Wno-missing-prototypes -fPIC -shared $< -o $@ -ldl
$(B)/faulty-run: tests/unit/faulty-run.c tests/unit/faulty.h Makefile | $(B)/.tools
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $< -o $@ -lsqlite3

# Drivers of the tests, plain and with sanitizers.
SANITIZE := -U_FORTIFY_SOURCE -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
$(B)/stream-tool: tests/unit/stream-tool.c $(stream_obj) $(base_obj)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(inc_tests) $^ -o $@ -lcjson -lsqlite3

$(B)/stream-tool-asan: tests/unit/stream-tool.c $(wildcard stream/*.h stream/*/*.[ch] base/*.[ch]) stream/*.def bpf/fields.def bpf/kinds.def
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(inc_tests) $(SANITIZE) $(filter %.c,$^) -o $@ -lcjson -lsqlite3

# Targets of tests/unit/fuzz.c, and what each is linked with beside the stream library. To add one: its name here, and a line for what it needs.
FUZZ := scan records rules pattern ledger options questions store report
FUZZFLAGS := -U_FORTIFY_SOURCE -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
inc_fuzz := $(inc_tests) $(inc_analyzer/command)
fuzz_rules := $(systems_src)
fuzz_ledger := analyzer/report/payload.c
fuzz_options := tracer/options/options.c tracer/options/options_light.c tracer/options/options_layers.c tracer/options/options_output.c tracer/options/options_only.c tracer/process/groups.c tracer/platform/tracer.c $(systems_src)
fuzz_questions := analyzer/command/options.c analyzer/print/answer.c
fuzz_report := $(filter-out analyzer/command/main.c,$(wildcard analyzer/*/*.c))
# Calls that tests/unit/fuzz.c takes over: stores in memory, without waiting.
wrap = $(addprefix -Wl$(comma)--wrap=,sqlite3_open_v2 sqlite3_progress_handler $1)
comma := ,
fuzz_link_store = $(call wrap,schema_check_objects)
fuzz_link_report = $(call wrap,identity_check)
fuzz_bin := $(FUZZ:%=$(B)/fuzz/%)
fuzz_objects = $(patsubst %.c,$(B)/fuzz/%.o,$(stream_src) $(base_src) $(fuzz_$1))

$(B)/fuzz/%.o: %.c Makefile | $(B)/.tools
	$(call say,FUZZ,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(CFLAGS_ALL) $(call includes,$*) $(FUZZFLAGS) -MMD -MP -c $< -o $@
$(B)/fuzz/tracer/process/systems/load.o: tracer/process/systems/systems.json
.SECONDEXPANSION:
$(fuzz_bin): $(B)/fuzz/%: tests/unit/fuzz.c $$(call fuzz_objects,$$*)
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) $(CFLAGS_ALL) $(inc_fuzz) $(FUZZFLAGS) -fsanitize=fuzzer -DFUZZ_$* $^ $(fuzz_link_$*) -o $@ -lcjson -lsqlite3 -lm
$(B)/fuzz/base.sqlite: tests/lib/gen-run.py tests/unit/fuzz-base $(B)/iot-analyze
	$(Q)rm -f $@.full
	$(Q)mkdir -p $(@D)
	$(Q)python3 tests/lib/gen-run.py 300 | $(B)/iot-analyze ingest $@.full
	$(Q)tests/unit/fuzz-base $@.full $@

# Programs that drive tests.
.PHONY: drivers
drivers: $(addprefix $(B)/,stream-tool stream-tool-asan tests/detect tests/detect-asan faulty.so faulty-run forker leaver namer vfs-calls random-worker stats packs netcalls uring-ops pages)

# A job a processor, where nobody said otherwise.
parallel = $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc))

## make fuzz      feed damaged input to all that reads some, IOT_FUZZ seconds in all (default 60)
fuzz: $(fuzz_bin) $(B)/fuzz/base.sqlite
	$(Q)tests/unit/fuzz $${IOT_FUZZ:-60}

## make demo      set up, build, trace real workloads; one screen says what was found, and names a picture and a page (root)
demo: setup
	$(Q)$(MAKE) --no-print-directory $(parallel) all
	$(Q)workloads/demo.sh

## make dev       while a change is written: a build with warnings as errors and sanitizers in build/dev, and the tests of what differs from main (root)
dev:
	$(Q)tests/tools/dev $(BASE)

## make check     set up, build and run the tests (root); IOT_LONG=1: the whole of each
check: setup-check
	$(Q)$(MAKE) --no-print-directory $(parallel) all
	$(Q)tests/run

## make check-mutants  plant the faults of tests/tools/mutants.txt one at a time, and count those that the tests catch: half an hour (root)
check-mutants: all
	$(Q)tests/tools/mutants

## make check-asan  the tests on programs built with AddressSanitizer and UBSan, in a copy of the tree: 45 minutes (root)
check-asan: setup-check
	$(Q)tests/tools/asan

## make check-systems  the tests of all storage systems; installs what is missing, builds MinIO once (root)
check-systems: setup-check
	$(Q)$(MAKE) --no-print-directory all
	$(Q)IOT_SYSTEMS=all tests/run tests/systems/loads-*.bats tests/systems/systems.bats

## make check-vm  the tests in virtual machines under every kernel, and a line for each that counts them; KERNEL=6.12: that one alone (root)
check-vm: setup-check
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/tools/check-vm $(KERNEL)

## make check-compilers  the programs of the kernel side by compiler (clang-14 to clang-19, where installed) and kernel: nothing may be refused (root)
check-compilers: all
	$(Q)tests/tools/check-compilers

## make check-release  all of these and long forms of some, one after another, a line for each: three hours (root)
check-release: setup-check
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/tools/check-release

## make five      five real storage systems in one traced run: the tables that compare them, and charts in build/five (root)
five: all
	$(Q)workloads/five.sh

## make bench     measure iot's own cost beside other tracers, interleaved (root)
bench: all $(B)/floor $(B)/operations
	$(Q)tests/tools/bench

## make doc-pictures  draw the pictures of doc/ from their sources (needs the Debian package graphviz)
.PHONY: doc-pictures
doc-pictures: $(patsubst %.dot,%.svg,$(wildcard doc/*.dot))
doc/%.svg: doc/%.dot
	@$(call need,dot,graphviz)
	$(call say,DOT,$@)
	$(Q)dot -Tsvg $< -o $@ && sed -i '1a <!-- SPDX-License-Identifier: GPL-3.0-only -->' $@

include packaging/packages.mk

## make clean     remove build/
clean:
	rm -rf $(B)

# What is older than this file is made again, whatever it depended on: sources that moved are not missed.
-include $(shell find $(B) -name '*.d' -newer Makefile 2>/dev/null)
