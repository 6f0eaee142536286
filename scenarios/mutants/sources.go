package mutants

// sources is what comes from outside: objects of the cluster, drivers, and what the populator makes of them.
var sources = []Mutant{
	{
		"the node is nowhere in the words of its drivers", "L3, K:D26", "engine/populator.populator.reachable",
		"maps.Copy(node.Labels, facts.Topology)", "_ = facts.Topology",
	},
	{
		"a PersistentVolume of a former plugin is not its driver's", "L2, K:B16", "engine/populator.populator.translate",
		`if source == "" || `, `if source != "" || `,
	},
	{
		"a former plugin's volume that a pod names is not its driver's", "L2, K:B16", "engine/populator.populator.source",
		"problem != nil || v.PV != nil", "problem != nil",
	},
	{
		"a volume is mounted on a node that cannot reach it", "K:D26", "engine/populator.populator.reachable",
		"if selector.Match(node) {", "if selector.Match(node) || lacking(affinity.Required, node.Labels) == \"\" {",
	},
	{
		"a volume is refused before its driver says where the node is", "K:D26", "engine/populator.populator.reachable",
		"isAway = true", "isAway = false",
	},
	{
		"synced is told before the pods", "S22, kubernetes#120150", "engine.objects.sourceSynced",
		"o.populateStale()", "",
	},
	{
		"without a runtime the containers of a pod that a start finds gone never end", "L4, laws 1.4",
		"engine.objects.endUnnamedPods",
		"if !o.cfg.NoRuntime || !o.all {", "if !o.cfg.NoRuntime || o.all {",
	},
	{
		"a pod is gone as soon as its source is synced",
		"S7, laws 1.4, nomad#13028", "engine.objects.endUnnamedPods",
		"if !o.cfg.NoRuntime || !o.all {", "if !o.all {",
	},
	{
		"a registration that fails is not tried again", "L6, kubernetes#118317", "engine.registry.greetAgain",
		`if s.gen == gen && !r.stopping {
			r.greet(s)`,
		`if s.gen == gen && r.stopping {
			r.greet(s)`,
	},
	{
		"a pod that waits for a driver is not told of it", "L6, kubernetes#72500", "engine.objects.driverMet",
		"o.changed(driverRef(name))", "",
	},
	{
		"two volumes with one handle share a stage", "S13, kubernetes#105868", "engine.objects.keepApart",
		`if other, why := o.conflict(uid, r); other != "" {`,
		`if other, why := o.conflict(uid, r); other == "" && why != "" {`,
	},
	{
		"two volumes of a driver have one key", "S13, csi-driver-smb#720", "engine/plugin/csi.StageKey",
		`return hal.Key(string(KindStage) + "/" + driver + "^" + plugin.Escape(handle))`,
		`return hal.Key(string(KindStage) + "/" + driver + "^" + plugin.Escape(handle)[:4])`,
	},
	{
		"a changed object is not populated again", "L2", "engine.objects.changed",
		`for _, uid := range o.users[ref] {
			o.mark(uid)
		}`, "",
	},
	{
		"a stage takes the options of the first pod", "S19, kubernetes#67313", "engine/plugin/csi.params",
		"{Name: paramFlags, Value: listText(w.flags), OnChange: change},",
		"{Name: paramFlags, Value: listText(w.flags)},",
	},
	{
		"an unstage names no path", "S11", "engine/plugin/csi.unstage",
		"VolumeId: w.param(paramHandle), StagingTargetPath: w.path()",
		`VolumeId: w.param(paramHandle), StagingTargetPath: w.path() + "/"`,
	},
	{
		"a driver that is away loses its volumes", "S22, kubernetes#91758", "engine.registry.facts",
		`*plugin.DriverFacts {
			if known := r.byName[name]; known != nil {`,
		`*plugin.DriverFacts {
			if known := r.byName[name]; known != nil && known.by != nil {`,
	},
	{
		"a claim of another pod's namespace is taken", "S13", "engine/populator.bound",
		"case ref.Namespace != claim.Namespace || ref.Name != claim.Name:", "case ref.Name != claim.Name:",
	},
	{
		"a pod that is renamed is taken to be gone", "S1, one difference by identity", "engine.objects.takeIn",
		"gone = slices.DeleteFunc(gone, func(other core.PodUID) bool { return other == uid })", "",
	},
	{
		"a pod of which the disk alone tells was removed", "S7, what is lost says nothing", "engine/core.Core.Left",
		"return (r.recorded || r.foundOnDisk) && !c.isPast(r) })", "return r.recorded && !c.isPast(r) })",
	},
	{
		"a pod that nobody could look at was removed", "S7, what is lost says nothing", "engine.VolumeManager.LeftPods",
		`if uid := plugin.PodAt(m.cfg.RootDir, name); uid != "" {`, `if plugin.PodAt(m.cfg.RootDir, name) == name {
			uid := name`,
	},
	{
		"a path that nobody could look at is no pod's", "S7, what is lost says nothing", "engine/plugin.PodAt",
		`return ""
		}
		return name
		}`, `return ""
		}
		return ""
		}`,
	},
	{
		"a node is bare whatever its journal says", "S1, what is lost says nothing", "engine.VolumeManager.begin",
		"len(m.own.damage)+len(s.Records)+", "len(m.own.damage)+",
	},
	{
		"a call that can't be sent does not tell what its driver lacks", "L4, a status says what a volume waits for",
		"engine.registry.reached",
		"if !isUnsent || v.Actor", "if isUnsent || v.Actor",
	},
	{
		"a call in doubt is not named", "L4, a status says what a volume waits for", "engine/core.Core.fenceOff",
		"name: res.Call, code: res.Code,", "",
	},
	{
		"the owner writes the log", "panic, the owner waits for nobody", "engine.stream.hand",
		`s.runtime.Go(func() {
			s.sink(all)`, `s.sink(all)
		s.runtime.Go(func() {`,
	},
	{
		"a pod of which only an answered call is remembered is recorded", "S1", "engine/core.Core.Left",
		"(r.recorded || r.foundOnDisk) && !c.isPast(r) })", "(r.recorded || r.foundOnDisk) })",
	},
	{
		"what a driver was given in an earlier life is never let go", "L12", "engine.registry.peerGone",
		"r.releaseGiven(d.name)", "_ = d.name",
	},
	{
		"a late removal takes away the object that came after it", "L2", "engine.put",
		"if !known || hal.IdentityOf(old) != hal.IdentityOf(object) {",
		"if !known {",
	},
	{
		"a late removal takes away the pod that came after it", "S1", "engine.objects.takeIn",
		`entry != nil &&
			hal.IdentityOf(entry.pod) == hal.IdentityOf(pod) {`,
		"entry != nil {",
	},
}
