package haltest

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Case is one named script of the contract.
type Case struct {
	Name   string
	Script []string
}

// Golden is the histories of all cases as Linux made them: for each case a line "== name" and its history.
//
//go:embed testdata/cases.golden
var Golden string

//go:embed testdata/cases.txt
var scripts string

// Quotas is Golden of the cases that need a filesystem with project quotas.
//
//go:embed testdata/quotas.golden
var Quotas string

//go:embed testdata/quotas.txt
var quotaScripts string

// SANGolden is Golden of the cases that need iSCSI targets.
//
//go:embed testdata/san.golden
var SANGolden string

//go:embed testdata/san.txt
var sanScripts string

// MultipathGolden is Golden of the cases that need multipathd, too.
//
//go:embed testdata/multipath.golden
var MultipathGolden string

//go:embed testdata/multipath.txt
var multipathScripts string

// FCGolden is Golden of the cases that need Fibre Channel.
//
//go:embed testdata/fc.golden
var FCGolden string

//go:embed testdata/fc.txt
var fcScripts string

// Cases are the cases of testdata/cases.txt: a name in a line that begins with "== ", its script, comments after #,
// blank lines between.
func Cases() []Case { return casesOf(scripts) }

// QuotaCases are those of testdata/quotas.txt: their worlds have project quotas.
func QuotaCases() []Case { return casesOf(quotaScripts) }

// SANCases are those of testdata/san.txt: their worlds are [SAN]s.
func SANCases() []Case { return casesOf(sanScripts) }

// MultipathCases are those of testdata/multipath.txt: their worlds are [Multipathed].
func MultipathCases() []Case { return casesOf(multipathScripts) }

// FCCases are those of testdata/fc.txt: their worlds are [FC]s.
func FCCases() []Case { return casesOf(fcScripts) }

func casesOf(text string) []Case {
	var all []Case
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		name, head := strings.CutPrefix(line, "== ")
		switch {
		case head:
			all = append(all, Case{Name: name})
		case line != "":
			all[len(all)-1].Script = append(all[len(all)-1].Script, line)
		}
	}
	return all
}

// Record runs cases, each on a world of its own, and returns the golden text.
func Record(cases []Case, newWorld func() World) string {
	var b strings.Builder
	for _, c := range cases {
		b.WriteString(section(c.Name, runOn(newWorld, c.Script, false)))
	}
	return b.String()
}

func section(name string, history []string) string {
	return "== " + name + "\n" + strings.Join(history, "\n") + "\n"
}

func runOn(newWorld func() World, script []string, states bool) []string {
	w := newWorld()
	defer w.Close()
	return Run(w, script, states)
}

// Difference is one script whose histories differ.
type Difference struct {
	Name       string
	Script     []string
	Want, Have []string
}

// String shows the script up to the first line that differs.
func (d Difference) String() string {
	i := 0
	for i < len(d.Want) && i < len(d.Have) && d.Want[i] == d.Have[i] {
		i++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", d.Name)
	for _, l := range d.Want[:i] {
		if strings.HasPrefix(l, "> ") || strings.HasPrefix(l, "  ") && !strings.HasPrefix(l, "    ") {
			fmt.Fprintf(&b, "  %s\n", l)
		}
	}
	op := i
	for op > 0 && (op >= len(d.Want) || !strings.HasPrefix(d.Want[op], "> ")) {
		op--
	}
	b.WriteString("  the last one:\n")
	writeRest(&b, "want", d.Want, op)
	writeRest(&b, "have", d.Have, op)
	return b.String()
}

// writeRest shows the lines of one operation.
func writeRest(b *strings.Builder, who string, history []string, from int) {
	for i := from; i < len(history) && (i == from || !strings.HasPrefix(history[i], "> ")); i++ {
		fmt.Fprintf(b, "  %s |%s\n", who, history[i])
	}
}

// uniqueIDs is the case that Linux keeps from 6.8 on.
const uniqueIDs = "mount ids are never used again"

// CheckCases compares the histories of all cases with the golden file.
func CheckCases(newWorld func() World) []Difference { return check(Cases(), Golden, newWorld) }

// CheckQuotaCases is CheckCases of those that need project quotas.
func CheckQuotaCases(newWorld func() World) []Difference {
	return check(QuotaCases(), Quotas, newWorld)
}

// CheckSANCases is CheckCases of those that need iSCSI targets.
func CheckSANCases(newWorld func() World) []Difference {
	return check(SANCases(), SANGolden, newWorld)
}

// CheckMultipathCases is CheckCases of those that need multipathd.
func CheckMultipathCases(newWorld func() World) []Difference {
	return check(MultipathCases(), MultipathGolden, newWorld)
}

// CheckFCCases is CheckCases of those that need Fibre Channel.
func CheckFCCases(newWorld func() World) []Difference {
	return check(FCCases(), FCGolden, newWorld)
}

func check(cases []Case, golden string, newWorld func() World) []Difference {
	want := map[string][]string{}
	for part := range strings.SplitSeq(golden, "== ") {
		name, history, _ := strings.Cut(part, "\n")
		want[name] = strings.Split(strings.TrimSuffix(history, "\n"), "\n")
	}
	var differences []Difference
	for _, c := range cases {
		if c.Name == uniqueIDs && usesMountIDsAgain() {
			continue
		}
		have := runOn(newWorld, c.Script, false)
		if !slices.Equal(want[c.Name], have) {
			differences = append(differences, Difference{c.Name, c.Script, want[c.Name], have})
		}
	}
	return differences
}

// CheckSequence compares the histories of one random script.
func CheckSequence(seed uint64, want, have func() World) (Difference, bool) {
	script := Sequence(seed)
	d := Difference{
		Name: fmt.Sprintf("sequence %d", seed), Script: script,
		Want: runOn(want, script, true), Have: runOn(have, script, true),
	}
	return d, slices.Equal(d.Want, d.Have)
}
