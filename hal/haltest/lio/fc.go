package lio

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/volnode/volnode/hal"
)

// Fabric is the machine with Fibre Channel over Ethernet: a port of the node at one end of a cable, and the port of a
// target at the other, of which there are several to be plugged in. Targets are those of its kernel, too.
type Fabric struct {
	node   *Node
	luns   map[int][]uint64 // that each port has
	atEnd  int              // the port of a target that is plugged in; 0 for none
	hasNew bool             // the node has its port
}

// Of the name of a port the last 6 bytes are the address of its network interface.
const (
	nodeAddress   = "02:fc:00:00:00:01"
	targetAddress = "02:fc:00:00:%02x:02"
	namePrefix    = "20:00:"
)

func targetPort(n int) string { return namePrefix + fmt.Sprintf(targetAddress, n) }

// FCName is the name of a port of a target, from 1; that of the node is 0.
func FCName(n int) hal.WWPN {
	text := namePrefix + nodeAddress
	if n > 0 {
		text = targetPort(n)
	}
	name, err := strconv.ParseUint(strings.ReplaceAll(text, ":", ""), 16, 64)
	check(err)
	return hal.WWPN(name)
}

// StartFC makes the cable. dir is for the content of disks.
func StartFC(dir string) *Fabric {
	if !Here() {
		panic("lio: this is no machine of e2e/vm")
	}
	call("modprobe", "-a", "sd_mod", "veth", "fcoe", "target_core_mod", "target_core_file", "tcm_fc")
	if len(glob("/sys/class/net/fci")) == 0 {
		call("ip", "link", "add", "fci", "type", "veth", "peer", "name", "fct")
	}
	call("ip", "link", "set", "fci", "address", nodeAddress, "mtu", "2500", "up")
	f := &Fabric{node: &Node{dir: dir}}
	f.Reset()
	return f
}

// Reset has all as StartFC left it: the node has no port.
func (f *Fabric) Reset() {
	for _, is := range []string{"fci", "fct"} {
		_ = os.WriteFile("/sys/bus/fcoe/ctlr_destroy", []byte(is), 0o200) // there may be none
	}
	await("end of all ports", func() bool { return len(glob("/sys/class/fc_host/*")) == 0 })
	for _, dir := range glob(config + "/fc/*:*") {
		group := dir + "/tpgt_1"
		for _, acl := range glob(group + "/acls/*") {
			f.removeLUNs(acl + "/lun_*")
			check(os.Remove(acl))
		}
		f.removeLUNs(group + "/lun/lun_*")
		check(os.Remove(group))
		check(os.Remove(dir))
	}
	for _, disk := range glob(config + "/core/fileio_0/*") {
		if is, err := os.Stat(disk); err == nil && is.IsDir() {
			check(os.Remove(disk))
		}
	}
	f.luns, f.atEnd, f.hasNew = map[int][]uint64{}, 0, false
}

func (*Fabric) removeLUNs(pattern string) {
	for _, lun := range glob(pattern) {
		unlink(lun)
		check(os.Remove(lun))
	}
}

// MakePort makes a port of a target, that the node may use. It is not plugged in.
func (*Fabric) MakePort(n int) {
	check(os.MkdirAll(config+"/fc/"+targetPort(n)+"/tpgt_1/acls/"+namePrefix+nodeAddress, 0o755))
}

// MapFC gives a port a disk under a number, in place of the one there; "" takes that away.
func (f *Fabric) MapFC(n int, number uint64, disk string) {
	group := config + "/fc/" + targetPort(n) + "/tpgt_1"
	lun, acl := fmt.Sprintf("%s/lun/lun_%d", group, number),
		fmt.Sprintf("%s/acls/%s/lun_%d", group, namePrefix+nodeAddress, number)
	f.removeLUNs(acl)
	f.removeLUNs(lun)
	f.luns[n] = slices.DeleteFunc(f.luns[n], func(is uint64) bool { return is == number })
	if disk == "" {
		return
	}
	link(f.node.disk(disk), lun)
	link(lun, acl)
	f.luns[n] = append(f.luns[n], number)
}

// WWID is what the kernel calls a disk.
func (f *Fabric) WWID(disk string) string { return f.node.WWID(disk) }

// Settle waits until the kernel has looked at all disks that it has found, and named them.
func (f *Fabric) Settle() { f.node.Settle() }

