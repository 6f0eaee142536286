package scenarios

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is people, and disks, that change the agent's own files in place: the file stays, and is not what the agent
// has written.

// A wound is how a file is damaged in place.
type wound uint8

const (
	isCut         wound = iota // it ends there
	isOverwritten              // somebody else's bytes are there
	isRegrown                  // it was cut there, and made as long again: zeros
	isZeroed                   // zeros are in the middle of it
)

// woundable are the own files that are changed in place; "" is the present generation of the journal, and a directory one
// of the files in it.
var woundable = []string{"", "journal/journal.spare", "identity", "deletions.log", "manifests", "manifests/.ledger.json"}

// frameMagic begins each frame of a journal: see engine/journal.
const frameMagic = "\xffvj\xfe"

// garbage is what is written over own files.
var garbage = bytes.Repeat([]byte("garbage."), 128)

// spoilt is damage to a generation of the journal that a reader can see. Records are lost, so the agent must report it.
type spoilt struct {
	file   string
	at     int
	was    []byte
	since  hal.Instant
	how    wound
	boot   hal.BootID // of the life that had written the file
	isRead bool       // by the present life
	isGone bool       // the whole journal is
}

// isSpoilt says whether the damage is there still: nobody has begun another generation.
func (r *run) isSpoilt() bool {
	s := &r.root.spoilt
	if s.isGone {
		_, isNode := r.w.Exists(identity.File(lang.RootDir))
		return isNode && r.present() == ""
	}
	if s.file == "" || s.file != r.present() {
		return false
	}
	is := r.w.ReadFile(s.file)
	return len(is) < s.at+len(s.was) || !bytes.Equal(is[s.at:s.at+len(s.was)], s.was)
}

// mustTell: a start that reads the damage must say so. What a power cut has torn can be damaged no more.
func (r *run) mustTell() bool {
	return r.isSpoilt() && (r.root.spoilt.isGone || r.root.spoilt.how == isCut || r.root.spoilt.boot == r.w.BootID())
}

// present is the file of the newest generation of the journal, "" if there is none.
func (r *run) present() (file string) {
	newest := uint64(0)
	for _, name := range r.w.Entries(journalDir) {
		if g, is := journal.Generation(name); is && g >= newest {
			newest, file = g, journalDir+"/"+name
		}
	}
	return file
}

// wounds changes own files of the agent in place, from a point on, in thousandths of what is written, and so many bytes
// of them.
func (r *run) wounds(name string, how wound, point, length int64) {
	if _, isNode := r.w.Exists(identity.File(lang.RootDir)); !isNode {
		return
	}
	file := identity.Dir(lang.RootDir) + "/" + name
	if name == "" {
		file = r.present()
	}
	if all := r.w.Entries(file); len(all) > 0 {
		file += "/" + all[int(point)%len(all)]
	}
	if !r.wound(file, how, point, length) {
		return
	}
	r.root.woundedAt = r.w.Now()
	if name == "deletions.log" {
		r.losesLog()
		r.announced.older = append(r.announced.older, r.w.ReadFile(deletionsLog)...) // what it says now is not the agent's
	}
	r.hasLost()
	r.awaitsTelling(r.w.Life(), noticing, file, r.keepsDamage(file))
}

// overwritePack is somebody who writes over the copies of manifests that lie together.
func (t *scene) overwritePack() string {
	for _, name := range t.w.Entries(copiesDir) {
		if strings.HasPrefix(name, ".pack-") {
			t.r.wounds("manifests/"+name, isOverwritten, 950, 7) // what it says can still be read
			return ""
		}
	}
	return "no copies of manifests lie together; write: objects from files; and apply more than four of them at once"
}

// awaitsTelling judges a life that runs beside damage, once it has had the time to notice it.
func (r *run) awaitsTelling(life uint32, after time.Duration, file string, isLeft func() bool) {
	r.w.After(after, "somebody looks whether the damage was noticed", func() {
		more := r.w.StalledUntil().Add(noticing).Sub(r.w.Now())
		switch {
		case r.w.Life() != life || !r.alive():
		case more > 0: // a life notices nothing while it is stopped
			r.awaitsTelling(life, more, file, isLeft)
		case isLeft():
			r.judges("S30")
			r.fail("S30", "copies", path.Base(file), "somebody has damaged "+file+" in place, and the agent lives and leaves it")
		case r.w.Now().Sub(r.root.spoilt.since) >= noticing:
			r.noticed("lives and writes on behind it")
		}
	})
}

