package scenarios

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is S31: a deletion of data is in the log of deletions before it begins, durably and with its true cause,
// and stays there.

// announcements are the entries of the log, as they were made durable. What is not asked for any more when data is made
// again at a path counts no more.
type announcements struct {
	lines   map[string]bool        // that were seen
	paths   map[string]bool        // of which data may be deleted
	taken   map[string]hal.Instant // by path: when somebody took the entry away
	unnamed bool                   // the file has its name, and a power cut may take that away
	synced  []byte                 // what the file said when it was synced last under its name
	older   []byte                 // what the log said when the present life of the agent began
}

// deletionTime is how long a deletion may go on whose entry somebody has taken away after it began.
const deletionTime = 5 * time.Minute

var deletionsLog = deletions.File(identity.Dir(lang.RootDir))

// losesLog is somebody who removes the log, or what is above it.
func (r *run) losesLog() {
	all := announcements{
		lines: map[string]bool{}, paths: map[string]bool{}, taken: r.announced.taken,
		synced: r.announced.synced,
		older:  r.announced.older,
	}
	if all.taken == nil {
		all.taken = map[string]hal.Instant{}
	}
	for at := range r.announced.paths { // the order does not matter
		all.taken[at] = r.w.Now()
	}
	r.announced = all
}

// makeFile makes an empty file, or empties the one that is there.
func (t *scene) makeFile(at string) string {
	if below(at, identity.Dir(lang.RootDir)) {
		t.r.removes(at)
	}
	t.r.typedAt = t.w.Now() // a hostPath may lead there
	t.w.WriteFile(at, nil)
	return ""
}

// announces takes in what the log says once it is synced, and its name too. A sync of the name makes nothing durable of
// what is in the file, and what a power cut has left of an unfinished write is no entry.
func (r *run) announces(e *sim.Effect) {
	isName := e.Path == path.Dir(deletionsLog)
	if e.Kind != sim.EffectSynced || e.Path != deletionsLog && !isName || e.Outcome != hal.Done || e.Actor != "agent" {
		return
	}
	if !isName {
		r.announced.synced = r.w.ReadFile(deletionsLog)
	}
	if r.announced.unnamed && !isName {
		return
	}
	r.announced.unnamed = false
	if r.announced.lines == nil {
		r.losesLog()
	}
	all := append(r.w.ReadFile(deletionsLog+".1"), r.w.ReadFile(deletionsLog)...)
	for line := range r.announced.lines { // the order does not matter
		if !bytes.Contains(all, []byte(line)) {
			r.fail("S31", e.Kind.String(), e.Path, "the log of deletions has lost an entry: "+line)
			return
		}
	}
	for line := range bytes.Lines(r.w.ReadFile(deletionsLog)) {
		entries := deletions.Parse(line)
		if len(entries) == 0 || !bytes.HasSuffix(line, []byte("\n")) || r.announced.lines[string(line)] ||
			!bytes.Contains(r.announced.synced, line) {
			continue
		}
		r.announced.lines[string(line)] = true
		for _, entry := range entries {
			r.announced.paths[entry.Path] = entry.Cause != ""
			if !bytes.Contains(r.announced.older, line) {
				r.misstated(&entry)
			}
		}
	}
}

// The causes of deletions, by what they begin with: whether a source names the pod, and whether one has named it in
// this life of the agent.
const (
	causeIsNamed  = "the pod dropped the volume"
	causeWasNamed = "the pod was removed from its source"
)

// misstated judges what an entry of the present life says of its deletion, by what this life was told of the pod until
// then. An entry says the second.
func (r *run) misstated(e *deletions.Entry) {
	r.judges("S31")
	wrong := func(why string) {
		r.fail("S31", "cause", e.Path, "the log of deletions says of "+e.Path+": "+e.Cause+"; and "+why)
	}
	from, isTime := instantOf(e.Time)
	if !isTime || !strings.Contains(e.Path, "/"+e.UID+"/") || !strings.Contains(e.Path, e.Volume) {
		wrong("its time, uid or volume is another one")
		return
	}
	until := from.Add(time.Second)
	var isNamed, mayBeNamed, wasNamed, mayHaveGone bool // by the beginning of that second, or may be by its end
	isName := true                                      // it is that of the last version before that second, or of one that came in it
	for _, n := range r.news["pod "+e.UID] {
		if n.from < until {
			is := hal.IdentityOf(n.object)
			isName = is.Namespace == e.Namespace && is.Name == e.Name || isName && n.from >= from
			mayBeNamed = mayBeNamed || n.until == 0 || n.until >= from
			mayHaveGone = mayHaveGone || n.isGone && n.until < until
		}
		if n.from < from {
			wasNamed = true
			isNamed = isNamed || n.until == 0 || n.until >= until
		}
	}
	switch {
	case !isName:
		wrong("the pod has another name than " + e.Namespace + "/" + e.Name)
	case strings.HasPrefix(e.Cause, causeIsNamed):
		if !mayBeNamed {
			wrong("no source names the pod")
		}
	case isNamed:
		wrong("a source names the pod")
	case e.Cause == causeWasNamed:
		if !mayHaveGone {
			wrong("no source has named the pod and removed it in this life of the agent")
		}
	case wasNamed:
		wrong("a source has named the pod in this life of the agent")
	case !r.synced:
		wrong("not all is told yet")
	}
}

// instantOf is the first instant of a second as the node's clock shows it (see [hal.Machine]).
func instantOf(date string) (hal.Instant, bool) {
	var year, month, day, hour, minute, second int
	// n says how far it came
	n, _ := fmt.Sscanf(date, "%d-%d-%dT%d:%d:%dZ", &year, &month, &day, &hour, &minute, &second)
	days := (year-2030)*336 + (month-1)*28 + day - 1
	return hal.Instant(time.Duration((days*24+hour)*60+minute)*time.Minute + time.Duration(second)*time.Second), n == 6
}

// unannounced judges a deletion of what is at a path.
func (r *run) unannounced(e *sim.Effect, at string) {
	if e.Actor != "agent" || e.Run != r.w.Life() {
		return
	}
	r.judges("S31")
	if taken, isTaken := r.announced.taken[at]; isTaken && r.w.Now().Sub(taken) < deletionTime {
		return
	}
	if !r.announced.paths[at] {
		r.fail("S31", e.Kind.String(), at,
			"what is at "+at+" is deleted, and no durable entry in the log of deletions says so")
	}
}

// deletes is S31 for names and mounts of emptyDirs.
func (r *run) deletes(e *sim.Effect) {
	if e.NewPath == deletionsLog {
		r.announced.unnamed, r.announced.synced = true, nil
	}
	dir, name := path.Split(e.Path)
	if !strings.HasSuffix(dir, "/kubernetes.io~empty-dir/") {
		return
	}
	switch e.Kind {
	case sim.EffectMade:
		delete(r.announced.paths, e.Path)
		delete(r.announced.taken, e.Path)
	case sim.EffectRenamed, sim.EffectUnmount, sim.EffectRemovedTree:
		if plugin.EmptyDirTrashed(name) == name { // what is in the trash was judged when it was moved there
			r.unannounced(e, e.Path)
		}
	default:
	}
}

// deletesInline is S31 for an inline volume, which ends with its unpublish. Its handle tells that it is one, whatever
// the pod says by now.
func (r *run) deletesInline(p *place, e *sim.Effect) {
	if strings.HasPrefix(e.Volume, "csi-") && r.podOf(p.path) != nil {
		r.unannounced(&sim.Effect{Kind: e.Kind, Actor: "agent", Run: e.Run}, p.path)
	}
}
