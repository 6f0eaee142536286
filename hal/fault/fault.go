package fault

import (
	"strings"
	"sync"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/wrap"
)

// Injector applies rules to the calls of a Host.
type Injector struct {
	kill  func()
	fired func(Rule, wrap.Site)

	mu    sync.Mutex
	rules []Rule
	seen  []int // by rule: how many calls have matched
}

// New returns an injector. kill ends the process, for rules that say so, and does not return. fired, if not nil, is
// told of each fault; it may be called from many tasks at once.
func New(rules []Rule, kill func(), fired func(Rule, wrap.Site)) *Injector {
	return &Injector{rules: rules, seen: make([]int, len(rules)), kill: kill, fired: fired}
}

// Wrap returns h with the rules applied.
func (i *Injector) Wrap(h hal.Host) hal.Host { return wrap.Host(h, i.around) }

func (i *Injector) around(s wrap.Site, c hal.Call, do func() error) error {
	rule, ok := i.match(s, c.Key)
	if !ok {
		return do()
	}
	if rule.When == After {
		_ = do() // its effect is there; what it answered is lost
	}
	if i.fired != nil {
		i.fired(rule, s)
	}
	if rule.Kill {
		i.kill()
	}
	return rule.failure(s)
}

// match counts the call for every rule that it fits and returns the first whose turn it is.
func (i *Injector) match(s wrap.Site, rung hal.Key) (Rule, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	hit := -1
	for n, r := range i.rules {
		if !r.fits(s, rung) {
			continue
		}
		i.seen[n]++
		if hit < 0 && (r.Nth == 0 || r.Nth == i.seen[n]) {
			hit = n
		}
	}
	if hit < 0 {
		return Rule{}, false
	}
	return i.rules[hit], true
}

func (r Rule) fits(s wrap.Site, rung hal.Key) bool {
	switch {
	case r.Site != AnyCall && r.Site != SiteName(s.Name):
		return false
	case r.Rung == NoRung && rung != "", r.Rung != "" && r.Rung != NoRung && r.Rung != string(rung):
		return false
	case r.Exact:
		return s.Object == r.Object
	}
	return strings.Contains(s.Object, r.Object)
}

// SiteName is the name of a call as rules write it: one word.
func SiteName(name string) string { return strings.ReplaceAll(name, " ", "-") }

// failure is the error that a rule gives a call: what the call's class lets a caller conclude, and no more.
func (r Rule) failure(s wrap.Site) error {
	e := &hal.Error{
		Op: s.Name, Object: s.Object, Class: s.Class, Errno: r.Errno, Code: r.Code,
		Detail: "fault injected",
	}
	if s.Class == hal.ClassRPC {
		e.Reply = hal.ReplyStatus
		return e
	}
	if r.When == Before {
		e.Outcome = hal.NotDone
	}
	return e
}
