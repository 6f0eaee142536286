package engine

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// port is what each component of the manager has of the rest: the host, what the operator decides, core, and
// the events.
// Of other components it has only what it was made with. A task may use the host and the configuration, and the owner
// all.
type port struct {
	h   hal.Host // ears remove secrets from what drivers say
	cfg Config   // Invariant: it stays the same
	stream

	core     *core.Core         // nil until a start has read the node
	early    []core.Event       // events that came before core. Invariant: empty once core is set and has taken them.
	armed    hal.Instant        // the earliest queued wake-up; 0 is none
	stopping bool               // Invariant: no operation starts once it is set
	carryOut func(core.Batch)   // does what core asks for
	troubled func(core.Trouble) // is called with each trouble of core's
	rested   func()             // looks whether Run may return, after each end of what it waits for
}

// step feeds core and carries out what it asks for. E is the type of the event, so that no memory is taken to pass it
// on.
func step[E core.Event](p *port, e E) {
	if p.core == nil {
		p.early = append(p.early, e)
		return
	}
	if p.cfg.Stepping != nil {
		p.cfg.Stepping(p.core, e)
	}
	batch := p.core.Step(p.h.Runtime.Now(), e)
	if p.cfg.Stepped != nil {
		p.cfg.Stepped(p.core)
	}
	for _, is := range p.core.Illegal() {
		p.defect(EvidenceIllegal{is.Key, is.Evidence})
	}
	p.core.Troubles(p.troubled)
	p.carryOut(batch)
	p.core.Reuse(batch)
	p.arm()
}

// arm queues a wake-up for the next instant at which time alone changes a decision, unless one is queued that comes
// before it.
func (p *port) arm() {
	at := p.core.NextWake()
	if at == 0 || (p.armed != 0 && p.armed <= at) {
		return
	}
	p.armed = at
	p.h.Runtime.At(at, func() {
		if p.armed == at {
			p.armed = 0
		}
		if !p.stopping { // nothing would be started
			step(p, core.Wake{})
		}
	})
}
