# The measurements of ./dev bench, sourced by it. Long ones live here, not in the tests.
# shellcheck shell=bash

bench_lifecycle() {
    need "${TOOLS_PEERS[@]}"
    cmd_build
    cmd_build static=yes
    "$PYTHON" "$ROOT/tests/bench/lifecycle.py" --server "$HERE/tests/programs/server" \
        --tether "$HERE/tether" --static "$HERE.static/tether" --json "$BUILD/bench-lifecycle.json" "$@"
}

bench_mcp() {
    need "${TOOLS_MCP[@]}" "${TOOLS_LOAD[@]}"
    with_cache_lock node fetch_node_packages
    cmd_build
    "$PYTHON" "$ROOT/tests/bench/mcp.py" --tether "$HERE/tether" --editor "$HERE/tests/programs/quick_editor" \
        --packages "$NODE_PACKAGES" --json "$BUILD/bench-mcp.json" "$@"
}

bench_editor() {
    need "${TOOLS_SCREEN[@]}"
    cmd_build
    "$PYTHON" "$ROOT/tests/bench/editor.py" --engine "$ENGINE" --json "$BUILD/bench-editor.json" "$@"
}

# The process tests once more, with a program that checks itself; its findings end up in one folder.
soak_program() {
    local name=$1 program=$2
    rm -rf "$BUILD/soak/$name"
    mkdir -p "$BUILD/soak/$name"
    say "soak: process tests with $name"
    # Without randomised addresses: on recent kernels gcc 12's sanitizer sometimes finds no room for its
    # shadow, and the program dies before main().
    TEST_WRAPPER=(setarch -R)
    TETHER_PROGRAM=$program ASAN_OPTIONS=log_path=$BUILD/soak/$name/found \
        UBSAN_OPTIONS=log_path=$BUILD/soak/$name/found:print_stacktrace=1 run_pytest process
    TEST_WRAPPER=()
    if grep -rlE 'Sanitizer|runtime error' "$BUILD/soak/$name" >&2; then
        count 0 1 0
    else
        count 1 0 0
    fi
}

# Usage: ./dev soak [ROUNDS]
cmd_soak() {
    local rounds=${1:-1} round
    [[ $rounds =~ ^[1-9][0-9]*$ ]] || die "soak: '$rounds' is no number of rounds"
    # shellcheck source=tests/support/areas.sh
    . "$ROOT/tests/support/areas.sh"
    need "${TOOLS_PYTEST[@]}"
    cmd_build
    cmd_build sanitize=address
    cmd_build sanitize=undefined
    for ((round = 1; round <= rounds; round++)); do
        soak_program address "$HERE.address/tether"
        soak_program undefined "$HERE.undefined/tether"
        say "soak: process tests, round $round of $rounds"
        TETHER_THOROUGH=1 run_pytest process
    done
    summary
}

# Usage: ./dev fuzz [TARGET [SECONDS]]; all targets, a minute each, if none is named.
cmd_fuzz() {
    local only=${1:-} seconds=${2:-60} target name corpus names
    names=$(cd "$ROOT/tests/fuzz" && printf '%s ' fuzz_*.c | sed 's/fuzz_//g; s/\.c//g')
    [[ -z $only || " $names" == *" $only "* ]] || die "fuzz: there is no target '$only'; there are: $names"
    [[ $seconds =~ ^[1-9][0-9]*$ ]] || die "fuzz: '$seconds' is no number of seconds"
    need "${TOOLS_FUZZ[@]}"
    cmd_build sanitize=fuzzer
    for target in "$HERE".fuzzer/tests/fuzz/fuzz_*; do
        name=$(basename "$target")
        name=${name#fuzz_}
        if [ ! -x "$target" ] || [ "${only:-$name}" != "$name" ]; then continue; fi
        corpus=$BUILD/fuzz/$name
        mkdir -p "$corpus"
        say "fuzzing $name for $seconds s; what it finds is kept in $corpus"
        "$HERE/tests/fuzz/fuzz_$name" -w >"$BUILD/fuzz/$name.dict"
        "$target" -max_total_time="$seconds" -print_final_stats=1 -dict="$BUILD/fuzz/$name.dict" \
            -artifact_prefix="$BUILD/fuzz/$name-" "$corpus" "$ROOT/tests/fuzz/seeds/$name" 2>&1 |
            grep -vE '^#[0-9]|^Dict' || die "fuzz: $name: a property does not hold; see above"
    done
}

cmd_bench() {
    local what=${1:-}
    [ $# -eq 0 ] || shift
    case $what in
    lifecycle | mcp | editor) "bench_$what" "$@" ;;
    *) die "bench: what? There are: lifecycle, mcp, editor" ;;
    esac
}
