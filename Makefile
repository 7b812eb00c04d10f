# SPDX-License-Identifier: BSD-3-Clause
# make help
SHELL := /bin/bash
.DEFAULT_GOAL := build
BUILD ?= build
PREFIX ?= /usr/local
# The prefix is compiled in.
CONFIGURED_PREFIX = $(PYTHON) -c 'import json, sys; print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))'
PYTHON := /usr/bin/python3
# Commands that install packages or build network namespaces need root; `sudo make …` or a root shell.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

# apt-get takes regular expressions: Debian 13 and 12 have different versions of libyang.
BUILD_PACKAGES = build-essential meson ninja-build pkg-config libdpdk-dev liburcu-dev libmnl-dev libevent-dev \
	^libyang[23]?-dev$$ ^libyang[23]?-tools$$ libjansson-dev libsystemd-dev libseccomp-dev libssl-dev libcmocka-dev libnuma-dev libpcap-dev zlib1g-dev
RUN_PACKAGES = python3 python3-prompt-toolkit python3-rich python3-yaml iproute2
LAB_PACKAGES = frr bird2 iproute2 ethtool iperf3 traceroute iputils-ping tcpdump clang lld wabt libbpf-dev procps
TEST_PACKAGES = libsnmp-dev mandoc mkdocs zsh python3-pip python3-pytest python3-pytest-xdist python3-scapy python3-pyroute2 python3-numpy python3-matplotlib python3-prometheus-client keepalived chromium snmp snmpd exabgp gobgpd nftables nfdump openssh-client curl systemd gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
	dnsmasq-base udhcpc lldpd wireguard-tools wireguard-go
VM_PACKAGES = qemu-system-x86 qemu-utils mmdebstrap e2fsprogs debian-archive-keyring arch-test binfmt-support qemu-user-static
BENCH_PACKAGES = dpdk-dev
DEB_PACKAGES = debhelper dh-python lintian rpm rpmlint shellcheck crun python3-venv
DEVELOPER_PACKAGES = clang-format libclang-rt-dev llvm valgrind gdb universal-ctags qemu-user
# What the demo needs, and no test.
DEMO_PACKAGES = $(BUILD_PACKAGES) $(RUN_PACKAGES) frr bird2 ethtool iperf3 traceroute iputils-ping procps
DEMO_HAVE = meson ninja pkg-config ip ethtool iperf3 traceroute ping /usr/sbin/bird /usr/lib/frr/bgpd
DEMO_TARGETS = kamueed src/main/kamuee-keeper
# A command or header of each group; all there = nothing to install, and no network needed.
HAVE = net-snmp-config mandoc mkdocs zsh meson ninja pkg-config yanglint dpdk-testpmd ip ethtool iperf3 traceroute ping clang wasm-ld wasm2c /usr/sbin/bird /usr/lib/frr/bgpd /usr/sbin/keepalived aarch64-linux-gnu-gcc chromium snmpbulkwalk /usr/sbin/snmpd /usr/sbin/nft nfcapd curl ssh-keygen journalctl qemu-system-x86_64 qemu-img arch-test mmdebstrap /usr/sbin/mke2fs dh_python3 lintian rpm rpmlint shellcheck crun /usr/sbin/dnsmasq udhcpc /usr/sbin/lldpd wg wireguard-go

# The Packet Testing Framework, for tests/ptf; it needs scapy and nothing else, and is not packaged.
PTF := $(CURDIR)/.ptf
PTF_PACKAGE = ptf==0.12.0

# Prometheus and promtool, for the tests of metrics: Debian's packages (one in Debian 12) unpacked, not installed, so that no service starts.
PROMETHEUS := $(CURDIR)/.prometheus

# nginx, for the tests of what other hosts reach: unpacked as well.
NGINX := $(CURDIR)/.nginx

# The model checker of `make proofs`: Debian 13's, unpacked.
CBMC := $(CURDIR)/.cbmc

# Ansible and its RESTCONF modules, for tests/e2e/test_ansible.py.
ANSIBLE := $(CURDIR)/.ansible

# schemathesis and what it needs, 70 MB, for `make fuzz-schema` alone, which fetches it.
SCHEMATHESIS := $(CURDIR)/.schemathesis
SCHEMATHESIS_PACKAGE = schemathesis==4.32.5

