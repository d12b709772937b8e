# The measurements of ./dev bench, sourced by it. Long ones live here, not in the tests.
# shellcheck shell=bash

bench_lifecycle_windows() {
    need "${TOOLS_WINE[@]}"
    cmd_build platform=windows
    TETHER_BUILD=$BUILD "$PYTHON" "$ROOT/tests/bench/windows.py" --json "$BUILD/bench-lifecycle-windows.json" "$@"
}

bench_lifecycle() {
    if [ "${1:-}" = platform=windows ]; then
        shift
        bench_lifecycle_windows "$@"
        return
    fi
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
    TETHER_ENGINE=$ENGINE TETHER_BUILD=$BUILD "$PYTHON" "$ROOT/tests/bench/mcp.py" --tether "$HERE/tether" --editor "$HERE/tests/programs/quick_editor" \
        --packages "$NODE_PACKAGES" --json "$BUILD/bench-mcp.json" "$@"
}

bench_bridge() {
    need "${TOOLS_MCP[@]}" "${TOOLS_LOAD[@]}"
    with_cache_lock node fetch_node_packages
    with_cache_lock strangers fetch_strangers
    cmd_build
    cmd_build static=yes
    "$PYTHON" "$ROOT/tests/bench/bridge.py" --tether "$HERE.static/tether" \
        --relay "$HERE/tests/programs/bare_relay" --packages "$NODE_PACKAGES" --strangers "$STRANGERS" --json "$BUILD/bench-bridge.json" "$@"
}

bench_clients() {
    need "${TOOLS_MCP[@]}"
    with_cache_lock node fetch_node_packages
    with_cache_lock real-clients fetch_real_clients
    cmd_build
    TETHER_BUILD=$BUILD TETHER_ENGINE=$ENGINE TETHER_NODE=$NODE_PACKAGES TETHER_REAL_CLIENTS=$REAL_CLIENTS \
        PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$ROOT/tests/bench/clients.py" --json "$BUILD/bench-clients.json" "$@"
}

bench_editor() {
    need "${TOOLS_SCREEN[@]}"
    cmd_build
    "$PYTHON" "$ROOT/tests/bench/editor.py" --engine "$ENGINE" --json "$BUILD/bench-editor.json" "$@"
}

# Runs a command with a program that checks itself; its findings end up in one folder.
soak_program() {
    local name=$1 program=$2
    shift 2
    rm -rf "$BUILD/soak/$name"
    mkdir -p "$BUILD/soak/$name"
    say "soak: $name"
    # Without randomised addresses: on recent kernels gcc 12's sanitizer sometimes finds no room for its
    # shadow, and the program dies before main().
    TEST_WRAPPER=(setarch -R)
    TETHER_PROGRAM=$program ASAN_OPTIONS=log_path=$BUILD/soak/$name/found:detect_leaks=${LEAKS:-1} \
        UBSAN_OPTIONS=log_path=$BUILD/soak/$name/found:print_stacktrace=1 "$@"
    TEST_WRAPPER=()
    if grep -rlE 'Sanitizer|runtime error' "$BUILD/soak/$name" >&2; then
        count 0 1 0
    else
        count 1 0 0
    fi
}

# The process tests again and again, with sanitizers, too.
soak_tests() {
    local rounds=$1 round
    for ((round = 1; round <= rounds; round++)); do
        soak_program address "$HERE.address/tether" run_pytest process
        soak_program undefined "$HERE.undefined/tether" run_pytest process
        say "soak: process tests, round $round of $rounds"
        TETHER_THOROUGH=1 run_pytest process
    done
}

# Everything at once and in any order, a third of the time with each of three programs.
soak_at_random() {
    local seconds=$(($1 * 20)) seed=$2
    say "soak: seed $seed, three times $seconds s"
    mkdir -p "$LANES_LOGS/counts" "$LANES_TMP"
    export TETHER_SOAK_SECONDS=$seconds TETHER_SEED=$seed
    soak_program plain "$BUILD/tether" soak_file
    # What looks for leaks is a process that stops its own parent: one more that may be killed meanwhile.
    LEAKS=0 soak_program address "$HERE.address/tether" soak_file
    soak_program undefined "$HERE.undefined/tether" soak_file
}

soak_file() {
    run_pytest_file 1 process/test_soak.py
    # shellcheck disable=SC2046 # three numbers
    count $(cat "$LANES_LOGS/counts/process-test_soak.py")
}

