# The test areas of ./dev, sourced by it. An area is a function area_NAME, or one of PROGRAMS, that runs its tests and
# reports each outcome through `count`; everything else (time, totals, exit code) is done once, here.
# shellcheck shell=bash

TEST_WRAPPER=() # what pytest is started with
LANES=2         # files of tests at a time
LANES_LOGS=$BUILD/logs/lanes
LANES_TMP=$BUILD/tmp
# What takes long although it is small: begun last, it would be waited for in the end.
LONGEST=(process/test_soak.py process/test_lost_place.py process/test_guard_hindered.py process/test_memory.py
    process/test_machine.py process/test_many_sessions.py mcp/test_real_clients.py engine/test_first_runs.py
    engine/test_exports.py engine/test_tools_files.py engine/test_lives.py engine/test_tools_runs.py
    engine/test_tools_debug.py engine/test_tools_trust.py engine/test_tools_game.py engine/test_odd_arguments.py
    engine/test_tools_kept.py engine/test_tools_project.py process/test_sweep_kill.py
    process/test_client_files.py package/test_same_bytes.py)
# What the editor does by itself, whatever the system. On Windows it is tried if that area is asked for by its name: all
# together are to take half an hour.
EDITORS_OWN=(engine/test_asked.py engine/test_dock.py engine/test_dock_tools.py engine/test_odd_arguments.py
    engine/test_platformer.py engine/test_switches.py engine/test_tools_debug.py engine/test_tools_edits.py
    engine/test_tools_game.py engine/test_tools_kept.py engine/test_tools_listed.py engine/test_tools_odd_files.py
    engine/test_tools_project.py engine/test_tools_resources.py engine/test_tools_runs.py
    engine/test_tools_scene.py engine/test_tools_screen.py engine/test_tools_trust.py engine/test_tools_values.py)
LEFT_OUT=() # files of tests
IS_ALL=     # whether all areas are tested
WINE_CRASHED=75 # what pytest then exits with (on_windows.py)
PASSED=0
FAILED=0
SKIPPED=0
SKIPS=$BUILD/logs/skips # each with its reason
BESIDE=()               # what runs beside the rest of an area, as PID:NAME

# count PASSED FAILED SKIPPED
count() {
    PASSED=$((PASSED + $1))
    FAILED=$((FAILED + $2))
    SKIPPED=$((SKIPPED + $3))
}

# Runs a part of an area while others compute. What it has counted is counted by count_beside, which waits for it.
beside() {
    count_apart "$@" &
    BESIDE+=("$!:$1")
}

count_apart() {
    local PASSED=0 FAILED=0 SKIPPED=0
    "$@"
    echo "$PASSED $FAILED $SKIPPED" >"$BUILD/logs/$1.counts"
}

