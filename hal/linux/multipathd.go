package linux

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

const multipathTools = "multipath-tools (Debian, Ubuntu, SUSE) or device-mapper-multipath"

// multipathProgram is the path of a program of multipath-tools.
func multipathProgram(name string) (string, error) {
	program, err := programOf(name, multipathTools)
	if errors.Is(err, syscall.ENOENT) {
		return "", because(syscall.ENXIO, err.Error())
	}
	return program, err
}

// daemonHere is multipathd(8), which runs.
func daemonHere() (program string, err error) {
	if program, err = multipathProgram("multipathd"); err != nil {
		return "", err
	}
	said, code, err := run(program, []string{"show", "daemon"})
	if err != nil || code != 0 {
		return "", because(syscall.ENXIO, "multipathd does not run; start it (systemctl start multipathd): "+
			ended(program, said, code))
	}
	return program, nil
}

// scsiName names a SCSI disk. It becomes an argument of a program.
var scsiName = regexp.MustCompile(`^sd[a-z]+$`)

// checkPaths is why disks are not the paths of one, nil if they are, as far as their callers have seen.
func checkPaths(disks []hal.SCSIDisk) error {
	if len(disks) == 0 || disks[0].WWID == "" {
		return because(syscall.EINVAL, "a map is of disks that say which one they are")
	}
	for _, d := range disks {
		switch {
		case !scsiName.MatchString(d.Name):
			return because(syscall.EINVAL, fmt.Sprintf("%q is no SCSI disk", d.Name))
		case d.WWID != disks[0].WWID:
			return because(syscall.EINVAL, fmt.Sprintf("%s is the disk %s, and %s is %s", disks[0].Name, disks[0].WWID,
				d.Name, d.WWID))
		}
	}
	return nil
}

// assemble is Assemble in a helper child.
func assemble(disks []hal.SCSIDisk) (hal.Outcome, error) {
	var held []*os.File // so nobody else gets a name while it is open
	defer func() {
		for _, f := range held {
			f.Close()
		}
	}()
	for _, d := range disks {
		f, err := openPath(d)
		if err != nil {
			return hal.NotDone, err
		}
		held = append(held, f)
	}
	missing, err := missingPaths(disks)
	if err != nil {
		return hal.NotDone, err
	}
	if len(missing) == 0 {
		return hal.Done, nil
	}
	for _, d := range missing {
		free, err := claim(d)
		if err != nil {
			return hal.NotDone, err
		}
		free.Close()
	}
	return takePaths(missing)
}

