package mutants

// nfsVolumes is engines that serve NFS volumes wrong.
var nfsVolumes = []Mutant{
	{
		"an NFS volume is always writable", "S21", "engine/plugin/nfs.work.mount",
		"if plugin.IsReadOnly(w.o.Params) {", "if !plugin.IsReadOnly(w.o.Params) {",
	},
	{
		"an NFS volume is not read-only by a mount option", "S21", "engine/plugin/nfs.optionsOf",
		"*isReadOnly = true", "*isReadOnly = *isReadOnly || v.ReadOnly",
	},
	{
		"a server of an NFS volume may give rights on the node", "S21", "engine/plugin/nfs.work.mount",
		`[]string{"nodev", "nosuid"}`, `[]string{"nosuid"}`,
	},
	{
		"an option of an export may be anything", "K:G98", "engine/plugin/nfs.optionsOf",
		"case !isGood:", "case !isGood && option == \"\":",
	},
	{
		"an error of a mount of NFS is not heard", "S21", "engine/plugin/nfs.setUp",
		"if err := h.Mounts.Mount(w.c, w.mount()); err != nil {",
		"if err := h.Mounts.Mount(w.c, w.mount()); err != nil && w.source == \"\" {",
	},
	{
		"an NFS mount that an attempt has made is made again", "S18", "engine/plugin/nfs.setUp",
		"case mounted && (top.Was(o.Fingerprint) || w.isAsked(top)):",
		"case mounted && !top.Was(o.Fingerprint) && w.isAsked(top):\n\tcase mounted && top.Was(o.Fingerprint):",
	},
	{
		"an NFS mount of another export is taken for it", "S21", "engine/plugin/nfs.work.isExport",
		"m.Source == w.source", "m.Source != \"\"",
	},
	{
		"any mount is an NFS volume", "S14", "engine/plugin/nfs.work.isAsked",
		"return w.isExport(m) && m.ReadOnly", "return m.ReadOnly",
	},
	{
		"any mount at the place of an NFS volume is its own", "S1", "engine/plugin/nfs.work.owns",
		"return w.isExport(m), nil", "return mounts > 0, nil",
	},
	{
		"an NFS volume that no record tells of stays", "S15, L1", "engine/plugin/nfs.Source",
		"Found: rung, Bad: plugin.BadObjectName",
		`Found: rung, Bad: func(string) string { return "is bad" }`,
	},
	{
		"an NFS volume that no record tells of is another's", "S15, L1", "engine/plugin/nfs.work.owns",
		"return isNFS(m), nil", "return w.isExport(m), nil",
	},
}