count_beside() {
    local each name
    for each in "${BESIDE[@]}"; do
        name=${each#*:}
        # shellcheck disable=SC2046 # three numbers
        if wait "${each%%:*}"; then count $(cat "$BUILD/logs/$name.counts"); else count 0 1 0; fi
    done
    BESIDE=()
}

# ---- C programs that print TAP (cmocka's, and our own) -------------------------------------------

# Reads the TAP of program $1 and prints "PASSED FAILED SKIPPED". What was skipped counts as nothing
# else, although cmocka calls it "not ok": it says "not ok NUMBER # SKIP NAME", and our tests give the
# reason on the line before. Both go to $SKIPS.
read_tap() {
    awk -v program="$1" -v skips="$SKIPS" '
        /^(not )?ok [0-9]+ # SKIP/ {
            skipped++
            sub(/^.* # SKIP */, "")
            printf "%s: %s: %s\n", program, $0, reason ? reason : "no reason is given" >>skips
            next
        }
        /^ok / { passed++ }
        /^not ok / { failed++ }
        { reason = sub(/^ *skipped: /, "") ? $0 : "" }
        END { print passed + 0, failed + 0, skipped + 0 }'
}

# Runs one test program and counts its lines. A program that fails without saying so, as a crash
# does, counts as one failure.
run_tap() {
    local name log status=0 passed failed skipped
    name=$(basename "${*: -1}")
    log=$BUILD/logs/$name.tap
    mkdir -p "$BUILD/logs"
    CMOCKA_MESSAGE_OUTPUT=TAP "$@" >"$log" 2>&1 </dev/null || status=$?
    read -r passed failed skipped < <(read_tap "$name" <"$log")
    if [ $status -ne 0 ] && [ "$failed" = 0 ]; then failed=1; fi
    grep -E '^# [0-9]+ states' "$log" >&2 || true
    if [ "$failed" != 0 ]; then
        printf '%s: exit status %d\n' "$*" $status >&2
        grep -A 8 '^not ok ' "$log" >&2 || tail -n 60 "$log" >&2
    fi
    count "$passed" "$failed" "$skipped"
}

area_unit() {
    local program
    for program in "$HERE"/tests/unit/test_*; do
        if [ -f "$program" ] && [ -x "$program" ]; then run_tap "$program"; fi
    done
    fuzz_briefly
}

# Each fuzz target on its seeds and on inputs that are the same every time; ./dev fuzz does it for long.
fuzz_briefly() {
    local target name
    for target in "$HERE"/tests/fuzz/fuzz_*; do
        if [ ! -f "$target" ] || [ ! -x "$target" ]; then continue; fi
        name=$(basename "$target")
        check "$name" "$target" -n 20000 "$ROOT/tests/fuzz/seeds/${name#fuzz_}"
    done
}

area_explore() {
    run_tap nice "$HERE/tests/explore/explore"
    run_tap nice "$HERE/tests/explore/session/session_explore"
    run_tap nice "$PYTHON" "$ROOT/tests/explore/mutate.py"
}

# ---- Python tests of whole programs --------------------------------------------------------------

# One file of tests; what it says is shown when it is over, so that two at a time stay readable.
run_pytest_file() {
    local lane=$1 file=$2 log=$LANES_LOGS/pytest-$1.log counts=$LANES_LOGS/counts/${2//\//-} status=0
    call_pytest || status=$?
    if [ $status = $WINE_CRASHED ]; then
        printf '%s: once more, for Wine has crashed, or has not come up\n' "$file" >&2
        status=0
        call_pytest || status=$?
        [ $status != $WINE_CRASHED ] || rm -f "$counts"
    fi
    if [ $status = 0 ]; then
        printf '%s: %s\n' "$file" "$(tail -n 1 "$log")" >&2
        grep '^soak: ' "$log" >&2 || true # the seed
    else
        cat "$log" >&2
    fi
    [ -s "$counts" ] || { # it did not even start
        echo 0 1 0 >"$counts"
        : >"$counts.not-here"
    }
}

call_pytest() {
    (cd "$ROOT/tests" && env PYTHONDONTWRITEBYTECODE=1 \
        TETHER_TEST_COUNTS="$counts" TETHER_TEST_SKIPS="$SKIPS" \
        TETHER_BUILD="$BUILD" TETHER_ENGINE="${ENGINE:-}" TETHER_NGINX="$NGINX/usr/sbin/nginx" \
        TETHER_NODE="$NODE_PACKAGES" TETHER_STRANGERS="$STRANGERS" TETHER_REAL_CLIENTS="$REAL_CLIENTS" \
        TETHER_WINDOWS_NODE="$WINDOWS_NODE/package/bin/node.exe" \
        "${TEST_WRAPPER[@]}" "$PYTHON" -m pytest -q -p no:cacheprovider -p no:pastebin \
        --basetemp="$LANES_TMP/$lane" "$file" ${TEST_FILTER:+-k "$TEST_FILTER"}) >"$log" 2>&1
}

# The files of tests in these folders, in the order in which they are begun: the largest first.
list_test_files() {
    {
        find "$@" -maxdepth 1 -name 'test_*.py' -printf '%s %p\n'
        find "${LONGEST[@]}" -printf '999999 %p\n' 2>/dev/null || true # some may not be there
    } | sort -s -k 1,1rn | awk -v folders="$*" '
        BEGIN { for (at = split(folders, each, " "); at; at--) wanted[each[at]] }
        { folder = $2; sub(/\/[^\/]*$/, "", folder) }
        folder in wanted && !told[$2]++ { print $2 }'
}

# Takes the next file that no other lane has taken.
next_test_file() {
    (
        flock 9
        head -n 1 "$LANES_LOGS/todo"
        sed -i 1d "$LANES_LOGS/todo"
    ) 9>"$LANES_LOGS/lock"
}

run_lane() {
    local file
    while file=$(next_test_file) && [ -n "$file" ]; do run_pytest_file "$1" "$file"; done
}

# All tests of these folders, LANES files at a time.
run_pytest() {
    local lane lanes=()
    rm -rf "$LANES_LOGS/counts"
    mkdir -p "$LANES_LOGS/counts" "$LANES_TMP"
    (cd "$ROOT/tests" && list_test_files "$@") |
        awk -v out=" ${LEFT_OUT[*]} " '!index(out, " " $0 " ")' >"$LANES_LOGS/todo"
    for ((lane = 1; lane <= LANES; lane++)); do
        run_lane $lane &
        lanes+=($!)
    done
    wait "${lanes[@]}"
    # shellcheck disable=SC2046 # three numbers
    count $(awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }' "$LANES_LOGS"/counts/*.py)
}

# Launcher, server and editor on this machine: those of them that are asked for, in one queue, for while some wait
# others compute.
PROGRAMS=(process mcp engine)

run_programs() {
    local LANES=5
    run_pytest "$@"
}

# What people install, made and tried.
area_package() {
    if ! zig_comes_for_this_machine; then
        echo "package: the compilers for the other systems come for x86_64 only" >>"$SKIPS"
        count 0 0 1
        return
    fi
    check package "$ROOT/dev" package
    if has_windows_engine_for package/installed; then beside installed_on_windows; fi
    run_pytest package package/installed
    count_beside
}

installed_on_windows() {
    local LANES_LOGS=$BUILD/logs/lanes-beside LANES_TMP=$BUILD/tmp/beside
    run_on_windows package/installed
}

# What containers and service managers do with the launcher.
area_farm() {
    local variant=static
    [[ $(static_options) != release* ]] || variant=release-static
    TETHER_STATIC=$HERE.$variant/tether run_pytest farm
}

# The launcher for containers is the one that is packed, where that is made.
static_options() {
    if zig_comes_for_this_machine; then echo "release=yes static=yes"; else echo "static=yes"; fi
}

# Runs a command with Wine's settings: a prefix of our own, no display, no window of a debugger, and a
# locale in which a file may have any name.
with_wine() {
    env WINEPREFIX="$BUILD/wine" WINEDEBUG=-all DISPLAY= LC_ALL=C.UTF-8 \
        WINEDLLOVERRIDES='mscoree,mshtml,winedbg.exe=' "$@"
}

# The tests of Windows itself, and those of launcher, server and editor, which are the same there. They wait a lot.
area_windows() {
    local LANES=6 same=(process mcp) LEFT_OUT=() # as many on each processor
    if has_windows_engine_for engine; then
        same+=(engine)
        [ -z "$IS_ALL" ] || LEFT_OUT=("${EDITORS_OWN[@]}")
    fi
    beside windows_programs
    run_on_windows windows "${same[@]}"
    say_how_many_are_the_same "${same[@]}"
    count_beside
}

has_windows_engine_for() {
    look_for_windows_engine
    [ -n "$WINDOWS_ENGINE" ] || {
        echo "$1 on Windows: there is no Godot editor for it: \`./dev engine windows\` makes one, or set GODOT_WINDOWS" >>"$SKIPS"
        count 0 0 1
        return 1
    }
}

windows_programs() {
    local program
    "$PYTHON" "$ROOT/tests/support/wine_prefix.py" "$BUILD/wine"
    for program in "$BUILD"/windows.x86_64/tests/wine/*.exe; do
        run_tap with_wine /usr/lib/wine/wine64 "$program"
    done
    with_wine /usr/lib/wine/wineserver64 -k || true # that of this prefix
}

# The tests in these folders against the programs of Windows.
run_on_windows() {
    look_for_windows_engine
    quicken_windows_engine
    TETHER_SYSTEM=windows TETHER_ENGINE_WINDOWS=$WINDOWS_ENGINE run_pytest "$@"
}

# And why the others are not: the reasons in tests/support/not_here.py, with how many tests each is of.
say_how_many_are_the_same() {
    local counts=("${@/#/$LANES_LOGS/counts/}")
    # shellcheck disable=SC2206 # a name is a pattern here
    counts=(${counts[@]/%/-*.py})
    cat "${counts[@]/%/.not-here}" | sort | uniq -c | sort -rn >"$BUILD/logs/not-here"
    cat "${counts[@]}" | awk -v not_here="$(awk '{ all += $1 } END { print all + 0 }' "$BUILD/logs/not-here")" '
        { same += $1; left += $2 + $3 }
        END {
            printf "windows: %d of %d the same, %d not applicable", same, same + left + not_here, not_here
            if (left) printf ", %d failed or skipped", left
            printf "\n"
        }'
    sed 's/^/  not on Windows:/' "$BUILD/logs/not-here"
    [ ${#LEFT_OUT[@]} -eq 0 ] || printf '  %d files of what the editor does by itself are left to ./dev test windows\n' ${#LEFT_OUT[@]}
}

# ---- other systems -------------------------------------------------------------------------------

# All of launcher and extension, compiled and linked for a system other than this one; for macOS, where nothing of it
# can be run, as it is packed, so that it need not be compiled once more for that.
compile_for() {
    local name="$1-$2" options=("platform=$1" "arch=$2")
    if [ "$1" = macos ] && ! zig_comes_for_this_machine; then
        echo "compile for $name: the compiler for macOS comes for x86_64 only" >>"$SKIPS"
        count 0 0 1
        return
    fi
    [ "$1" != macos ] || options+=(release=yes)
    check "$name" "$ROOT/dev" build "${options[@]}"
}

area_systems() {
    compile_for windows x86_64
    compile_for macos x86_64
    compile_for macos arm64
}

# ---- lint ----------------------------------------------------------------------------------------

# What only computes lets those go first whose time is measured.
be_nice() {
    renice -n 10 "$BASHPID" >/dev/null
}

check() {
    local name=$1 log=$BUILD/logs/lint-$1.log
    shift
    mkdir -p "$BUILD/logs"
    if (be_nice && "$@") >"$log" 2>&1; then
        count 1 0 0
    else
        printf 'failed: %s\n' "$name" >&2
        tail -n 60 "$log" >&2
        count 0 1 0
    fi
}

tracked() {
    git -C "$ROOT" ls-files --cached --others --exclude-standard -- "$@" |
        while IFS= read -r file; do [ ! -f "$ROOT/$file" ] || printf '%s\n' "$file"; done
}

# Succeeds if no line of the files of standard input matches: prints those that do.
none_match() {
    ! xargs -r grep -nE "$1"
}

lint_format() {
    tracked '*.c' '*.h' | xargs clang-format --dry-run -Werror
}

# The analyzer follows the ways through each function. Among all other areas it follows a third of as many, which takes half
# the time; ./dev lint all that it would by itself.
lint_tidy() {
    local depth=()
    [ -z "$IS_ALL" ] || depth=(--extra-arg={-Xclang,-analyzer-config,-Xclang,max-nodes=75000})
    tracked 'launcher/*.c' 'gdextension/*.c' |
        { grep -vE 'os/(windows|macos)/' || true; } |
        xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p "$ROOT" "${depth[@]}"
}

lint_cppcheck() {
    cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 -j "$(nproc)" \
        --enable=warning,performance,portability --suppress=missingIncludeSystem \
        -Ilauncher -Igdextension launcher gdextension
}

lint_shell() {
    tracked dev '*.sh' .ci/run | xargs shellcheck -x
}

# Functions that write without a bound, parse without telling failure, or run a shell.
lint_banned() {
    tracked 'launcher/*.[ch]' 'gdextension/*.[ch]' |
        none_match '\b(sprintf|vsprintf|strcpy|strcat|strncpy|strncat|gets|atoi|atol|strtok|system|popen|setenv|putenv|unsetenv|alloca)\('
}

# Nothing above os/ knows a system: neither its headers nor its functions, signals and names.
lint_seam() {
    "$PYTHON" tests/support/seam.py
}

lint_layers() {
    "$PYTHON" tests/support/layers.py
}

lint_length() {
    tracked '*.c' '*.h' '*.gd' '*.py' dev SConstruct | xargs wc -l | awk '$1 > 1000 && $2 != "total" { print; bad = 1 } END { exit bad }'
}

lint_gdscript() {
    make_demo
    run_engine --headless --path "$BUILD/demo" -s "$ROOT/tests/support/parse_scripts.gd"
}

# The version is in VERSION. The editor wants it in plugin.cfg, too, where ./dev release writes it.
lint_version() {
    local version
    version=$(cat VERSION)
    grep -qx "version=\"$version\"" addons/tether/plugin.cfg || {
        echo "addons/tether/plugin.cfg does not say version=\"$version\", as VERSION does"
        return 1
    }
    tracked dev SConstruct 'launcher/*' 'gdextension/*' 'addons/*' ':!addons/tether/plugin.cfg' |
        none_match "(^|[^0-9.])${version//./\\.}([^0-9.]|\$)"
}

area_lint() {
    cd "$ROOT" || die "cannot enter $ROOT"
    check format lint_format
    check tidy lint_tidy
    check cppcheck lint_cppcheck
    check shellcheck lint_shell
    check banned-functions lint_banned
    check seam lint_seam
    check layers lint_layers
    check file-length lint_length
    check version lint_version
    check gdscript lint_gdscript
}

# ---- the commands --------------------------------------------------------------------------------

is_one_of() {
    local each
    for each in "${@:2}"; do [ "$each" != "$1" ] || return 0; done
    return 1
}

# Adds to tools what an area is built and run with.
tools_for() {
    case $1 in
    lint) tools+=("${TOOLS_LINT[@]}") ;;
    systems) tools+=("${TOOLS_WINDOWS[@]}" "${TOOLS_ZIG[@]}") ;;
    process) tools+=("${TOOLS_PYTEST[@]}" "${TOOLS_STRANGERS[@]}") ;;
    mcp) tools+=("${TOOLS_PYTEST[@]}" "${TOOLS_MCP[@]}") ;;
    engine) tools+=("${TOOLS_PYTEST[@]}" "${TOOLS_SCREEN[@]}") ;;
    package)
        tools+=("${TOOLS_PYTEST[@]}" "${TOOLS_ZIG[@]}")
        look_for_windows_engine
        [ -z "$WINDOWS_ENGINE" ] || tools+=("${TOOLS_WINE[@]}" "${TOOLS_WINDOWS[@]}")
        ;;
    farm) tools+=("${TOOLS_PYTEST[@]}" "${TOOLS_FARM[@]}" "${TOOLS_STATIC[@]}") ;;
    windows) tools+=("${TOOLS_PYTEST[@]}" "${TOOLS_MCP[@]}" "${TOOLS_WINE[@]}" "${TOOLS_WINDOWS[@]}") ;;
    arm64) [ -n "$(why_no_arm64)" ] || tools+=("${TOOLS_ARM64[@]}" "${TOOLS_ZIG[@]}" "${TOOLS_STATIC[@]}") ;;
    esac
}

# What these areas need from the network, besides tools.
fetch_for() {
    local area
    for area in "$@"; do
        case $area in systems | arm64 | package)
            if zig_comes_for_this_machine; then with_cache_lock zig fetch_zig; fi
            ;;
        esac
        case $area in process | windows) with_cache_lock nginx fetch_nginx ;; esac
        case $area in mcp | windows) with_cache_lock node fetch_node_packages ;; esac
        case $area in mcp | windows) with_cache_lock strangers fetch_strangers ;; esac
        if [ "$area" = mcp ]; then with_cache_lock real-clients fetch_real_clients; fi
        case $area in windows) with_cache_lock windows-node fetch_windows_node ;; esac
    done
}

build_for() {
    local options
    case $1 in
    windows) cmd_build platform=windows ;;
    package) [ -z "$WINDOWS_ENGINE" ] || cmd_build platform=windows ;;
    arm64) prepare_arm64 ;;
    farm)
        read -ra options <<<"$(static_options)"
        cmd_build "${options[@]}"
        ;;
    esac
}

prepare_areas() {
    local area tools=("${TOOLS_BUILD[@]}")
    for area in "$@"; do
        # shellcheck disable=SC2153 # set by dev
        is_one_of "$area" "${AREAS[@]}" || die "test: there is no area '$area'; there are: ${AREAS[*]}"
        tools_for "$area"
    done
    need "${tools[@]}"
    fetch_for "$@" & # beside the builds; what could not be had is tried once more below, and told
    cmd_build compiledb=yes
    for area in "$@"; do build_for "$area"; done
    wait
    fetch_for "$@"
}

summary() {
    if [ $SKIPPED -gt 0 ]; then
        printf 'skipped, and why:\n'
        sort "$SKIPS" | sed 's/^/  /'
    fi
    printf '%d passed, %d failed, %d skipped\n' $PASSED $FAILED $SKIPPED
    [ $FAILED -eq 0 ]
}

# Prints the commit that this folder is, if nothing in it is changed.
clean_commit() {
    [ -n "$(git -C "$ROOT" status --porcelain 2>&1)" ] || git -C "$ROOT" rev-parse HEAD
}

# What ./dev release goes by. A run that fails takes back what an earlier one has found.
note_tested() {
    local commit=$1 number=$2
    if [ $FAILED -gt 0 ]; then
        rm -f "$TESTED"
    elif [ "$number" = 0 ] && [ -z "${TEST_FILTER:-}" ] && [ -n "$commit" ] && [ "$(clean_commit)" = "$commit" ]; then
        printf '%s\n' "$commit" >"$TESTED"
    fi
}

# run_area NAME COMMAND… runs what an area consists of, and tells how much that was.
run_area() {
    local name=$1 start=$SECONDS before=$((PASSED + FAILED + SKIPPED))
    shift
    say "test $name"
    "$@"
    printf '%-8s %4d tests, %3d s\n' "$name" $((PASSED + FAILED + SKIPPED - before)) $((SECONDS - start))
}

cmd_test() {
    local area commit areas=("$@") programs=()
    commit=$(clean_commit)
    [ $# -gt 0 ] || areas=("${AREAS[@]}") IS_ALL=yes
    prepare_areas "${areas[@]}"
    mkdir -p "$BUILD/logs"
    : >"$SKIPS"
    for area in "${areas[@]}"; do
        if is_one_of "$area" "${PROGRAMS[@]}"; then programs+=("$area"); fi
    done
    # The emulated machine takes one processor and two minutes: beside what is in no hurry.
    [ -z "$IS_ALL" ] || beside area_arm64
    for area in "${areas[@]}"; do
        if [ -n "$IS_ALL" ] && [ "$area" = arm64 ]; then
            run_area arm64 count_beside
        elif ! is_one_of "$area" "${PROGRAMS[@]}"; then
            run_area "$area" "area_$area"
        elif [ ${#programs[@]} -gt 0 ]; then
            run_area "${programs[*]}" run_programs "${programs[@]}"
            programs=()
        fi
    done
    note_tested "$commit" $#
    summary
}

cmd_lint() {
    cmd_test lint
}
