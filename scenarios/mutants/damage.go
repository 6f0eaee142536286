package mutants

// damage is engines that take what somebody has changed in place for what they have written.
var damage = []Mutant{
	{
		"what is in the journal is never compared with what was written", "S30, S15", "engine.own.ownChanged",
		"journalErr = written.Check(&o.h, hal.Call{})", "_ = written",
	},
	{
		"a journal is compared with what was written once alone", "S30, S15", "engine.own.ownChanged",
		"!(isOld && own.looks > 1)", "own.changed == 0",
	},
	{
		"a journal that was cut short is damaged only where a frame is cut",
		"S30, laws 5.4", "engine/journal.parseImage",
		"if size < written.size {", "if false {",
	},
	{
		"a log of deletions that was changed in place is gone on with", "S31", "engine/deletions.Log.isAsLeft",
		"|| info.Changed != l.changed", "",
	},
	{
		"what the log of deletions says is never compared with what was written", "S31, what is in the log stays there",
		"engine/deletions.Log.isAsLeft",
		"if l.isSure || l.isBlind ||", "if l.isSure || l.isBlind || info.Inode == l.inode ||",
	},
	{
		"what the log of deletions says is compared right after it was written alone",
		"S31, what is in the log stays there", "engine/deletions.Log.isAsLeft",
		"l.compared, l.isSure = now, isOldEnough", "l.compared, l.isSure = now, isOldEnough || isSame",
	},
	{
		"a log of deletions that is gone once it is written is durable", "S31", "engine/deletions.Log.write",
		`!= nil {
			return err
		}
		l.inode`, `!= nil {
			return nil
		}
		l.inode`,
	},
	{
		"an identity file that was changed right after an inspection is good",
		"S30", "engine.own.lookAtIdentity",
		"(is == was || isFirst) && !isDue", "(is == was || isFirst) && (!isDue || is == was)",
	},
	{
		"a directory in the place of the identity file is tried again", "S30",
		"engine/identity.isNoFile", "syscall.EFBIG, syscall.EISDIR,", "syscall.EFBIG,",
	},
	{
		"a start does not tell that the journal is gone", "S30, laws 5", "engine.starting.goneJournal",
		"if !isNew {", "if isNew || !isNew {",
	},
	{
		"nobody is told that the journal was cut short", "S30", "engine.own.journalWritten",
		"|| hal.Is(err, syscall.ERANGE) {", "{",
	},
	{
		"a write that failed counts as an attempt", "L12, laws 5", "engine/core.Core.refused",
		"if e.IsUnwritten {", "if false {",
	},
}
