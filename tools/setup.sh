#!/bin/sh
# Sets up what `make` needs, and says in one line what is missing where it cannot.
#
#   tools/setup.sh venv LOCK   .venv with the packages of LOCK (hashes checked) and wikisync
#   tools/setup.sh chromium    Debian's Chromium and what drives it, for browser tests
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "setup: $1" >&2
    exit 1
}

install_debian_packages() {
    command -v apt-get >/dev/null 2>&1 || fail "please install: $*"
    [ "$(id -u)" = 0 ] || fail "please run as root: apt-get install $*"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null || fail "apt-get update failed; needed: $*"
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
        fail "apt-get could not install: $*"
}

# What makes the tests faster but is not needed: without it they pass as well.
try_debian_packages() {
    (install_debian_packages "$@") 2>/dev/null || true
}

find_python() {
    for name in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        [ -n "$name" ] || continue
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    fail "Python 3.11 or later is missing (Debian: apt-get install python3)"
}

make_venv() {
    lock=$1
    python=$(find_python)
    if [ ! -x .venv/bin/python ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        echo "setup: making .venv with $($python --version)" >&2
        if ! "$python" -m venv --clear .venv >/dev/null 2>&1; then
            # Debian keeps the venv module in a package of its own
            install_debian_packages python3-venv
            "$python" -m venv --clear .venv || fail "$python cannot make a virtual environment"
        fi
    fi
    echo "setup: installing $lock" >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --require-hashes -r "$lock" || fail "pip could not install $lock"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --no-deps --no-build-isolation --editable . || fail "pip could not install wikisync"
}

find_chromium() {
    command -v chromium-headless-shell || command -v chromium || command -v chromium-browser
}

case "${1:-}" in
venv) make_venv "$2" ;;
chromium)
    missing=
    find_chromium >/dev/null || missing="chromium-headless-shell"
    [ -n "$missing" ] || command -v chromium-headless-shell >/dev/null ||
        try_debian_packages chromium-headless-shell
    # what drives it, playwright's Node.js, needs this library, which a small Debian lacks
    /sbin/ldconfig -p | grep -q 'libatomic\.so\.1 ' || missing="$missing libatomic1"
    # shellcheck disable=SC2086 - several packages are several words
    [ -z "$missing" ] || install_debian_packages $missing
    ;;
*) fail "usage: tools/setup.sh venv LOCK | chromium" ;;
esac
