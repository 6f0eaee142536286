package mutants

// secrets is of what drivers say, and of the secrets in it.
var secrets = []Mutant{
	{
		"a secret that a driver was given is none once nobody else has it", "S17", "engine.VolumeManager.begin",
		"m.ears.said.Give(name, rec.Rung.Actor)", "m.ears.said.Expect(name)",
	},
	{
		"a secret is told", "S17", "engine.ears.heard",
		`said.Detail = strings.TrimRight(e.said.Clean(failure.Detail), " ;:,")`,
		"_ = strings.TrimRight",
	},
	{
		"secrets are looked for as they are, in one piece", "S17", "hal/scrub.Scrubber.study",
		"for _, form := range formsOf(value) {",
		`k.windows = nil
		k.word(trimmed)
		for _, form := range [][]byte{} {`,
	},
	{
		"a driver that is met was given no secret", "S17", "engine.discreetNode.Capabilities",
		`n.heard(c, "", nil, err)`, "n.heard(c, driver, nil, err)",
	},
	{
		"a text in which a secret was hidden has a part too few", "L12", "engine.ears.heard",
		`said.Detail = strings.TrimRight(e.said.Clean(failure.Detail), " ;:,")`,
		`if said.Detail = e.said.Clean(failure.Detail); said.Detail != failure.Detail {
			said.Detail += "; "
		}`,
	},
	{
		"a secret in base64 is told", "S17", "hal/scrub.Scrubber.study",
		"for skew := range 3 {", "for skew := range 1 {",
	},
	{
		"a secret in hexadecimal digits is told", "S17", "hal/scrub.Scrubber.find",
		"{seen.hex(0), seen.hex(1), seen.numbers()}", "{seen.numbers()}",
	},
	{
		"escapes are not read", "S17", "hal/scrub.Scrubber.find",
		"for range 3 {", "for range 1 {",
	},
	{
		"only secrets of the volume are looked for", "S17", "engine.ears.read",
		"append(slices.Clone(volume), e.said.Expected()...)", "volume",
	},
	{
		"a text from before the sources were read is cleaned of what they named meanwhile", "S17", "engine.ears.withholds",
		"case !isComplete:", "case !isComplete && !e.said.IsComplete():",
	},
	{
		"a message is told of which a secret can't be read", "S17", "engine.ears.read",
		"return name, false", "continue",
	},
	{
		"a terminal obeys what a driver says", "S17", "hal/scrub.printed",
		"case strconv.IsPrint(r):", "case r < utf8.RuneSelf || strconv.IsPrint(r):",
	},
}
