package core

import (
	"fmt"
	"slices"

	"github.com/volnode/volnode/hal"
)

// why is the reason of a decision.
type why uint8

const (
	whyNothing why = iota
	whyReady
	whyInFlight
	whyChild
	whyHeld
	whyWanted
	whyUnknown
	whyRefresh
	whyRebuild
	whyRebuildHeld
	whyVoidHeld
	whyFailedHeld
	whyAwaits
	whyDenied
	whyUnwanted
	whyNotSynced
	whyInUse
	whySibling
	whyAhead
	whyBelow
	whyDropsBelow
	whyBackoff
	whyNeighbour
	whySerial
	whySetUpOpen
	whyTearDownOpen
	whySecondTearDown
	whyLetGo
	whyDefers
	whyClaim
	whyPlace
	whyPlaceUsed
	whyPlaceHeld
	whyAnswered
	whyCovered
	whyHidden
	whyTurn
)

// whyTexts has %s for the rung, or the other thing, that the reason names (decision.on).
var whyTexts = [...]string{
	whyNothing:  "nothing to do",
	whyReady:    "as wanted",
	whyInFlight: "an operation is in flight",
	whyChild:    "waits for a helper process of an earlier run to end",
	whyHeld:     "not wanted, but containers may still use it; volnode keeps it",
	whyWanted:   "wanted",
	whyUnknown:  "state unknown",
	whyRefresh:  "needs a refresh",
	whyRebuild:  "needs a rebuild",
	whyRebuildHeld: "rebuild pending: %s has changed, but containers may still use the volume; volnode rebuilds it " +
		"after they end; delete the pods that use it",
	whyVoidHeld: "rebuild pending: the volume was attached again, but containers may still use the old attachment; " +
		"volnode rebuilds it after they end; delete the pods that use it",
	whyFailedHeld: "rebuild pending: the filesystem has failed, but containers may still use it; volnode rebuilds it " +
		"after they end; delete the pods that use it",
	whyAwaits: "setup is not allowed yet",
	whyDenied: "rebuild pending: the driver holds it in an incompatible state, but containers may still use it; volnode " +
		"rebuilds it after they end; delete the pods that use it",
	whyUnwanted:       "not wanted",
	whyNotSynced:      "teardown waits until volnode has read every source",
	whyInUse:          "waits for the teardown of %s, which depends on it",
	whySibling:        "waits for the teardown of %s of the same volume",
	whyAhead:          "waits for the setup of %s of the same volume",
	whyBelow:          "waits for %s",
	whyDropsBelow:     "drops a dependency after teardown",
	whyBackoff:        "waits for its next attempt",
	whyNeighbour:      "waits for the operation on %s",
	whySerial:         "waits for the operation on %s: the driver takes one call per volume at a time",
	whySetUpOpen:      "an earlier setup call may still act",
	whyTearDownOpen:   "an earlier teardown call may still act",
	whySecondTearDown: "second teardown: a setup call may have acted after the first",
	whyLetGo:          "second teardown: a teardown call may have acted on what a late setup call made",
	whyDefers:         "waits for the teardown of %s",
	whyClaim:          "waits for %s to release its ReadWriteOncePod claim",
	whyPlace:          "waits for the teardown of %s at the same path",
	whyPlaceUsed: "waits for %s at the same path: containers may still use it; delete the pod that uses it, then create " +
		"it again",
	whyPlaceHeld: "shares its path with %s: containers may still use one of them; volnode tears both down after they " +
		"end; delete the pods that use them",
	whyAnswered: "gone; volnode watches for late effects of a call that failed",
	whyCovered:  "path hidden: volnode waits for %s",
	whyHidden: "waits until volnode can read %s: an earlier run may have left a volume there; volnode tries again; make " +
		"it readable",
	whyTurn: "queued: the limit of concurrent operations is reached",
}

// text formats a reason that names on, or that names nothing if on is "".
func (w why) text(on hal.Key) string {
	if on != "" {
		return fmt.Sprintf(whyTexts[w], on)
	}
	return whyTexts[w]
}

func (d decision) text() string { return d.why.text(d.on) }

// whyOf returns the present reason of r, and the rung that it names; "" if it names none. Of a rung that defers, it
// finds the other rung when it is asked: as a part of the decision, the name would have all that depends on r decide
// again each time the name changes.
func (c *Core) whyOf(r *rung) (text string, on hal.Key) {
	switch r.next.why {
	case whySetUpOpen, whyTearDownOpen:
		return c.openText(r), ""
	case whyAwaits:
		return r.Awaits, ""
	case whyDefers:
		o, isClaim := c.deferredTo(r)
		switch {
		case o == nil:
			return whyDefers.text("another rung"), ""
		case isClaim:
			return whyClaim.text(o.Key), o.Key
		}
		return whyDefers.text(o.Key), o.Key
	default:
	}
	if c.rungs[r.next.on] != nil {
		on = r.next.on
	}
	return r.next.text(), on
}

// differs names the reason why r needs a rebuild: a parameter, or a rung below it.
func (c *Core) differs(r *rung) string {
	for _, w := range r.Want {
		at := slices.IndexFunc(r.made, func(m Param) bool { return m.Name == w.Name })
		if at >= 0 && r.made[at].Value != w.Value && w.OnChange == OnChangeRebuild {
			return w.Name
		}
	}
	for _, g := range r.generation {
		if b := c.rungs[g.Key]; b != nil && b.fingerprint != g.Fingerprint {
			return string(g.Key)
		}
	}
	return "state"
}

func (d decision) as(want desire) decision {
	d.isWanted = want == wanted
	return d
}
