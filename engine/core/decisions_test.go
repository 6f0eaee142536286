package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/volnode/volnode/hal"
)

// The decision tables are golden files: every legal evidence of one rung of a ladder × what is wanted of it → what next
// decides. A value has no row of its own if core decides as it does on one that says one thing less (row.plainer).
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

// row is what is known of the rung.
type row struct {
	evidence
	setUp, tearDown bool // a call without a known end
}

func (r row) String() string {
	text := r.evidence.String()
	if r.setUp {
		text += ", setup open"
	}
	if r.tearDown {
		text += ", teardown open"
	}
	return text
}

// isPossible: trust ends with a teardown, and no setup may come once none can have left anything.
func (r row) isPossible() bool {
	switch {
	case r.veiled:
		return !r.setUp && !r.tearDown
	case r.state == Present, r.trust == reconfirmable:
		return !r.tearDown
	default:
		return r.trust != clean || !r.setUp
	}
}

// plainer are the values of the same state and trust that say one thing less.
func (r row) plainer(isOwn bool) (all []row) {
	for _, less := range []func(*evidence){
		func(e *evidence) { e.inspected = true },
		func(e *evidence) { e.foundOnDisk = false },
		func(e *evidence) { e.mayBeUsed = isOwn && e.state == Present },
		func(e *evidence) { e.sweep = false },
		func(e *evidence) { e.left = false },
	} {
		o := r
		if less(&o.evidence); o != r && !r.veiled {
			all = append(all, o)
		}
	}
	return all
}

// legalEvidence is every legal value, by state and trust.
func legalEvidence() (all []evidence) {
	for _, state := range []State{Absent, Unknown, Present} {
		for t := plain; t < numTrusts; t++ {
			for i := range 1 << 6 {
				is := func(bit int) bool { return i>>bit&1 == 1 }
				e := evidence{state, t, is(5), !is(4), is(3), is(2), is(1), is(0)}
				if e.isLegal() {
					all = append(all, e)
				}
			}
		}
	}
	return all
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
	{name: "unwanted, running"},
	{name: "unwanted", stopped: true},
	{name: "unwanted, not synced", stopped: true, unsynced: true},
}

func decisions(kind, below, above string) string {
	var b strings.Builder
	line := func(name string, cells []string) {
		text := fmt.Sprintf("%-56s", name)
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
	cellsOf := func(r row) (cells []string) {
		for _, column := range columns {
			cells = append(cells, decided(kind, below, above, r, column))
		}
		return cells
	}
	isOwn := kind != "stage"
	for i := range 4 {
		for _, e := range legalEvidence() {
			r := row{e, i&1 != 0, i&2 != 0}
			if kind == "local" && i > 0 || !r.isPossible() || e.mayBeUsed && !isOwn {
				continue // the calls of a local rung have no time-out
			}
			cells := cellsOf(r)
			if !slices.ContainsFunc(r.plainer(isOwn), func(o row) bool { return slices.Equal(cells, cellsOf(o)) }) {
				line(r.String(), cells)
			}
		}
	}
	return b.String()
}

const instant = hal.Instant(time.Second)

// decided sets one situation up and asks for the decision.
func decided(kind, below, above string, row row, column asked) string {
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
		c.add(spec("stage")).believe(map[string]evidence{
			"present": {state: Present}, "unknown": {}, "absent": {state: Absent, trust: clean},
		}[below])
	}
	r := c.add(mine)
	r.believe(row.evidence)
	r.made = []Param{{Name: "opt"}, {Name: "token"}}
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
	c.pod("p").wanted = column.held // and not all of its volumes are known
	return brief(c, r)
}

func presentAbove(c *Core, top *rung, above string) {
	switch above {
	case "live":
		top.believe(evidence{state: Present, mayBeUsed: true})
		c.pod("p").gone = false
	case "dead":
		top.believe(evidence{state: Present, mayBeUsed: true})
		c.pod("p").gone = true
	case "uncertain":
		top.believe(evidence{state: Absent})
		top.fence(call{verb: SetUp, until: 2 * instant})
	case "leaving":
		top.believe(evidence{})
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
		whyNeighbour: "neighbour busy", whyHidden: "hidden",
		whyDenied: "containers run", whyFailedHeld: "containers run",
	}
	text, ok := words[d.why]
	if !ok {
		panic(d.text())
	}
	return text
}
