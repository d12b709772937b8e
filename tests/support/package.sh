# shellcheck disable=SC2153 # BUILD, ROOT and SOURCES are set by dev
# What ./dev package does: the addon for all systems in one zip; sourced by it.
# shellcheck shell=bash

TOOLS_PACKAGE=(llvm-objcopy-14:llvm-14 llvm-lipo-14:llvm-14
    x86_64-w64-mingw32-objcopy:binutils-mingw-w64-x86-64)

# Each part by the same options as ./dev build takes; release=yes makes its bytes depend on nothing but
# the sources and the compilers.
PACKAGE_BUILDS=("release=yes" "release=yes static=yes" "release=yes arch=arm64" "release=yes static=yes arch=arm64"
    "release=yes platform=windows" "release=yes platform=macos arch=x86_64" "release=yes platform=macos arch=arm64")

cmd_package() {
    local as_json=() twice=
    case $#:${1:-} in
    0:) ;;
    1:--json) as_json=(--json) ;;
    1:--twice) twice=yes ;;
    *) die "package: it takes nothing, --twice or --json" ;;
    esac
    [ "$(uname -m)" = x86_64 ] || die "a package is made on x86_64 only: the compiler for the other systems comes for it"
    [ -z "$twice" ] || [ -z "$(git -C "$ROOT" status --porcelain)" ] ||
        die "package: something is not committed, and would not be in the other folder; commit it, or leave out --twice"
    make_package
    [ -z "$twice" ] || compare_with_another
}

make_package() {
    local build options
    need "${TOOLS_PACKAGE[@]}"
    for build in "${PACKAGE_BUILDS[@]}"; do
        read -ra options <<<"$build"
        cmd_build "${options[@]}"
    done
    say "packing"
    "$PYTHON" "$ROOT/tests/support/package.py" --root "$ROOT" --build "$BUILD" --sources "$SOURCES" \
        --zig "$ZIG_LIB_DIR" --objcopy llvm-objcopy-14 --objcopy-windows x86_64-w64-mingw32-objcopy \
        --lipo llvm-lipo-14 "${as_json[@]}"
}

# Makes it in a clone of another name, from nothing, and compares all files by their hashes.
compare_with_another() {
    local other
    other=$(mktemp -d "$BUILD/again.XXXXXX")
    say "making it once more, in $other"
    git clone --quiet "$ROOT" "$other/a clone"
    "$other/a clone/dev" package >/dev/null
    diff "$BUILD/package/SHA256SUMS" "$other/a clone/build/package/SHA256SUMS" ||
        die "package: two folders made different bytes; the other one is $other"
    rm -rf "$other"
    say "two folders made the same bytes"
}
