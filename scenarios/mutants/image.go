package mutants

// image is the files of images.
var image = []Mutant{
	{
		"unpacked files go below a mount of them without a record", "S28", "engine/plugin/image.scan.Entry",
		"l.shows[r.Key] = FilesKey(files)", "_ = files",
	},
	{
		"each pod unpacks the image for itself", "L1", "engine/plugin/image.Ladder",
		"if !isShared {", "if isShared = false; !isShared {",
	},
	{
		"a pod that wants the newest image shares the one that is there", "S20, KEP-4639", "engine/plugin/image.Ladder",
		"if !isShared {", "if isShared = true; !isShared {",
	},
	{
		"a pull policy may be anything", "KEP-4639", "engine/plugin/image.Ladder",
		`return nil, plugin.Problemf(v.Field(".image.pullPolicy"), "%q is no policy; use Always, IfNotPresent or Never",
			src.PullPolicy)`, "isShared = true",
	},
	{
		"an image without a tag is not the newest", "S20, KEP-4639", "engine/plugin/image.isLatest",
		`return !has || tag == "latest"`, `return has && tag == "latest"`,
	},
	{
		"half an image is mounted", "S20", "engine/plugin/image.unpack",
		"if err := h.Images.Unpack(w.c, w.reference, w.path); err != nil {",
		`if err := h.Images.Unpack(w.c, w.reference, w.path); err != nil {
			_ = h.Tree.Rename(w.c, hal.Unpacking(w.path), w.path)`,
	},
	{
		"an image that can't be unpacked is up", "S14, S21", "engine/plugin/image.work.notUnpacked",
		"r := op.Unknown(reason)", "r := core.Result{Outcome: hal.Done, Reason: reason}",
	},
	{
		"half an image stays", "L1", "engine/plugin/image.work.partial",
		"Path: hal.Unpacking(w.path)", `Path: hal.Unpacking(w.path) + "x"`,
	},
	{
		"the files of an image stay", "L1", "engine/plugin/image.remove",
		"return w.directory().Remove(h, o)", "return core.Result{Outcome: hal.Done}",
	},
	{
		"an image volume is writable", "S21, KEP-4639", "engine/plugin/image.mount",
		"Target: w.path, Flags: flags}", "Target: w.path, Flags: flags[:3]}",
	},
	{
		"an image volume gives rights on the node", "S21, KEP-4639", "engine/plugin/image.mount",
		"Target: w.path, Flags: flags}", "Target: w.path, Flags: flags[3:]}",
	},
	{
		"any mount is an image volume", "S14, S21", "engine/plugin/image.mount",
		"case mounted && !isAsked(top, found):", "case mounted && top.ID == 0:",
	},
	{
		"any mount at the place of an image volume is its own", "S1", "engine/plugin/image.work.owns",
		`return m.Device == images.Device && strings.HasPrefix(m.Root, images.Root+"/"), nil`, "return true, nil",
	},
	{
		"an image volume that no record tells of is another's", "S15, L1", "engine/plugin/image.work.owns",
		`return m.Device == images.Device && strings.HasPrefix(m.Root, images.Root+"/"), nil`, "return false, nil",
	},
	{
		"unpacked files that no record tells of stay", "S15, L1", "engine/plugin/image.scan.Discover",
		"case !isFound[name]:", "case false:",
	},
	{
		"an image that is half unpacked is not found", "S15, L1", "engine/plugin/image.scan.Discover",
		"name := hal.Unpacked(op.Trashed(entry))", "name := op.Trashed(entry)",
	},
	{
		"an image volume does not depend on the unpacked files", "S5, S28", "engine/plugin/image.Ladder",
		"top.Below = []hal.Key{files.Key}", "top.Below = nil",
	},
	{
		"what is left of a half unpacked image stays", "L1", "engine/plugin/image.unpack",
		"[...]op.Directory{w.partial(), w.directory()}", "[...]op.Directory{w.directory(), w.directory()}",
	},
}
