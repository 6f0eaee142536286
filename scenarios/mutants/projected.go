package mutants

// projections is engines that make files of Secrets and ConfigMaps wrong.
var projections = []Mutant{
	{
		"a change of a Secret or a ConfigMap reaches no pod", "S20, K:G99", "engine/plugin/projected.source.ladder",
		`Value: strings.Join(versions, " "), OnChange: core.OnChangeRefresh`,
		`Value: strings.Join(versions, " "), OnChange: core.OnChangeKeep`,
	},
	{
		"files that came with a version stay", "S20, K:G101", "engine/plugin/projected.writer.tidy",
		`isLeft, err = failed == nil && is == data+"/"+e.Name, cmp.Or(err, failed)`,
		`isLeft, err = is == "" && failed == nil, cmp.Or(err, failed)`,
	},
	{
		"former contents of a volume stay", "S20, L1", "engine/plugin/projected.writer.removeDirectories",
		"if !isDirectoryName(e.Name) || e.Name == but {", "if but != e.Name+e.Name {",
	},
	{
		"the loss of a Secret's files is not told", "S29", "engine/plugin/projected.setUp",
		"plugin.DirectoryFacts(h, o, d, r.Fingerprint, unseen)", "[]core.Fact{{Name: plugin.FactPath, Value: d.Path}}",
	},
	{
		"a bundle that is kept is of no signer", "S20", "hal/manifest.keptContent",
		"Signer: l.Signer,", `Signer: "",`,
	},
	{
		"what a volume shows is not looked at", "S20", "engine/plugin/projected.writer.shows",
		`return same("") && left == 0`, `return same != nil && left >= 0`,
	},
	{
		"a write that fails tears the volume down", "S20, K:G99", "engine/plugin/projected.setUp",
		`return op.NotDone("cannot write its new content; the pod sees the former: " + err.Error())`,
		`_ = d.Remove(h, o)
		return op.Unknown("cannot write its new content: " + err.Error())`,
	},
	{
		"a Secret that is missing makes an empty volume", "S20", "engine/plugin/projected.source.version",
		"case r.isOptional:", "case r.isOptional, is == nil:",
	},
	{
		"a Secret that goes while it is read makes an empty volume", "S20", "engine/plugin/projected.made.add",
		"case hal.Is(err, syscall.ENOENT) && r.isOptional:", "case hal.Is(err, syscall.ENOENT):",
	},
	{
		"an optional object that is not known yet is not there", "S20, S22", "engine/plugin/projected.source.version",
		"case !v.IsComplete:", "case !v.IsComplete && !r.isOptional:",
	},
	{
		"an optional object that is missing keeps a pod from coming", "L2", "engine/plugin/projected.source.version",
		"case r.isOptional:", `case r.isOptional && r.name == "":`,
	},
	{
		"the new files are shown before they are written", "S20, K:G101", "engine/plugin/projected.writer.writeNew",
		`made := []string{dir}`,
		`made := []string{dir}
		if err := w.replace(nextData, name, data); err != nil {
			return "", err
		}`,
	},
	{
		"the former files go before the new ones are shown", "S20, K:G101", "engine/plugin/projected.writer.write",
		"_ = w.removeDirectories(entries, present)", `_ = w.removeDirectories(entries, "")`,
	},
	{
		"names are made after their files are shown", "S20, K:G101", "engine/plugin/projected.writer.write",
		"for _, name := range names(files) {",
		`if err := w.replace(nextData, present, data); err != nil {
			return "", err
		}
		for _, name := range names(files) {`,
	},
	{
		"names go before their files do", "S20, K:G101", "engine/plugin/projected.writer.write",
		"for _, name := range names(files) {",
		`if err := w.tidy(present, names(files)); err != nil {
			return "", err
		}
		for _, name := range names(files) {`,
	},
	{
		"a file with the size of the former is the former", "S20", "engine/plugin/projected.writer.shows",
		"if err != nil || string(text) != f.data {", "if err != nil || len(text) != len(f.data) {",
	},
	{
		"files have the mode that all files have", "S20, K:G99", "engine/plugin/projected.reference.add",
		"modeOf(item.Mode, byDefault)", "modeOf(nil, byDefault)",
	},
	{
		"the default mode is not the volume's", "S20, K:G99", "engine/plugin/projected.modeOf",
		"case byDefault != nil:", "case byDefault != nil && mode != nil:",
	},
	{
		"of two sources of a file the first counts", "S20, K:G103", "engine/plugin/projected.collect",
		"for i := range of.Sources {", "for i := len(of.Sources) - 1; i >= 0; i-- {",
	},
	{
		"a key that the pod does not ask for becomes a file", "S20, K:G99", "engine/plugin/projected.reference.add",
		"if len(r.items) > 0 {", "if len(r.items) > 9 {",
	},
	{
		"a key that is missing makes no file", "S20, K:G99", "engine/plugin/projected.reference.add",
		"case !r.isOptional:", `case !r.isOptional && item.Key == "":`,
	},
	{
		"a file may be a directory, too", "L12", "engine/plugin/projected.collect",
		"if _, is := m.files[at[:i]]; is {", "if _, is := m.files[at[:i]]; is && i == 0 {",
	},
	{
		"what a pod says of itself never changes", "S20, K:G99", "engine/plugin/projected.downwardVersion",
		`fmt.Fprintf(sum, "%q", text)`, `fmt.Fprintf(sum, "%q", text[:0])`,
	},
	{
		"labels of a pod are in no order", "S20", "engine/plugin/projected.pairs",
		`return strings.Join(lines, "\n")`,
		`slices.Reverse(lines)
		return strings.Join(lines, "\n")`,
	},
	{
		"the files of a Secret are on a disk", "S21, K:G99", "engine/plugin/projected.directory",
		"core.Value(o.Params, paramMedium) == memory", `core.Value(o.Params, paramMedium) == ""`,
	},
	{
		"a volume that nobody knows is deleted with what others have put there", "S30",
		"engine/plugin/projected.writer.isAllWritten", "if !isOwn {", `if !isOwn && e.Name == "" {`,
	},
	{
		"a volume is written where something else is mounted", "S20", "engine/plugin/projected.setUp",
		"w.c.Inside = hal.Inside{Path: d.Path, ID: top.ID}", "_ = top",
	},
	{
		"a bundle of another signer is trusted", "S20, K:G103", "engine/plugin/projected.isChosen",
		"signer == *b.SignerName && chosen", "signer != \"\" && chosen",
	},
	{
		"the labels of bundles choose none out", "S20, K:G103", "engine/plugin/projected.isChosen",
		"chosen.Matches(labels.Set(has))", "(chosen.Empty() || has != nil)",
	},
	{
		"a change of a bundle reaches no pod", "S20, K:G103", "engine/plugin/projected.bundleVersion",
		`is.UID+"/"+is.Version`, `is.UID+"/"`,
	},
	{
		"a bundle that comes reaches no pod of its signer", "S20, L2", "engine.objects.put",
		"o.changed(populator.Ref{Kind: populator.RefBundle})", "",
	},
	{
		"the labels of a bundle are not looked at when it is read", "S20", "engine/plugin/projected.made.addBundles",
		"case err == nil && isChosen(b, is.Signer, is.Labels):", "case err == nil:",
	},
	{
		"a certificate of two bundles comes twice", "S20, K:G103", "engine/plugin/projected.made.addBundles",
		"slices.CompactFunc(certificates, bytes.Equal)", "certificates",
	},
	{
		"certificates are root's", "S20, K:G103", "engine/plugin/projected.made.addBundles",
		"owned(o, text.String(), byDefault)", "file{data: text.String(), mode: modeOf(nil, byDefault)}",
	},
	{
		"all sources of certificates have the bundles of the first", "S20", "engine/plugin/projected.collect",
		`bundles = append(bundles[1:], "")`, `bundles = append(bundles[:1:1], "")`,
	},
	{
		"an optional bundle that is not known yet is not there", "S20, S22", "engine/plugin/projected.bundlesOf",
		"isOptional(b) && v.IsComplete:", "isOptional(b):",
	},
	{
		"an optional bundle that is missing keeps a pod from coming", "L2", "engine/plugin/projected.bundlesOf",
		"isOptional(b) && v.IsComplete:", "isOptional(b) && !v.IsComplete:",
	},
	{
		"a bundle that is missing makes an empty file", "S20", "engine/plugin/projected.bundlesOf",
		"|| isOptional(b) && v.IsComplete:", "|| (isOptional(b) || len(what) > 0) && v.IsComplete:",
	},
}
