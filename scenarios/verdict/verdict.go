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
	{"S1", "the agent removes only what it made itself: it deletes no volume data, and no emptyDir of a pod that " +
		"nobody has deleted, and it undoes no mount of others"},
	{"S2", "the agent makes a filesystem on a disk only if it has proof that nothing is on it"},
	{"S4", "the agent sends a publish only onto a stage that is up and stays up"},
	{"S5", "the agent unstages no volume while a publish of it exists, is in flight or is uncertain"},
	{"S6", "each volume and each path has at most one operation at a time; a call that the agent gave up counts " +
		"until it can act no more"},
	{"S7", "the agent takes nothing from a pod whose containers may run"},
	{"S8", "the engine forgets nothing, and reports nothing gone or unused, while part of it is left or may still " +
		"come"},
	{"S9", "the agent publishes a ReadWriteOncePod claim for one pod at a time, and sets up no volume that another " +
		"node has"},
	{"S10", "a volume keeps what containers write and sync, and the next containers find it there"},
	{"S13", "a path belongs to one volume as long as any part of that volume is there, or may still come"},
	{"S14", "the engine's beliefs match reality: what it believes up is up, and what it believes down is down"},
	{"S15", "a start finds everything that an earlier run may have done"},
	{"S17", "no log, journal, status, wait or trace shows a secret, whole, in part or encoded, or a character that " +
		"a terminal obeys"},
	{"S18", "each path has at most one mount of the agent"},
	{"S20", "who reads files made of Secrets and ConfigMaps finds those of one version of each, all of them; in the end " +
		"the present one"},
	{"S21", "the agent reports a pod ready only if its volumes are there as the pod asks (S19: read-only or not)"},
	{"S22", "the agent tears nothing down before every source has said all it knows, and nothing of a pod that was " +
		"wanted all along"},
	{"S23", "the agent does not trust a driver again that it saw act after an error reply, even after a restart"},
	{"S24", "calls for a volume go to the endpoint that serves its driver, as long as that endpoint answers"},
	{"S25", "the agent refuses a driver only if the registrar says something that the agent can't accept"},
	{"S27", "each stage and publish matches the objects: filesystem, options, access, context, pod, secret, paths, " +
		"read-only"},
	{"S28", "containers find the data of their own volume, and never another volume's"},
	{"S29", "what the agent makes for pods has the right mode; a directory that was taken from under its " +
		"containers says so until its pod ends, and no other one does"},
	{"S30", "the agent touches nothing of another agent or machine before a person allows it, and deletes data " +
		"only of pods that it knows to be gone"},
	{"S31", "before the agent deletes data, the log of deletions has a durable entry with the true cause"},
	{"S32", "a volume is up for one attachment: once the agent hears that this attachment has ended, nothing more " +
		"comes up on it, and no pod is ready on it"},
	{"S33", "the agent reports no pod ready after a publish on a filesystem that had visibly failed"},
	{"S34", "no hostPath leads to a place that the agent empties or owns"},
	{"S35", "all answers of the engine agree"},
	{"S36", "a filesystem with errors is checked before containers may write to it: the volume's own, and nobody has it " +
		"mounted meanwhile"},
	{"S37", "a quota holds an emptyDir to its limit if that is configured, and only then; each has a project of its own " +
		"that nobody else uses"},
	{"L1", "the agent removes everything some time after its last user has gone"},
	{"L2", "everything wanted comes up within a bound after the faults stop"},
	{"L3", "a broken driver, or one bad entry on the node, harms no pod that it does not concern"},
	{"L4", "the teardown of a deleted pod ends"},
	{"L5", "the agent does not report a volume in use once nothing of it is left"},
	{"L6", "work resumes by itself after a driver or the agent restarts"},
	{"L7", "once everything is as wanted, the agent does nothing more; before that, it does not go round in circles"},
	{"L8", "the cost of a change does not grow with the pods, rungs, files and mounts that have not changed"},
	{"L11", "a restart adopts what is healthy without a call"},
	{"L12", "whatever is not as wanted says why, or what is under way"},
	{"L13", "a driver that runs and registers is registered and connected within a bound after the faults stop"},
	{"L14", "no pod stays ready for longer than a bound on a filesystem that has visibly failed"},
	{"L15", "in calm, the engine's answers match what is there"},
	{"L16", "once a driver that answered with errors works again, what it has for a pod is ready, or gone, within " +
		"seconds"},
	{"L17", "a driver that asks for it has what it published published again each minute, and the stage stays as it is"},
	{"L18", "who can say how full a volume of a claim is, or what is wrong with it, is asked each minute while it is " +
		"up, and the status says what was said"},
	{"panic", "the engine's own assertions hold, and no check of volsim panics"},
	{"expect", "the scenario's expectations hold"},
}
