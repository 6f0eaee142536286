package backends

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/sim"
)

// SimWithQuotas is Sim with project quotas.
func SimWithQuotas() haltest.World {
	w := sim.New(sim.Config{Private: true})
	w.SetQuotas(true)
	return w
}

// mountWithQuotas makes a filesystem in a file on a disk, and mounts it there with project quotas.
func mountWithQuotas(disk, fsType string) string {
	file, at := filepath.Join(disk, "quotas.img"), filepath.Join(disk, "quotas")
	check(os.WriteFile(file, nil, 0o600))
	check(os.Truncate(file, 320<<20)) // no xfs is smaller
	args := []string{"-q", file}
	if fsType == "ext4" {
		args = []string{"-q", "-O", "project,quota", file}
	}
	call("mkfs."+fsType, args...)
	check(os.Mkdir(at, 0o755))
	device, err := loopOver(file)
	check(err)
	defer func() { check(device.Close()) }() // the mount keeps it
	check(unix.Mount(device.Name(), at, fsType, 0, "prjquota"))
	return at
}

// UseProject uses the programs that people have for it.
func (w *linuxWorld) UseProject(project uint32, how, path string) {
	number := strconv.FormatUint(uint64(project), 10)
	if how == "limit" {
		call("setquota", "-P", number, "0", "1024", "0", "0", filepath.Dir(w.dir))
		return
	}
	check(os.Mkdir(path, 0o755))
	call("chattr", "-p", number, path)
	call("chattr", "+P", path)
}

func call(name string, args ...string) {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		panic(name + ": " + err.Error() + ": " + string(out))
	}
}
