package dealings

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is S31: a deletion of data is in the log of deletions before it begins, durably and with its true cause,
// and stays there.

// deletionTime is how long a deletion may go on whose entry somebody has taken away after it began.
const deletionTime = 5 * time.Minute

// DeletionsLog is the path of the agent's log of what it deleted.
var DeletionsLog = deletions.File(identity.Dir(lang.RootDir))

// LosesLog is somebody who removes the log, or what is above it.
func LosesLog(r *world.Run) {
	all := world.Announcements{
		Lines: map[string]bool{}, Paths: map[string]bool{}, Taken: r.Announced.Taken,
		Synced: r.Announced.Synced,
		Older:  r.Announced.Older,
	}
	if all.Taken == nil {
		all.Taken = map[string]hal.Instant{}
	}
	for at := range r.Announced.Paths { // the order does not matter
		all.Taken[at] = r.W.Now()
	}
	r.Announced = all
}

// Announces takes in what the log says once it is synced, and its name too. A sync of the name makes nothing durable of
// what is in the file, and what a power cut has left of an unfinished write is no entry.
func Announces(r *world.Run, e *sim.Effect) {
	isName := e.Path == path.Dir(DeletionsLog)
	if e.Kind != sim.EffectSynced || e.Path != DeletionsLog && !isName || e.Outcome != hal.Done || e.Actor != "agent" {
		return
	}
	if !isName {
		r.Announced.Synced = r.W.ReadFile(DeletionsLog)
	}
	if r.Announced.Unnamed && !isName {
		return
	}
	r.Announced.Unnamed = false
	if r.Announced.Lines == nil {
		LosesLog(r)
	}
	all := append(r.W.ReadFile(DeletionsLog+".1"), r.W.ReadFile(DeletionsLog)...)
	for line := range r.Announced.Lines { // the order does not matter
		if !bytes.Contains(all, []byte(line)) {
			r.Fail("S31", e.Kind.String(), e.Path, "the log of deletions has lost an entry: "+line)
			return
		}
	}
	for line := range bytes.Lines(r.W.ReadFile(DeletionsLog)) {
		entries := deletions.Parse(line)
		if len(entries) == 0 || !bytes.HasSuffix(line, []byte("\n")) || r.Announced.Lines[string(line)] ||
			!bytes.Contains(r.Announced.Synced, line) {
			continue
		}
		r.Announced.Lines[string(line)] = true
		for _, entry := range entries {
			r.Announced.Paths[entry.Path] = entry.Cause != ""
			if !bytes.Contains(r.Announced.Older, line) {
				Misstated(r, &entry)
			}
		}
	}
}

// The causes of deletions, by what they begin with: whether a source names the pod, and whether one has named it in
// this life of the agent.
const (
	CauseIsNamed  = "the pod dropped the volume"
	CauseWasNamed = "the pod was removed from its source"
)

// Misstated judges what an entry of the present life says of its deletion, by what this life was told of the pod until
// then. An entry says the second.
func Misstated(r *world.Run, e *deletions.Entry) {
	r.Judges("S31")
	wrong := func(why string) {
		r.Fail("S31", "cause", e.Path, "the log of deletions says of "+e.Path+": "+e.Cause+"; and "+why)
	}
	from, isTime := instantOf(e.Time)
	if !isTime || !strings.Contains(e.Path, "/"+e.UID+"/") || !strings.Contains(e.Path, e.Volume) {
		wrong("its time, uid or volume is another one")
		return
	}
	until := from.Add(time.Second)
	var isNamed, mayBeNamed, wasNamed, mayHaveGone bool // by the beginning of that second, or may be by its end
	isName := true                                      // of the last version before that second, or of one within it
	for _, n := range r.News["pod "+e.UID] {
		if n.From < until {
			is := hal.IdentityOf(n.Object)
			isName = is.Namespace == e.Namespace && is.Name == e.Name || isName && n.From >= from
			mayBeNamed = mayBeNamed || n.Until == 0 || n.Until >= from
			mayHaveGone = mayHaveGone || n.IsGone && n.Until < until
		}
		if n.From < from {
			wasNamed = true
			isNamed = isNamed || n.Until == 0 || n.Until >= until
		}
	}
	switch {
	case !isName:
		wrong("the pod has another name than " + e.Namespace + "/" + e.Name)
	case strings.HasPrefix(e.Cause, CauseIsNamed):
		if !mayBeNamed {
			wrong("no source names the pod")
		}
	case isNamed:
		wrong("a source names the pod")
	case e.Cause == CauseWasNamed:
		if !mayHaveGone {
			wrong("no source has named the pod and removed it in this life of the agent")
		}
	case wasNamed:
		wrong("a source has named the pod in this life of the agent")
	case !r.Synced:
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
func unannounced(r *world.Run, e *sim.Effect, at string) {
	if e.Actor != "agent" || e.Run != r.W.Life() {
		return
	}
	r.Judges("S31")
	if taken, isTaken := r.Announced.Taken[at]; isTaken && r.W.Now().Sub(taken) < deletionTime {
		return
	}
	if !r.Announced.Paths[at] {
		r.Fail("S31", e.Kind.String(), at,
			"what is at "+at+" is deleted, and no durable entry in the log of deletions says so")
	}
}

// Deletes is S31 for names and mounts of emptyDirs, and for clones of repositories.
func Deletes(r *world.Run, e *sim.Effect) {
	if e.NewPath == DeletionsLog {
		r.Announced.Unnamed, r.Announced.Synced = true, nil
	}
	dir, name := path.Split(e.Path)
	isClone := strings.HasSuffix(dir, "/kubernetes.io~git-repo/")
	if isClone && hal.Cloning(e.NewPath) == e.Path {
		delete(r.Announced.Paths, e.NewPath)
		delete(r.Announced.Taken, e.NewPath)
	}
	if !isClone && !strings.HasSuffix(dir, "/kubernetes.io~empty-dir/") || hal.Cloned(name) != name {
		return // what a clone makes that does not end is nobody's
	}
	switch e.Kind {
	case sim.EffectMade:
		delete(r.Announced.Paths, e.Path)
		delete(r.Announced.Taken, e.Path)
	case sim.EffectRenamed, sim.EffectUnmount, sim.EffectRemovedTree:
		if op.Trashed(name) == name { // what is in the trash was judged when it was moved there
			unannounced(r, e, e.Path)
		}
	default:
	}
}

// DeletesInline is S31 for an inline volume, which ends with its unpublish. Its handle tells that it is one, whatever
// the pod says by now.
func DeletesInline(r *world.Run, p *world.Place, e *sim.Effect) {
	if strings.HasPrefix(e.Volume, "csi-") && r.PodOf(p.Path) != nil {
		unannounced(r, &sim.Effect{Kind: e.Kind, Actor: "agent", Run: e.Run}, p.Path)
	}
}
