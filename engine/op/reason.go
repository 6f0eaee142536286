package op

import (
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Failed is the result of an operation that could not go on because of err, with the outcome that err's class gives it.
func Failed(err error) core.Result {
	outcome := hal.OutcomeOf(err)
	if outcome == hal.Done {
		outcome = hal.Unknown // an error that claims to have done its work: the operation has not
	}
	return core.Result{Outcome: outcome, Reason: err.Error()}
}

// NotDone is the result of an operation that has had no effect.
func NotDone(reason string) core.Result { return core.Result{Outcome: hal.NotDone, Reason: reason} }

// Unknown is the result of an operation whose effect is not known, with no call left that could still act.
func Unknown(reason string) core.Result { return core.Result{Outcome: hal.Unknown, Reason: reason} }

// InspectResult is the result of a Look that found seen.
func InspectResult(seen Seen, err error) core.Result {
	if err != nil {
		return NotDone(err.Error())
	}
	return core.Result{Outcome: hal.Done, Fingerprint: seen.Fingerprint()}
}

// KeptWhy ends the reason of a teardown that has kept data that no record tells of.
const KeptWhy = " has data, but no record names its pod; volnode keeps it; if the pod is gone for good, empty " +
	"the directory"

// IsKept reports whether a teardown that says reason has kept data that no record tells of. It is tried again, in case
// somebody has removed the data.
func IsKept(reason string) bool { return strings.HasSuffix(reason, KeptWhy) }
