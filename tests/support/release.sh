# What ./dev release does: a version is cut from the changelog, tagged and packed; sourced by it.
# Nothing leaves this folder.
# shellcheck shell=bash

VERSION_FILES=(VERSION addons/tether/plugin.cfg CHANGELOG.md)

cmd_release() {
    local version=${1:-} only_tag=
    case $#:${2:-} in
    1:) ;;
    2:--tag-only) only_tag=yes ;;
    *) die "release: it takes a version, as 1.2.3, and --tag-only where another machine makes the package" ;;
    esac
    check_version "$version"
    check_tree
    check_changelog
    check_tested
    cut_release "$version" "$only_tag"
}

in_repository() {
    git -C "$ROOT" "$@"
}

# ---- what is refused -----------------------------------------------------------------------------

# Succeeds if the first version is newer than the second.
is_newer() {
    [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" = "$1" ]
}

check_version() {
    local version=$1 now last
    [[ $version =~ ^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$ ]] ||
        die "release: '$version' is no version; give three numbers, as 1.2.3"
    if in_repository rev-parse --quiet --verify "refs/tags/v$version" >/dev/null; then
        die "release: $version was released: there is a tag v$version; choose a newer version"
    fi
    now=$(cat "$ROOT/VERSION")
    ! is_newer "$now" "$version" || die "release: $version is older than $now, which VERSION names; choose a newer one"
    last=$(in_repository tag --merged HEAD --list 'v[0-9]*' | sed 's/^v//' | sort -V | tail -n 1)
    [ -z "$last" ] || is_newer "$version" "$last" || die "release: $version is not newer than the last release, $last"
}

check_tree() {
    in_repository symbolic-ref --quiet HEAD >/dev/null ||
        die "release: no branch is checked out, so the release would be on none; git switch to one"
    [ -z "$(in_repository status --porcelain)" ] || {
        in_repository status --short >&2
        die "release: this is not committed; commit it or put it aside (git stash --include-untracked)"
    }
}

# Prints what the changelog tells below this headline.
changes_of() {
    awk -v wanted="## $1" '
        /^## / { here = index($0, wanted) == 1; next }
        here' "$ROOT/CHANGELOG.md"
}

check_changelog() {
    [[ $'\n'$(changes_of Unreleased) == *$'\n- '* ]] ||
        die "release: CHANGELOG.md tells of no change below \"## Unreleased\"; write down what users notice"
}

# ./dev test leaves the name of the commit that it has passed, whole and with nothing changed.
check_tested() {
    local commit
    commit=$(in_repository rev-parse HEAD)
    [ "$(cat "$TESTED" 2>/dev/null)" = "$commit" ] ||
        die "release: ./dev test has not passed for this commit (${commit:0:12}); run it, whole, and then this again"
}

# ---- what is done --------------------------------------------------------------------------------

write_version() {
    local day
    day=$(date -u +%F)
    printf '%s\n' "$1" >"$ROOT/VERSION"
    sed -i "s/^version=.*/version=\"$1\"/" "$ROOT/addons/tether/plugin.cfg"
    sed -i "s/^## Unreleased\$/&\n\n## $1 - $day/" "$ROOT/CHANGELOG.md"
}

take_back() {
    in_repository reset --quiet --keep HEAD~1
    say "the release did not get ready: its commit is taken back"
}

cut_release() {
    local version=$1 only_tag=$2 notes=$BUILD/release-notes-v$1.md
    mkdir -p "$BUILD"
    write_version "$version"
    changes_of "$version - " | sed '/./,$!d' >"$notes"
    in_repository commit --quiet --message "release: $version" -- "${VERSION_FILES[@]}"
    trap take_back EXIT
    # With the version, what is installed has changed: it is made, installed and tried once more.
    [ -n "$only_tag" ] || "$ROOT/dev" test package || exit 1
    in_repository tag --annotate --cleanup=whitespace --file "$notes" "v$version"
    trap - EXIT
    tell_release "$version" "$only_tag" "$notes"
}

tell_release() {
    local version=$1 only_tag=$2 notes=$3
    cat "$notes"
    if [ -n "$only_tag" ]; then
        say "v$version is tagged; ./dev package makes the zip"
    else
        cat "$BUILD/package/SHA256SUMS"
        say "v$version is tagged, and its files are in build/package"
    fi
    say "the notes are in build/${notes##*/}; nothing was pushed: git push origin HEAD v$version"
}