.PHONY: help deps deps-demo build bench-build check test test-all matrix conformance evidence e2e vm deb image sbom site reproducible release package-test install-test vm-test demo demo-stop pictures bench curve path-cost ptf flood soak proofs fuzz fuzz-api fuzz-schema sanitize sanitize-e2e install uninstall clean

, := ,
# $(call install_missing,COMMANDS,PYTHON MODULES,PACKAGES): nothing to install, and no network needed, if all are there.
define install_missing
missing=; for c in $(1); do command -v $$c >/dev/null || missing="$$missing $$c"; done; \
	for p in libdpdk liburcu-qsbr libmnl libevent openssl libyang jansson libsystemd libseccomp cmocka zlib; do \
		pkg-config --exists $$p 2>/dev/null || missing="$$missing $$p"; done; \
	$(PYTHON) -c 'import $(2)' 2>/dev/null || missing="$$missing python3-modules"; \
	if [ -z "$$missing" ]; then echo "$@: everything is installed"; exit 0; fi; \
	echo "$@: installing packages (missing:$$missing)"; \
	export DEBIAN_FRONTEND=noninteractive; \
	for try in 1 2 3; do $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q --no-install-recommends $(3) && break; \
		[ $$try = 3 ] && { echo "$@: apt-get failed three times; is a package mirror reachable?" >&2; exit 1; }; sleep 5; done
endef

help:
	@echo "make TARGET            (BUILD=$(BUILD) PREFIX=$(PREFIX))"
	@for group in use build test measure package; do echo; echo "to $$group"; \
		sed -n "s/^\([a-z0-9-]*\):.*## $$group: \(.*\)/  \1@\2/p" $(MAKEFILE_LIST); done | column -t -s@ -L

deps: ## build: install what building and testing need (packages of Debian 13 or 12)
	@[ -x $(PTF)/bin/ptf ] || { $(PYTHON) -m pip --version >/dev/null 2>&1 || { $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q \
		--no-install-recommends python3-pip; }; echo "deps: installing $(PTF_PACKAGE) into $(PTF)"; \
		$(PYTHON) -m pip install -q --retries 5 --no-deps --disable-pip-version-check --root-user-action=ignore \
			--target $(PTF) $(PTF_PACKAGE); }
	@[ -x $(PROMETHEUS)/usr/bin/promtool ] || { echo "deps: unpacking prometheus into $(PROMETHEUS)"; d=$$(mktemp -d); trap "rm -rf $$d" EXIT; \
		get() { apt-get download -q prometheus $$(apt-cache pkgnames promtool); }; chmod 755 $$d; cd $$d && { get || { $(SUDO) apt-get update -q && get; }; } && \
		for package in *.deb; do dpkg-deb --fsys-tarfile $$package | tar -x --one-top-level=$(PROMETHEUS) ./usr/bin; done; }
	@[ -x $(NGINX)/usr/sbin/nginx ] || { echo "deps: unpacking nginx into $(NGINX)"; d=$$(mktemp -d); trap "rm -rf $$d" EXIT; \
		chmod 755 $$d; cd $$d && { apt-get download -q nginx || { $(SUDO) apt-get update -q && apt-get download -q nginx; }; } && \
		dpkg-deb --fsys-tarfile nginx_*.deb | tar -x --one-top-level=$(NGINX) ./usr/sbin; }
	@[ $(ANSIBLE)/ansible_collections/ansible/netcommon/MANIFEST.json -nt tools/get-ansible ] || { echo "deps: installing Ansible into $(ANSIBLE)"; \
		for try in 1 2 3; do $(PYTHON) tools/get-ansible $(ANSIBLE) && break; \
			[ $$try = 3 ] && { echo "deps: Ansible could not be had three times; is a package index reachable?" >&2; exit 1; }; sleep 5; done; }
	@$(call install_missing,$(HAVE),prompt_toolkit$(,) rich$(,) yaml$(,) pytest$(,) xdist$(,) scapy$(,) pyroute2$(,) matplotlib$(,) prometheus_client,$(BUILD_PACKAGES) \
		$(RUN_PACKAGES) $(LAB_PACKAGES) $(TEST_PACKAGES) $(VM_PACKAGES) $(BENCH_PACKAGES) $(DEB_PACKAGES))

