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

// contentEvery is how often the content of the journal is compared with what was written, if its file has changed
// since.
const contentEvery = 2 * time.Minute

// own is the watch over the agent's own files.
type own struct {
	*port
	isWriting func() bool // the journal is being written
	mend      func()      // has the journal mended

	journal *journal.Journal  // nil until a start has read the node
	id      identity.Identity // what the identity file says
	damage  []string          // of these files, for the status

	isLooking bool     // a task inspects the files
	isWaiting bool     // for the next inspection, after one that failed
	again     bool     // something changed since the inspection began
	followed  string   // the file of the journal
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

// watch begins the watch.
func (o *own) watch() {
	for _, dir := range []string{o.cfg.RootDir, identity.Dir(o.cfg.RootDir)} {
		o.h.Watches.Directory(dir, o.ownChanged)
	}
	o.followJournal()
	o.checkLater()
}

// followJournal watches the present file of the journal: it may go alone, and its directory stay.
func (o *own) followJournal() {
	file := o.journal.File()
	if file == o.followed {
		return
	}
	o.followed, o.is, o.isAsked, o.looks = file, hal.Info{}, true, 0
	o.h.Runtime.Go(func() {
		end := o.h.Watches.Path(file, o.ownChanged)
		info, err := o.h.Tree.Stat(hal.Call{}, file)
		o.h.Runtime.Post(func() {
			if o.followed != file {
				end()
				return
			}
			o.isAsked = false
			if err == nil {
				o.is = whichFile(info)
			} else {
				o.ownChanged()
			}
			if o.end != nil {
				o.end()
			}
			o.end = end
		})
	})
}

// checkLater plans the next look at the content of the journal.
func (o *own) checkLater() {
	if o.isPlanned || o.stopping {
		return
	}
	o.isPlanned = true
	o.h.Runtime.At(o.h.Runtime.Now().Add(contentEvery), func() {
		o.isPlanned, o.isDue = false, true
		o.checkLater()
		o.ownChanged()
	})
}

// ownChanged looks whether the agent's own files are there.
func (o *own) ownChanged() {
	if o.isLooking || o.isWaiting || o.isWriting() {
		o.again = true
		return
	}
	o.isLooking, o.again = true, false
	file, was, own, written := o.journal.File(), o.identity, *o, o.journal.Print()
	o.isDue = false
	o.h.Runtime.Go(func() {
		is, journalErr := o.h.Tree.Stat(hal.Call{}, file)
		isOld := own.looks > 0 && is.Changed != 0 && is.Changed == own.changed
		hasContent := own.isDue && journalErr == nil && own.is == whichFile(is) && !(isOld && own.looks > 1)
		if hasContent {
			journalErr = written.Check(&o.h, hal.Call{})
		}
		id, isBad, idErr := o.lookAtIdentity(was, own.isDue)
		if isBad {
			idErr = o.rewriteIdentity(id)
			o.h.Runtime.Post(func() { o.identityLost(idErr) })
		}
		o.h.Runtime.Post(func() {
			if idErr == nil && !isBad { // else nobody has seen what it says
				o.identity = id
			}
			o.isDue = o.isDue || own.isDue && (journalErr != nil || idErr != nil)
			if hasContent {
				o.changed, o.looks = is.Changed, 1
				if isOld {
					o.looks = 2
				}
				if o.journal.Print() != written {
					o.looks = 0 // it was written meanwhile
				}
			}
			switch {
			case journalErr != nil || file != o.followed || o.is == whichFile(is):
			case o.isAsked:
				o.again = true
			case o.is == hal.Info{}:
				journalErr = errUnsure
			default:
				journalErr = errReplaced
			}
			o.ownSeen(file, journalErr, idErr)
		})
	})
}

// lookAtIdentity tells whether the identity file is gone or damaged. It reads the file if that is another one than was,
// or was written since, or if the inspection is due: what was written soon after an inspection may not show. It runs
// as a task.
func (o *own) lookAtIdentity(was hal.Info, isDue bool) (is hal.Info, isBad bool, err error) {
	is, err = o.h.Tree.Stat(hal.Call{}, identity.File(o.cfg.RootDir))
	isFirst := was == hal.Info{} && is.Type == hal.TypeFile && is.Size == int64(len(o.id.Marshal()))
	if err != nil || (is == was || isFirst) && !isDue {
		return is, hal.Is(err, syscall.ENOENT), err
	}
	_, known, err := identity.Read(&o.h, hal.Call{}, o.cfg.RootDir)
	_, isDamaged := errors.AsType[*identity.DamagedError](err)
	return is, isDamaged || err == nil && !known, err
}

// rewriteIdentity writes the identity file again. is is what is there: nothing can be written over a directory, and
// to try would cost a write and a sync each second.
func (o *own) rewriteIdentity(is hal.Info) error {
	if is.Type == hal.TypeDirectory && !is.MountPoint {
		return &hal.Error{
			Op: "write", Object: identity.File(o.cfg.RootDir), Class: hal.ClassFile, Outcome: hal.NotDone,
			Errno: syscall.EISDIR,
		}
	}
	return identity.Write(&o.h, hal.Call{}, o.cfg.RootDir, o.id)
}

// identityLost tells that the identity file was gone or damaged, and of each reason why it can't be written again once.
func (o *own) identityLost(err error) {
	why := ""
	if err != nil {
		why = " The write fails: " + err.Error() + "; " + hal.DiskAdvice(identity.Dir(o.cfg.RootDir), err)
	}
	if why == "" || why != o.told {
		told := o.told // it fails no more, or for another reason
		o.damage = slices.DeleteFunc(o.damage, func(d string) bool { return told != "" && strings.HasSuffix(d, told) })
		o.lost(identity.File(o.cfg.RootDir), why)
	}
	o.told = why
}

// ownSeen takes in a look at the own files.
func (o *own) ownSeen(file string, journalErr, idErr error) {
	o.isLooking = false
	// else the journal was written meanwhile, and it is another file by now
	isSame := !o.isWriting() && o.journal.File() == file
	isUnsure := errors.Is(journalErr, errUnsure)
	isLost := hal.Is(journalErr, syscall.ENOENT) || errors.Is(journalErr, errReplaced) || isUnsure ||
		errors.Is(journalErr, journal.ErrChanged)
	isWhole := o.journal.Stats().Why == "" // else the journal is repaired first: only its spare may be missing
	if isLost && isSame && isWhole {
		if !isUnsure {
			o.lost(file, "")
		}
		o.journal.Lose(journalErr)
		o.mend()
	}
	if o.again || idErr != nil || journalErr != nil && !(isLost && isSame && isWhole) {
		o.isWaiting = true // a write that fails is noticed, too: that is no reason to try at once
		o.h.Runtime.At(o.h.Runtime.Now().Add(ownAgain), func() {
			o.isWaiting = false
			o.ownChanged()
		})
	}
}

// journalWritten takes in the end of a write of the journal.
func (o *own) journalWritten(err error) {
	o.looks = 0
	if hal.Is(err, syscall.ENOENT) || hal.Is(err, syscall.ERANGE) {
		o.lost(o.journal.File(), "")
	}
	if o.again {
		o.ownChanged()
	}
	o.followJournal()
}

// tellDamage tells of damage to the journal, also if the start has failed since: the next one reads the generation that
// this one has begun.
func (o *own) tellDamage(damages []journal.Damage) {
	for _, d := range damages {
		o.damage = append(o.damage, d.String())
		o.emit(JournalDamaged{d.String()})
	}
}

// lost tells that an own file was removed or damaged. why says why it is not there again, "" if it is.
func (o *own) lost(file, why string) {
	text := file + ": it was removed, damaged, or hidden by a mount while volnode ran; volnode writes it again " +
		"from memory; find out who did that." + why
	o.damage = append(o.damage, text)
	o.damage = o.damage[max(0, len(o.damage)-maxDamage):]
	o.emit(OwnFileRemoved{file, why})
}

// maxDamage is how much damage the status tells of.
const maxDamage = 20
