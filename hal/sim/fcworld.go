package sim

import (
	"github.com/volnode/volnode/hal"
)

// This file is Fibre Channel in the words of package haltest.

// FCName is the name of a port of a target, from 1, or of that of the node, 0.
func (*World) FCName(n int) hal.WWPN { return hal.WWPN(0x200002fc00000000 | n<<8 | 2) }

// MakePort makes a port of a target that is not plugged in.
func (w *World) MakePort(n int) {
	w.targets = append(w.targets, &target{name: w.FCName(n).String(), isFC: true, isLost: true})
}

// MapFC gives a port a disk under a number, "" for none. It is made, blank, when it is first named.
func (w *World) MapFC(n int, lun uint64, disk string) { w.PutLUN(w.FCName(n).String(), lun, disk) }

// Plug has the cable of the node lead to a port.
func (w *World) Plug(n int) {
	for _, t := range w.targets {
		t.isLost = t.name != w.FCName(n).String()
	}
	for _, p := range w.fcPorts {
		if p.target.isLost && p.state == loggedIn {
			w.losesFC(p)
		}
	}
	if len(w.fcHosts) == 0 {
		w.AddFCHost(w.FCName(0))
	}
	for _, t := range w.targets {
		w.meetsFC(t)
	}
}

// SetCable cuts the cable, for so long that what is asked of disks fails if it is "failed", and that these go if it is
// "gone"; or it joins it.
func (w *World) SetCable(how string) {
	for i := range w.fcHosts {
		w.fcHosts[i].State = map[bool]string{true: "Online", false: "Linkdown"}[how == "up"]
	}
	for _, p := range w.fcPorts {
		switch {
		case how == "up" && p.target.isLost && p.target.downs > 0:
			p.target.isLost = false
			w.meetsFC(p.target)
			continue
		case how == "up" || p.state != loggedIn:
			continue
		}
		p.target.isLost = true
		p.target.downs++
		w.losesFC(p)
		if how != "down" {
			w.givesUp(&p.way)
		}
		if how == "gone" {
			w.dropsFC(p)
		}
	}
}
