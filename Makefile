# SPDX-License-Identifier: Apache-2.0
#
# One Makefile, not recursive.
#
#   make              build/ac, and what runs in ac-host and in sandboxes
#   make check        install what is missing, build, run every test; -quick: what
#                     an edit may have broken; -all: and what takes long
#   make check-unit   unit tests and fuzz corpora alone (no Docker, no root)
#   make check-int    the integration tests (-san: with a sanitised acd) and
#   make check-attack the catalogue of attacks; BATS=FILE... picks some;
#   make check-fresh  the README's first command, FRESH=trixie-root picks one
#   make lint         all static checks      make lint-fast   the quick ones
#   make fuzz         each fuzz target for FUZZ_TIME seconds (clang)
#   make bench        the figures; bench-gateway, tests/bench/preload.sh
#   make install      PREFIX=/usr/local, DESTDIR=
#
# CC=clang, SAN=address,undefined and V=1 as usual, each in a folder of its own.

SAN ?=
V ?=
FUZZ_TIME ?= 20
CCACHE ?= $(shell command -v ccache)
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build$(if $(filter clang%,$(CC)),-clang)$(if $(SAN),-san)
SHAREDIR = $(PREFIX)/share/ac
Q := $(if $(V),,@)
silent := $(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(V),,@$(if $(silent),,printf '  %-6s %s\n' $(1) $(2);))

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion \
	-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wwrite-strings -Wcast-qual -Wpointer-arith -Wformat=2 -Wundef -Wvla \
	-Wimplicit-fallthrough $(if $(CI),-Werror)
probe = $(shell $(CC) $(1) -E -x c /dev/null >/dev/null 2>&1 && echo $(1))
PROBED := $(foreach f,stack-clash-protection strict-flex-arrays=3,$(call probe,-f$(f)))
HARDEN = $(if $(SAN),-fno-omit-frame-pointer -fsanitize=$(SAN) \
	-fno-sanitize-recover=undefined,-U_FORTIFY_SOURCE \
	-D_FORTIFY_SOURCE=3) -fstack-protector-strong $(PROBED)
CFLAGS ?= -O2 -g
BASE_CFLAGS = -std=c17 -D_GNU_SOURCE -I. $(WARN) $(HARDEN) -fPIE \
	-fvisibility=hidden -fno-common -MMD -MP $(CFLAGS)
BASE_LDFLAGS = -pie -Wl,-z,relro,-z,now -Wl,--as-needed \
	$(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)
STATIC_LDFLAGS = $(if $(SAN),$(BASE_LDFLAGS),-static-pie -Wl,-z,relro,-z,now \
	$(LDFLAGS))

# What each part may use: images/setup/modules. `make lint` checks the includes.
pkg = $(shell pkg-config $(1) $(2) 2>/dev/null)
ask = $(or $(ASK$(1)$(2)),$(eval ASK$(1)$(2) := $(call pkg,$(1),$(PKG_$(2))))$(ASK$(1)$(2)))
used = $(shell awk '/^[a-z]/ && (" " $$0 " ") ~ / $(1) / { print $$1 }' \
	images/setup/modules)
LINKED := guard acd cli edge mount otter vault
$(foreach p,$(LINKED),$(eval PKG_$(p) := $(call used,$(p))))
PKG_tests := $(sort $(foreach p,$(LINKED),$(PKG_$(p))))

