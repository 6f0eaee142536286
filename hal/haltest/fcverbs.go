package haltest

import (
	"fmt"
	"strings"

	"github.com/volnode/volnode/hal"
)

// SANDisks is a world with disks of a storage network.
type SANDisks interface {
	World
	// WWID is what a disk says of itself.
	WWID(disk string) string
	// Claim opens a block device as one who wants it for himself alone (open(2), O_EXCL).
	Claim(path string) (release func(), err error)
	// Settle waits until the disks that were found can be used.
	Settle()
}

// FC is a world with Fibre Channel, which the cases of testdata/fc.txt need. Its node has no port until one of a target
// is plugged in.
type FC interface {
	SANDisks
	// FCName is the name of a port of a target, 1 or 2, or of that of the node, 0.
	FCName(n int) hal.WWPN
	// MakePort makes a port of a target, 1 or 2, that the node may use.
	MakePort(n int)
	// MapFC gives a port a disk under a number, in place of the one there; "" takes that away. A disk is made, blank, when
	// it is first named. Nobody tells the node.
	MapFC(n int, lun uint64, disk string)
	// Plug has the cable of the node lead to a port, and waits until the kernel has found the disks that it has. The one
	// that was there before is lost, and stays so.
	Plug(n int)
	// SetCable cuts the cable, and waits until the port is lost ("down"), until what is asked of its disks fails, too
	// ("failed"), or until those are gone ("gone"); or it joins the cable ("up"), and waits until all is there again.
	SetCable(how string)
}

// fcPorts is how many ports of targets an [FC] has.
const fcPorts = 2

func (r *run) fabric() FC {
	f, is := r.world.(FC)
	if !is {
		panic("haltest: this world has no Fibre Channel")
	}
	return f
}

// sanDisks is what the worlds with a storage network have in common.
func (r *run) sanDisks() SANDisks {
	s, is := r.world.(SANDisks)
	if !is {
		panic("haltest: this world has no storage network")
	}
	return s
}

// place is the address of the first disk of a SESSION, or of the port N for "fcN".
func (r *run) place(word string) hal.SCSIAddress {
	if !isPort(word) {
		return hal.SCSIAddress{Host: r.session(word).Host}
	}
	for _, p := range r.nodePorts(hal.Call{}) {
		if p.IsTarget && r.portName(p.Name) == word {
			return p.At(0)
		}
	}
	return hal.SCSIAddress{Host: noHost}
}

func isPort(word string) bool { return strings.HasPrefix(word, "fc") && !strings.Contains(word, "@") }

// nodePorts are the ports of others that the node knows, at its own.
func (r *run) nodePorts(c hal.Call) (all []hal.FCRemotePort) {
	hosts, err := r.host.FC.Hosts(c)
	ports, failed := r.host.FC.RemotePorts(c)
	if err != nil || failed != nil {
		return nil
	}
	for _, p := range ports {
		for _, h := range hosts {
			if h.Host == p.Host && h.Name == r.fabric().FCName(0) {
				all = append(all, p)
			}
		}
	}
	return all
}

func (r *run) portName(name hal.WWPN) string {
	for n := range fcPorts + 1 {
		if r.fabric().FCName(n) == name {
			return fmt.Sprintf("fc%d", n)
		}
	}
	return name.String()
}

var fcVerbs = map[string]verb{
	"fcport": func(r *run, a args) ([]string, error) {
		r.fabric().MakePort(int(a.number(0, 0)))
		return nil, nil
	},
	"fcmap": func(r *run, a args) ([]string, error) {
		if a.at(2) != "" {
			r.san.disks[r.fabric().WWID(a[2])] = a[2]
		}
		r.fabric().MapFC(int(a.number(0, 0)), uint64(a.number(1, 0)), a.at(2))
		return nil, nil
	},
	"plug": func(r *run, a args) ([]string, error) {
		r.fabric().Plug(int(a.number(0, 0)))
		return nil, nil
	},
	"cable": func(r *run, a args) ([]string, error) {
		r.fabric().SetCable(a[0])
		return nil, nil
	},
	"fchosts": func(r *run, _ args) ([]string, error) {
		all, err := r.host.FC.Hosts(r.call())
		var lines []string
		for _, h := range all {
			if name := r.portName(h.Name); name == "fc0" { // those of targets may be here, too
				lines = append(lines, name+" "+h.State)
			}
		}
		return lines, err
	},
	"fcports": func(r *run, _ args) ([]string, error) {
		if _, err := r.host.FC.RemotePorts(r.call()); err != nil {
			return nil, err
		}
		var lines []string
		for _, p := range r.nodePorts(hal.Call{}) {
			lines = append(lines, fmt.Sprintf("%s %s, a target %t, %d:%d", r.portName(p.Name), p.State, p.IsTarget, p.Channel,
				p.Target))
		}
		return lines, nil
	},
	"named": func(r *run, a args) ([]string, error) {
		r.sanDisks().Settle()
		all, err := r.host.SCSI.Named(r.call(), r.sanDisks().WWID(a[0]))
		var lines []string
		for _, d := range all {
			for _, p := range r.nodePorts(hal.Call{}) {
				if p.At(d.Address.LUN) == d.Address {
					lines = append(lines, fmt.Sprintf("%s:%d, %s", r.portName(p.Name), d.Address.LUN, d.State))
				}
			}
		}
		return lines, err
	},
}
