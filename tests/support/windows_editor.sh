# A Godot editor for Windows, for tests under Wine: Debian has the sources of one, and no program. What
# ./dev engine windows does; sourced by it.
#
# Debian's godot comes without the libraries that Debian has itself, so those few that an editor needs
# are put back from their own source packages. What tests have no use for is left out, for time: TLS,
# Vulkan, Direct3D, the physics of Jolt, navigation, most formats of files, all languages but two.
# shellcheck shell=bash

WINDOWS_ENGINE_DIR=$CACHE/engine-windows-1
WINDOWS_ENGINE_WORK=$CACHE/engine-windows.new
WINDOWS_ENGINE_TREE=$WINDOWS_ENGINE_WORK/src/godot
WINDOWS_ENGINE_VERSION=4.6.3
# Threads of C++ are those of POSIX, unlike in what ./dev build makes: both compilers may be installed.
TOOLS_WINDOWS_ENGINE=(x86_64-w64-mingw32-g++-posix:g++-mingw-w64-x86-64-posix
    x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64-win32 x86_64-w64-mingw32-windres:binutils-mingw-w64-x86-64
    scons:scons dpkg-source:dpkg-dev msgfmt:gettext xz:xz-utils)

# "package pattern": the newest version of each that the archive really has.
WINDOWS_ENGINE_SOURCES=("godot $WINDOWS_ENGINE_VERSION*" 'zlib *1.3*' 'libzstd 1.5.*' 'libpng1.6 1.6.*'
    'freetype 2.1*' 'pcre2 10.4*' 'mbedtls 3.6.*' 'brotli 1.*')

# Sets WINDOWS_ENGINE to an editor that is there already: $GODOT_WINDOWS, packed or not, or that of the
# cache.
look_for_windows_engine() {
    WINDOWS_ENGINE=
    if [ -n "${GODOT_WINDOWS:-}" ]; then
        [ -f "$GODOT_WINDOWS" ] || die "GODOT_WINDOWS=$GODOT_WINDOWS is not there; it is to be a Godot editor for Windows"
        WINDOWS_ENGINE=$(realpath "$GODOT_WINDOWS")
        [[ $WINDOWS_ENGINE != *.tar.xz ]] || unpack_windows_engine
    elif [ -f "$WINDOWS_ENGINE_DIR/godot.exe" ]; then
        WINDOWS_ENGINE=$WINDOWS_ENGINE_DIR/godot.exe
    fi
}

# From the archive that WINDOWS_ENGINE is, in which it is in a folder.
unpack_windows_engine() {
    local folder=$BUILD/windows-editor
    if [ ! "$folder/godot.exe" -nt "$WINDOWS_ENGINE" ]; then
        need xz:xz-utils
        rm -rf "$folder" "$folder.new"
        mkdir -p "$folder.new"
        tar -xJmf "$WINDOWS_ENGINE" -C "$folder.new" --strip-components=1
        mv "$folder.new" "$folder"
    fi
    WINDOWS_ENGINE=$folder/godot.exe
}

# Sets WINDOWS_ENGINE to what tests run under Wine: the same editor with another heap, and asking less (the quick_*.c tell
# why). One that does not have its memory from the old C library of Windows stays as it is.
quicken_windows_engine() {
    local from=$WINDOWS_ENGINE folder=$BUILD/windows-editor.quick sources=$ROOT/tests/support/windows
    if [ -n "$from" ] && x86_64-w64-mingw32-objdump -p "$from" | grep 'DLL Name: msvcrt.dll' >/dev/null; then
        WINDOWS_ENGINE=$folder/godot.exe
        if [ -n "$(find "$from" "$sources" -newer "$WINDOWS_ENGINE" 2>&1)" ]; then make_quick_windows_engine; fi
    fi
}

make_quick_windows_engine() {
    rm -rf "$folder"
    mkdir -p "$folder"
    make_quick_library quick_heap.c memory.dll msvcrt.dll malloc calloc realloc free _strdup
    make_quick_library quick_drives.c drives32.dll KERNEL32.dll GetLogicalDrives
    LC_ALL=C sed 's/msvcrt\.dll\x00/memory.dll\x00/; s/KERNEL32\.dll\x00/drives32.dll\x00/' "$from" >"$folder/godot.exe.new"
    mv "$folder/godot.exe.new" "$folder/godot.exe"
}

# A library of which these functions are our own and all others are that one's. Its name is as long, for it is
# replaced where it is imported.
make_quick_library() {
    local source=$1 name=$2 old=$3 own="${*:4}"
    x86_64-w64-mingw32-objdump -p "$from" | awk -v old="$old" -v own=" $own " '
        BEGIN { print "EXPORTS" }
        /DLL Name:/ { is_wanted = $3 == old }
        is_wanted && /^\t[0-9a-f]+\t/ {
            plain = $3
            sub(/^_/, "", plain)
            print $3, "=", (index(own, " " $3 " ") ? "quick_" plain : substr(old, 1, length(old) - 4) "." $3)
        }' >"$folder/$name.def"
    x86_64-w64-mingw32-gcc -std=c11 -O2 -Wall -Wextra -Werror -shared -static-libgcc \
        -o "$folder/$name" "$sources/$source" "$folder/$name.def"
}

