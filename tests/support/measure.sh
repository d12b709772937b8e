# The measurements of ./dev bench, sourced by it. Long ones live here, not in the tests.
# shellcheck shell=bash

bench_lifecycle() {
    local kind=$BUILD/linux.$(uname -m)
    need "${TOOLS_PEERS[@]}"
    cmd_build
    cmd_build static=yes
    "$PYTHON" "$ROOT/tests/bench/lifecycle.py" --server "$kind/tests/programs/server" \
        --tether "$kind/tether" --static "$kind.static/tether" --json "$BUILD/bench-lifecycle.json" "$@"
}

cmd_bench() {
    local what=${1:-}
    [ $# -eq 0 ] || shift
    case $what in
    lifecycle) "bench_$what" "$@" ;;
    *) die "bench: what? There is: lifecycle" ;;
    esac
}