// keepsDamage says whether a damaged copy of a manifest, or the ledger of them, is still as it is now, and the manifest too.
func (r *run) keepsDamage(file string) func() bool {
	damaged, manifest := r.w.ReadFile(file), lang.ManifestDir+"/"+path.Base(file)
	source := r.w.ReadFile(manifest)
	_, isThere := r.w.Exists(manifest)
	isOurs := path.Base(path.Dir(file)) == "manifests" && (isThere || strings.HasPrefix(path.Base(file), "."))
	return func() bool {
		_, isLeft := r.w.Exists(file) // what is gone is no empty file
		return isOurs && isLeft && bytes.Equal(r.w.ReadFile(file), damaged) && bytes.Equal(r.w.ReadFile(manifest), source)
	}
}

// wound reports whether it has changed a file.
func (r *run) wound(file string, how wound, point, length int64) bool {
	data := r.w.ReadFile(file)
	used := int64(len(bytes.TrimRight(data, "\x00")))
	from := used * point / 1000
	to := min(from+length, used)
	if from >= to || r.hasOthers() { // what is left of another node's journal may not say so any more
		return false
	}
	before := bytes.Clone(data)
	switch how {
	case isCut:
		data, to = data[:from], used
	case isRegrown:
		to = used
		clear(data[from:])
	case isOverwritten:
		copy(data[from:to], garbage)
	case isZeroed:
		clear(data[from:to])
	}
	if bytes.Equal(data, before) ||
		how == isZeroed && file == r.present() && !bytes.Contains(data[to:used], []byte(frameMagic)) {
		return false // nobody could tell such zeros from what was never written
	}
	r.w.WriteFile(file, data)
	if file == r.present() && how != isRegrown && !r.isSpoilt() {
		r.root.spoilt = spoilt{file: file, at: int(from), was: before[from:to], how: how, boot: r.root.boot, since: r.w.Now()}
	}
	return true
}

// noticed is S30: damage that loses records is told.
func (r *run) noticed(how string) {
	r.judges("S30")
	if s := &r.root.spoilt; r.isSpoilt() {
		r.fail("S30", "silent", path.Base(s.file), fmt.Sprintf(
			"somebody has damaged %s in place at byte %d, and the agent %s, and tells nobody", s.file, s.at, how))
	}
}

// tellsOfDamage reads the log for what tells of damage.
func (r *run) tellsOfDamage(e engine.Entry) {
	switch e.Message {
	case "journal damaged", "own file removed":
		r.root.spoilt = spoilt{}
	case "started":
		if r.root.spoilt.isRead {
			r.judges("S30")
			r.fail("S30", "silent", path.Base(r.root.spoilt.file), fmt.Sprintf(
				"somebody has damaged %s in place at byte %d, and a start that has read it tells nobody",
				r.root.spoilt.file, r.root.spoilt.at))
		}
	}
}

// planWounds draws how own files are changed in place: under a living agent, or while it is away.
func (g *workload) planWounds() {
	for n := range 2 {
		when := g.pick("workload.wound", "", n, 10, 2, 1)
		odds := []uint32{4, 1, 1, 1, 0, 0}
		if g.setup.Files {
			odds = []uint32{2, 1, 1, 1, 8, 2}
		}
		which := woundable[g.pick("workload.wound-which", "", n, odds...)]
		how := wound(g.pick("workload.wound-how", "", n, 1, 1, 1, 1))
		point := g.choose.Between(sim.NewID("workload.wound-at", "", uint32(n)), 0, 999)
		length := g.choose.Between(sim.NewID("workload.wound-length", "", uint32(n)), 1, int64(len(garbage)))
		if when == 0 {
			continue
		}
		if which == "" && how == isRegrown {
			how = isCut // zeros at its end are what a power cut leaves as well: an agent that dies too soon can't know
		}
		g.at(g.time("workload.wound-time", "", n, cases.Chaos), "own files in place", func() {
			if when == 2 {
				g.r.sleeps(time.Second + g.time("workload.away", "wound", n, awayMost))
			}
			g.r.wounds(which, how, point, length)
		})
	}
}

// rots turns a byte of the journal while no agent lives.
func (r *run) rots() {
	if r.w.AgentLives() || !r.spoilsJournal() {
		return
	}
	r.forgets()
}

// spoilsJournal turns a byte in the middle of what the journal holds. It reports whether there is one.
func (r *run) spoilsJournal() bool {
	dir := journalDir
	name, used := "", []byte(nil)
	for _, file := range r.w.Entries(dir) {
		if data := bytes.TrimRight(r.w.ReadFile(dir+"/"+file), "\x00"); len(data) > len(used) {
			name, used = file, data
		}
	}
	if len(used) == 0 {
		return false
	}
	data := r.w.ReadFile(dir + "/" + name)
	data[len(used)/2] ^= 0x40
	r.w.WriteFile(dir+"/"+name, data)
	return true
}
