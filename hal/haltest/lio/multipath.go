package lio

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// What the configuration of multipathd has of its own for two disks, by their names.
const (
	Patient = "patient" // its map queues while it has no path
	Hidden  = "hidden"  // no map is made of it
)

// multipathdConfig is a multipath.conf(5), with which a path that fails is noticed soon. It wants to be told
// find_multipaths, and two disks.
const multipathdConfig = `defaults {
	user_friendly_names no
	find_multipaths %s
	polling_interval 1
	max_polling_interval 1
	uxsock_timeout 60000
}
blacklist {
	devnode "^(loop|vd|ram|nbd|zram)"
	wwid "%s"
}
overrides {
	no_path_retry fail
}
multipaths {
	multipath {
		wwid "%s"
		no_path_retry queue
	}
}
`

// Maps is a machine whose node has multipathd.
type Maps struct {
	*Node
	daemon *exec.Cmd
	how    string
}

// StartMultipath starts multipathd, which makes a map if somebody asks for it.
func StartMultipath(n *Node) *Maps {
	call("modprobe", "-a", "dm_multipath", "dm_service_time", "scsi_dh_alua")
	m := &Maps{Node: n}
	m.SetMultipathd("on")
	return m
}

// nameOf is what multipathd calls a disk.
func (m *Maps) nameOf(disk string) string { return "3" + strings.TrimPrefix(m.WWID(disk), "naa.") }

// SetMultipathd starts multipathd ("on"), or stops it ("off"). Maps stay. It makes maps when it is asked for them, or
// of all disks that it sees ("greedy").
func (m *Maps) SetMultipathd(how string) {
	if how == m.how {
		return
	}
	if m.daemon != nil {
		check(m.daemon.Process.Kill())
		_ = m.daemon.Wait() // it was killed
		m.daemon = nil
	}
	m.how = how
	if how == "off" {
		return
	}
	find := map[string]string{"on": "strict", "greedy": "greedy"}[how]
	config := fmt.Sprintf(multipathdConfig, find, m.nameOf(Hidden), m.nameOf(Patient))
	check(os.WriteFile("/etc/multipath.conf", []byte(config), 0o600))
	log, err := os.OpenFile(filepath.Join(m.dir, "multipathd.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	check(err)
	m.daemon = exec.Command("multipathd", "-d")
	m.daemon.Stdout, m.daemon.Stderr = log, log
	m.daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	check(m.daemon.Start())
	check(log.Close())
	await("multipathd", m.isIdle)
}

func (m *Maps) isIdle() bool {
	said, err := exec.Command("multipathd", "show", "daemon").Output()
	return err == nil && strings.Contains(string(said), "idle")
}

// Reconfigure is a person who has multipathd look at all disks again.
func (m *Maps) Reconfigure() {
	call("multipathd", "reconfigure")
	m.Pause()
	await("multipathd", m.isIdle)
}

// MultipathdLog is what multipathd has said.
func (m *Maps) MultipathdLog() string { return text(filepath.Join(m.dir, "multipathd.log")) }

// Pause waits a moment, and reports whether that is of use.
func (m *Maps) Pause() bool {
	t := time.NewTimer(100 * time.Millisecond)
	<-t.C
	return true
}

// Settle is that of the node, but for what udev waits for in vain: it may look at a map that queues.
func (m *Maps) Settle() {
	m.awaitDisks()
	_ = exec.Command("udevadm", "settle", "--timeout=5").Run() // it may time out
}

// Grow has a disk be twice as large as it was made. Nobody tells the node.
func (m *Maps) Grow(disk string) {
	file := filepath.Join(m.dir, "disk-"+disk)
	check(os.Truncate(file, 2*diskSize))
	put(m.disk(disk)+"/control", fmt.Sprintf("fd_dev_size=%d", 2*diskSize))
}

// Unplug is a person who has the kernel forget a disk, whoever uses it.
func (m *Maps) Unplug(path string) { put("/sys/block/"+filepath.Base(path)+"/device/delete", "1") }

// MakeDevice is a person who makes a device of the device mapper that is no map of paths.
func (m *Maps) MakeDevice(name string) { call("dmsetup", "create", name, "--table", "0 8 error") }

// Reset has all as StartMultipath left it.
func (m *Maps) Reset() {
	for range 2 { // partitions go first
		for _, at := range glob("/sys/block/dm-*/dm/name") {
			name := text(at)
			_ = exec.Command("dmsetup", "message", name, "0", "fail_if_no_path").Run() // it may be no map
			_ = exec.Command("dmsetup", "remove", "--retry", name).Run()               // the next round may
		}
	}
	if len(glob("/sys/block/dm-*")) > 0 {
		panic("lio: a device of the device mapper stays")
	}
	m.Node.Reset()
	_ = os.Remove("/etc/multipath/wwids") // it may not be there
	m.SetMultipathd("on")
}

// Close leaves no map, and no multipathd.
func (m *Maps) Close() {
	m.Reset()
	m.SetMultipathd("off")
}

// WWIDs are the names of disks that multipathd keeps.
func (m *Maps) WWIDs() (all []string) {
	for line := range strings.Lines(text("/etc/multipath/wwids")) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "/") {
			all = append(all, "naa."+strings.Trim(name, "/")[1:])
		}
	}
	return all
}
