package judges

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is people, and disks, that change the agent's own files in place: the file stays, and is not what the agent
// has written.

const (
	IsCut         world.Wound = iota // it ends there
	IsOverwritten                    // somebody else's bytes are there
	IsRegrown                        // it was cut there, and made as long again: zeros
	isZeroed                         // zeros are in the middle of it
)

// Woundable are the own files that are changed in place; "" is the present generation of the journal, and a directory
// one of the files in it.
var Woundable = []string{
	"", "journal/journal.spare", "identity", "deletions.log", "manifests",
	"manifests/.ledger.json",
}

// frameMagic begins each frame of a journal: see engine/journal.
const frameMagic = "\xffvj\xfe"

// The header of a journal has nothing but zeros there.
const zerosFrom, zerosTo = 40, 60

// Garbage is what is written over own files.
var Garbage = bytes.Repeat([]byte("garbage."), 128)

// isSpoilt says whether the damage is there still: nobody has begun another generation.
func isSpoilt(r *world.Run) bool {
	s := &r.Root.Spoilt
	if s.IsGone {
		_, isNode := r.W.Exists(identity.File(lang.RootDir))
		return isNode && present(r) == ""
	}
	if s.File == "" || s.File != present(r) {
		return false
	}
	is := r.W.ReadFile(s.File)
	return len(is) < s.At+len(s.Was) || !bytes.Equal(is[s.At:s.At+len(s.Was)], s.Was)
}

// mustTell: a start that reads the damage must say so. What a power cut has torn can be damaged no more.
func mustTell(r *world.Run) bool {
	return isSpoilt(r) && (r.Root.Spoilt.IsGone || r.Root.Spoilt.How == IsCut || r.Root.Spoilt.Boot == r.W.BootID())
}

// present is the file of the newest generation of the journal, "" if there is none.
func present(r *world.Run) (file string) {
	newest := uint64(0)
	for _, name := range r.W.Entries(JournalDir) {
		if g, is := journal.Generation(name); is && g >= newest {
			newest, file = g, JournalDir+"/"+name
		}
	}
	return file
}

// Wounds changes own files of the agent in place, from a point on, in thousandths of what is written, and so many bytes
// of them.
func Wounds(r *world.Run, name string, how world.Wound, point, length int64) {
	if _, isNode := r.W.Exists(identity.File(lang.RootDir)); !isNode {
		return
	}
	file := identity.Dir(lang.RootDir) + "/" + name
	if name == "" {
		file = present(r)
	}
	if all := r.W.Entries(file); len(all) > 0 {
		file += "/" + all[int(point)%len(all)]
	}
	logged := r.W.ReadFile(dealings.DeletionsLog)
	if !wound(r, file, how, point, length) {
		return
	}
	r.Root.WoundedAt = r.W.Now()
	if name == "deletions.log" {
		dealings.LosesLog(r)
		for _, entry := range deletions.Parse(logged) { // the name of the log may not be durable yet
			r.Announced.Taken[entry.Path] = r.W.Now()
		}
		notTheAgents := r.W.ReadFile(dealings.DeletionsLog)
		r.Announced.Older = append(r.Announced.Older, notTheAgents...)
	}
	hasLost(r)
	awaitsTelling(r, r.W.Life(), dealings.Noticing, file, keepsDamage(r, file))
}

// awaitsTelling judges a life that runs beside damage, once it has had the time to notice it.
func awaitsTelling(r *world.Run, life uint32, after time.Duration, file string, isLeft func() bool) {
	r.W.After(after, "somebody looks whether the damage was noticed", func() {
		more := r.W.StalledUntil().Add(dealings.Noticing).Sub(r.W.Now())
		switch {
		case r.W.Life() != life || !r.Alive():
		case more > 0: // a life notices nothing while it is stopped
			awaitsTelling(r, life, more, file, isLeft)
		case isLeft():
			r.Judges("S30")
			r.Fail("S30", "copies", path.Base(file),
				"somebody has damaged "+file+" in place, and the running agent leaves it damaged")
		case r.W.Now().Sub(r.Root.Spoilt.Since) >= dealings.Noticing:
			noticed(r, "lives and writes on behind it")
		}
	})
}

