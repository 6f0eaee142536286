package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/volnode/volnode/hal"
)

// The decision tables are golden files: every state of one rung of a ladder × what is wanted of it → what next decides.
//
//	decide rung=publish|stage|local [below=present|unknown|absent] [above=none|joining|live|dead|uncertain|leaving]
//
// below is the stage of a publish; without it the publish stands alone. above is the publish of a stage, as it stands:
// joining, it is wanted and Absent; live, up with containers; dead, up and its containers gone; uncertain, Absent while
// a setup may still come; leaving, being taken down.
func TestDecisions(t *testing.T) {
	datadriven.Walk(t, "testdata/decisions", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			rung, below, above := "publish", "", "none"
			d.ScanArgs(t, "rung", &rung)
			d.MaybeScanArgs(t, "below", &below)
			d.MaybeScanArgs(t, "above", &above)
			return decisions(rung, below, above)
		})
	})
}

// stateClass is one row: what is known of the rung.
type stateClass struct {
	state                    State
	reconfirmable, noResidue bool
	setUp, tearDown          bool // a call without a known end
}

func (s stateClass) String() string {
	text := s.state.String()
	for _, flag := range []struct {
		is   bool
		name string
	}{
		{s.reconfirmable, "reconfirmable"},
		{s.state == Absent && !s.noResidue, "not for good"},
		{s.setUp, "setup open"},
		{s.tearDown, "teardown open"},
	} {
		if flag.is {
			text += ", " + flag.name
		}
	}
	return text
}

// stateClasses are all rows that can be.
func stateClasses() []stateClass {
	var rows []stateClass
	for _, state := range []State{Absent, Unknown, Present} {
		for i := range 16 {
			s := stateClass{state, i&8 != 0, i&4 == 0, i&1 != 0, i&2 != 0}
			switch {
			case s.reconfirmable && (state != Unknown || s.tearDown), s.noResidue &&
				(state != Absent || s.setUp), state == Present && s.tearDown:
				continue // never: trust ends with a teardown, and no setup may come up again for good
			}
			rows = append(rows, s)
		}
	}
	return rows
}

// asked is one column: what is asked of the rung.
type asked struct {
	name              string
	wanted, held      bool
	opt, token        string // "" as it was made
	unsynced, stopped bool   // stopped: no container of the pod runs
}

var columns = []asked{
	{name: "wanted", wanted: true},
	{name: "+ refresh", wanted: true, token: "new"},
	{name: "+ rebuild", wanted: true, opt: "new"},
	{name: "+ rebuild, stopped", wanted: true, opt: "new", stopped: true},
	{name: "held", held: true},
	{name: "unwanted", stopped: true},
	{name: "unwanted, not synced", stopped: true, unsynced: true},
}

func decisions(kind, below, above string) string {
	var b strings.Builder
	line := func(name string, cells []string) {
		text := fmt.Sprintf("%-46s", name)
		for _, cell := range cells {
			text += fmt.Sprintf(" %-20s", cell)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	var heads []string
	for _, column := range columns {
		heads = append(heads, column.name)
	}
	line("", heads)
	for _, row := range stateClasses() {
		if kind == "local" && (row.setUp || row.tearDown) {
			continue // its calls have no time-out
		}
		var cells []string
		for _, column := range columns {
			cells = append(cells, decided(kind, below, above, row, column))
		}
		line(row.String(), cells)
	}
	return b.String()
}

const instant = hal.Instant(time.Second)

// decided sets one situation up and asks for the decision.
func decided(kind, below, above string, row stateClass, column asked) string {
	c := New(Start{Now: instant, Boot: "b"})
	c.synced = !column.unsynced
	c.pod("p").gone = column.stopped
	spec := func(kind string) Rung {
		s := Rung{Key: hal.Key(kind), Kind: Kind(kind), Intent: kind != "local"}
		if kind == "publish" || kind == "local" {
			s.Pod = "p"
		}
		return s
	}
	mine := spec(kind)
	mine.Want = []Param{{"opt", column.opt, OnChangeRebuild}, {"token", column.token, OnChangeRefresh}}
	if below != "" {
		mine.Below = []hal.Key{"stage"}
		c.add(spec("stage")).state = map[string]State{"present": Present, "unknown": Unknown, "absent": Absent}[below]
	}
	r := c.add(mine)
	r.state, r.reconfirmable, r.noResidue, r.inspected = row.state, row.reconfirmable, row.noResidue, true
	r.made = []Param{{Name: "opt"}, {Name: "token"}}
	r.mayBeUsed = mine.Pod != "" && row.state == Present
	if row.setUp {
		r.fence(call{verb: SetUp, until: 2 * instant})
	}
	if row.tearDown {
		r.fence(call{verb: TearDown, until: 2 * instant})
	}
	top := r
	if above != "none" {
		s := spec("publish")
		s.Below = []hal.Key{r.Key}
		top = c.add(s)
		presentAbove(c, top, above)
	}
	if column.wanted {
		top.pods = []*pod{c.pod("p")}
	}
	if column.held {
		top.mayBeUsed = true
	}
	return brief(c, r)
}

func presentAbove(c *Core, top *rung, above string) {
	switch above {
	case "live":
		top.state, top.noResidue, top.mayBeUsed = Present, false, true
		c.pod("p").gone = false
	case "dead":
		top.state, top.noResidue, top.mayBeUsed = Present, false, true
		c.pod("p").gone = true
	case "uncertain":
		top.noResidue = false
		top.fence(call{verb: SetUp, until: 2 * instant})
	case "leaving":
		top.state, top.noResidue = Unknown, false
		top.op = &flight{Op: Op{Verb: TearDown}}
	}
}

func brief(c *Core, r *rung) string {
	d := c.next(r)
	switch {
	case d.act:
		return strings.ToUpper(d.verb.String())
	case d.drop:
		return "forget"
	}
	words := map[why]string{
		whyReady: "ready", whyHeld: "held", whyNotSynced: "not synced", whyInUse: "stood on",
		whyBelow: "below is not up", whySetUpOpen: "setup may come",
		whyTearDownOpen: "teardown may come", whyDefers: "yields", whyRebuildHeld: "containers run",
		whyNeighbour: "neighbour busy",
	}
	text, ok := words[d.why]
	if !ok {
		panic(d.text())
	}
	return text
}
