// Package verdict is what the checks of runs watch over, and what they find.
package verdict

import "github.com/volnode/volnode/hal"

// Violation is one property that was seen broken.
type Violation struct {
	Property string      `json:"property"`
	Site     string      `json:"site"`   // where it was seen: an effect, a claim of the engine, a phase
	Object   string      `json:"object"` // a rung, a path, a pod
	Story    string      `json:"story"`  // one sentence
	At       hal.Instant `json:"at"`     // of the world's clock
	Record   uint64      `json:"record"` // the last trace record before it
}

// Signature is what two runs that show the same defect have in common.
func (v *Violation) Signature() string { return v.Property + " " + v.Site }

func (v *Violation) String() string {
	return v.Property + " at " + v.Site + " (" + v.Object + "): " + v.Story
}

// Properties are what the checks watch over, by code. docs/properties.md says when each is judged, and what is excused.
var Properties = []struct{ Code, Text string }{
	{"S1", "volume data is never deleted, nor another's mount undone: only what the agent made itself; nor the " +
		"emptyDir of a pod that nobody has deleted"},
	{"S4", "a publish is sent only onto a stage that is up, and stays up"},
	{"S5", "no unstage while a publish exists, is in flight or is uncertain"},
	{"S6", "at most one operation for each volume and path, calls that were given up included"},
	{"S7", "nothing is taken from a pod whose containers may run"},
	{"S8", "nothing is told to be gone, not in use, or forgotten, while some of it is left or may still come"},
	{"S9", "a ReadWriteOncePod claim is published for one pod at a time, and a volume that another node has does " +
		"not come up here"},
	{"S10", "what containers write and sync is in their volume, and there for who comes next"},
	{"S13", "a path has one volume for as long as anything of it is there, or may come"},
	{"S14", "what is believed to be up or down is"},
	{"S15", "a start knows of everything that an earlier run may have done"},
	{"S17", "no secret in a log, a journal, a status, a wait or a trace, whole, in part or encoded, and nothing " +
		"there that a terminal obeys"},
	{"S18", "at most one mount of ours at each path"},
	{"S21", "ready is told only of what is there, as it was asked for (S19: read-only or not)"},
	{"S22", "nothing is taken down before every source has said all it knows, nor of a pod that was wanted all along"},
	{"S23", "a driver that was seen to act after it had answered with an error is not trusted again, over restarts"},
	{"S24", "calls for a volume go to the endpoint that serves its driver, as long as it answers"},
	{"S25", "a registrar is told that its driver was not taken only if it says what can't be taken"},
	{"S27", "a stage and a publish say what the objects say: filesystem, options, access, context, pod, secret, " +
		"paths, read-only"},
	{"S28", "containers find the data of their own volume, and never another's"},
	{"S29", "what is made for pods has the right mode; an emptyDir that lost its data says so until its pod ends, " +
		"and no other does"},
	{"S30", "what another agent or machine has made is not touched before a person says so, and data goes only of " +
		"pods that are known to be gone"},
	{"S31", "a deletion of data is in the log of deletions, durably and with its true cause, before it begins"},
	{"S32", "what is up of a volume belongs to one attachment of it: once the agent was told that this has ended, " +
		"nothing more comes up on it, and no pod is ready on it"},
	{"S33", "no pod is told to be ready by a publish on a filesystem that could be seen to have failed when it was made"},
	{"S34", "no hostPath leads to a place that the agent empties or owns"},
	{"S35", "all answers of the engine agree"},
	{"L1", "everything is removed some time after its last user"},
	{"L2", "everything wanted is up within a bound after the faults stop"},
	{"L3", "a driver that is broken, or one bad entry on the node, harms no pod that it does not concern"},
	{"L4", "the end of a pod ends"},
	{"L5", "a volume of which nothing is left is not told to be in use"},
	{"L6", "work resumes by itself after a driver or the agent restarts"},
	{"L7", "once everything is as wanted, nothing is done any more, and nothing goes round in circles before"},
	{"L8", "what a change costs does not grow with the pods, rungs, files and mounts that have not changed"},
	{"L11", "a restart adopts what is healthy without a call"},
	{"L12", "what is not as it should be says why, or what is under way"},
	{"L13", "a driver that runs and registers is registered and connected within a bound after the faults stop"},
	{"L14", "no pod is told to be ready for longer than a bound on a filesystem that can be seen to have failed"},
	{"L15", "in calm, what the engine answers is what is there"},
	{"L16", "once a driver has answered with errors and works again, what it has for a pod is ready, or gone, " +
		"within seconds"},
	{"panic", "the engine's own assertions hold, and no check of volsim panics"},
	{"expect", "the scenario's expectations hold"},
}