// openPath opens a path, which is the disk that it is taken for.
func openPath(d hal.SCSIDisk) (*os.File, error) {
	fd, err := unix.Open("/dev/"+d.Name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, syscall.ENOENT):
		return nil, because(syscall.ENODEV, d.Name+" is gone")
	case errors.Is(err, syscall.ENXIO):
		return nil, because(syscall.EIO, d.Name+" does not answer")
	case err != nil:
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "/dev/"+d.Name)
	is, err := numbersOf(f)
	var now string
	if err == nil && is.Is() == d.Is() {
		now, err = says(f, is.Device)
	}
	switch {
	case err != nil:
	case is.Is() != d.Is():
		err = because(syscall.ENODEV, "/dev/"+d.Name+" leads to device "+is.Is()+" by now")
	case now != d.WWID:
		err = isOther(now)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// missingPaths are the disks that are not in their map.
func missingPaths(disks []hal.SCSIDisk) (missing []hal.SCSIDisk, err error) {
	maps, err := mapsIn("/sys")
	if err != nil {
		return nil, err
	}
	for _, d := range disks {
		i := slices.IndexFunc(maps, func(m hal.MultipathMap) bool { return m.HasPath(d) })
		switch {
		case i < 0:
			missing = append(missing, d)
		case maps[i].WWID != d.WWID:
			return nil, because(syscall.ESTALE, fmt.Sprintf("%s is a part of %s, the map %s of another disk", d.Name,
				maps[i].Node, maps[i].UUID))
		}
	}
	return missing, nil
}

const (
	assembleTries, assemblePause = 30, 100 * time.Millisecond
)

// takePaths has multipathd take disks, and waits a moment for the kernel to have them in a map.
func takePaths(disks []hal.SCSIDisk) (hal.Outcome, error) {
	daemon, err := daemonHere()
	if err != nil {
		return hal.NotDone, err
	}
	namer, err := multipathProgram("multipath")
	if err != nil {
		return hal.NotDone, err
	}
	if err := hasMultipath(); err != nil {
		return hal.NotDone, err
	}
	said, code, err := run(namer, []string{"-a", "/dev/" + disks[0].Name})
	switch {
	case err != nil:
		return hal.NotDone, because(syscall.EIO, namer+": "+err.Error()+" "+said)
	case code != 0:
		return hal.NotDone, because(syscall.EPERM, "the configuration of multipathd leaves the disk out, or udev does not "+
			"know it; see multipathd show blacklist: "+ended(namer, said, code))
	}
	for _, d := range disks {
		said, code, err := run(daemon, []string{"add", "path", d.Name})
		switch {
		case err != nil:
			return hal.Unknown, because(syscall.EIO, daemon+": "+err.Error()+" "+said)
		case code != 0: // its patience with multipathd may have ended
			return hal.Unknown, because(syscall.EIO, ended(daemon, said, code))
		}
	}
	for range assembleTries {
		missing, err := missingPaths(disks)
		if err != nil {
			return hal.NotDone, err
		}
		if len(missing) == 0 {
			return hal.Done, nil
		}
		pause(assemblePause)
	}
	return hal.NotDone, because(syscall.EAGAIN, "multipathd has not made the map of the disk "+disks[0].WWID+" yet; see "+
		"multipathd show paths")
}

// hasMultipath is ENXIO if the kernel makes no maps of paths.
func hasMultipath() error {
	if !makesMaps() {
		return because(syscall.ENXIO, "the kernel makes no maps of paths; load its module (modprobe dm_multipath)")
	}
	return nil
}

func makesMaps() bool {
	needs := []string{"/sys/class/misc/device-mapper", "/sys/module/dm_multipath"}
	return !slices.ContainsFunc(needs, func(dir string) bool {
		_, err := os.Stat(dir)
		return err != nil
	})
}

// forgetDisk has multipathd forget the name of the disk of a map that is gone: it keeps those of all that it has made.
func forgetDisk(m hal.MultipathMap) (hal.Outcome, error) {
	name := strings.TrimPrefix(m.UUID, mapPrefix)
	if strings.HasPrefix(name, "-") || !makesMaps() {
		return hal.Done, nil // who has kept a name can do nothing with it
	}
	program, err := multipathProgram("multipath")
	switch {
	case errors.Is(err, syscall.ENXIO):
		return hal.Done, nil // who has kept a name is gone
	case err != nil:
		return hal.Unknown, err
	}
	said, code, err := run(program, []string{"-w", name})
	switch {
	case err != nil:
		return hal.Unknown, because(syscall.EIO, program+": "+err.Error()+" "+said)
	case code != 0:
		return hal.Unknown, because(syscall.EIO, "the map is gone, and multipathd has kept the name of the disk: "+
			ended(program, said, code))
	}
	return hal.Done, nil
}

// failQueued is FailQueued in a helper child. multipathd, if it runs, would have the map queue again soon.
func failQueued(mapper *deviceMapper, m hal.MultipathMap) (hal.Outcome, error) {
	said, code := "", 0
	if daemon, missing := daemonHere(); missing == nil {
		var err error
		if said, code, err = run(daemon, []string{"disablequeueing", "map", m.Node}); err != nil {
			return hal.Unknown, because(syscall.EIO, daemon+": "+err.Error()+" "+said)
		}
	}
	if err := mapper.message(m.UUID, "fail_if_no_path"); err != nil && !errors.Is(err, syscall.ENXIO) {
		return hal.Unknown, err
	}
	if code != 0 {
		return hal.Unknown, because(syscall.EIO, "multipathd may have the map queue again: "+ended("multipathd", said, code))
	}
	return hal.Done, nil
}

// resizeMap is Resize in a helper child.
func resizeMap(m hal.MultipathMap) (hal.Outcome, error) {
	size := int64(-1)
	for _, p := range m.Paths {
		dir := "/sys/dev/block/" + p.Device.String()
		if !p.Active || p.Name == "" {
			continue
		}
		if err := write(dir+"/device/rescan", "1"); err != nil {
			return hal.NotDone, because(syscall.EIO, p.Name+" does not say how large it is: "+err.Error())
		}
		size = max(size, sizeIn(dir))
	}
	for _, p := range m.Paths { // the kernel takes none that is smaller than the map
		if is := sizeIn("/sys/dev/block/" + p.Device.String()); size >= 0 && p.Name != "" && is != size {
			return hal.NotDone, because(syscall.EAGAIN, fmt.Sprintf("%s has %d bytes, and another path %d", p.Name, is, size))
		}
	}
	switch {
	case size < 0:
		return hal.NotDone, because(syscall.EIO, "no path of "+m.Node+" is active")
	case size < m.Size:
		return hal.NotDone, because(syscall.EINVAL, fmt.Sprintf("the disk has %d bytes, and its map %d", size, m.Size))
	case size == m.Size:
		return hal.Done, nil
	}
	daemon, err := daemonHere()
	if err != nil {
		return hal.NotDone, err
	}
	said, code, err := run(daemon, []string{"resize", "map", m.Node})
	if err != nil {
		return hal.Unknown, because(syscall.EIO, daemon+": "+err.Error()+" "+said)
	}
	if is, err := mapNow(m); err != nil || is == nil || is.Size != size {
		return hal.Unknown, errors.Join(err, because(syscall.EIO, "the map has another size: "+ended(daemon, said, code)))
	}
	return hal.Done, nil
}
