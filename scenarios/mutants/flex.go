package mutants

// flexVolumes is engines that serve FlexVolumes wrong.
var flexVolumes = []Mutant{
	{
		"a FlexVolume driver is told to mount all writable", "S27", "engine/plugin/flex.work.options",
		`mode = "ro"`, `mode = "rw"`,
	},
	{
		"a FlexVolume driver is not told of the filesystem", "S27", "engine/plugin/flex.work.options",
		"Value: value(paramFSType)", `Value: ""`,
	},
	{
		"a FlexVolume driver is not told the options of a volume", "S27", "engine/plugin/flex.work.options",
		"all = append(all, hal.Option{Key: key, Value: own[key]})", "all = append(all, hal.Option{Key: key})",
	},
	{
		"a FlexVolume driver is not told of the group", "S27", "engine/plugin/flex.work.options",
		`group := value(plugin.ParamGroup); group != ""`, `group := value(plugin.ParamGroup); group == "-"`,
	},
	{
		"the word of a FlexVolume driver is enough", "S21", "engine/plugin/flex.work.looked",
		`return undone(said + "nothing is mounted at " + w.path + "; see the log of the driver")`, "return w.up(top)",
	},
	{
		"an error of a FlexVolume driver is not heard", "S21", "engine/plugin/flex.work.looked",
		"case answer == nil && mounted && len(seen.Stack) == 1:", "case mounted && len(seen.Stack) == 1:",
	},
	{
		"a FlexVolume that an earlier call has mounted is taken as it is", "S21", "engine/plugin/flex.setUp",
		`return undone("an earlier call has mounted " + w.path + "; volnode unmounts it, and has it mounted again")`,
		"return w.up(top)",
	},
	{
		"a FlexVolume driver that wants its volumes attached is served", "K:G104", "engine/plugin/flex.work.suits",
		"case is.Attach:", `case is.Attach && group == "-":`,
	},
	{
		"the group of a FlexVolume is not minded", "K:G104", "engine/plugin/flex.work.suits",
		`case is.FSGroup && group != "" &&`, `case is.FSGroup && group == "-" &&`,
	},
	{
		"a secret of a FlexVolume is not minded", "K:G104", "engine/plugin/flex.source.problem",
		"case is.hasSecret:", "case is.hasSecret && v.Block:",
	},
	{
		"a FlexVolume may set the options of volnode", "S27", "engine/plugin/flex.source.badOptions",
		`strings.HasSuffix(domain, ".kubernetes.io") ||`, `strings.HasSuffix(domain, ".kubernetes.example") ||`,
	},
	{
		"a FlexVolume is unmounted without its driver", "L1", "engine/plugin/flex.tearDown",
		"isAsked := seen.Exists &&", `isAsked := seen.Exists && w.driver == "" &&`,
	},
	{
		"a FlexVolume driver that is gone keeps its volume", "L4", "engine/plugin/flex.tearDown",
		"case !hal.Is(err, syscall.ENOENT) && !hal.Is(err, syscall.EOPNOTSUPP):",
		"case !hal.Is(err, syscall.EOPNOTSUPP):",
	},
	{
		"a FlexVolume driver that fails to unmount has done nothing", "S14", "engine/plugin/flex.tearDown",
		`return undone(err.Error() + "; if nothing is left of the volume, remove the directory " + w.path)`,
		"return op.NotDone(err.Error())",
	},
	{
		"what a FlexVolume driver leaves mounted stays", "L1, S8", "engine/plugin/flex.tearDown",
		"r := w.mounted().Remove(h, o)",
		"r := core.Result{Outcome: hal.Done}\n\tif !isAsked {\n\t\tr = w.mounted().Remove(h, o)\n\t}",
	},
	{
		"any mount at the place of a FlexVolume is its own", "S1", "engine/plugin/flex.work.mayBeOwn",
		"return w.o.Seen == core.SeenUnknown && mounts == 1", "return mounts > 0",
	},
	{
		"a FlexVolume that no record tells of is another's", "S15, L1", "engine/plugin/flex.work.mayBeOwn",
		"return w.o.Seen == core.SeenUnknown && mounts == 1", "return false",
	},
	{
		"a FlexVolume that no record tells of stays", "S15, L1", "engine/plugin/flex.scanOf",
		`driver == "" ||`, `driver != "" ||`,
	},
}
