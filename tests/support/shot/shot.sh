# ./dev shot, sourced by it: the pictures of the dock for the documentation, of real editors and
# servers on a screen that nobody sees.
# shellcheck shell=bash

cmd_shot() {
    need "${TOOLS_SHOT[@]}"
    cmd_build
    mkdir -p "$ROOT/docs/images"
    say "taking pictures (about 10 s each)"
    PYTHONDONTWRITEBYTECODE=1 TETHER_BUILD=$BUILD TETHER_ENGINE=$ENGINE \
        "$PYTHON" "$ROOT/tests/support/shot/take.py" "$ROOT/docs/images" "$@"
}