find_windows_engine() {
    look_for_windows_engine
    [ -z "$WINDOWS_ENGINE" ] || return 0
    [ "$(uname -m)" = x86_64 ] || die "an editor for Windows is made on x86_64 only; set GODOT_WINDOWS to one"
    need "${TOOLS_WINDOWS_ENGINE[@]}"
    with_cache_lock engine-windows make_windows_engine
    WINDOWS_ENGINE=$WINDOWS_ENGINE_DIR/godot.exe
}

make_windows_engine() {
    [ ! -f "$WINDOWS_ENGINE_DIR/godot.exe" ] || return 0
    rm -rf "$WINDOWS_ENGINE_WORK"
    say "making a Godot editor for Windows from Debian's sources (about half an hour; once)"
    fetch_windows_engine_sources
    complete_windows_engine_tree
    compile_windows_engine
    keep_windows_engine
}

# ---- the sources ---------------------------------------------------------------------------------

# Frozen mirrors list versions whose files they lack, so the next older one is tried, too.
fetch_source_version() {
    local name=$1 pattern=$2 out=$3 version versions
    mapfile -t versions < <(apt-cache showsrc "$name" | sed -n 's/^Version: //p' | sort -u -V -r)
    for version in "${versions[@]}"; do
        # shellcheck disable=SC2053 # it is a pattern
        [[ $version == $pattern ]] || continue
        apt-get source --download-only "$name=$version" >"$name.log" 2>&1 || continue
        # What the archive has signed is the index with the checksums; those are compared.
        quietly "unpack-$name" dpkg-source --no-check -x "${name}_${version#*:}.dsc" "$out/$name"
        printf '%s %s\n' "$name" "$version" >>"$out/versions"
        return 0
    done
    die "the archive has no source of $name $pattern"
}

fetch_windows_engine_sources() {
    local entry suite
    mkdir -p "$WINDOWS_ENGINE_WORK"/{apt,download,src}
    for suite in forky sid trixie; do
        archive_lines deb "$suite" | sed 's/^deb /deb-src /'
    done | private_apt_init "$WINDOWS_ENGINE_WORK/apt"
    (
        cd "$WINDOWS_ENGINE_WORK/download" || exit
        for entry in "${WINDOWS_ENGINE_SOURCES[@]}"; do
            APT_CONFIG=$WINDOWS_ENGINE_WORK/apt/apt.conf \
                fetch_source_version "${entry%% *}" "${entry#* }" "$WINDOWS_ENGINE_WORK/src"
        done
    )
}

# ---- the tree ------------------------------------------------------------------------------------

# Copies files of a source package to where the engine's build looks for them.
put_back() {
    local to=$WINDOWS_ENGINE_TREE/thirdparty/$1 from=$WINDOWS_ENGINE_WORK/src/$2
    shift 2
    mkdir -p "$to"
    (cd "$from" && cp -r "$@" "$to/")
}

put_back_pcre2() {
    local to=$WINDOWS_ENGINE_TREE/thirdparty/pcre2 file listed
    put_back pcre2 pcre2 src deps
    mv "$to/src/config.h.generic" "$to/src/config.h"
    mv "$to/src/pcre2.h.generic" "$to/src/pcre2.h"
    mv "$to/src/pcre2_chartables.c.dist" "$to/src/pcre2_chartables.c"
    # The engine's list of files is that of a later release.
    mapfile -t listed < <(grep -o 'pcre2_[a-z0-9_]*\.c' "$WINDOWS_ENGINE_TREE/modules/regex/SCsub")
    for file in "${listed[@]}"; do
        [ -e "$to/src/$file" ] || : >"$to/src/$file"
    done
}

# Only what the engine's core wants of it: hashes, AES, random numbers; the two files are its own.
put_back_mbedtls() {
    local to=$WINDOWS_ENGINE_TREE/thirdparty/mbedtls define
    put_back mbedtls/include mbedtls/include mbedtls psa
    put_back mbedtls/library mbedtls/library .
    {
        printf '#pragma once\n'
        # PLATFORM_C is there for a check that mingw's C library would not pass.
        for define in AES_C BASE64_C CIPHER_MODE_{CBC,CFB,CTR,XTS} CTR_DRBG_C ENTROPY_C MD_C MD5_C SHA1_C \
            SHA256_C NO_PLATFORM_ENTROPY PLATFORM_ZEROIZE_ALT PLATFORM_C; do
            printf '#define MBEDTLS_%s\n' "$define"
        done
    } >"$to/include/godot_core_mbedtls_config.h"
    cat >"$to/library/godot_core_mbedtls_platform.c" <<'C'
#include <windows.h>

#include "mbedtls/platform_util.h"

void mbedtls_platform_zeroize(void *at, size_t size) {
    SecureZeroMemory(at, size);
}
C
}

