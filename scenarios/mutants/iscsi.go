package mutants

// iscsis is engines that serve iSCSI volumes wrong.
var iscsis = []Mutant{
	{
		"a disk is what a target has under a number", "S2, S28, laws 8.6", "engine/plugin/disk.Paths.look",
		`case had != "" && had != b.Says:`, `case had != "" && had == b.Says+"?":`,
	},
	{
		"what the kernel found once is what a disk is", "S2, laws 8.7", "engine/plugin/disk.Paths.look",
		"case b.Says != d.WWID:", `case b.Says == d.WWID+"?":`,
	},
	{
		"which disk a volume has is not kept", "S2, S10, laws 8.6", "engine/core.Core.keeps",
		`owner == "" ||`, `owner != "" ||`,
	},
	{
		"what is kept of a disk is not read", "S2, S10, laws 8.6", "engine/core.Core.knownFacts",
		"return k.facts", "return nil",
	},
	{
		"what is kept of a disk goes with a start", "S2, S10, laws 8.6", "engine/core.Core.recallKept",
		"rec.Facts}", "nil}",
	},
	{
		"a session stays when its last user has gone", "L1", "engine/plugin/iscsi.logOut",
		"err = h.ISCSI.Logout(op.Call(o), recordOf(o), s.ID)\n\tif", "err = nil\n\tif",
	},
	{
		"a session is on the interface of the node", "S1, laws 8.8", "engine/plugin/iscsi.volume.own",
		`is.initiator == "" {
		return hal.OwnInterface`, `is.initiator == "" {
		return "default"`,
	},
	{
		"a start does not look for sessions", "L1, laws 8.8", "engine/plugin/iscsi.scan.sessions",
		"if !strings.HasPrefix(is.Interface, hal.OwnInterface) {", "if true {",
	},
	{
		"a start does not look for records of sessions", "L1, laws 8.8", "engine/plugin/iscsi.scan.sessions",
		"l.records, err = s.Host.ISCSI.Records(s.Call); err != nil {", "false {",
	},
	{
		"a session that has ended is taken for up", "L2", "engine/plugin/iscsi.findDisk",
		"r.BelowUnknown || ended", "r.BelowUnknown && ended",
	},
	{
		"a pod keeps a mount whose device is gone", "L2", "engine/plugin/disk.work.up",
		"r.BelowUnknown = true, true, w.isOfDevice()", "r.BelowUnknown = true, true, false",
	},
	{
		"two volumes have one disk", "S2, laws 8.6", "engine/core.Core.claims",
		`value == "" {`, `value != "" {`,
	},
	{
		"which disk is taken goes with a start", "S2, laws 8.6", "engine/core.Core.recallUnique",
		`value != "" {`, `value == "" {`,
	},
	{
		"a disk is free once its pods have gone", "S2, laws 8.6", "engine/core.Core.holder",
		"FactOf(k.facts, FactUnique) == value", "false",
	},
	{
		"the mount of a disk goes before that of the pod", "L1, L2", "engine/plugin/disk.Shown.Stand",
		"binds[i].Below = []hal.Key{m.Key}", "_ = m.Key",
	},
	{
		"a login without credentials", "L2, K:G78", "engine/plugin/iscsi.credentials",
		`ref == "" {`, `ref != "?" {`,
	},
	{
		"nobody looks at the session of a volume that is up", "L18", "engine/plugin/iscsi.health",
		`number == "" {`, `number != "" {`,
	},
}
