#!/bin/sh
# Builds the container image on a base made of Debian's packages, and tries it:
# not root, nothing written outside its volumes, a site made, a health check that
# tells, and a size.  Needs root; no registry of images is asked.
set -eu
cd "$(dirname "$0")/.."
LIMIT_MB=125 # beside the 75 MB of Debian's slim image: 200 in all
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs DEBIAN_FRONTEND=noninteractive

fail() {
    echo "prove-image: $1" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || fail "please run as root"
for program in buildah debootstrap; do
    command -v "$program" >/dev/null || apt-get install -y -qq "$program" >/dev/null 2>&1 ||
        fail "please install: $program"
done

scratch=$(mktemp -d)
storage="--root $scratch/root --runroot $scratch/run"
trap 'buildah $storage rm --all >/dev/null 2>&1 || true; rm -rf "$scratch"' EXIT
debootstrap --variant=minbase bookworm "$scratch/base" >"$scratch/log" 2>&1 ||
    fail "no base: $(tail -n 1 "$scratch/log")"
# the certificates that this machine trusts beside Debian's
own=/usr/local/share/ca-certificates
[ ! -d "$own" ] || cp -a "$own/." "$scratch/base$own/"
rm -rf "$scratch/base/var/cache/apt" "$scratch/base/var/lib/apt/lists"
size_of() { du -sm "$1" | cut -f 1; }
base_mb=$(size_of "$scratch/base")
base=$(buildah $storage from scratch)
buildah $storage add -q "$base" "$scratch/base" / >/dev/null
buildah $storage config --cmd /bin/sh \
    --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "$base"
buildah $storage commit -q "$base" localhost/base >/dev/null
buildah $storage bud --network host --build-arg BASE=localhost/base \
    -t localhost/wikisync -f Containerfile . >"$scratch/log" 2>&1 ||
    fail "no image: $(tail -n 3 "$scratch/log")"

made=$(buildah $storage from --pull-never localhost/wikisync)
root=$(buildah $storage mount "$made")
touch "$scratch/begin"
in_it() { buildah $storage run "$made" -- "$@"; }
[ "$(in_it id -u)" = 10001 ] || fail "it runs as root"
in_it grep -q . /etc/machine-id || fail "each container is a machine of its own"
in_it sh -c '! touch /opt/wikisync/x 2>/dev/null' || fail "the program can change itself"
# what a run writes to a volume is gone with it
in_it sh -c 'wikisync -q demo -o /tmp/site && [ -f /tmp/site/index.html ]' \
    >"$scratch/log" 2>&1 || fail "no site: $(tail -n 1 "$scratch/log")"
left=$(find "$root" -xdev -newer "$scratch/begin" -type f | head -n 1)
[ -z "$left" ] || fail "it wrote outside its volumes: ${left#"$root"}"
# the health check, in the words of the Containerfile
check=$(sed -n 's/^ *"\(import json; .*\)"\]$/\1/p' Containerfile)
healthy() {
    in_it sh -c 'mkdir .wikisync; echo "$2" >.wikisync/health.json; python3 -c "$1"' \
        check "$check" "{\"is_healthy\": $1}" 2>/dev/null
}
healthy true || fail "the health check fails on a healthy watch"
! healthy false || fail "the health check passes on an ill watch"
mb=$(($(size_of "$root") - base_mb))
[ "$mb" -le "$LIMIT_MB" ] || fail "it adds $mb MB to its base, not $LIMIT_MB"
echo "image: runs as a user, writes to its volumes only, adds $mb MB to Debian"
