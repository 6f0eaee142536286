package engine

import (
	"slices"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/hal"
)

// commits is the queue of batches on their way into the journal. One write is under way at a time; what comes meanwhile
// shares the next one.
type commits struct {
	busy      bool
	writing   core.Batch       // what that write is of
	withheld  []hal.OpID       // of its operations, those that the log of deletions does not have
	refused   []hal.OpID       // of its operations, those that are not started: the journal has no room for them
	turned    []hal.Key        // the rungs of its lines that the journal has no room for
	noRoom    string           // why not
	isWaiting bool             // a batch waits, be it an empty one
	waiting   core.Batch       // all batches that wait, as one
	spare     core.Batch       // the memory of the next one
	held      []core.Waiter    // whose confirmed record could not be written yet
	failed    bool             // the journal has lines that it could not write
	unlogged  bool             // the log of deletions could not be written when it was last tried
	mending   bool             // a batch to mend it is queued
	unwritten map[hal.Key]bool // the rungs that are confirmed by a line that is not written yet
	said      string           // why the journal could not be written, as it was logged last; "" since it was written
	sayAgain  hal.Instant      // that is logged once more from then on
	saidFor   time.Duration    // how long before that it was logged
}

// saysAgain is when a failure that goes on is logged once more: after a minute, and then ever more rarely, up to
// saysAgainMax.
const (
	saysAgain    = time.Minute
	saysAgainMax = time.Hour
)

// isNews reports whether a failure is to be logged: another one is at once.
func (c *commits) isNews(now hal.Instant, why string) bool {
	if why == c.said && now < c.sayAgain {
		return false
	}
	if why != c.said {
		c.saidFor = 0
	}
	c.said, c.saidFor = why, min(max(2*c.saidFor, saysAgain), saysAgainMax)
	c.sayAgain = now.Add(c.saidFor)
	return true
}

// note remembers which rungs the lines confirm, until these are written: no status shows them as up before.
func (c *commits) note(lines []core.Line) {
	for i := range lines {
		l := &lines[i]
		if l.Record.Phase == core.Confirmed && l.Record.Rung.Pod != "" && !l.Drop {
			c.unwritten[l.Key] = true
		}
	}
}

// written forgets them, but for those of batches that wait.
func (c *commits) written() {
	clear(c.unwritten)
	c.note(c.waiting.Lines)
}

// journalRetry is the wait before the journal is written again after a failure.
const journalRetry = time.Second

// dispatch carries out a batch: its lines are in the journal, durable where they ask for it, before its operations
// start and its waiters wake. It keeps nothing of the batch's own memory.
func (m *VolumeManager) dispatch(b core.Batch) {
	if slices.ContainsFunc(b.Lines, func(l core.Line) bool { return l.Drop }) {
		m.objects.changed(volumeRef)
	}
	for i := range b.Lines {
		l := &b.Lines[i]
		if l.Record.Rung.Kind == core.KindActs {
			m.log(LevelError, "driver acts after it answers: no error of this driver ends a call from here on", "driver",
				l.Record.Rung.Actor)
		}
		if l.Drop {
			delete(m.deleting.told, l.Key)
		}
	}
	if len(b.Lines) == 0 && len(b.Start) == 0 && len(b.Wake) == 0 {
		return
	}
	isIdle := !m.commits.busy && !m.commits.isWaiting && !m.commits.failed
	if isIdle && len(b.Lines) == 0 && len(m.announcementOf(b.Start).waiting) == 0 {
		m.release(b)
		return
	}
	m.commits.note(b.Lines)
	all := &m.commits.waiting
	all.Lines, all.Start, all.Wake = append(all.Lines, b.Lines...), append(all.Start, b.Start...),
		append(all.Wake, b.Wake...)
	m.commits.isWaiting = true
	m.commit()
}

// commit writes all waiting batches at once.
func (m *VolumeManager) commit() {
	if m.commits.busy || !m.commits.isWaiting {
		return
	}
	all := m.commits.waiting
	m.commits.isWaiting, m.commits.waiting, m.commits.spare = false, m.commits.spare, core.Batch{}
	turned := m.journal.Admit(all.Lines)
	if len(turned) > 0 && m.journal.Press() {
		m.commits.isWaiting, m.commits.waiting, all, turned = true, all, core.Batch{}, nil // it comes after
	}
	refused := turnAway(&all, turned)
	m.commits.busy, m.commits.writing, m.commits.refused, m.commits.turned = true, all, refused, turned
	if len(turned) > 0 {
		m.commits.noRoom = m.journal.Refusal()
	}
	batch := m.journal.Take(all.Lines)
	a := m.announcementOf(all.Start)
	m.h.Runtime.Go(func() {
		stands, unlogged := m.deleting.log.Append(&m.h, hal.Call{}, a.entries, a.told)
		batch.Write(&m.h, hal.Call{})
		m.h.Runtime.Post(func() {
			why := ""
			if m.commits.unlogged && unlogged == nil && len(a.entries) > 0 {
				defer step(&m.port, core.Written{})
			}
			m.commits.unlogged = unlogged != nil || m.commits.unlogged && len(a.entries) == 0
			if unlogged != nil {
				why = reason("cannot write the log of deletions; volnode deletes nothing until it can", unlogged) +
					"; " +
					hal.DiskAdvice(identity.Dir(m.cfg.RootDir), unlogged)
				if stands {
					m.withhold(a.keys)
				} else {
					m.withhold(a.waiting)
				}
			} else {
				m.announced(a)
			}
			m.committed(batch, why)
		})
	})
}

