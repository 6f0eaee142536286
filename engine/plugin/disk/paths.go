package disk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/hal"
)

// Paths are the ways to one disk of an array that a rung has found. They come and go, and are its health; what it is
// stays. If multipathd has made a map of them, the map is what is used, though it have one path: nobody can mount what
// a map has.
type Paths struct {
	Name   string         // of the disk, for people: "LUN 1 of iqn.2026-01.example:disks"
	Disks  []hal.SCSIDisk // the paths, as the kernel has them
	Lost   []string       // why there are no more of them, for people
	WWID   string         // of the disk at an earlier look, so that its map is known when no path is left; "" if none
	IsMany bool           // nothing but a map is used, and multipathd is asked for it
	// MayCome: the kernel was asked for one, and may find it yet.
	MayCome bool
	// Stays: nobody could have the kernel find a path again, so none is removed, and no map of them.
	Stays bool
}

// answer is what a path has said of its disk.
type answer struct {
	disk hal.SCSIDisk
	is   hal.BlockDevice
}

// SetUp looks at each path, and at the map of them; of many it has multipathd make one, or take paths into it. A path
// that is lost keeps nobody waiting while another one is there.
func (p Paths) SetUp(h *hal.Host, o core.Op) core.Result {
	good, r, ok := p.look(h, o)
	if !ok {
		return r
	}
	says := good[0].is.Says
	at := Paths{WWID: says}
	for _, a := range good {
		at.Disks = append(at.Disks, a.disk)
	}
	m, is, err := at.Map(h, o)
	if err != nil {
		return op.NotDone(err.Error())
	}
	if i := max(0, at.had(o)); !is && (!p.IsMany || at.had(o) >= 0) {
		return p.found(o, good[i].is, "/dev/"+good[i].disk.Name, Print(good[i].disk))
	}
	if _, why := Holds(o, good[0].is, says); !is && why != "" {
		return op.NotDone(fmt.Sprintf("/dev/%s (%s): %s", good[0].disk.Name, p.Name, why))
	}
	had := is
	m, is, err = at.assembled(h, o, m, is)
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
	r = p.up(h, o, m, says)
	if r.Outcome == hal.NotDone && !had && !r.Blocked {
		r.Outcome = hal.Unknown // there is a map now, which goes again if nobody wants it
	}
	return r
}

// look asks each path which disk it leads to. It is not ok if that is not the disk of the volume, or if none answers.
func (p *Paths) look(h *hal.Host, o core.Op) (good []answer, r core.Result, ok bool) {
	had := core.FactOf(o.Facts, FactDisk)
	for _, d := range p.Disks {
		node := "/dev/" + d.Name
		who := fmt.Sprintf("%s (%s)", node, p.Name)
		b, err := h.Blocks.Probe(op.Call(o), node)
		switch {
		case err != nil:
			p.Lost = append(p.Lost, node+" does not answer: "+err.Error())
			continue
		case b.Is() != d.Is():
			return nil, op.NotDone(who + " is another disk by now; volnode looks again"), false
		case b.Says == "": // as while its way is being lost
			p.Lost = append(p.Lost, node+" gives no WWID, so nothing tells it from another disk; volnode does not use it")
			continue
		case b.Says != d.WWID:
			return nil, p.exchanged(h, o, d, b), false
		case had != "" && had != b.Says:
			return nil, blocked(fmt.Sprintf("%s is the disk %s, and the volume has %s; volnode changes nothing on it: give "+
				"the LUN to that disk again", who, b.Says, had)), false
		case len(good) > 0 && good[0].is.Says != b.Says:
			return nil, blocked(fmt.Sprintf("%s is not one disk: /dev/%s is %s, and %s is %s; volnode uses neither: have "+
				"each port or portal show the same disk", p.Name, good[0].disk.Name, good[0].is.Says, node, b.Says)), false
		}
		good = append(good, answer{d, b})
	}
	if len(good) == 0 {
		r = op.NotDone("there is no path to " + p.Name + ": " + strings.Join(p.Lost, "; "))
		if p.MayCome {
			r.Outcome = hal.Unknown
		}
		return nil, r, false
	}
	return good, r, true
}

func blocked(why string) core.Result {
	r := op.NotDone(why)
	r.Blocked = true
	return r
}

// had is the path that the rung has, if that is no map, else -1. It may be in use, and stays what it is.
func (p *Paths) had(o core.Op) int {
	return slices.IndexFunc(p.Disks, func(d hal.SCSIDisk) bool { return Print(d) == o.Fingerprint })
}

// assembled is the map of the disk, m if there is one, with all paths unless err says why not.
func (p *Paths) assembled(h *hal.Host, o core.Op, m hal.MultipathMap, is bool) (hal.MultipathMap, bool, error) {
	lacks := func(d hal.SCSIDisk) bool { return !m.HasPath(d) }
	if is && !slices.ContainsFunc(p.Disks, lacks) {
		return m, true, nil
	}
	err := h.Multipath.Assemble(op.Call(o), p.Disks)
	m, is, sees := p.Map(h, o)
	switch {
	case sees != nil && hal.OutcomeOf(err) != hal.NotDone:
		return m, false, errors.New(sees.Error()) // there may be one by now
	case sees != nil:
		return m, false, sees
	case is && !slices.ContainsFunc(p.Disks, lacks):
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
		return blocked(fmt.Sprintf("%s answers as the disk %q, and its paths as %s; volnode does not use it", who, b.Says,
			says))
	}
	p.loses(m)
	return p.found(o, b, node, mapIs(m))
}

