#!/bin/sh
# install-deps.sh: see that the programs are there which the tests need beside Go, git and make.
# As root on Debian or Ubuntu it installs what is missing; elsewhere it names it and exits 69.
set -u

# An unprivileged user's PATH may lack the directories of mkfs.
PATH=$PATH:/usr/sbin:/sbin

missing() {
	for pair in gcc:gcc mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs findmnt:util-linux; do
		command -v "${pair%%:*}" >/dev/null 2>&1 || printf '%s ' "$pair"
	done
}

wanted=$(missing)
[ -z "$wanted" ] && exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
	packages=
	for pair in $wanted; do
		packages="$packages ${pair#*:}"
	done
	echo "install-deps: installing$packages"
	export DEBIAN_FRONTEND=noninteractive
	# gcc alone comes without the headers that cgo needs.
	case $packages in *gcc*) packages="$packages libc6-dev" ;; esac
	# shellcheck disable=SC2086 # a list of words
	apt-get update -q && apt-get install -q -y --no-install-recommends $packages
	wanted=$(missing)
	[ -z "$wanted" ] && exit 0
fi

for pair in $wanted; do
	echo "install-deps: ${pair%%:*} is missing: install ${pair#*:}" >&2
done
exit 69 # EX_UNAVAILABLE
