package mutants

// raws is engines that give disks to pods as they are, and do that wrong.
var raws = []Mutant{
	{
		"who may only read a raw disk is given the disk itself", "S21, laws 8.10", "engine/plugin/disk.work.node",
		"plugin.IsReadOnly(w.o.Params)", "false",
	},
	{
		"who writes to a raw disk is given the device that holds it", "S21", "engine/plugin/disk.work.node",
		"plugin.IsReadOnly(w.o.Params)", "true",
	},
	{
		"that a disk is in use is not said of a raw volume", "L12", "engine/plugin/disk.setUpHold",
		"if isTaken(err) {", "if false {",
	},
	{
		"a disk that a pod has raw is mounted for another", "S2, laws 8.9", "engine/plugin/disk.Holds",
		`why = heldByOther(o, is); why != "" {`, `why = heldByOther(o, is); why == "?" {`,
	},
	{
		"another disk of the node is given raw", "S28, laws 8.6", "engine/plugin/disk.rawHolds",
		`case had != "" && had != disk &&`, `case had != "" && had == disk+"?" &&`,
	},
	{
		"which raw disk of the node a volume has is not kept", "S28, laws 8.6", "engine/plugin/local.rawLadder",
		"Value: v.Owner()", `Value: ""`,
	},
	{
		"a start does not look for what is held", "L1, laws 8.9", "engine/plugin/disk.Maps.Node",
		"m.held, err = s.Held()", "m.held, err = nil, error(nil)",
	},
	{
		"a start does not look for raw devices of pods", "L1, laws 8.9", "engine/plugin.Scanner.PodDevices",
		`"/" + volumeDevices`, `"/" + "devices"`,
	},
	{
		"the file below a raw device stays", "L1", "engine/plugin/disk.tearDownMap",
		"err := op.Remove(h, w.c, w.path); err != nil {", "err := error(nil); err != nil {",
	},
	{
		"a raw disk of an array is mounted", "S2, L2", "engine/plugin/iscsi.Ladder",
		"if v.Block {", "if false {",
	},
	{
		"a disk is held when its last user has gone", "L1", "engine/plugin/disk.tearDownHold",
		"err := h.Blocks.Release(op.Call(o), d); err != nil {", "_, err := d, error(nil); err != nil {",
	},
	{
		"a raw disk for one pod is two pods'", "S9", "engine/plugin/disk.RawLadder.Rungs",
		"l.Map.Exclusive = v.Exclusive(l.Map.Volume)", `l.Map.Exclusive = ""`,
	},
}