# An engine that aborts when it sees the addon for the first time does so now and then only.
soak_first() {
    local file=engine/test_first_runs.py
    say "soak: $1 first runs of each kind, with the plugin enabled and off (TEST_FILTER picks some)"
    mkdir -p "$LANES_LOGS/counts" "$LANES_TMP"
    TETHER_FIRST_RUNS=$1 run_pytest_file 1 $file
    # shellcheck disable=SC2046 # three numbers
    count $(cat "$LANES_LOGS/counts/${file//\//-}")
}

# Many editors with an instance each, of which a third is killed.
soak_farm() {
    local file=engine/test_farm.py
    say "soak: $1 editors, seed $2"
    mkdir -p "$LANES_LOGS/counts" "$LANES_TMP"
    TETHER_FARM_EDITORS=$1 TETHER_SEED=$2 run_pytest_file 1 $file
    # shellcheck disable=SC2046 # three numbers
    count $(cut -d ' ' -f 1-3 "$LANES_LOGS/counts/${file//\//-}")
}

# Usage: ./dev soak [MINUTES [SEED]]; ./dev soak tests [ROUNDS]; ./dev soak first [ROUNDS]; ./dev soak farm [EDITORS [SEED]]
cmd_soak() {
    local what=random number=${1:-3}
    case $number in
    tests | first)
        what=$number
        number=${2:-1}
        ;;
    farm)
        what=farm
        number=${2:-20}
        shift
        ;;
    esac
    [[ $number =~ ^[1-9][0-9]*$ ]] || die "soak: '$number' is no number of minutes, rounds or editors"
    # shellcheck source=tests/support/areas.sh
    . "$ROOT/tests/support/areas.sh"
    need "${TOOLS_PYTEST[@]}"
    mkdir -p "$BUILD/logs"
    : >"$SKIPS"
    cmd_build
    if [ "$what" != first ] && [ "$what" != farm ]; then
        cmd_build sanitize=address
        cmd_build sanitize=undefined
    fi
    case $what in
    tests) soak_tests "$number" ;;
    first) soak_first "$number" ;;
    farm) soak_farm "$number" "${2:-$RANDOM}" ;;
    random) soak_at_random "$number" "${2:-$RANDOM}" ;;
    esac
    summary
}

# Inputs, coverage and pace of a target are told at its end, or the property that does not hold.
fuzz_one() {
    local name=$1 seconds=$2 corpus=$BUILD/fuzz/$1 log=$BUILD/fuzz/$1.log
    mkdir -p "$corpus"
    say "fuzzing $name for $seconds s; what it finds is kept in $corpus"
    "$HERE/tests/fuzz/fuzz_$name" -w >"$corpus.dict"
    if "$HERE.fuzzer/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -print_final_stats=1 -dict="$corpus.dict" \
        -artifact_prefix="$corpus-" "$corpus" "$ROOT/tests/fuzz/seeds/$name" >"$log" 2>&1; then
        say "$name: $(grep -E '^#[0-9]+\s+DONE' "$log")"
    else
        grep -vE '^#[0-9]|^Dict|NEW_FUNC' "$log" >&2
        die "fuzz: $name: a property does not hold; see above"
    fi
}

# Usage: ./dev fuzz [TARGET [SECONDS]]; all targets, two at a time, a minute each, if none is named ("" for all).
cmd_fuzz() {
    local only=${1:-} seconds=${2:-60} name names failed=0 running=0
    names=$(cd "$ROOT/tests/fuzz" && printf '%s ' fuzz_*.c | sed 's/fuzz_//g; s/\.c//g')
    [[ -z $only || " $names" == *" $only "* ]] || die "fuzz: there is no target '$only'; there are: $names"
    [[ $seconds =~ ^[1-9][0-9]*$ ]] || die "fuzz: '$seconds' is no number of seconds"
    need "${TOOLS_FUZZ[@]}"
    cmd_build sanitize=fuzzer
    for name in ${only:-$names}; do
        if [ $running = 2 ]; then
            wait -n || failed=1
            running=1
        fi
        fuzz_one "$name" "$seconds" &
        running=$((running + 1))
    done
    while [ $running -gt 0 ]; do
        wait -n || failed=1
        running=$((running - 1))
    done
    [ $failed = 0 ] || die "fuzz: something was found"
}

cmd_bench() {
    local what=${1:-}
    [ $# -eq 0 ] || shift
    case $what in
    lifecycle | mcp | bridge | clients | editor) "bench_$what" "$@" ;;
    *) die "bench: what? There are: lifecycle, mcp, bridge, clients, editor" ;;
    esac
}
