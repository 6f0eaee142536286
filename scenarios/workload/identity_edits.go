package workload

import (
	"strconv"
	"time"

	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what people do to the identity of volumes in hunts: a name comes to mean another volume, mostly while
// pods run that have the first.

// renamings is how often at most the object of a volume changes its meaning.
const renamings = 2

// LongestAway is how long an object is gone at most that is made again.
const LongestAway = time.Minute

// RenamesVolume draws when the object of a volume comes to mean another one: its handle or its driver is edited, or it
// is deleted and made again under its name. It may mean the first one again later.
func (g *Workload) RenamesVolume(i int) {
	name := "pv-" + strconv.Itoa(i)
	how := g.Pick("workload.rename", name, 0, 12, 1, 1, 1)
	if how == 0 {
		return
	}
	meaning := uint8(1)
	if how == 2 && i != cases.RawVolume { // a driver of directories has no devices
		meaning = 2
	}
	is := world.Version{Meaning: meaning}.Means(i)
	g.R.W.AddVolume(is.Driver, is.Handle)
	dealings.Attaches(g.R, is.Driver, is.Handle)
	for n := range renamings {
		if n > 0 && g.Pick("workload.rename-again", name, n, 1, 1) == 0 {
			break
		}
		g.At(g.Time("workload.rename-time", name, n, cases.Chaos), name, func() {
			v := &g.Edits[i]
			v.Meaning = meaning - v.Meaning
			if how != 3 {
				g.R.Give(g.Stock.volume(i, *v))
				return
			}
			before := *v
			before.Meaning = meaning - before.Meaning // what it was
			v.Lives++
			g.R.Take(g.Stock.volume(i, before), g.Stock.claim(i, before.Lives))
			away := g.Time("workload.rename-away", name, n, LongestAway)
			judges.Delays(g.R, away) // no pod that claims it can come
			g.R.W.After(away, "made again "+name, func() {
				g.R.EditedAt = g.R.W.Now()
				g.R.Give(g.Stock.volume(i, *v), g.Stock.claim(i, v.Lives))
			})
		})
	}
}

// RenamesInline draws when the inline volume of a pod is edited to be of another driver, or a claim of the pod is
// replaced by an inline volume that is called like its PersistentVolume, so that it comes to its path.
func (g *Workload) RenamesInline(i int, name string) {
	s := &g.Pods[i]
	how := g.Pick("workload.rename-inline", name, 0, 12, 1, 1)
	if how == 0 {
		return
	}
	s.Inline = s.Inline || how == 1
	g.At(g.Time("workload.rename-inline-time", name, 0, cases.Chaos), name, func() {
		p := g.Current(i)
		switch {
		case how == 1 && g.IsTold:
			s.Otherwise = !s.Otherwise
		case how == 2:
			s.Inline, s.Disguised = true, true
		default:
			return
		}
		s.Edits++
		g.R.IsEdited, g.R.IsRenamed = true, true
		if p != nil && p.IsWanted {
			g.Apply(i)
			p.IsSteady = false
		}
	})
}

// EditsVolume changes a volume in a way that it must be staged again.
func (g *Workload) EditsVolume(i int) {
	name := "pv-" + strconv.Itoa(i)
	if g.Pick("workload.pv", name, 0, 8, 1) == 0 {
		return
	}
	g.At(g.Time("workload.pv-time", name, 0, cases.Chaos), name, func() {
		g.Edits[i].Edits++
		g.R.IsEdited = true
		g.R.Give(g.Stock.volume(i, g.Edits[i]))
	})
}