deps-demo:
	@$(call install_missing,$(DEMO_HAVE),prompt_toolkit$(,) rich$(,) yaml,$(DEMO_PACKAGES))
	@# A kernel without VLAN devices: lab/vlan.py compiles its own.
	@$(SUDO) unshare -n ip link add link lo name v type vlan id 1 2>/dev/null || { $(call install_missing,clang,sys,clang); }

$(BUILD)/build.ninja: | deps
	meson setup $(BUILD) --prefix=$(PREFIX) -Dbuildtype=release -Db_lto=true

build: $(BUILD)/build.ninja ## build: build/kamueed and everything else (release, LTO)
	ninja -C $(BUILD)

bench-build: $(BUILD)/build.ninja ## measure: the same, and benchmarks with LTO as kamueed has it: for measuring
	meson configure $(BUILD) -Dbench_lto=true
	ninja -C $(BUILD)

check: $(BUILD)/build.ninja ## test: build; lint, unit, path and CLI tests: no root, no huge pages (tests/run)
	tests/run check --build $(BUILD)

test: $(BUILD)/build.ninja ## test: all tests but slow groups whose files have not changed since they passed (root for most; tests/slow/groups.yaml)
	tests/run test --build $(BUILD)

test-all: $(BUILD)/build.ninja ## test: all tests: virtual machines, packages in a bare Debian, storms, kills, faults, benchmarks; GROUPS='vm kill': these alone (root)
	tests/run test-all --build $(BUILD) $(GROUPS)

matrix: deps ## test: all of `make test` in a Debian 13 and in a Debian 12, in build-matrix/; IN=trixie, IN=dpdk, IN=arm64: in one (tools/matrix has more); PHASE=check, PHASE=e2e: a part (root; a package mirror)
	$(SUDO) tools/matrix $(BUILD)-matrix $(if $(IN),--in $(IN)) $(if $(PHASE),--phase $(PHASE)) $(ARGS)

conformance: build ## test: docs/conformance.md: run the tests that say which RFC they show (root)
	$(SUDO) tools/conformance --build $(BUILD)

