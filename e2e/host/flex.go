package host

import (
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// FlexVolumes is the directory of FlexVolume drivers.
func (h *Host) FlexVolumes() string { return filepath.Join(h.Dir, "flex") }

// flexScript is a FlexVolume driver that mounts filesystems in memory. Beside it lies a file for each volume that it
// has, with what it was told of it. While there is a file "slow" there, a mount waits until somebody writes to "go".
const flexScript = `#!/bin/sh
here=$(dirname "$0")
held=$here/held$(echo "$2" | tr / -)
answer() { echo "{\"status\": \"$1\", \"message\": \"$2\"}"; exit; }
case $1 in
init) echo '{"status": "Success", "capabilities": {"attach": false, "fsGroup": false}}'; exit;;
mount)
	[ ! -e "$here/slow" ] || read -r _ <"$here/go"
	echo "$3" >"$held"
	mountpoint -q "$2" || mount -t tmpfs flex "$2" >&2 || answer Failure "mount failed"
	;;
unmount)
	! mountpoint -q "$2" || umount "$2" >&2 || answer Failure "umount failed"
	rm -f "$held"
	;;
*) answer "Not supported" "$1";;
esac
echo "a line before the answer"
answer Success
`

// InstallFlex installs a FlexVolume driver, and returns its directory.
func (h *Host) InstallFlex(name string) (dir string) {
	h.T.Helper()
	dir = filepath.Join(h.FlexVolumes(), hal.FlexDirectory(name))
	require.NoError(h.T, os.MkdirAll(dir, 0o755))
	require.NoError(h.T, os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(flexScript), 0o755))
	return dir
}

// FlexHolds are the files of the volumes that a driver in a directory has.
func (h *Host) FlexHolds(dir string) []string {
	h.T.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "held*"))
	require.NoError(h.T, err)
	return all
}
