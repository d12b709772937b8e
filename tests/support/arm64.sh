# shellcheck disable=SC2153 # BUILD, ROOT, CACHE and PYTHON are set by dev
# H6: the tests on an arm64 machine, which is emulated: Debian's kernel and programs for arm64, and what was
# built for it; sourced by dev. What only user programs are emulated for (qemu-user) lacks what the guard needs.
# shellcheck shell=bash

TOOLS_ARM64=(qemu-system-aarch64:qemu-system-arm)
ARM64=$CACHE/arm64-1
ARM64_PACKAGES=(bash coreutils dash findutils grep iproute2 kmod libc-bin libcmocka0 mawk mount procps psmisc python3 python3-pytest sed util-linux)
# Each instruction is carried out by about twenty here, so of the tests of whole programs those are run that tell
# whether processes, their ends, and what the system says of them are what they are elsewhere.
ARM64_TESTS=(adopt endings guard_hindered owner owner_liveness service tree)

# What is not needed there is left out, for all of it is kept in memory.
unpack_arm64_root() {
    local root=$1 deb
    shift
    mkdir -p "$root"/{usr/{bin,sbin,lib},dev,etc,proc,run,sys,tmp,var}
    ln -s usr/bin usr/sbin usr/lib "$root"
    for deb in "$@"; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink --exclude='./usr/share/doc' \
            --exclude='./usr/share/man' --exclude='./usr/share/locale' --exclude='./usr/share/zoneinfo' \
            --exclude='./usr/share/info' --exclude='./usr/lib/aarch64-linux-gnu/gconv' --exclude='./dev'
    done
    ln -sf dash "$root/usr/bin/sh"
    ln -sf mawk "$root/usr/bin/awk"
    printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
    # So that nothing has to be compiled there before it runs.
    "$PYTHON" -m compileall -q -s "$root" "$root/usr/lib/python3"* >/dev/null || true
}

fetch_arm64() {
    [ ! -d "$ARM64" ] || return 0
    local work=$CACHE/arm64.new kernel
    rm -rf "$work"
    mkdir -p "$work/apt" "$work/out/cmocka" "$work/kernel"
    say "getting a kernel and programs for arm64 from Debian's archive (about 60 MB, unpacked 150 MB; once)"
    archive_lines deb bookworm | private_apt_init "$work/apt" arm64
    APT_CONFIG=$work/apt/apt.conf quietly arm64-packages apt-get install --download-only "${ARM64_PACKAGES[@]}"
    kernel=$(APT_CONFIG=$work/apt/apt.conf apt-cache depends linux-image-cloud-arm64 | sed -n 's/^ *Depends: //p' | head -n 1)
    (
        cd "$work/kernel" || exit
        APT_CONFIG=$work/apt/apt.conf quietly arm64-kernel apt-get download libcmocka-dev "$kernel"
    )
    unpack_arm64_root "$work/out/root" "$work"/apt/cache/archives/*.deb
    dpkg-deb -x "$work"/kernel/libcmocka-dev_*.deb "$work/out/cmocka"
    dpkg-deb -x "$work"/apt/cache/archives/libcmocka0_*.deb "$work/out/cmocka"
    dpkg-deb --fsys-tarfile "$work"/kernel/linux-image-*.deb | tar -x -C "$work/kernel"
    mv "$work"/kernel/boot/vmlinuz-* "$work/out/vmlinuz"
    mv "$work/out" "$ARM64"
    rm -rf "$work"
}

# Why there can be no such machine here, or nothing.
why_no_arm64() {
    if ! zig_comes_for_this_machine; then
        echo "the compiler for it comes for x86_64 only"
    elif ! command -v apt-get >/dev/null; then
        echo "its kernel and programs come from Debian's archive, and this is not a Debian system"
    fi
}

# The launcher is the one that people get; the tests' own programs are built beside it.
prepare_arm64() {
    [ -z "$(why_no_arm64)" ] || return 0
    need "${TOOLS_ARM64[@]}"
    with_cache_lock arm64 fetch_arm64
    cmd_build release=yes static=yes arch=arm64
    TETHER_CMOCKA=$ARM64/cmocka cmd_build arch=arm64
}

area_arm64() {
    local why name log=$BUILD/logs/arm64.log files=()
    why=$(why_no_arm64)
    for name in "${ARM64_TESTS[@]}"; do files+=("process/test_$name.py"); done
    if [ -n "$why" ]; then
        printf 'arm64: %s: %s\n' "unit ${files[*]}" "$why" >>"$SKIPS"
        count 0 0 $((1 + ${#files[@]}))
        return
    fi
    "$PYTHON" "$ROOT/tests/support/arm64.py" --root "$ROOT" --build "$BUILD" --system "$ARM64" --log "$log" \
        --counts "$BUILD/logs/arm64.counts" --skips "$SKIPS" "${files[@]}" >&2
    # shellcheck disable=SC2046 # three numbers
    count $(cat "$BUILD/logs/arm64.counts")
}
