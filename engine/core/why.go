package core

import "fmt"

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

var whyTexts = [...]string{
	whyNothing:  "nothing to do",
	whyReady:    "as wanted",
	whyInFlight: "an operation is in flight",
	whyChild:    "a helper process of an earlier run still lives",
	whyHeld:     "not wanted, but containers may still run on it",
	whyWanted:   "wanted",
	whyUnknown:  "not known to be up",
	whyRefresh:  "wants a refresh",
	whyRebuild:  "must be made again",
	whyRebuildHeld: "was made with another %s than is wanted now, and containers may run on it; volnode makes it " +
		"again once they have ended; delete " +
		"the pods that use it",
	whyVoidHeld: "is of an earlier attachment of its volume, and containers may run on it; volnode makes it again " +
		"once they have ended; " +
		"delete the pods that use it",
	whyFailedHeld: "its filesystem has failed, and containers may run on it; volnode makes it again once they have " +
		"ended; delete the pods that " +
		"use it",
	whyAwaits:         "may not come up yet",
	whyDenied:         "the driver holds something incompatible, and containers may run on it",
	whyUnwanted:       "not wanted",
	whyNotSynced:      "nothing is torn down before every source is synced",
	whyInUse:          "%s depends on it",
	whySibling:        "%s is of the same volume, and goes first",
	whyAhead:          "%s is of the same volume, and comes first",
	whyBelow:          "waits for %s",
	whyDropsBelow:     "is to stand on less, once it is down",
	whyBackoff:        "waits to try again",
	whyNeighbour:      "waits for the operation on %s",
	whySerial:         "waits for the operation on %s, its driver works on one call a volume",
	whySetUpOpen:      "a call may still bring it up",
	whyTearDownOpen:   "a call may still take it down",
	whySecondTearDown: "taken down once more after the end of the last setup",
	whyDefers:         "waits for another to go down",
	whyClaim:          "waits for %s, which may hold its exclusive claim",
	whyPlace:          "waits until nothing of %s is left at its path",
	whyPlaceUsed: "%s is at its path, and containers may run on it; delete the pod that uses it, and create " +
		"it again",
	whyPlaceHeld: "%s may be at its path, too, and containers may run on it; volnode takes both down once they have " +
		"ended; delete the " +
		"pods that use it",
	whyAnswered: "gone; a call that was answered with an error is remembered, in case it still acts",
	whyCovered:  "waits, as its place is hidden, for %s",
	whyHidden:   "waits until %s can be looked at: an earlier run may have left something there; volnode looks again",
	whyTurn:     "waits for its turn: as many operations run as may at a time",
}

func (d decision) text() string {
	if d.on != "" {
		return fmt.Sprintf(whyTexts[d.why], d.on)
	}
	return whyTexts[d.why]
}