evidence: build ## test: suites that others have written, IN=topotests or all, with Linux and with kamueed; docs/evidence; CASES='ospf_topo1 rip_topo1', LANES (1) (root; a package mirror)
	@for suite in $(if $(filter all,$(IN)),$(basename $(notdir $(wildcard tests/evidence/*.yaml))),$(or $(IN),topotests)); do \
		$(SUDO) env KAMUEED=$(abspath $(BUILD))/kamueed tools/evidence $(if $(LANES),--lanes $(LANES)) $(if $(CASES),--again) $(BUILD)-evidence \
			$$suite $(CASES) || exit; done

e2e: $(BUILD)/build.ninja ## test: end-to-end tests with real FRR, BIRD and kernel in namespaces (root); ARGS='-k vlan', KEEP=1, LANES=6
	tests/run e2e --build $(BUILD) $(if $(LANES),--lanes $(LANES)) $(ARGS)

ptf: build ## test: PTF tests of a router, ours or those of PTF_DIR (root; tests/ptf/README.md)
	$(SUDO) env KAMUEED=$(abspath $(BUILD))/kamueed $(if $(PTF_DIR),PTF_DIR=$(abspath $(PTF_DIR))) PTF_ARGS='$(PTF_ARGS)' \
		$(PYTHON) -m pytest -q -rs -s tests/e2e/test_ptf.py $(ARGS)

flood: build ## test: sessions under each kind of flood and all at once, DURATION (300) seconds each (root)
	$(SUDO) env KAMUEED=$(abspath $(BUILD))/kamueed DURATION=$(or $(DURATION),300) $(if $(CONTROL),CONTROL=$(CONTROL)) \
		$(PYTHON) -m pytest -q -s tests/e2e/test_flood.py $(ARGS)

soak: build ## test: everything that can go wrong, at random, HOURS (1) long; SEED to make it again (root; docs/features/soak.md)
	$(SUDO) env KAMUEED=$(abspath $(BUILD))/kamueed $(PYTHON) tests/soak/soak.py --hours $(or $(HOURS),1) $(if $(SEED),--seed $(SEED))

vm: build ## test: a virtual machine with PCI cards under vfio, CARDS='e1000e virtio', and a shell in it (root; tests/vm/vm.py)
	$(SUDO) env BUILD=$(abspath $(BUILD)) $(PYTHON) tests/vm/vm.py $(CARDS)

vm-test: build ## test: tests in virtual machines with Debian's kernels, systemd and cards under vfio, some of them by ARGS (root; docs/features/vm.md)
	$(SUDO) env BUILD=$(abspath $(BUILD)) $(if $(CI),CI=$(CI)) $(PYTHON) -m pytest -q -n $(or $(LANES),2) --dist loadfile $(ARGS) tests/vm

deb: deps ## package: Debian packages of this tree, in build-deb/; IN=trixie/amd64, IN=bookworm/arm64: for others (root; docs/quickstart/packages.md)
	$(if $(IN),$(SUDO)) tools/make-deb $(if $(IN),--in $(IN)) $(if $(CHECK),--check) $(BUILD)-deb

site: deps ## build: the documents as a static site with search, in build-site/
	tools/make-site $(BUILD)-site

image: deps ## package: an OCI image with FRR, and one without, in build-image/; ARCHITECTURE=arm64 (root; docs/quickstart/container.md)
	$(SUDO) tools/make-image $(if $(ARCHITECTURE),--architecture $(ARCHITECTURE)) $(BUILD)-image
	$(SUDO) tools/make-image $(if $(ARCHITECTURE),--architecture $(ARCHITECTURE)) --bare $(BUILD)-image

sbom: build ## package: what kamueed is linked with, as SPDX, on standard output
	@tools/make-sbom $(BUILD)/kamueed $(BUILD)/src/main/kamuee-keeper $(BUILD)/src/main/kamuee-netns \
		$(BUILD)/compiler/kamuee-program

reproducible: deps ## package: packages and images, built twice: are they the same to the last bit? (root, for the images)
	$(SUDO) tools/reproducible $(BUILD)-reproducible

# Stops at the first thing that is wrong; tools/release says how to go on.
release: deps ## package: VERSION=X.Y.Z [KEY=FILE]: tag, packages, images, bills of materials, provenance, signed sums (root; docs/release.md)
	@[ -n '$(VERSION)' ] || { echo 'release: VERSION=X.Y.Z is missing' >&2; exit 1; }
	tools/release tag $(VERSION)
	$(SUDO) tools/reproducible $(BUILD)-reproducible
	$(SUDO) tools/release build $(BUILD)-release/$(VERSION) $(BUILD)-reproducible/first
	$(SUDO) tools/release sign $(BUILD)-release/$(VERSION) $(KEY)
	tools/release verify $(BUILD)-release/$(VERSION)

package-test: deps ## test: install, demo, upgrade, purge in a bare Debian; the image in a container; labs (root; a package mirror)
	$(SUDO) env $(foreach v,CI DEBS IMAGE ROUTES DEB_BUILD_OPTIONS,$(if $($(v)),$(v)=$($(v)),)) $(PYTHON) -m pytest -q -s $(ARGS) tests/package

install-test: build ## test: install, demo, upgrade, purge of packages made of this build, in a bare Debian; SUITE=trixie: in Debian 13 (root; a package mirror)
	$(SUDO) env BUILT=$(abspath $(BUILD)) $(foreach v,CI ROUTES SUITE,$(if $($(v)),$(v)=$($(v)),)) $(PYTHON) -m pytest -q -s \
		--deselect tests/package/test_package.py::test_lintian $(ARGS) tests/package/test_package.py

demo: deps-demo ## use: the main job: a full BGP table from two ISPs through kamueed, in namespaces (root)
	[ -f $(BUILD)/build.ninja ] || meson setup $(BUILD) --prefix=$(PREFIX) -Dbuildtype=release -Db_lto=true
	ninja -C $(BUILD) $(DEMO_TARGETS)
	$(SUDO) env KAMUEED=$(abspath $(BUILD))/kamueed ./kamuee demo start $(ARGS)

demo-stop: ## use: end the demo and remove all it made
	$(SUDO) ./kamuee demo stop

pictures: build ## package: make the pictures of the documents again, by the demo after MINUTES (64) of traffic (root, chromium, nginx)
	$(SUDO) env KAMUEED=$(abspath $(BUILD))/kamueed tests/e2e/pictures.py docs/images $(or $(MINUTES),64)

bench: bench-build ## measure: measured claims: lookups, forwarding, full table, convergence (root for the last two)
	$(SUDO) env KAMUEED=$(abspath $(BUILD))/kamueed $(PYTHON) bench/run.py --build $(BUILD) $(ARGS)

curve: bench-build ## measure: docs/curve.md: this commit's row: instructions of a packet by path, ratios to peers (root for kamueed's; minutes)
	$(SUDO) bench/curve.py measure --build $(BUILD)

path-cost: deps ## measure: docs/path-cost.md: what a plain packet costs by stage and instruction set (llvm-mca)
	[ -d $(BUILD)-cost ] || meson setup $(BUILD)-cost -Dbuildtype=release -Db_lto=true -Dbench_lto=true -Ddebug=true
	ninja -C $(BUILD)-cost bench/forward_bench
	tools/path-cost --build $(BUILD)-cost

fuzz: export UBSAN_OPTIONS = halt_on_error=1:print_stacktrace=1# else what it finds is printed and passed over
fuzz: ## test: each libFuzzer harness for SECONDS_EACH (60), then FRAMES (10^7) frames, PROGRAMS (10^6) and FUNCTIONS (1024) of hostile programs; clang and sanitizers
	@echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang -fsanitize=fuzzer,address -x c -o /dev/null - 2>/dev/null || \
		{ echo "fuzz: clang cannot link fuzzers here: apt-get install clang libclang-rt-dev"; exit 1; }
	[ -d $(BUILD)-fuzz ] || CC=clang meson setup $(BUILD)-fuzz -Dbuildtype=debugoptimized -Db_lto=false -Dfuzz=true -Dbench=false
	ninja -C $(BUILD)-fuzz $$(ninja -C $(BUILD)-fuzz -t targets all | sed -nE 's/^([^ ]*(_fuzz|_storm)): .*/\1/p')
	@set -e; found=; for f in $$(find $(BUILD)-fuzz -name '*_fuzz' -type f -perm -u+x); do found=1; echo "== $$f"; n=$$(basename $$f); \
		mkdir -p $(BUILD)-fuzz/corpus/$$n; kept=tests/fuzz/corpus/$$n; [ -d $$kept ] || kept=; \
		$$f -max_total_time=$(or $(SECONDS_EACH),60) -print_final_stats=1 $(BUILD)-fuzz/corpus/$$n $$kept; done; \
		[ -n "$$found" ] || { echo "fuzz: no harness was built"; exit 1; }
	$(BUILD)-fuzz/tests/path/packet_storm $(or $(FRAMES),10000000) $(SEED)
	$(BUILD)-fuzz/compiler/program_storm $(or $(PROGRAMS),1000000) $(or $(FUNCTIONS),1024) $(SEED)

proofs: ## test: proofs up to a bound: parsers, vector checks, Poptrie, publication, mailbox; NAMES='ether ip4': these (docs/proofs.md; a package mirror, the first time)
	@[ -x $(CBMC)/cbmc ] || { echo "proofs: unpacking CBMC into $(CBMC)"; tools/get-cbmc $(CBMC); }
	tests/proofs/run $(ARGS) $(NAMES)

fuzz-api: build ## test: requests at random from the schema, SECONDS (60) long: no 5xx, no crash (root)
	$(SUDO) $(PYTHON) tests/fuzz/api_fuzz.py $(abspath $(BUILD))/kamueed $(or $(SECONDS),60) $(or $(SEED),1)

fuzz-schema: build ## test: schemathesis by the OpenAPI document of the YANG model, SECONDS (1200) long: no 5xx, no answer against the model (root)
	@[ -x $(SCHEMATHESIS)/bin/schemathesis ] || { echo "fuzz-schema: installing $(SCHEMATHESIS_PACKAGE) into $(SCHEMATHESIS)"; \
		$(PYTHON) -m pip install -q --retries 5 --disable-pip-version-check --root-user-action=ignore --target $(SCHEMATHESIS) $(SCHEMATHESIS_PACKAGE); }
	$(SUDO) $(PYTHON) tests/fuzz/schema_fuzz.py $(abspath $(BUILD))/kamueed $(SCHEMATHESIS) $(or $(SECONDS),1200) $(or $(SEED),1)

sanitize: ## test: unit and path tests under AddressSanitizer and UBSan
	[ -d $(BUILD)-asan ] || meson setup $(BUILD)-asan -Dbuildtype=debugoptimized -Db_lto=false -Dsanitize=asan+ubsan -Dbench=false
	ninja -C $(BUILD)-asan
	meson test -C $(BUILD)-asan --no-rebuild --print-errorlogs --timeout-multiplier 5 --no-suite lint

# Tests that bound time or memory may fail there: what counts is the list of reports.
sanitize-e2e: ## test: end-to-end tests of a kamueed under AddressSanitizer and UBSan, then every report (root; an hour; ARGS)
	[ -d $(BUILD)-asan ] || meson setup $(BUILD)-asan -Dbuildtype=debugoptimized -Db_lto=false -Dsanitize=asan+ubsan -Dbench=false
	ninja -C $(BUILD)-asan
	@reports=$$(mktemp -d) && chmod 1777 $$reports && trap "rm -rf $$reports" EXIT; \
	$(SUDO) env KAMUEED=$(abspath $(BUILD))-asan/kamueed ASAN_OPTIONS=log_path=$$reports/asan UBSAN_OPTIONS=log_path=$$reports/ubsan:print_stacktrace=1 \
		tests/run e2e --build $(BUILD)-asan $(ARGS) || echo "sanitize-e2e: tests failed"; \
	if ls $$reports/* >/dev/null 2>&1; then cat $$reports/*; echo "sanitize-e2e: $$(ls $$reports | wc -l) reports"; exit 1; fi; echo "sanitize-e2e: no report"

# What was configured with another prefix stays as it is: another one is built beside it.
INSTALL_BUILD = $(shell [ '$(origin PREFIX)' = file ] || [ "$$(meson introspect --buildoptions $(BUILD) | $(CONFIGURED_PREFIX))" = '$(PREFIX)' ] && \
	echo $(BUILD) || echo $(BUILD)-install)

install: build ## use: install below PREFIX (default /usr/local), and make its user and the groups of the socket
	@[ '$(INSTALL_BUILD)' = '$(BUILD)' ] || { { [ -d $(INSTALL_BUILD) ] && meson configure $(INSTALL_BUILD) -Dprefix='$(PREFIX)' || \
		meson setup $(INSTALL_BUILD) --prefix='$(PREFIX)' -Dbuildtype=release -Db_lto=true -Dbench=false; } && ninja -C $(INSTALL_BUILD); }
	$(SUDO) meson install -C $(INSTALL_BUILD) --no-rebuild $(if $(DESTDIR),--destdir '$(abspath $(DESTDIR))')
	@[ -n '$(DESTDIR)' ] || { $(SUDO) deploy/make-groups deploy/kamuee.sysusers && $(SUDO) deploy/make-groups deploy/proxy/kamuee-proxy.sysusers && $(SUDO) chown kamuee:kamuee /etc/kamuee; }

uninstall: ## use: remove what install put there; user and groups stay
	$(SUDO) ninja -C $(INSTALL_BUILD) uninstall
	$(SUDO) rm -rf "$(abspath $(DESTDIR))$$(meson introspect --buildoptions $(INSTALL_BUILD) | $(CONFIGURED_PREFIX))/share/kamuee"

clean: ## build: remove the build directories
	rm -rf $(BUILD) $(BUILD)-cost $(BUILD)-curve $(BUILD)-fuzz $(BUILD)-asan $(BUILD)-deb $(BUILD)-image $(BUILD)-matrix $(BUILD)-evidence $(BUILD)-reproducible $(PTF) $(ANSIBLE) $(PROMETHEUS) $(NGINX) $(SCHEMATHESIS) $(CBMC)
