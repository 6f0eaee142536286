package engine

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/hal"
)

// This file notices that somebody has removed or replaced the agent's own files while it runs, or has damaged the
// identity file. What they hold is in memory, so they are made again: a start without them would not know what this
// life has done, and one with a damaged identity file would be refused.

// ownAgain is when own files are looked at once more that could not be looked at.
const ownAgain = time.Second

// contentEvery is how often the content of the journal is compared with what was written, if its file has changed since.
const contentEvery = 2 * time.Minute

// own is the watch over the agent's own files.
type own struct {
	isLooking bool
	isWaiting bool     // for the next inspection, after one that failed
	again     bool     // something changed since the inspection began
	journal   string   // the file of the journal that is followed
	is        hal.Info // which file that is, and its size, which does not change; zero if nobody could look
	isAsked   bool     // somebody is looking which file that is
	changed   int64    // see hal.Info, of that file at the last inspection
	looks     int      // at its content since the agent wrote it: two will do, see hal.Info.Changed
	isPlanned bool     // the next look at its content
	isDue     bool     // the next inspection is at its content as well
	end       func()   // the end of that
	identity  hal.Info // of the identity file, when it was good last; zero before the first inspection
	told      string   // why the identity file could not be written again, as logged last
}

var (
	// errReplaced: the name of the journal is another file's by now, or the file has another size.
	errReplaced = errors.New("the journal was replaced by another file, or truncated")
	// errUnsure: volnode could not look which file its journal is when it began that file.
	errUnsure = errors.New("volnode cannot tell whether the file at its journal's path is its own")
)

// whichFile tells a file from others that have had its name, or its inode, and one that was cut short from itself.
func whichFile(is hal.Info) hal.Info { return hal.Info{Inode: is.Inode, Born: is.Born, Size: is.Size} }

// watchOwn begins the watch.
func (m *VolumeManager) watchOwn() {
	for _, dir := range []string{m.cfg.RootDir, identity.Dir(m.cfg.RootDir)} {
		m.h.Watches.Directory(dir, m.ownChanged)
	}
	m.followJournal()
	m.checkLater()
}

// followJournal watches the present file of the journal: it may go alone, and its directory stay.
func (m *VolumeManager) followJournal() {
	file := m.journal.File()
	if file == m.own.journal {
		return
	}
	m.own.journal, m.own.is, m.own.isAsked, m.own.looks = file, hal.Info{}, true, 0
	m.h.Runtime.Go(func() {
		end := m.h.Watches.Path(file, m.ownChanged)
		info, err := m.h.Tree.Stat(hal.Call{}, file)
		m.h.Runtime.Post(func() {
			if m.own.journal != file {
				end()
				return
			}
			m.own.isAsked = false
			if err == nil {
				m.own.is = whichFile(info)
			} else {
				m.ownChanged()
			}
			if m.own.end != nil {
				m.own.end()
			}
			m.own.end = end
		})
	})
}

// checkLater plans the next look at the content of the journal.
func (m *VolumeManager) checkLater() {
	if m.own.isPlanned || m.stopping {
		return
	}
	m.own.isPlanned = true
	m.h.Runtime.At(m.h.Runtime.Now().Add(contentEvery), func() {
		m.own.isPlanned, m.own.isDue = false, true
		m.checkLater()
		m.ownChanged()
	})
}

// ownChanged looks whether the agent's own files are there.
func (m *VolumeManager) ownChanged() {
	if m.own.isLooking || m.own.isWaiting || m.commits.isWriting() {
		m.own.again = true
		return
	}
	m.own.isLooking, m.own.again = true, false
	file, was, own, written := m.journal.File(), m.own.identity, m.own, m.journal.Print()
	m.own.isDue = false
	m.h.Runtime.Go(func() {
		is, journalErr := m.h.Tree.Stat(hal.Call{}, file)
		isOld := own.looks > 0 && is.Changed != 0 && is.Changed == own.changed
		hasContent := own.isDue && journalErr == nil && own.is == whichFile(is) && !(isOld && own.looks > 1)
		if hasContent {
			journalErr = written.Check(&m.h, hal.Call{})
		}
		id, isBad, idErr := m.lookAtIdentity(was, own.isDue)
		if isBad {
			idErr = m.rewriteIdentity(id)
			m.h.Runtime.Post(func() { m.identityLost(idErr) })
		}
		m.h.Runtime.Post(func() {
			if idErr == nil && !isBad { // else nobody has seen what it says
				m.own.identity = id
			}
			m.own.isDue = m.own.isDue || own.isDue && (journalErr != nil || idErr != nil)
			if hasContent {
				m.own.changed, m.own.looks = is.Changed, 1
				if isOld {
					m.own.looks = 2
				}
				if m.journal.Print() != written {
					m.own.looks = 0 // it was written meanwhile
				}
			}
			switch {
			case journalErr != nil || file != m.own.journal || m.own.is == whichFile(is):
			case m.own.isAsked:
				m.own.again = true
			case m.own.is == hal.Info{}:
				journalErr = errUnsure
			default:
				journalErr = errReplaced
			}
			m.ownSeen(file, journalErr, idErr)
		})
	})
}