// withhold takes the teardowns of rungs out of the batch that was just written: their deletion is not in the log.
func (m *VolumeManager) withhold(keys []hal.Key) {
	b := &m.commits.writing
	b.Start = slices.DeleteFunc(b.Start, func(op core.Op) bool {
		isHeld := op.Verb == core.TearDown && slices.Contains(keys, op.Key)
		if isHeld {
			m.commits.withheld = append(m.commits.withheld, op.ID)
		}
		return isHeld
	})
}

// turnAway takes the lines and operations of rungs out of a batch for whose ladders the journal has no room, and
// returns these operations.
func turnAway(b *core.Batch, keys []hal.Key) (refused []hal.OpID) {
	if len(keys) == 0 {
		return nil
	}
	b.Lines = slices.DeleteFunc(b.Lines, func(l core.Line) bool { return slices.Contains(keys, l.Key) })
	b.Start = slices.DeleteFunc(b.Start, func(op core.Op) bool {
		if !slices.Contains(keys, op.Key) {
			return false
		}
		refused = append(refused, op.ID)
		return true
	})
	return refused
}

func (m *VolumeManager) committed(batch *journal.Batch, unlogged string) {
	b, refused, turned, withheld, noRoom := m.commits.writing, m.commits.refused, m.commits.turned, m.commits.withheld,
		m.commits.noRoom
	m.commits.busy, m.commits.writing, m.commits.refused, m.commits.turned, m.commits.withheld = false, core.Batch{},
		nil, nil, nil
	if len(withheld) > 0 {
		defer step(&m.port, core.Refused{Ops: withheld, Reason: unlogged, IsUnwritten: true})
	}
	err := m.journal.Complete(batch)
	m.own.looks = 0
	m.commits.failed = err != nil
	m.mend()
	if hal.Is(err, syscall.ENOENT) || hal.Is(err, syscall.ERANGE) {
		m.lost(m.journal.File(), "")
	}
	if m.own.again {
		m.ownChanged()
	}
	m.followJournal()
	if err != nil {
		if m.commits.isNews(m.h.Runtime.Now(), err.Error()) {
			m.log(LevelError, "journal not written; volnode starts nothing", "error", err.Error(), "next", "volnode "+
				"tries again each second, and logs this again in "+m.commits.saidFor.String())
		}
		for _, id := range b.Wake {
			if m.waits[id].on == core.PodReady {
				// an end need not be written: what the records tell of is looked at by the next start
				m.commits.held = append(m.commits.held, id)
			} else {
				m.release(core.Batch{Wake: []core.Waiter{id}})
			}
		}
		var ops []hal.OpID
		for _, op := range b.Start {
			ops = append(ops, op.ID)
		}
		step(&m.port, core.Refused{
			Ops: append(ops, refused...), Keys: turned,
			Reason: err.Error() + "; " + hal.DiskAdvice(m.cfg.journalDir(), err), IsUnwritten: true,
		})
		return
	}
	if m.commits.said != "" {
		m.log(LevelInfo, "journal is written again", "error", "earlier: "+m.commits.said)
		m.commits.said = ""
		defer step(&m.port, core.Written{})
	}
	m.commits.written()
	b.Wake = slices.Insert(b.Wake, 0, m.commits.held...)
	m.commits.held = nil
	m.release(b)
	m.commits.spare = b.Emptied()
	if len(turned) > 0 {
		step(&m.port, core.Refused{Ops: refused, Keys: turned, Reason: noRoom})
	}
	m.commit()
	m.checkStopped()
}

// mend writes an empty batch some time after something went wrong with the journal: with it the journal mends itself.
func (m *VolumeManager) mend() {
	if m.commits.mending || m.journal.Stats().Why == "" {
		return
	}
	m.commits.mending = true
	m.h.Runtime.At(m.h.Runtime.Now().Add(journalRetry), func() {
		m.commits.mending = false
		if m.journal.Stats().Why != "" && !m.stopping {
			m.commits.isWaiting = true
			m.commit()
		}
	})
}

// release starts the operations of a batch and wakes its waiters.
func (m *VolumeManager) release(b core.Batch) {
	if m.stopping {
		m.refuseAll(b.Start)
		b.Start = nil
	}
	for i := range b.Start {
		m.launch(&b.Start[i])
	}
	for _, id := range b.Wake {
		if w, is := m.waits[id]; is {
			delete(m.waits, id)
			w.done()
		}
	}
}

// refuseAll ends operations that are not begun because the manager stops, so that the journal does not say that they
// may have been.
func (m *VolumeManager) refuseAll(ops []core.Op) {
	if len(ops) == 0 {
		return
	}
	var ids []hal.OpID
	for _, op := range ops {
		ids = append(ids, op.ID)
	}
	step(&m.port, core.Refused{Ops: ids, Reason: "the volume manager is stopping"})
}
