package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file models Fibre Channel: the ports of the node, and those of arrays as its kernel knows them. When a port of
// an array comes to the fabric, the kernel finds all disks that it has by then, unasked; what it has later is found by
// a scan. A port that is lost keeps what is asked of its disks for a while, then fails it, and then the kernel removes
// the disks, whoever uses them.

// fcPort is a port of an array as one port of the node knows it.
type fcPort struct {
	way
	name hal.WWPN
}

const (
	// fastFail is how long a port that is lost keeps what is asked of its disks (fast_io_fail_tmo), and devLoss is how
	// long the kernel keeps those (dev_loss_tmo).
	fastFail = 5 * time.Second
	devLoss  = 60 * time.Second
	// lost is the state of a port whose disks are gone.
	lost = "NOT_PRESENT"
)

type hostFC struct{ *host }

var (
	callFCHosts = newCallSite("fc.hosts", hal.ClassSyscall, false)
	callFCPorts = newCallSite("fc.ports", hal.ClassSyscall, false)
	// siteFCPort: a port of an array is lost after a scan, for some time.
	siteFCPort = newSite("fc.lost")
)

func (h hostFC) Hosts(c hal.Call) ([]hal.FCHost, error) {
	k := h.enter(callFCHosts, "", c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	return slices.Clone(h.w.fcHosts), k.done(0)
}

func (h hostFC) RemotePorts(c hal.Call) ([]hal.FCRemotePort, error) {
	k := h.enter(callFCPorts, "", c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	return h.w.FCPorts(), k.done(0)
}

// FCPorts are the ports of arrays that the kernel knows.
func (w *World) FCPorts() []hal.FCRemotePort {
	var all []hal.FCRemotePort
	for _, p := range w.fcPorts {
		is := hal.FCRemotePort{
			Host: p.at.Host, Name: p.name, IsTarget: true, Channel: p.at.Channel, Target: p.at.Target,
		}
		switch p.state {
		case loggedIn:
			is.State = "Online"
		case lost:
			is.State = "Not Present"
		default:
			is.State = "Blocked"
		}
		all = append(all, is)
	}
	slices.SortFunc(all, func(a, b hal.FCRemotePort) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Target, b.Target))
	})
	return all
}

// AddFCHost gives the node a Fibre Channel port, which is on the fabric from now on.
func (w *World) AddFCHost(name hal.WWPN) {
	w.fcHosts = append(w.fcHosts, hal.FCHost{Host: w.freeHost(), Name: name, State: "Online"})
	for _, t := range w.targets {
		w.meetsFC(t)
	}
}

// AddFCTarget gives the fabric a port of an array, which all ports of the node see.
func (w *World) AddFCTarget(name hal.WWPN) {
	w.targets = append(w.targets, &target{name: name.String(), isFC: true})
	w.meetsFC(w.targets[len(w.targets)-1])
}

// LoseFCTarget takes a port of an array from the fabric for some time; 0 is until [World.RestoreFCTarget].
func (w *World) LoseFCTarget(name hal.WWPN, d time.Duration) {
	t := w.targetNamed(name.String())
	if t == nil {
		return
	}
	t.downs++
	nth := t.downs
	t.isLost = true
	for _, p := range w.fcPorts {
		if p.target == t && p.state == loggedIn {
			w.losesFC(p)
		}
	}
	if d > 0 {
		w.sched.at(w.sched.now.Add(d), siteFCPort.hash^hashString(t.name), nil, func() {
			if t.downs == nth {
				w.RestoreFCTarget(name)
			}
		})
	}
}

// RestoreFCTarget has a port of an array come back soon.
func (w *World) RestoreFCTarget(name hal.WWPN) {
	t := w.targetNamed(name.String())
	if t == nil || !t.isLost {
		return
	}
	t.isLost = false
	nth := t.downs
	w.sched.at(w.sched.now.Add(w.time(siteReturns, t.name, 0, returnsMost)), siteReturns.hash^hashString(t.name), nil,
		func() {
			if t.downs == nth && !t.isLost {
				w.meetsFC(t)
			}
		})
}

// RestoreFCTargets is RestoreFCTarget of all.
func (w *World) RestoreFCTargets() {
	for _, t := range w.targets {
		if t.isFC {
			w.RestoreFCTarget(wwpnOf(t.name))
		}
	}
}

// IsFCAway reports whether a port of an array is lost, or the kernel does not know yet that it is back.
func (w *World) IsFCAway(name hal.WWPN) bool {
	t := w.targetNamed(name.String())
	isUp := slices.ContainsFunc(w.fcPorts, func(p *fcPort) bool { return p.name == name && p.state == loggedIn })
	return t != nil && (t.isLost || !isUp)
}