// Plug has the cable lead to a port, and waits until the node has found the disks that it has. The one that was there
// before is lost for longer than a test takes.
func (f *Fabric) Plug(n int) {
	f.setLoss("off", longest)
	if f.atEnd != 0 {
		put("/sys/bus/fcoe/ctlr_destroy", "fct")
	}
	call("ip", "link", "set", "fct", "down")
	call("ip", "link", "set", "fct", "address", fmt.Sprintf(targetAddress, n), "mtu", "2500", "up")
	f.create("fct") // first: the node sees whether it is a target only as it meets it
	if !f.hasNew {
		f.create("fci")
		f.hasNew = true
	}
	f.atEnd = n
	f.awaitUp()
}

// create gives a network interface a port.
func (*Fabric) create(is string) {
	put("/sys/bus/fcoe/ctlr_create", is)
	var at string
	for _, c := range glob("/sys/bus/fcoe/devices/ctlr_*") {
		if len(c) > len(at) || len(c) == len(at) && c > at {
			at = c // the last one
		}
	}
	put(at+"/mode", "VN2VN")
	put(at+"/enabled", "1")
}

// ports are those of targets as the node has them: directories of sysfs.
func (*Fabric) ports() (all []string) {
	for _, host := range glob("/sys/class/fc_host/host*") {
		if text(host+"/port_name") == "0x"+FCName(0).String() {
			number := strings.TrimPrefix(filepath.Base(host), "host")
			all = append(all, glob("/sys/class/fc_remote_ports/rport-"+number+":*")...)
		}
	}
	return all
}

// port is that of the target at the end of the cable.
func (f *Fabric) port() string {
	for _, dir := range f.ports() {
		if text(dir+"/port_name") == "0x"+FCName(f.atEnd).String() {
			return dir
		}
	}
	return ""
}

// disks are the directories of the disks of a port.
func (*Fabric) disks(port string) []string {
	host, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(port), "rport-"), ":")
	return glob("/sys/class/scsi_device/" + host + ":0:" + text(port+"/scsi_target_id") + ":*/device")
}

func (f *Fabric) awaitUp() {
	await("port of the target", func() bool {
		dir := f.port()
		return dir != "" && text(dir+"/port_state") == "Online" && text(dir+"/scsi_target_id") != "-1"
	})
	await("disks of the target", func() bool {
		var found []uint64
		for _, d := range f.disks(f.port()) {
			name := filepath.Base(filepath.Dir(d))
			n, err := strconv.ParseUint(name[strings.LastIndexByte(name, ':')+1:], 10, 64)
			check(err)
			if text(d+"/state") == "running" {
				found = append(found, n)
			}
		}
		return !slices.ContainsFunc(f.luns[f.atEnd], func(n uint64) bool { return !slices.Contains(found, n) })
	})
	f.Settle()
}

// longest is a number of seconds that no test takes, and shortest one that is soon over.
const (
	longest  = "600"
	shortest = "2"
)

// setLoss sets after how many seconds a port that is lost fails what is asked of its disks, and after how many those
// go.
func (f *Fabric) setLoss(fails, gone string) {
	for _, dir := range f.ports() {
		if text(dir+"/port_state") == "Online" {
			put(dir+"/fast_io_fail_tmo", "off") // it must be less than the other
			put(dir+"/dev_loss_tmo", gone)
			put(dir+"/fast_io_fail_tmo", fails)
		}
	}
}

// SetCable cuts the cable, and waits until the port is lost ("down"), until what is asked of its disks fails, too
// ("failed"), or until those are gone ("gone"); or it joins it, and waits until all is there again ("up").
func (f *Fabric) SetCable(how string) {
	if how == "up" {
		call("ip", "link", "set", "fct", "up")
		f.awaitUp()
		return
	}
	f.Settle() // udev waits for a disk that it reads
	switch how {
	case "failed":
		f.setLoss("1", longest)
	case "gone":
		f.setLoss("off", shortest)
	default:
		f.setLoss("off", longest)
	}
	call("ip", "link", "set", "fct", "down")
	await("loss of the port", func() bool {
		is := text(f.port() + "/port_state")
		return is == "Not Present" || is == "Blocked" && how != "gone"
	})
	await("loss of the disks", func() bool {
		disks := f.disks(f.port())
		works := func(d string) bool { return text(d+"/state") != "transport-offline" }
		return how == "down" || how == "gone" && len(disks) == 0 || how == "failed" && !slices.ContainsFunc(disks, works)
	})
}

// Close leaves no port.
func (f *Fabric) Close() { f.Reset() }
