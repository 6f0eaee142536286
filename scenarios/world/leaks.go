package world

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/scenarios/secrets"
)

// Leak is what of a secret or of a token is in a text, "" for nothing.
func (r *Run) Leak(text string) string {
	given := r.W.Tokens()
	for ; r.tokens.known < len(given); r.tokens.known++ {
		r.tokens.leaks.Add(given[r.tokens.known].Text)
	}
	if r.Leaks.In(text) == "" && r.tokens.leaks.In(text) == "" {
		return ""
	}
	var good, expired secrets.Finder // one that has expired is no secret any more: its driver may quote it for ever
	for _, t := range given {
		if t.Ends <= r.W.Now() {
			expired.Add(t.Text)
		} else {
			good.Add(t.Text)
		}
	}
	return cmp.Or(r.Leaks.InBut(text, &expired), good.InBut(text, &expired))
}

// Reveals is S17 of a text that people read: it has no secret, and nothing that a terminal obeys.
func (r *Run) Reveals(site, object, text string) {
	if part := r.Leak(text); part != "" {
		r.Fail("S17", site, object, fmt.Sprintf("%q, of a secret, is in the %s: %q", part, site, text))
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' || c == 0x7f {
			r.Fail("S17", site, object, fmt.Sprintf("a control character is in the %s: %q", site, text))
			return
		}
	}
}

// Wording is L12 of a text that people read: nothing is missing in it.
func (r *Run) Wording(site, object, text string) {
	r.Judges("L12")
	if why := r.Legacy.wording(strings.ReplaceAll(text, "***", "masked")); why != "" {
		r.Fail("L12", "wording", object, fmt.Sprintf("%s, in the %s: %q", why, site, text))
	}
}

// ReadsLine looks at a line of the log: S17 of its fields, L12 of what it gives for a reason.
func (r *Run) ReadsLine(l engine.Line) {
	r.Judges("S17")
	for _, f := range l.Fields {
		r.Reveals("log", l.Message, f)
	}
	r.Wording("log", l.Message, l.Message)
	for i := 1; i < len(l.Fields); i += 2 {
		switch l.Fields[i-1] {
		case "why", "reason", "error", "field":
			r.Wording("log", l.Message, l.Fields[i])
		}
	}
}

// ReadsStatus looks at all reasons that a status gives.
func (r *Run) ReadsStatus(s engine.Status) {
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			r.Wording("status", p.Name+"/"+v.Name, v.Why)
		}
	}
	for _, k := range s.Rungs {
		if k.Key == "" {
			r.Fail("S35", "status", "agent", "the status has a rung without a name: "+k.Why)
		}
		for _, text := range []string{k.Step, k.Why, k.Next} {
			r.Wording("status", string(k.Key), text)
		}
	}
	for _, d := range s.Drivers {
		r.Wording("status", d.Name, d.Why)
		r.Wording("status", d.Name, d.LastAnswer)
	}
	for _, t := range s.Sources {
		r.Wording("status", t.Where, t.Where)
		r.Wording("status", t.Where, t.Why)
	}
	for _, text := range append(s.Journal.Damage, s.Journal.Why) {
		r.Wording("status", "journal", text)
	}
}
