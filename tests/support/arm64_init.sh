#!/bin/bash
# The first process of the emulated arm64 machine: runs the tests as ./dev does, tells the outcome, and
# switches the machine off. Lines for whoever has started it begin with "arm64: ".
export PATH=/usr/sbin:/usr/bin LC_ALL=C.UTF-8 HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /root /run/lock
for name in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do ln -s "/proc/self/${name#*:}" "/dev/${name%:*}"; done
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
read -r now </now
date -s "@$now" >/dev/null
ip link set lo up
exec </dev/null

# What ./dev sets for its areas.
ROOT=/tether BUILD=/tether/build PYTHON=/usr/bin/python3
HERE=$BUILD/linux.arm64 NGINX='' NODE_PACKAGES='' WINDOWS_NODE=''
export TETHER_EMULATED=1 # each instruction takes as long as twenty
export ROOT BUILD PYTHON HERE NGINX NODE_PACKAGES WINDOWS_NODE
say() { printf '==> %s\n' "$*"; }
die() { say "$*"; }

main() {
    cd $ROOT || return
    mkdir -p "$BUILD/logs"
    # shellcheck source=tests/support/areas.sh
    . tests/support/areas.sh
    : >"$SKIPS"
    echo "arm64: up after $(cut -d ' ' -f 1 /proc/uptime) s: $(uname -rm), $(nproc) processors"
    area_unit
    # A program that forks as fast as it can has an emulated machine for itself; and half a second is nothing.
    TEST_FILTER='not bomb and not within_the_grace' run_pytest process
    sed 's/^/arm64: skipped: /' "$SKIPS"
    echo "arm64: took $(cut -d ' ' -f 1 /proc/uptime) s"
    echo "arm64: counts: $PASSED $FAILED $SKIPPED"
}

main 2>&1
sync
echo o >/proc/sysrq-trigger
sleep 60