// lookAtIdentity tells whether the identity file is gone or damaged. It reads the file if that is another one than was,
// or was written since, or if the inspection is due: what was written soon after an inspection may not show. It runs as a task.
func (m *VolumeManager) lookAtIdentity(was hal.Info, isDue bool) (is hal.Info, isBad bool, err error) {
	is, err = m.h.Tree.Stat(hal.Call{}, identity.File(m.cfg.RootDir))
	isFirst := was == hal.Info{} && is.Type == hal.TypeFile && is.Size == int64(len(m.identity.Marshal()))
	if err != nil || (is == was || isFirst) && !isDue {
		return is, hal.Is(err, syscall.ENOENT), err
	}
	_, known, err := identity.Read(&m.h, hal.Call{}, m.cfg.RootDir)
	_, isDamaged := errors.AsType[*identity.DamagedError](err)
	return is, isDamaged || err == nil && !known, err
}

// rewriteIdentity writes the identity file again. is is what is there: nothing can be written over a directory, and
// to try would cost a write and a sync each second.
func (m *VolumeManager) rewriteIdentity(is hal.Info) error {
	if is.Type == hal.TypeDirectory && !is.MountPoint {
		return &hal.Error{
			Op: "write", Object: identity.File(m.cfg.RootDir), Class: hal.ClassFile, Outcome: hal.NotDone,
			Errno: syscall.EISDIR,
		}
	}
	return identity.Write(&m.h, hal.Call{}, m.cfg.RootDir, m.identity)
}

// identityLost tells that the identity file was gone or damaged, and of each reason why it can't be written again once.
func (m *VolumeManager) identityLost(err error) {
	why := ""
	if err != nil {
		why = " The write fails: " + err.Error() + "; " + hal.DiskAdvice(identity.Dir(m.cfg.RootDir), err)
	}
	if why == "" || why != m.own.told {
		told := m.own.told // it fails no more, or for another reason
		m.damage = slices.DeleteFunc(m.damage, func(d string) bool { return told != "" && strings.HasSuffix(d, told) })
		m.lost(identity.File(m.cfg.RootDir), why)
	}
	m.own.told = why
}

// ownSeen takes in a look at the own files.
func (m *VolumeManager) ownSeen(file string, journalErr, idErr error) {
	m.own.isLooking = false
	// else the journal was written meanwhile, and it is another file by now
	isSame := !m.commits.isWriting() && m.journal.File() == file
	isUnsure := errors.Is(journalErr, errUnsure)
	isLost := hal.Is(journalErr, syscall.ENOENT) || errors.Is(journalErr, errReplaced) || isUnsure ||
		errors.Is(journalErr, journal.ErrChanged)
	isWhole := m.journal.Stats().Why == "" // else the journal is repaired first: only its spare may be missing
	if isLost && isSame && isWhole {
		if !isUnsure {
			m.lost(file, "")
		}
		m.journal.Lose(journalErr)
		m.commits.mend()
	}
	if m.own.again || idErr != nil || journalErr != nil && !(isLost && isSame && isWhole) {
		m.own.isWaiting = true // a write that fails is noticed, too: that is no reason to try at once
		m.h.Runtime.At(m.h.Runtime.Now().Add(ownAgain), func() {
			m.own.isWaiting = false
			m.ownChanged()
		})
	}
}

// journalWritten takes in the end of a write of the journal.
func (m *VolumeManager) journalWritten(err error) {
	m.own.looks = 0
	if hal.Is(err, syscall.ENOENT) || hal.Is(err, syscall.ERANGE) {
		m.lost(m.journal.File(), "")
	}
	if m.own.again {
		m.ownChanged()
	}
	m.followJournal()
}

// lost tells that an own file was removed or damaged. why says why it is not there again, "" if it is.
func (m *VolumeManager) lost(file, why string) {
	text := file + ": it was removed, damaged, or hidden by a mount while volnode ran; volnode writes it again " +
		"from memory; find out who did that." + why
	m.damage = append(m.damage, text)
	m.damage = m.damage[max(0, len(m.damage)-maxDamage):]
	m.log(LevelError, "own file removed", "file", file, "next", "volnode writes it again from memory."+why)
}

// maxDamage is how much damage the status tells of.
const maxDamage = 20