src = $(filter-out $(2),$(sort $(shell find $(1) -name '*.c')))
obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIB_SRC := $(call src,lib)
LINK_SRC := $(wildcard init-guard/link*.c) init-guard/filewire.c
GUARD_SRC := $(call src,init-guard,%/main.c $(LINK_SRC))
SHARED_SRC := $(call src,control/shared control/sbom)
ACD_SRC := $(call src,control/acd,%/acd.c)
CLI_SRC := $(call src,control/cli,%/ac.c)
CODEC_SRC := ottergate/admin.c ottergate/yaml.c
OTTER_SRC := $(call src,ottergate,%/main.c $(CODEC_SRC))
VAULT_MAIN := vault/vaultd.c vault/vault-wrapper.c vault/git-credential-ac.c
VAULT_SRC := $(call src,vault,$(VAULT_MAIN))
PRELOAD_PURE := net-preload/cache.c net-preload/dest.c net-preload/wire.c
FAKE_SRC := $(wildcard tests/fake/*.c)
UNIT_SRC := $(sort $(shell find tests/unit -name '*_test.c'))
UNIT_SH := $(sort $(shell find tests/unit -name '*_test.sh'))
FUZZ_SRC := $(sort $(shell find tests/fuzz -name '*_fuzz.c'))

VAULT_BIN = $(patsubst vault/%.c,$(BUILD)/%,$(wildcard $(VAULT_MAIN)))
HOST_BIN = $(BUILD)/acd $(BUILD)/ac-runtime $(BUILD)/ac-mount $(BUILD)/ac-step $(BUILD)/ac-sbom \
	$(BUILD)/ac-edge $(BUILD)/init-guard $(BUILD)/ottergate $(BUILD)/net_proxy.so $(VAULT_BIN)
UNIT_BIN = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SRC))
REPLAY_BIN = $(patsubst tests/fuzz/%.c,$(BUILD)/replay/%,$(FUZZ_SRC))
FUZZ_BIN = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ_SRC))
ARCHIVES = $(addprefix $(BUILD)/,fake.a cli.a acd.a edge.a guard.a otter.a codec.a vault.a shared.a link.a preload.a lib.a)

.PHONY: all deps check check-quick check-deps check-unit check-int check-int-san check-plain unit lint \
	lint-fast fuzz fuzz-run check-attack check-all check-fresh bench bench-gateway soak-gateway \
	install install-host clean clean-tests host-bin schemas FORCE
.DELETE_ON_ERROR:

all: $(BUILD)/ac $(HOST_BIN)
host-bin: $(HOST_BIN)
deps: ; $(Q)images/setup/packages.sh build
check-deps: ; $(Q)images/setup/packages.sh build run check

# The identity of what runs in ac-host: the content of its image's inputs.
# The header changes only when the identity does.
$(BUILD)/id.h: FORCE
	@mkdir -p $(@D)
	@id=$$(images/build.sh tag host) && \
	printf '#define AC_BUILD_ID "%.12s"\n' "$$id" >$@.new && \
	{ cmp -s $@.new $@ && rm $@.new || mv $@.new $@; }
FORCE:

$(BUILD)/obj/control/cli/core/version.o: $(BUILD)/id.h
$(BUILD)/obj/control/cli/core/version.o: PART_CFLAGS += -include $(BUILD)/id.h \
	-DAC_SHARE_DIR='"$(SHAREDIR)"'
$(BUILD)/obj/init-guard/%.o: PART_CFLAGS = $(call ask,--cflags,guard)
$(BUILD)/obj/control/acd/%.o: PART_CFLAGS = $(call ask,--cflags,acd)
$(BUILD)/obj/control/cli/%.o: PART_CFLAGS += $(call ask,--cflags,cli)
$(BUILD)/obj/ottergate/%.o: PART_CFLAGS = $(call ask,--cflags,otter)
$(BUILD)/obj/vault/%.o: PART_CFLAGS = $(call ask,--cflags,vault)
$(BUILD)/obj/tests/%.o: PART_CFLAGS = $(call ask,--cflags,tests)

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CCACHE) $(CC) $(BASE_CFLAGS) $(PART_CFLAGS) -c -o $@ $<

archive = $(Q)rm -f $@ && $(AR) qcs $@ $^ # q: two members may have one name
$(BUILD)/lib.a: $(call obj,$(LIB_SRC)) ; $(archive)
$(BUILD)/link.a: $(call obj,$(LINK_SRC)) ; $(archive)
$(BUILD)/guard.a: $(call obj,$(GUARD_SRC)) ; $(archive)
$(BUILD)/shared.a: $(call obj,$(SHARED_SRC)) ; $(archive)
$(BUILD)/acd.a: $(call obj,$(ACD_SRC)) ; $(archive)
$(BUILD)/edge.a: $(call obj,$(call src,control/edge,%/edge.c)) ; $(archive)
$(BUILD)/cli.a: $(call obj,$(CLI_SRC)) ; $(archive)
$(BUILD)/codec.a: $(call obj,$(CODEC_SRC)) ; $(archive)
$(BUILD)/otter.a: $(call obj,$(OTTER_SRC)) ; $(archive)
$(BUILD)/vault.a: $(call obj,$(VAULT_SRC)) ; $(archive)
$(BUILD)/fake.a: $(call obj,$(FAKE_SRC)) ; $(archive)
$(BUILD)/preload.a: $(call obj,$(PRELOAD_PURE)) ; $(archive)

# In every program of a sandbox: two mappings, no library, no name of a version.
# Without FORTIFY, which renames calls, and sanitizers, which must come first.
PRELOAD_FLAGS = -std=c17 -D_GNU_SOURCE -I. $(WARN) -O2 -gdwarf-4 -fPIC -shared -nostdlib \
	-U_FORTIFY_SOURCE -fstack-protector-strong -fvisibility=hidden -fno-common \
	-fno-plt -Wl,-z,now,-z,norelro,-z,noseparate-code,--hash-style=gnu \
	-Wl,--build-id=none,--version-script=net-preload/net_proxy.map
$(BUILD)/net_proxy.so $(BUILD)/net_proxy_patient.so: $(wildcard net-preload/*.[ch] net-preload/*.map)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(PRELOAD_FLAGS) $(if $(findstring patient,$@),-DASK_WAIT_MS=3000u) -o $@ $(filter %.c,$^)

link = $(call say,LD,$@)$(CC) $(BASE_LDFLAGS) -o $@ $^ $(LIBS)
# A call of ac is as long as its dynamic linker's work: from archives where there are some.
archived = $(foreach l,$(1),$(or $(filter /%,$(shell $(CC) -print-file-name=$(l:-l%=lib%.a))),$l))
$(BUILD)/ac: LIBS = $(call archived,$(call ask,--libs,cli)) -lm
$(BUILD)/ac: $(call obj,control/cli/ac.c) $(addprefix $(BUILD)/,cli.a shared.a link.a codec.a lib.a) ; $(link)
$(BUILD)/acd: LIBS = $(call ask,--libs,acd)
$(BUILD)/acd: $(call obj,control/acd/acd.c) \
		$(addprefix $(BUILD)/,acd.a shared.a link.a codec.a vault.a lib.a)
	$(link)
$(BUILD)/ottergate: LIBS = $(call ask,--libs,otter) -lpthread
$(BUILD)/ottergate: $(call obj,ottergate/run/main.c) $(addprefix $(BUILD)/,otter.a codec.a vault.a lib.a)
	$(link)
$(BUILD)/ac-edge: LIBS = $(call ask,--libs,edge)
$(BUILD)/ac-edge: $(call obj,control/edge/edge.c) $(addprefix $(BUILD)/,edge.a shared.a lib.a) ; $(link)
$(BUILD)/ac-runtime: $(call obj,control/ac_runtime.c) $(BUILD)/lib.a ; $(link)
$(BUILD)/ac-mount $(BUILD)/ac-step: LIBS = $(call ask,--libs,mount)
$(BUILD)/ac-mount $(BUILD)/ac-step $(BUILD)/ac-sbom: $(BUILD)/ac-%: $(BUILD)/obj/control/ac_%.o $(BUILD)/shared.a $(BUILD)/lib.a
	$(link)
$(BUILD)/init-guard: $(call obj,init-guard/main.c) $(BUILD)/guard.a \
		$(BUILD)/link.a $(BUILD)/vault.a $(BUILD)/lib.a
	$(call say,LD,$@)$(CC) $(STATIC_LDFLAGS) -o $@ $^ \
		$(call pkg,--static --libs,$(PKG_guard))

$(VAULT_BIN): $(BUILD)/%: $(BUILD)/obj/vault/%.o $(BUILD)/vault.a \
		$(BUILD)/lib.a
	$(call say,LD,$@)$(CC) $(STATIC_LDFLAGS) -o $@ $^ \
		$(call pkg,--static --libs,$(PKG_vault))

# Tests link against archives, so each takes only what it needs.
FAST_LD := $(and $(shell command -v mold),-fuse-ld=mold)
TEST_LIBS = $(call ask,--libs,tests) -lpthread -lutil $(FAST_LD)
$(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(BASE_LDFLAGS) -o $@ $< -Wl,--start-group \
		$(ARCHIVES) -Wl,--end-group $(TEST_LIBS)
$(BUILD)/replay/%: $(BUILD)/obj/tests/fuzz/%.o \
		$(BUILD)/obj/tests/fuzz/replay.o $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(BASE_LDFLAGS) -o $@ $< \
		$(BUILD)/obj/tests/fuzz/replay.o -Wl,--start-group $(ARCHIVES) \
		-Wl,--end-group $(TEST_LIBS)
$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -fsanitize=fuzzer,address,undefined -o $@ $< \
		-Wl,--as-needed -Wl,--start-group $(ARCHIVES) -Wl,--end-group \
		$(TEST_LIBS)

unit: $(UNIT_BIN) $(REPLAY_BIN) $(BUILD)/ac $(HOST_BIN) $(BUILD)/net_proxy_patient.so
check-unit: unit ; $(Q)BUILD=$(BUILD) INIT_GUARD=$(BUILD)/init-guard \
	tests/run.sh --unit $(UNIT_BIN) $(UNIT_SH) --replay $(REPLAY_BIN)

# Compiles all; runs the corpora, and what a build with sanitizers leaves out.
PLAIN_BIN = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(shell grep -l address_sanitizer $(UNIT_SRC)))
check-plain: $(BUILD)/init-guard $(call obj,$(UNIT_SRC)) $(REPLAY_BIN) $(HOST_BIN) $(PLAIN_BIN)
	$(Q)BUILD=$(BUILD) INIT_GUARD=$< tests/run.sh --unit $(PLAIN_BIN) --replay $(REPLAY_BIN)
check-quick: unit ; $(Q)BUILD=$(BUILD) INIT_GUARD=$(BUILD)/init-guard tests/quick.sh $(UNIT_BIN) $(UNIT_SH) $(REPLAY_BIN)
check: check-deps ; $(Q)tests/check.sh
check-all: check-deps ; $(Q)AC_CHECK_ALL=1 tests/check.sh
check-fresh: ; $(Q)tests/run.sh --fresh $(FRESH)
check-int: all ; $(Q)tests/run.sh --bats $(or $(BATS),tests/integration)
# With sanitizers in acd: another identity of the image, so an ac that knows it.
check-int-san:
	$(Q)AC_SAN=address,undefined $(MAKE) -s BUILD=build-acsan build-acsan/ac
	$(Q)AC_SAN=address,undefined AC_TEST_PROGRAM=$(CURDIR)/build-acsan/ac \
	BUILD=build-acsan tests/run.sh --bats $(or $(BATS),tests/integration)
check-attack: all ; $(Q)tests/run.sh --bats $(or $(BATS),tests/attack)
lint-fast: ; $(Q)tests/lint/run.sh fast
lint: lint-fast ; $(Q)tests/lint/run.sh full && tests/lint/run.sh deep
# Everything anew with coverage, in a folder of its own.
fuzz:
	$(Q)$(MAKE) -s CC=clang BUILD=build-fuzz SAN="fuzzer-no-link,address,undefined" fuzz-run
fuzz-run: $(FUZZ_BIN)
	$(Q)BUILD=$(BUILD) FUZZ_TIME=$(FUZZ_TIME) tests/run.sh --fuzz $(FUZZ_BIN)
# The load, and what it starts in the sandbox.
$(BUILD)/bench/load: $(call obj,tests/bench/sandbox/load.c \
		tests/bench/sandbox/api.c) $(BUILD)/link.a $(BUILD)/lib.a
	@mkdir -p $(@D)
	$(link)
$(BUILD)/bench/guest: $(call obj,tests/bench/sandbox/guest.c) ; $(Q)mkdir -p $(@D) && $(CC) -static -o $@ $^
BENCH_BIN = $(BUILD)/bench/load $(BUILD)/bench/guest
bench: all $(BENCH_BIN) ; $(Q)BUILD=$(BUILD) tests/bench/bench.sh
bench-gateway: all ; $(Q)tests/bench/gateway.sh
soak-gateway: all ; $(Q)tests/bench/gateway/soak.sh
# Into the image of ac-host; runs in a build stage of it.
install-host: $(HOST_BIN)
	install -D -m 0755 -t $(DESTDIR)/usr/sbin $(BUILD)/acd $(BUILD)/ottergate
	install -D -m 0755 -t $(DESTDIR)/usr/libexec/ac $(addprefix $(BUILD)/,ac-edge ac-runtime ac-mount ac-sbom init-guard net_proxy.so)
	install -D -m 0755 $(BUILD)/ac-step $(DESTDIR)/usr/local/sbin/runc
	install -m 0644 -t $(DESTDIR)/usr/libexec/ac net-preload/ld.so.preload
	sh vault/install.sh $(BUILD) $(DESTDIR)

# The sources go along: the image of ac-host is built from them.
SHIPPED = $(shell grep '^[A-Za-z]' images/host/inputs)
install: $(BUILD)/ac
	install -D -m 0755 $(BUILD)/ac $(DESTDIR)$(PREFIX)/bin/ac
	install -D -m 0644 -t $(DESTDIR)$(SHAREDIR)/docs docs/openapi.json
	cp -R $(SHIPPED) $(DESTDIR)$(SHAREDIR)/
	for n in 1/ac.1 5/ac-blueprint.5 5/ac-policy.5 8/ottergate.8; do install -D -m 0644 \
		-t $(DESTDIR)$(PREFIX)/share/man/man$${n%/*} docs/man/$${n#*/}; done
	for s in bash:bash-completion/completions/ac zsh:zsh/site-functions/_ac \
		fish:fish/vendor_completions.d/ac.fish; do \
		f=$(DESTDIR)$(PREFIX)/share/$${s#*:}; \
		install -D -m 0644 /dev/null $$f && \
		$(BUILD)/ac completion $${s%%:*} >$$f || exit 1; done

schemas: $(BUILD)/acd $(BUILD)/ottergate ; $(Q)$(BUILD)/acd --schema >blueprints/blueprint.schema.json && $(BUILD)/acd --preset-schema >blueprints/preset.schema.json && $(BUILD)/ottergate schema >blueprints/policy.schema.json && $(BUILD)/acd --openapi >docs/openapi.json && python3 sdk/python/tools/make.py
clean:
	rm -rf build build-clang build-san build-clang-san build-acsan build-fuzz
clean-tests: ; $(Q)tests/integration/clean.sh

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
