package engine

import (
	"syscall"
	"time"

	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/hal"
)

// This file notices that somebody has removed the agent's own files while it runs. What they hold is in memory, so they are made again: a start without
// them would not know what this life has done.

// ownAgain is when own files are looked at once more that could not be looked at.
const ownAgain = time.Second

// own is the watch over the agent's own files.
type own struct {
	isLooking bool
	again     bool   // something changed since the look began
	journal   string // the file of the journal that is followed
	end       func() // the end of that
}

// watchOwn begins the watch.
func (m *VolumeManager) watchOwn() {
	for _, dir := range []string{m.cfg.RootDir, identity.Dir(m.cfg.RootDir)} {
		m.h.Watches.Directory(dir, m.ownChanged)
	}
	m.followJournal()
}

// followJournal watches the present file of the journal: it may go alone, and its directory stay.
func (m *VolumeManager) followJournal() {
	file := m.journal.File()
	if file == m.own.journal {
		return
	}
	m.own.journal = file
	m.h.Runtime.Go(func() {
		end := m.h.Watches.Path(file, m.ownChanged)
		m.h.Runtime.Post(func() {
			if m.own.journal != file {
				end()
				return
			}
			if m.own.end != nil {
				m.own.end()
			}
			m.own.end = end
		})
	})
}

// ownChanged looks whether the agent's own files are there.
func (m *VolumeManager) ownChanged() {
	if m.own.isLooking || m.commits.busy {
		m.own.again = true
		return
	}
	m.own.isLooking, m.own.again = true, false
	file, id := m.journal.File(), identity.File(m.cfg.RootDir)
	m.h.Runtime.Go(func() {
		_, journalErr := m.h.Tree.Stat(hal.Call{}, file)
		_, idErr := m.h.Tree.Stat(hal.Call{}, id)
		if hal.Is(idErr, syscall.ENOENT) {
			idErr = identity.Write(&m.h, hal.Call{}, m.cfg.RootDir, m.identity)
			m.h.Runtime.Post(func() { m.lost(id) })
		}
		m.h.Runtime.Post(func() { m.ownSeen(file, journalErr, idErr) })
	})
}

// ownSeen takes in a look at the own files.
func (m *VolumeManager) ownSeen(file string, journalErr, idErr error) {
	m.own.isLooking = false
	isSame := !m.commits.busy && m.journal.File() == file // else the journal was written meanwhile, and it is another file by now
	if hal.Is(journalErr, syscall.ENOENT) && isSame && m.journal.Stats().Why == "" {
		m.lost(file)
		m.journal.Lose(journalErr)
		m.mend()
	}
	if m.own.again || idErr != nil || journalErr != nil && (!hal.Is(journalErr, syscall.ENOENT) || !isSame) {
		m.h.Runtime.At(m.h.Runtime.Now().Add(ownAgain), m.ownChanged)
	}
}

// lost tells that an own file was removed.
func (m *VolumeManager) lost(file string) {
	text := file + ": it was removed while volnode ran, or a mount hides it; volnode writes it again from memory. Find out who did that"
	m.damage = append(m.damage, text)
	m.damage = m.damage[max(0, len(m.damage)-maxDamage):]
	m.log(LevelError, "own file removed", "file", file, "next", "it is written again from memory")
}

// maxDamage is how much damage the status tells of.
const maxDamage = 20