# Each is a part of the program and takes Python a while. The class reference goes without any, but its
# list of files wants to have one.
leave_out_languages() {
    local folder
    for folder in editor/translations/{editor,properties,extractable} doc/translations; do
        find "$WINDOWS_ENGINE_TREE/$folder" -name '*.po' ! -name de.po -delete
    done
    cat >"$WINDOWS_ENGINE_TREE/doc/translations/de.po" <<'PO'
msgid ""
msgstr ""
"Language: de\n"
"Content-Type: text/plain; charset=UTF-8\n"
PO
}

# That it lacks the modules raycast and text_server_adv would be a warning at each start.
leave_out_warnings() {
    sed -i '/WARN_PRINT("Some locales are not properly supported/s/WARN_PRINT([^;]*;//' \
        "$WINDOWS_ENGINE_TREE/editor/settings/editor_settings.cpp"
    sed -i '/WARN_PRINT_ONCE("Occlusion culling is disabled/s/WARN_PRINT_ONCE([^;]*;//' \
        "$WINDOWS_ENGINE_TREE/servers/rendering/renderer_scene_occlusion_cull.h"
}

# The engine asks for the compilers by their plain names, in a folder that is given to it.
name_windows_compilers() {
    local to=$WINDOWS_ENGINE_WORK/mingw/bin prefix=x86_64-w64-mingw32 tool
    mkdir -p "$to"
    for tool in gcc g++ gcc-ar gcc-ranlib gcc-nm; do
        ln -sfn "$(command -v "$prefix-$tool-posix")" "$to/$prefix-$tool"
    done
    for tool in windres objcopy strip dlltool ar ranlib; do
        ln -sfn "$(command -v "$prefix-$tool")" "$to/$prefix-$tool"
    done
}

complete_windows_engine_tree() {
    rm -rf "$WINDOWS_ENGINE_TREE"/thirdparty/{zlib,zstd,libpng,freetype,brotli,pcre2,mbedtls,certs}
    # shellcheck disable=SC2046 # names of C files
    put_back zlib zlib $(cd "$WINDOWS_ENGINE_WORK/src/zlib" && echo *.[ch])
    put_back zstd libzstd/lib common compress decompress zstd.h zstd_errors.h
    # shellcheck disable=SC2046 # names of C files
    put_back libpng libpng1.6 $(cd "$WINDOWS_ENGINE_WORK/src/libpng1.6" && echo *.[ch]) intel
    cp "$WINDOWS_ENGINE_WORK/src/libpng1.6/scripts/pnglibconf.h.prebuilt" \
        "$WINDOWS_ENGINE_TREE/thirdparty/libpng/pnglibconf.h"
    put_back freetype freetype src include
    put_back brotli brotli/c . # the editor's own fonts are packed with it
    put_back_pcre2
    put_back_mbedtls
    mkdir -p "$WINDOWS_ENGINE_TREE/thirdparty/certs"
    : >"$WINDOWS_ENGINE_TREE/thirdparty/certs/ca-bundle.crt"
    leave_out_languages
    leave_out_warnings
    name_windows_compilers
}

# ---- the program ---------------------------------------------------------------------------------

compile_windows_engine() {
    local module modules=()
    for module in gdscript freetype regex svg text_server_fb jsonrpc godot_physics_2d godot_physics_3d; do
        modules+=("module_${module}_enabled=yes")
    done
    (
        cd "$WINDOWS_ENGINE_TREE" || exit
        export BUILD_NAME=wine_test
        quietly engine-windows scons -j "$(nproc)" platform=windows arch=x86_64 target=editor \
            use_mingw=yes "mingw_prefix=$WINDOWS_ENGINE_WORK/mingw" \
            optimize=custom ccflags=-O1 debug_symbols=no lto=none warnings=no scu_build=yes progress=no \
            d3d12=no vulkan=no opengl3=yes accesskit=no sdl=no brotli=yes builtin_certs=no \
            engine_update_check=no steamapi=no tests=no deprecated=yes \
            modules_enabled_by_default=no "${modules[@]}"
    )
}

keep_windows_engine() {
    local out=$WINDOWS_ENGINE_WORK/out
    mkdir -p "$out"
    cp "$WINDOWS_ENGINE_TREE/bin/godot.windows.editor.x86_64.exe" "$out/godot.exe"
    cp "$WINDOWS_ENGINE_TREE/bin/godot.windows.editor.x86_64.console.exe" "$out/godot.console.exe"
    x86_64-w64-mingw32-strip "$out"/*.exe
    cp "$WINDOWS_ENGINE_TREE"/{COPYRIGHT,LICENSE}.txt "$WINDOWS_ENGINE_WORK/src/versions" "$out/"
    rm -rf "$WINDOWS_ENGINE_DIR"
    mv "$out" "$WINDOWS_ENGINE_DIR"
    rm -rf "$WINDOWS_ENGINE_WORK"
}