// keepsDamage says whether a damaged copy of a manifest, or the ledger of them, is still as it is now, and the
// manifest too.
func keepsDamage(r *world.Run, file string) func() bool {
	damaged, manifest := r.W.ReadFile(file), lang.ManifestDir+"/"+path.Base(file)
	source := r.W.ReadFile(manifest)
	_, isThere := r.W.Exists(manifest)
	isOurs := path.Base(path.Dir(file)) == "manifests" && (isThere || strings.HasPrefix(path.Base(file), "."))
	return func() bool {
		_, isLeft := r.W.Exists(file) // what is gone is no empty file
		return isOurs && isLeft && bytes.Equal(r.W.ReadFile(file), damaged) &&
			bytes.Equal(r.W.ReadFile(manifest), source)
	}
}

// wound reports whether it has changed a file.
func wound(r *world.Run, file string, how world.Wound, point, length int64) bool {
	data := r.W.ReadFile(file)
	used := int64(len(bytes.TrimRight(data, "\x00")))
	from := used * point / 1000
	to := min(from+length, used)
	if from >= to || hasOthers(r) { // what is left of another node's journal may not say so any more
		return false
	}
	before := bytes.Clone(data)
	switch how {
	case IsCut:
		data, to = data[:from], used
	case IsRegrown:
		to = used
		clear(data[from:])
	case IsOverwritten:
		copy(data[from:to], Garbage)
	case isZeroed:
		clear(data[from:to])
	}
	if how == isZeroed && file == present(r) && from >= zerosFrom && to <= zerosTo {
		return false // it would mend what somebody else has damaged
	}
	if bytes.Equal(data, before) ||
		how == isZeroed && file == present(r) && !bytes.Contains(data[to:used], []byte(frameMagic)) {
		return false // nobody could tell such zeros from what was never written
	}
	r.W.WriteFile(file, data)
	if file == present(r) && how != IsRegrown && !isSpoilt(r) {
		r.Root.Spoilt = world.Spoilt{
			File: file, At: int(from), Was: before[from:to], How: how, Boot: r.Root.Boot,
			Since: r.W.Now(),
		}
	}
	return true
}

// noticed is S30: damage that loses records is told.
func noticed(r *world.Run, how string) {
	r.Judges("S30")
	if s := &r.Root.Spoilt; isSpoilt(r) {
		r.Fail("S30", "silent", path.Base(s.File), fmt.Sprintf(
			"somebody has damaged %s in place at byte %d, and the agent %s, and does not report it", s.File, s.At, how))
	}
}

// TellsOfDamage looks for events that report damage.
func TellsOfDamage(r *world.Run, e engine.Event) {
	switch e.(type) {
	case engine.JournalDamaged, engine.OwnFileRemoved:
		r.Root.Spoilt = world.Spoilt{}
	case engine.Started:
		if r.Root.Spoilt.IsRead {
			r.Judges("S30")
			r.Fail("S30", "silent", path.Base(r.Root.Spoilt.File), fmt.Sprintf(
				"somebody has damaged %s in place at byte %d, and a start that has read it does not report it",
				r.Root.Spoilt.File, r.Root.Spoilt.At))
		}
	}
}

// Rots turns a byte of the journal while no agent lives.
func Rots(r *world.Run) {
	if r.W.AgentLives() || !SpoilsJournal(r) {
		return
	}
	Forgets(r)
}

// SpoilsJournal turns a byte in the middle of what the journal holds. It reports whether there is one.
func SpoilsJournal(r *world.Run) bool {
	dir := JournalDir
	name, used := "", []byte(nil)
	for _, file := range r.W.Entries(dir) {
		if data := bytes.TrimRight(r.W.ReadFile(dir+"/"+file), "\x00"); len(data) > len(used) {
			name, used = file, data
		}
	}
	if len(used) == 0 {
		return false
	}
	data := r.W.ReadFile(dir + "/" + name)
	data[len(used)/2] ^= 0x40
	r.W.WriteFile(dir+"/"+name, data)
	return true
}
