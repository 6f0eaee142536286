package lang

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// FaultRule is one fault that a scenario wants.
type FaultRule struct {
	Line   int
	Text   string // as it is written, without the word fault
	Site   string
	Object string // what the call's object must contain
	Nth    int    // of the calls that match, from 1
	Faults []sim.Fault
	Value  int64         // of the choice that goes with it: how late, which status; -1 is none
	Late   time.Duration // how long after an answer that something else gives the call acts; 0 is as soon as it can
}

// kinds are the faults by the words that a scenario has for them.
var faultKinds = []struct {
	words  string
	takes  string // "", "time" or "code"
	faults []sim.Fault
}{
	{"slow", "", []sim.Fault{sim.Slow}},
	{"takes", "time", []sim.Fault{sim.Slow}},
	{"reply lost", "", []sim.Fault{sim.Lost}},
	{"dropped", "", []sim.Fault{sim.Dropped}},
	{"doubled", "", []sim.Fault{sim.Doubled}},
	{"intercepted", "code", []sim.Fault{sim.Intercepted}},
	{"refused", "", []sim.Fault{sim.Refused}},
	{"late reply dropped", "", []sim.Fault{sim.LateDropped}},
	{"late", "time", []sim.Fault{sim.Late}},
	{"stalled", "time", []sim.Fault{sim.Stalled}},
	{"hangs", "time", []sim.Fault{sim.Hang}},
	{"no effect", "code", []sim.Fault{sim.ErrorNone}},
	{"half done", "code", []sim.Fault{sim.ErrorPart}},
	{"all done", "code", []sim.Fault{sim.ErrorFull}},
	{"fails half done", "", []sim.Fault{sim.FailPart}},
	{"fails all done", "", []sim.Fault{sim.FailFull}},
	{"fails", "", []sim.Fault{sim.FailNone, sim.SyncFails}},
	{"no space", "", []sim.Fault{sim.NoSpace}},
	{"driver dies", "", []sim.Fault{sim.DriverCrash}},
	{"agent dies before", "", []sim.Fault{sim.CrashBefore}},
	{"agent dies sending", "", []sim.Fault{sim.CrashAfter}},
	{"agent dies after", "", []sim.Fault{sim.CrashAfter}},
	{"agent dies replied", "", []sim.Fault{sim.CrashReplied}},
	{"told late", "", []sim.Fault{sim.NoticeLate}},
	{"told twice", "", []sim.Fault{sim.NoticeDoubled}},
	{"told vaguely", "", []sim.Fault{sim.NoticeVague}},
	{"orphan acts after", "time", []sim.Fault{sim.OrphanActs}},
	{"helper lives", "", []sim.Fault{sim.ChildLives}},
	{"reboot", "", []sim.Fault{sim.Reboot}},
	{"power cut", "", []sim.Fault{sim.PowerCut}},
}

func (p *parser) fault(words []string) error {
	f := FaultRule{Line: p.line, Text: strings.Join(words, " "), Nth: 1, Value: -1}
	if len(words) < 2 {
		return p.errorf("write fault SITE [of OBJECT] [nth N] KIND, like: fault csi.stage of vol-a late 60s")
	}
	if faultsAt(words[0]) == nil {
		return p.errorf("%q is no site at which a fault can be injected; did you mean %s? docs/fault-atlas.md lists all",
			words[0], nearest(words[0], siteNames()))
	}
	f.Site, words = words[0], words[1:]
	if words[0] == "of" && len(words) > 1 {
		f.Object, words = words[1], words[2:]
	}
	if len(words) > 1 && words[0] == "nth" {
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 1 {
			return p.errorf("nth %q: the number is from 1", words[1])
		}
		f.Nth, words = n, words[2:]
	}
	text := strings.Join(words, " ")
	for _, k := range faultKinds {
		rest, ok := strings.CutPrefix(text+" ", k.words+" ")
		if !ok {
			continue
		}
		f.Faults = k.faults
		if err := p.possible(&f, k.words); err != nil {
			return err
		}
		if k.words == "agent dies after" && strings.HasPrefix(f.Site, "csi.") {
			f.Value = 1
		}
		if err := p.value(&f, k.takes, strings.TrimSpace(rest)); err != nil {
			return err
		}
		p.s.Faults = append(p.s.Faults, f)
		return nil
	}
	// What a site has only one kind of is called by the fault's own name.
	if i := slices.IndexFunc(sim.Faults(), func(k sim.Fault) bool { return k.String() == text }); i >= 0 {
		f.Faults = sim.Faults()[i : i+1]
		if err := p.possible(&f, text); err != nil {
			return err
		}
		p.s.Faults = append(p.s.Faults, f)
		return nil
	}
	return p.errorf("%q is no kind of fault; at %s there can be: %s", text, f.Site, faultWords(f.Site))
}

// possible refuses a fault that no call of its site can meet.
func (p *parser) possible(f *FaultRule, words string) error {
	can := faultsAt(f.Site)
	if slices.ContainsFunc(f.Faults, func(k sim.Fault) bool { return slices.Contains(can, k) }) {
		return nil
	}
	return p.errorf("%q can't be at %s; these can: %s", words, f.Site, faultWords(f.Site))
}

// nearest is the name that shares the most pairs of letters with a wrong one.
func nearest(wrong string, names []string) string {
	best, most := "", -1.0
	for _, name := range names {
		n := 0
		for i := range len(wrong) - 1 {
			if strings.Contains(name, wrong[i:i+2]) {
				n++
			}
		}
		if score := float64(n) / float64(len(name)+len(wrong)); score > most {
			best, most = name, score
		}
	}
	return best
}

func (p *parser) value(f *FaultRule, takes, text string) error {
	switch takes {
	case "time":
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return p.errorf("%q is not how long; write it like 60s", text)
		}
		if f.Faults[0] == sim.Slow {
			if d > sim.SlowMost {
				return p.errorf("%v is too long: a driver works on a call for %v at most", d, sim.SlowMost)
			}
		} else if isHang := f.Faults[0] == sim.Hang; isHang && (d < sim.HangLeast || d > sim.HangMost) || !isHang &&
			d >= sim.LateWindow {
			return p.errorf("%v is too long or too short: a call hangs %v to %v, and acts less than %v after its "+
				"deadline", d, sim.HangLeast,
				sim.HangMost, sim.LateWindow)
		}
		f.Value = int64(d)
	case "code":
		codes := sim.ErrorCodes(f.Faults[0])
		text, after, isLate := strings.Cut(text, " after ")
		if isLate {
			d, err := time.ParseDuration(after)
			if f.Faults[0] != sim.Intercepted || err != nil || d < 0 {
				return p.errorf("%q is too much; only an intercepted call acts after a time, like: intercepted "+
					"UNAVAILABLE after 60s", after)
			}
			f.Late = d
		}
		i := slices.IndexFunc(codes, func(c hal.Code) bool { return c.String() == text })
		if i < 0 {
			return p.errorf("%q is not a status that a driver fails with; one of %v is", text, codes)
		}
		f.Value = int64(i)
	default:
		if text != "" {
			return p.errorf("%q is too much", text)
		}
	}
	return nil
}
