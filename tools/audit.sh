#!/bin/sh
# Asks the database of open-source advisories about every pinned package.
#
# Exit codes: 0 nothing is known, 1 holes are known and listed, 3 it could not be asked.
set -u
cd "$(dirname "$0")/.."
env=.venv/audit

ask_nobody() {
    echo "audit: $1; nothing was checked" >&2
    exit 3
}

[ -x .venv/bin/python ] || ask_nobody "run make .venv/run first"
if [ ! -x $env/bin/pip-audit ] || [ requirements/audit.txt -nt $env/bin/pip-audit ]; then
    .venv/bin/python -m venv --clear $env || ask_nobody "no virtual environment can be made"
    $env/bin/python -m pip install --quiet --disable-pip-version-check \
        --require-hashes -r requirements/audit.txt ||
        ask_nobody "pip could not install pip-audit"
    touch $env/bin/pip-audit
fi

errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
# the versions are pinned, so that nothing is resolved and nothing is run
found=$($env/bin/pip-audit --vulnerability-service osv --disable-pip --require-hashes \
    --progress-spinner off -r requirements/run.txt -r requirements/dev.txt 2>"$errors")
code=$?
if [ $code = 0 ]; then
    echo "audit: no hole is known in what requirements/*.txt pins"
elif [ -n "$found" ]; then
    echo "$found"
    echo "audit: raise what is listed, and its least version in pyproject.toml" >&2
    exit 1
else
    ask_nobody "the database cannot be asked ($(tail -n 1 "$errors" | sed 's/: .*//'))"
fi
