package scenarios

import (
	"strconv"
	"time"

	"github.com/volnode/volnode/scenarios/cases"
)

// This file is what people do to the identity of volumes in hunts: a name comes to mean another volume, mostly while
// pods run that have the first.

// renamings is how often at most the object of a volume changes its meaning.
const renamings = 2

// longestAway is how long an object is gone at most that is made again.
const longestAway = time.Minute

// renamesVolume draws when the object of a volume comes to mean another one: its handle or its driver is edited, or it
// is deleted and made again under its name. It may mean the first one again later.
func (g *workload) renamesVolume(i int) {
	name := "pv-" + strconv.Itoa(i)
	how := g.pick("workload.rename", name, 0, 12, 1, 1, 1)
	if how == 0 {
		return
	}
	meaning := uint8(1)
	if how == 2 && i != cases.RawVolume { // a driver of directories has no devices
		meaning = 2
	}
	is := version{meaning: meaning}.means(i)
	g.r.w.AddVolume(is.driver, is.handle)
	g.r.attaches(is.driver, is.handle)
	for n := range renamings {
		if n > 0 && g.pick("workload.rename-again", name, n, 1, 1) == 0 {
			break
		}
		g.at(g.time("workload.rename-time", name, n, cases.Chaos), name, func() {
			v := &g.edits[i]
			v.meaning = meaning - v.meaning
			if how != 3 {
				g.r.give(g.stock.volume(i, *v))
				return
			}
			before := *v
			before.meaning = meaning - before.meaning // what it was
			v.lives++
			g.r.take(g.stock.volume(i, before), g.stock.claim(i, before.lives))
			away := g.time("workload.rename-away", name, n, longestAway)
			g.r.delays(away) // no pod that claims it can come
			g.r.w.After(away, "made again "+name, func() {
				g.r.editedAt = g.r.w.Now()
				g.r.give(g.stock.volume(i, *v), g.stock.claim(i, v.lives))
			})
		})
	}
}

// renamesInline draws when the inline volume of a pod is edited to be of another driver, or a claim of the pod is
// replaced by an inline volume that is called like its PersistentVolume, so that it comes to its path.
func (g *workload) renamesInline(i int, name string) {
	s := &g.pods[i]
	how := g.pick("workload.rename-inline", name, 0, 12, 1, 1)
	if how == 0 {
		return
	}
	s.inline = s.inline || how == 1
	g.at(g.time("workload.rename-inline-time", name, 0, cases.Chaos), name, func() {
		p := g.current(i)
		switch {
		case how == 1 && g.isTold:
			s.otherwise = !s.otherwise
		case how == 2:
			s.inline, s.disguised = true, true
		default:
			return
		}
		s.edits++
		g.r.isEdited, g.r.isRenamed = true, true
		if p != nil && p.isWanted {
			g.apply(i)
			p.isSteady = false
		}
	})
}

// editsVolume changes a volume in a way that it must be staged again.
func (g *workload) editsVolume(i int) {
	name := "pv-" + strconv.Itoa(i)
	if g.pick("workload.pv", name, 0, 8, 1) == 0 {
		return
	}
	g.at(g.time("workload.pv-time", name, 0, cases.Chaos), name, func() {
		g.edits[i].edits++
		g.r.isEdited = true
		g.r.give(g.stock.volume(i, g.edits[i]))
	})
}
