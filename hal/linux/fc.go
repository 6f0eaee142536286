package linux

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/volnode/volnode/hal"
)

// fc is hal.FC, by sysfs (Documentation/scsi/scsi_fc_transport of Linux).
type fc struct{ host *Host }

func (f *fc) Hosts(c hal.Call) (all []hal.FCHost, err error) {
	err = f.host.within(c, hal.ClassSyscall, "fc hosts", "", func() error {
		if all, err = fcHostsIn("/sys"); err != nil {
			return failure(hal.ClassSyscall, "fc hosts", "", err)
		}
		return nil
	})
	return all, err
}

func (f *fc) RemotePorts(c hal.Call) (all []hal.FCRemotePort, err error) {
	err = f.host.within(c, hal.ClassSyscall, "fc ports", "", func() error {
		if all, err = fcPortsIn("/sys"); err != nil {
			return failure(hal.ClassSyscall, "fc ports", "", err)
		}
		return nil
	})
	return all, err
}

// fcHostsIn reads sysfs. Hosts come and go meanwhile.
func fcHostsIn(sys string) (all []hal.FCHost, err error) {
	names, err := namesIn(sys + "/class/fc_host")
	for _, name := range names {
		dir := sys + "/class/fc_host/" + name
		number, isNumber := numberOf(name, "host")
		port, isPort := wwpnOf(attribute(dir, "port_name"))
		if state := attribute(dir, "port_state"); isNumber && isPort && state != "" {
			all = append(all, hal.FCHost{Host: number, Name: port, State: state})
		}
	}
	slices.SortFunc(all, func(a, b hal.FCHost) int { return cmp.Compare(a.Host, b.Host) })
	return all, err
}

// fcPortsIn reads sysfs. Ports come and go meanwhile.
func fcPortsIn(sys string) (all []hal.FCRemotePort, err error) {
	names, err := namesIn(sys + "/class/fc_remote_ports")
	for _, name := range names { // rport-HOST:CHANNEL-NUMBER
		dir := sys + "/class/fc_remote_ports/" + name
		host, rest, _ := strings.Cut(name, ":")
		number, isNumber := numberOf(host, "rport-")
		channel, _, _ := strings.Cut(rest, "-")
		at, isChannel := numberOf(channel, "")
		port, isPort := wwpnOf(attribute(dir, "port_name"))
		p := hal.FCRemotePort{Host: number, Name: port, State: attribute(dir, "port_state")}
		if target, isTarget := numberOf(attribute(dir, "scsi_target_id"), ""); isTarget { // else -1
			p.IsTarget, p.Channel, p.Target = true, at, target
		}
		if isNumber && isChannel && isPort && p.State != "" {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b hal.FCRemotePort) int {
		if a.Host == b.Host && a.IsTarget != b.IsTarget {
			return map[bool]int{true: -1, false: 1}[a.IsTarget]
		}
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Target, b.Target),
			cmp.Compare(a.Name, b.Name))
	})
	return all, err
}

func numberOf(text, prefix string) (uint32, bool) {
	digits, is := strings.CutPrefix(text, prefix)
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), is && err == nil
}

// wwpnOf reads a name as the kernel shows it: "0x200002fc00000102".
func wwpnOf(text string) (hal.WWPN, bool) {
	digits, is := strings.CutPrefix(text, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	return hal.WWPN(n), is && err == nil && n != 0
}