// IsFabricAway is IsFCAway of any.
func (w *World) IsFabricAway() bool {
	return slices.ContainsFunc(w.targets, func(t *target) bool { return t.isFC && w.IsFCAway(wwpnOf(t.name)) })
}

// DisksNamed are the disks that the kernel knows by a WWID.
func (w *World) DisksNamed(wwid string) []hal.SCSIDisk {
	return slices.DeleteFunc(w.disks(), func(d hal.SCSIDisk) bool { return d.WWID != wwid })
}

// ScanByHand is a person who has the kernel look for a disk of a port of an array. It reports whether it has it then.
func (w *World) ScanByHand(name hal.WWPN, lun uint64) bool {
	for _, p := range w.fcPorts {
		if p.name == name {
			w.finds(actor{}, &p.way, lun)
			return slices.ContainsFunc(w.disksOf(&p.way), func(b *blockDevice) bool { return b.scsi.lun == lun })
		}
	}
	return false
}

// meetsFC has the ports of the node see a port of an array, and the kernel find the disks that it has now.
func (w *World) meetsFC(t *target) {
	if !t.isFC || t.isLost || w.off {
		return
	}
	for _, host := range w.fcHosts {
		p := w.fcPortOf(host, t)
		if p.state == loggedIn && p.since > 0 {
			continue
		}
		p.state = loggedIn
		p.since++
		w.answer(p.server)
		w.pathsChange()
		for _, l := range t.luns {
			w.findsSoon(actor{}, &p.way, l.number)
		}
	}
}

// fcPortOf is a port of an array as one of the node knows it, which is made. It keeps its number.
func (w *World) fcPortOf(host hal.FCHost, t *target) *fcPort {
	n := uint32(0)
	for _, p := range w.fcPorts {
		switch {
		case p.at.Host != host.Host:
		case p.target == t:
			return p
		default:
			n++
		}
	}
	p := &fcPort{name: wwpnOf(t.name), way: way{
		target: t, at: hal.SCSIAddress{Host: host.Host, Target: n}, server: &share{name: "port " + t.name},
	}}
	w.fcPorts = append(w.fcPorts, p)
	return p
}

// losesFC has the kernel notice that a port is lost: what is asked of its disks waits, fails, and they go.
func (w *World) losesFC(p *fcPort) {
	w.waits(&p.way)
	nth := p.since
	w.sched.at(w.sched.now.Add(fastFail), hashString(p.server.name), nil, func() {
		if p.since != nth || p.gone || w.off {
			return
		}
		w.givesUp(&p.way)
		nth = p.since
		w.sched.at(w.sched.now.Add(devLoss-fastFail), hashString(p.server.name), nil, func() {
			if p.since == nth && !p.gone && !w.off {
				w.dropsFC(p)
			}
		})
	})
}

// dropsFC has the kernel remove the disks of a port that is lost.
func (w *World) dropsFC(p *fcPort) {
	p.state = lost
	p.since++
	for _, b := range w.disksOf(&p.way) {
		w.unplug(actor{}, b)
	}
	w.answer(p.server)
}

// losesFCPort draws whether a port that was just asked for a disk is lost.
func (w *World) losesFCPort(t *target) {
	if !w.happens(PortalDown, siteFCPort, t.name) {
		return
	}
	after := w.time(siteFCPort, t.name+" after", time.Second, meddleMost)
	w.sched.at(w.sched.now.Add(after), siteFCPort.hash^hashString(t.name), nil, func() {
		if !w.off && !w.calm && !t.isLost {
			w.LoseFCTarget(wwpnOf(t.name), w.time(siteFCPort, t.name, time.Second, silentMost))
		}
	})
}

// bootsFC is a boot: the kernel meets the ports of arrays, and finds their disks.
func (w *World) bootsFC() {
	for _, p := range w.fcPorts {
		p.gone = true
	}
	w.fcPorts = nil
	for _, t := range w.targets {
		w.meetsFC(t)
	}
}

func (w *World) hashFC(h uint64) uint64 {
	for _, p := range w.fcPorts {
		h = fold(h ^ uint64(p.name) ^ hashString(p.state) ^ uint64(p.at.Host)<<32 ^ uint64(p.at.Target))
	}
	return h
}

// wwpnOf reads a name that [hal.WWPN.String] has written.
func wwpnOf(text string) (n hal.WWPN) {
	for _, c := range []byte(text) {
		digit := c - '0'
		if c >= 'a' {
			digit = c - 'a' + 10
		}
		n = n<<4 | hal.WWPN(digit)
	}
	return n
}
