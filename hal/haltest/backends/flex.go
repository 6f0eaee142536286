package backends

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/volnode/volnode/hal"
)

// flexScript is a FlexVolume driver that mounts filesystems in memory. MANNER is how it behaves.
const flexScript = `#!/bin/sh
manner=MANNER
case $1.$manner in
init.attaches) echo '{"status": "Success", "capabilities": {"fsGroup": false, "selinuxRelabel": false}}'; exit;;
init.gives) echo '{"status": "Success", "capabilities": {"attach": false, "selinuxRelabel": false}}'; exit;;
init.*)
	echo '{"status": "Success", "capabilities": {"attach": false, "fsGroup": false, "selinuxRelabel": false}}'
	exit;;
mount.no-mount | unmount.no-unmount) echo '{"status": "Not supported"}'; exit 1;;
*.fails) echo '{"status": "Failure", "message": "no"}'; exit 1;;
*.lies) echo '{"status": "Success"}'; exit;;
esac
failed() { echo '{"status": "Failure", "message": "that does not work"}'; exit 1; }
case $1 in
mount)
	options=rw
	case $3 in *'"kubernetes.io/readwrite":"ro"'*) options=ro;; esac
	mountpoint -q "$2" || mount -t tmpfs -o $options flex "$2" >&2 || failed
	;;
unmount)
	! mountpoint -q "$2" || umount "$2" >&2 || failed
	;;
*) echo '{"status": "Not supported"}'; exit 1;;
esac
case $manner in
fails-late) failed;;
garbles) echo 'done?'; exit;;
esac
echo 'a line that is not for volnode'
echo '{"status": "Success"}'
`

// InstallFlex writes the script of a driver.
func (w *linuxWorld) InstallFlex(name, manner string) {
	dir := filepath.Join(w.disk, "flex", hal.FlexDirectory(name))
	program := filepath.Join(dir, filepath.Base(name))
	check(os.MkdirAll(dir, 0o755))
	check(os.RemoveAll(program))
	check(os.WriteFile(program, []byte(strings.Replace(flexScript, "MANNER", manner, 1)), 0o755))
	if manner == "unsafe" {
		check(os.Chmod(program, 0o777))
	}
}

// RemoveFlexDriver removes the directory of a driver.
func (w *linuxWorld) RemoveFlexDriver(name string) bool {
	dir := filepath.Join(w.disk, "flex", hal.FlexDirectory(name))
	_, err := os.Stat(dir)
	check(os.RemoveAll(dir))
	return err == nil
}
