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
    local build options as_json=()
    case $#:${1:-} in
    0:) ;;
    1:--json) as_json=(--json) ;;
    *) die "package: it takes nothing, or --json" ;;
    esac
    [ "$(uname -m)" = x86_64 ] || die "a package is made on x86_64 only: the compiler for the other systems comes for it"
    need "${TOOLS_PACKAGE[@]}"
    for build in "${PACKAGE_BUILDS[@]}"; do
        read -ra options <<<"$build"
        cmd_build "${options[@]}"
    done
    say "packing"
    python3 "$ROOT/tests/support/package.py" --root "$ROOT" --build "$BUILD" --sources "$SOURCES" \
        --zig "$ZIG_LIB_DIR" --objcopy llvm-objcopy-14 --objcopy-windows x86_64-w64-mingw32-objcopy \
        --lipo llvm-lipo-14 "${as_json[@]}"
}
