package engine

import (
	"slices"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/hal"
)

// commits is the queue of batches on their way into the journal. One write is under way at a time; what comes meanwhile
// shares the next one.
type commits struct {
	*port
	journal  *journal.Journal // nil until a start has read the node
	deleting *deleting        // the log of deletions, which is written first
	waits    *waits           // whom a written record may make ready
	launch   func(*core.Op)   // starts an operation. Invariant: its intent is durable.
	dropped  func()           // told that records have gone
	wrote    func(error)      // is called when a write of the journal ends

	busy      bool             // a write is under way
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

func newCommits(p *port, d *deleting, w *waits, launch func(*core.Op)) *commits {
	return &commits{port: p, deleting: d, waits: w, launch: launch, unwritten: map[hal.Key]bool{}}
}

// isUnwritten reports whether a rung is confirmed by a line that is not written yet.
func (c *commits) isUnwritten(key hal.Key) bool { return c.unwritten[key] }

// isWriting reports whether a write of the journal is under way.
func (c *commits) isWriting() bool { return c.busy }

// note remembers which rungs the lines confirm, until these are written: no status shows them as up before.
func (c *commits) note(lines []core.Line) {
	for i := range lines {
		l := &lines[i]
		if l.Record.Phase == core.Confirmed && l.Record.Rung.Pod != "" && !l.Drop && !l.Again {
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
func (c *commits) dispatch(b core.Batch) {
	if slices.ContainsFunc(b.Lines, func(l core.Line) bool { return l.Drop }) {
		c.dropped()
	}
	for i := range b.Lines {
		l := &b.Lines[i]
		if l.Record.Rung.Kind == core.KindActs {
			c.emit(DriverActsAfterReply{l.Record.Rung.Actor})
		}
		if l.Drop {
			delete(c.deleting.told, l.Key)
		}
	}
	if len(b.Lines) == 0 && len(b.Start) == 0 && len(b.Wake) == 0 {
		return
	}
	isIdle := !c.busy && !c.isWaiting && !c.failed
	if isIdle && len(b.Lines) == 0 && len(c.deleting.announcementOf(b.Start).waiting) == 0 {
		c.release(b)
		return
	}
	c.note(b.Lines)
	all := &c.waiting
	all.Lines, all.Start, all.Wake = append(all.Lines, b.Lines...), append(all.Start, b.Start...),
		append(all.Wake, b.Wake...)
	c.isWaiting = true
	c.commit()
}

// commit writes all waiting batches at once.
func (c *commits) commit() {
	if c.busy || !c.isWaiting {
		return
	}
	all := c.waiting
	c.isWaiting, c.waiting, c.spare = false, c.spare, core.Batch{}
	turned := c.journal.Admit(all.Lines)
	if len(turned) > 0 && c.journal.Press() {
		c.isWaiting, c.waiting, all, turned = true, all, core.Batch{}, nil // it comes after
	}
	refused := turnAway(&all, turned)
	c.busy, c.writing, c.refused, c.turned = true, all, refused, turned
	if len(turned) > 0 {
		c.noRoom = c.journal.Refusal()
	}
	batch := c.journal.Take(all.Lines)
	a := c.deleting.announcementOf(all.Start)
	c.h.Runtime.Go(func() {
		stands, unlogged := c.deleting.log.Append(&c.h, hal.Call{}, a.entries, a.told)
		batch.Write(&c.h, hal.Call{})
		c.h.Runtime.Post(func() {
			why := ""
			if c.unlogged && unlogged == nil && len(a.entries) > 0 {
				defer step(c.port, core.Written{})
			}
			c.unlogged = unlogged != nil || c.unlogged && len(a.entries) == 0
			if unlogged != nil {
				why = reason("cannot write the log of deletions; volnode deletes nothing until it can", unlogged) +
					"; " +
					hal.DiskAdvice(identity.Dir(c.cfg.RootDir), unlogged)
				if stands {
					c.withhold(a.keys)
				} else {
					c.withhold(a.waiting)
				}
			} else {
				c.deleting.announced(a)
			}
			c.committed(batch, why)
		})
	})
}

// withhold takes the teardowns of rungs out of the batch that was just written: their deletion is not in the log.
func (c *commits) withhold(keys []hal.Key) {
	b := &c.writing
	b.Start = slices.DeleteFunc(b.Start, func(op core.Op) bool {
		isHeld := op.Verb == core.TearDown && slices.Contains(keys, op.Key)
		if isHeld {
			c.withheld = append(c.withheld, op.ID)
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

func (c *commits) committed(batch *journal.Batch, unlogged string) {
	b, refused, turned, withheld, noRoom := c.writing, c.refused, c.turned, c.withheld, c.noRoom
	c.busy, c.writing, c.refused, c.turned, c.withheld = false, core.Batch{}, nil, nil, nil
	if len(withheld) > 0 {
		defer step(c.port, core.Refused{Ops: withheld, Reason: unlogged, IsUnwritten: true})
	}
	err := c.journal.Complete(batch)
	c.failed = err != nil
	c.mend()
	c.wrote(err)
	if err != nil {
		if c.isNews(c.h.Runtime.Now(), err.Error()) {
			c.emit(JournalUnwritten{err.Error(), c.saidFor})
		}
		for _, id := range b.Wake {
			if c.waits.isForReady(id) {
				// an end need not be written: what the records tell of is looked at by the next start
				c.held = append(c.held, id)
			} else {
				c.release(core.Batch{Wake: []core.Waiter{id}})
			}
		}
		var ops []hal.OpID
		for _, op := range b.Start {
			ops = append(ops, op.ID)
		}
		step(c.port, core.Refused{
			Ops: append(ops, refused...), Keys: turned,
			Reason: err.Error() + "; " + hal.DiskAdvice(c.cfg.journalDir(), err), IsUnwritten: true,
		})
		return
	}
	if c.said != "" {
		c.emit(JournalWritten{c.said})
		c.said = ""
		defer step(c.port, core.Written{})
	}
	c.written()
	b.Wake = slices.Insert(b.Wake, 0, c.held...)
	c.held = nil
	c.release(b)
	c.spare = b.Emptied()
	if len(turned) > 0 {
		step(c.port, core.Refused{Ops: refused, Keys: turned, Reason: noRoom})
	}
	c.commit()
	c.rested()
}

// mend writes an empty batch some time after something went wrong with the journal: with it the journal mends itself.
func (c *commits) mend() {
	if c.mending || c.journal.Stats().Why == "" {
		return
	}
	c.mending = true
	c.h.Runtime.At(c.h.Runtime.Now().Add(journalRetry), func() {
		c.mending = false
		if c.journal.Stats().Why != "" && !c.stopping {
			c.isWaiting = true
			c.commit()
		}
	})
}

// release starts the operations of a batch and wakes its waiters.
func (c *commits) release(b core.Batch) {
	if c.stopping {
		c.refuseAll(b.Start)
		b.Start = nil
	}
	for i := range b.Start {
		c.launch(&b.Start[i])
	}
	for _, id := range b.Wake {
		c.waits.wake(id)
	}
}

// refuseAll ends operations that are not begun because the manager stops, so that the journal does not say that they
// may have been.
func (c *commits) refuseAll(ops []core.Op) {
	if len(ops) == 0 {
		return
	}
	var ids []hal.OpID
	for _, op := range ops {
		ids = append(ids, op.ID)
	}
	step(c.port, core.Refused{Ops: ids, Reason: "the volume manager is stopping"})
}

// status is what the journal can do at present.
func (c *commits) status() (s JournalStatus) {
	if c.journal != nil {
		stats := c.journal.Stats()
		s.Records, s.Bytes, s.Size, s.Why = stats.Records, stats.Bytes, stats.Size, stats.Why
	}
	return s
}
