package disk

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/hal"
)

// Paths are the ways to one disk of an array that a rung has found. What is used is the map that multipathd makes of
// them. They come and go, and are its health; what it is stays.
type Paths struct {
	Name  string         // of the disk, for people
	Disks []hal.SCSIDisk // the paths, as the kernel has them
	Lost  []string       // why there are no more of them, for people
	WWID  string         // of the map of an earlier look, if no path is left; else ""
}

// SetUp looks at each path, and has multipathd make the map, or take paths into it. A path that is lost keeps nobody
// waiting while another one is there.
func (p Paths) SetUp(h *hal.Host, o core.Op) core.Result {
	good, says, r, ok := p.look(h, o)
	if !ok {
		return r
	}
	m, is, err := p.assembled(h, o, good, says)
	switch {
	case !is && hal.Is(err, syscall.EAGAIN):
		return op.NotDone("multipathd knows the disk " + says + " of " + p.Name + ", and has made no map of it yet; " +
			"volnode looks again")
	case !is && err != nil:
		r := op.Failed(err)
		r.Reason = p.Name + " has several paths, which takes multipathd: " + err.Error()
		return r
	case !is:
		return op.Unknown("the map of the disk " + says + " is gone again; volnode looks again")
	case err != nil:
		p.Lost = append(p.Lost, "multipathd does not take all paths: "+err.Error())
	}
	return p.up(h, o, m, says)
}

// look asks each path which disk it leads to. It is not ok if that is not the disk of the volume, or if none answers.
func (p *Paths) look(h *hal.Host, o core.Op) (good []hal.SCSIDisk, says string, r core.Result, ok bool) {
	had, by := core.FactOf(o.Facts, FactDisk), ""
	for _, d := range p.Disks {
		node := "/dev/" + d.Name
		b, err := h.Blocks.Probe(op.Call(o), node)
		switch {
		case err != nil:
			p.Lost = append(p.Lost, node+" does not answer: "+err.Error())
			continue
		case b.Is() != d.Is():
			return nil, "", op.NotDone(node + " is another disk by now; volnode looks again"), false
		case b.Says == "":
			return nil, "", op.NotDone(node + " gives no WWID, so nothing tells it from another disk; volnode does not use it"),
				false
		case b.Says != d.WWID:
			return nil, "", p.exchanged(h, o, d, b.Says), false
		case had != "" && had != b.Says:
			r = op.NotDone(fmt.Sprintf("%s (%s) is the disk %s, and the volume has %s; volnode changes nothing on it: give "+
				"the LUN to that disk again", node, p.Name, b.Says, had))
			r.Blocked = true
			return nil, "", r, false
		case says != "" && says != b.Says:
			r = op.NotDone(fmt.Sprintf("%s is not one disk: %s is %s, and %s is %s; volnode uses neither: have each portal "+
				"show the same disk", p.Name, by, says, node, b.Says))
			r.Blocked = true
			return nil, "", r, false
		}
		good, says, by = append(good, d), b.Says, node
	}
	if len(good) == 0 {
		return nil, "", op.NotDone("there is no path to " + p.Name + ": " + strings.Join(p.Lost, "; ")), false
	}
	return good, says, r, true
}

// assembled is the map of the disk, with all of these paths unless err says why not.
func (p *Paths) assembled(h *hal.Host, o core.Op, good []hal.SCSIDisk, says string) (
	m hal.MultipathMap, is bool, err error,
) {
	at := Paths{Disks: good, WWID: says}
	if m, is, err = at.Map(h, o); err != nil {
		return m, false, err
	}
	lacks := func(d hal.SCSIDisk) bool { return !m.HasPath(d) }
	if is && !slices.ContainsFunc(good, lacks) {
		return m, true, nil
	}
	err = h.Multipath.Assemble(op.Call(o), good)
	m, is, sees := at.Map(h, o)
	switch {
	case sees != nil:
		return m, false, sees
	case is && !slices.ContainsFunc(good, lacks):
		return m, true, nil // whatever it says
	}
	return m, is, err
}