// found is the end of a setup that has found what is used of the disk.
func (p *Paths) found(o core.Op, b hal.BlockDevice, node, fingerprint string) core.Result {
	who := fmt.Sprintf("%s (%s)", node, p.Name)
	holds, why := Holds(o, b, b.Says)
	if why != "" {
		return op.NotDone(who + ": " + why)
	}
	return p.short(core.Result{
		Outcome: hal.Done, Fingerprint: fingerprint,
		Facts: []core.Fact{
			{Name: FactDevice, Value: b.Is()},
			{Name: FactDisk, Value: b.Says},
			{Name: FactHolds, Value: holds},
			{Name: FactNode, Value: node},
			{Name: FactSays, Value: b.Says},
			{Name: FactName, Value: who},
		},
	})
}

// Print tells a disk from all others of a boot, by what the kernel found.
func Print(d hal.SCSIDisk) string { return d.Is() + " " + d.WWID }

// mapIs does that for a map. Its paths do not belong to what it is.
func mapIs(m hal.MultipathMap) string { return m.Is() + " " + m.UUID }

// exchanged has the kernel forget a path that leads to another disk by now, and the map that has it, so that it finds
// that one. Nothing is flushed to it.
func (p *Paths) exchanged(h *hal.Host, o core.Op, d hal.SCSIDisk, b hal.BlockDevice) core.Result {
	who := fmt.Sprintf("/dev/%s (%s)", d.Name, p.Name)
	if len(b.Held) > 0 {
		return op.NotDone(fmt.Sprintf("%s is the disk %s by now, and pods were given %s as a raw block volume; volnode "+
			"gives it to no other pod: give the LUN to that disk again", who, b.Says, d.WWID))
	}
	if p.Stays {
		return blocked(fmt.Sprintf("%s is the disk %s by now, and the kernel takes it for %s; volnode does not use it; have "+
			"the kernel forget it (device/delete), and scan for it again", who, b.Says, d.WWID))
	}
	m, is, err := (&Paths{Disks: []hal.SCSIDisk{d}}).Map(h, o)
	if err == nil && is {
		err = h.Multipath.Remove(op.Call(o), m, false)
	}
	if err == nil {
		err = h.SCSI.Remove(op.Call(o), d, false)
	}
	if err != nil {
		r := op.Failed(err)
		r.Reason = fmt.Sprintf("%s is the disk %s by now, and the kernel takes it for %s: %s; unmount what is on it, or "+
			"delete the pods that have it", who, b.Says, d.WWID, err)
		return r
	}
	r := op.Unknown(fmt.Sprintf("%s was the disk %s, and is %s by now; the kernel has forgotten the former one, and "+
		"volnode looks again", who, d.WWID, b.Says))
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

// Inspect tells of the same map, or disk, by what the kernel found, and touches neither.
func (p Paths) Inspect(h *hal.Host, o core.Op) core.Result {
	m, is, err := p.Map(h, o)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case is:
		p.loses(m)
		for _, d := range p.Disks {
			if !m.HasPath(d) {
				p.Lost = append(p.Lost, "multipathd does not use /dev/"+d.Name)
			}
		}
		return p.short(core.Result{Outcome: hal.Done, Fingerprint: mapIs(m)})
	case len(p.Disks) == 0:
		return core.Result{Outcome: hal.Done}
	case p.had(o) >= 0:
		return p.short(core.Result{Outcome: hal.Done, Fingerprint: o.Fingerprint})
	}
	return core.Result{Outcome: hal.Done, Fingerprint: Print(p.Disks[0])}
}

// loses notes the paths of the map that have failed. Of one that the kernel has forgotten its port or portal says so.
func (p *Paths) loses(m hal.MultipathMap) {
	for _, path := range m.Paths {
		if !path.Active && path.Name != "" {
			p.Lost = append(p.Lost, "the path /dev/"+path.Name+" has failed")
		}
	}
}

// short adds to what is up which paths it lacks.
func (p *Paths) short(r core.Result) core.Result {
	if len(p.Lost) > 0 {
		r.Short = p.Name + " has lost a path: " + strings.Join(p.Lost, "; ")
	}
	return r
}

// TearDown has the kernel forget the map, once all is on the disk, and then the paths. multipathd may make the map
// again while a path is there. If the kernel has forgotten all paths, nothing gets to the disk any more.
func (p Paths) TearDown(h *hal.Host, o core.Op) core.Result {
	if p.Stays {
		return core.Result{Outcome: hal.Done}
	}
	m, is, err := p.Map(h, o)
	if err != nil {
		return op.NotDone(err.Error())
	}
	if is {
		isLeft := slices.ContainsFunc(m.Paths, func(path hal.MultipathPath) bool { return path.Name != "" })
		if err := h.Multipath.Remove(op.Call(o), m, isLeft); err != nil {
			return notRemoved(err, "/dev/"+m.Node)
		}
	}
	for i, d := range p.Disks {
		if err := h.SCSI.Remove(op.Call(o), d, !is); err != nil {
			r := notRemoved(err, "/dev/"+d.Name)
			if r.Outcome == hal.NotDone && (is || i > 0) {
				r.Outcome = hal.Unknown // the map is gone, or other paths
			}
			return r
		}
	}
	if !is {
		return core.Result{Outcome: hal.Done}
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

// Unmap is the teardown of what is not known to have had a disk: multipathd may have been asked for a map of the paths.
// The kernel forgets that unless somebody uses it, and keeps the paths.
func (p Paths) Unmap(h *hal.Host, o core.Op) core.Result {
	m, is, err := p.Map(h, o)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case is && m.Opens == 0:
		if err := h.Multipath.Remove(op.Call(o), m, false); err != nil {
			return notRemoved(err, "/dev/"+m.Node)
		}
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