// up is the end of a setup that has found the map.
func (p *Paths) up(h *hal.Host, o core.Op, m hal.MultipathMap, says string) core.Result {
	node := "/dev/" + m.Node
	who := node + " (" + p.Name + ")"
	b, err := h.Blocks.Probe(op.Call(o), node)
	switch {
	case err != nil:
		return op.NotDone(who + " does not answer: " + err.Error())
	case b.Is() != m.Is():
		return op.NotDone(node + " is another map by now; volnode looks again")
	case b.Says != says:
		r := op.NotDone(fmt.Sprintf("%s answers as the disk %q, and its paths as %s; volnode does not use it", who, b.Says,
			says))
		r.Blocked = true
		return r
	}
	holds, why := Holds(o, b, says)
	if why != "" {
		return op.NotDone(who + ": " + why)
	}
	for _, path := range m.Paths {
		if !path.Active && path.Name != "" { // if the kernel has forgotten it, its portal says so
			p.Lost = append(p.Lost, "the path /dev/"+path.Name+" has failed")
		}
	}
	r := core.Result{
		Outcome: hal.Done, Fingerprint: mapIs(m),
		Facts: []core.Fact{
			{Name: FactDevice, Value: b.Is()},
			{Name: FactDisk, Value: says},
			{Name: FactHolds, Value: holds},
			{Name: FactNode, Value: node},
			{Name: FactSays, Value: says},
			{Name: FactName, Value: who},
		},
	}
	if len(p.Lost) > 0 {
		r.Short = p.Name + " has lost a path: " + strings.Join(p.Lost, "; ")
	}
	return r
}

// mapIs tells a map from all others of a boot. Its paths do not belong to that.
func mapIs(m hal.MultipathMap) string { return m.Is() + " " + m.UUID }

// exchanged has the kernel forget a path that leads to another disk by now, and the map that has it. Nothing is
// flushed to that.
func (p *Paths) exchanged(h *hal.Host, o core.Op, d hal.SCSIDisk, says string) core.Result {
	m, is, err := (&Paths{Disks: []hal.SCSIDisk{d}}).Map(h, o)
	if err == nil && is {
		err = h.Multipath.Remove(op.Call(o), m, false)
	}
	if err == nil {
		err = h.SCSI.Remove(op.Call(o), d, false)
	}
	if err != nil {
		r := op.Failed(err)
		r.Reason = fmt.Sprintf("/dev/%s (%s) is the disk %s by now, and the kernel takes it for %s: %s; unmount what is on "+
			"it, or delete the pods that have it", d.Name, p.Name, says, d.WWID, err)
		return r
	}
	r := op.Unknown(fmt.Sprintf("/dev/%s (%s) was the disk %s, and is %s by now; the kernel has forgotten the former "+
		"one, and volnode looks again", d.Name, p.Name, d.WWID, says))
	r.Unfinished = true
	return r
}

// Map is the map that has one of the paths, or that is of the disk.
func (p *Paths) Map(h *hal.Host, o core.Op) (m hal.MultipathMap, is bool, err error) {
	all, err := h.Multipath.Maps(op.Call(o))
	i := slices.IndexFunc(all, func(m hal.MultipathMap) bool {
		return p.WWID != "" && m.WWID == p.WWID || slices.ContainsFunc(p.Disks, m.HasPath)
	})
	if i < 0 {
		return m, false, err
	}
	return all[i], true, err
}

// Inspect tells of the same map. Paths without one are something, too.
func (p Paths) Inspect(h *hal.Host, o core.Op) core.Result {
	m, is, err := p.Map(h, o)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case is:
		return core.Result{Outcome: hal.Done, Fingerprint: mapIs(m)}
	case len(p.Disks) > 0:
		return core.Result{Outcome: hal.Done, Fingerprint: "paths without a map: " + p.Disks[0].Is()}
	}
	return core.Result{Outcome: hal.Done}
}

// TearDown has the kernel forget the map, once all is on the disk, and then the paths. multipathd may make the map
// again while a path is there.
func (p Paths) TearDown(h *hal.Host, o core.Op) core.Result {
	m, is, err := p.Map(h, o)
	if err != nil {
		return op.NotDone(err.Error())
	}
	if is {
		if err := h.Multipath.Remove(op.Call(o), m, true); err != nil {
			return notRemoved(err, "/dev/"+m.Node)
		}
	}
	for _, d := range p.Disks {
		if err := h.SCSI.Remove(op.Call(o), d, !is); err != nil {
			r := notRemoved(err, "/dev/"+d.Name)
			if r.Outcome == hal.NotDone {
				r.Outcome = hal.Unknown // the map is gone, or other paths
			}
			return r
		}
	}
	if _, is, err = p.Map(h, o); err != nil || is {
		r := op.Unknown("multipathd has made the map of " + p.Name + " again; volnode removes it again")
		r.Unfinished = is
		if err != nil {
			r.Reason = err.Error()
		}
		return r
	}
	return core.Result{Outcome: hal.Done}
}

// notRemoved is the end of a teardown of a disk or a map that stays.
func notRemoved(err error, node string) core.Result {
	r := op.Failed(err)
	switch {
	case hal.Is(err, syscall.EBUSY):
		r.Reason = fmt.Sprintf("%s is in use: %s; unmount it; volnode tries again", node, err)
	case hal.Is(err, syscall.EIO):
		r.Reason = fmt.Sprintf("what was written to %s may not be on the disk: %s; volnode tries again; look at the network "+
			"and the target", node, err)
	}
	return r
}
