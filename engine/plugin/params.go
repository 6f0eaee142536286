package plugin

import (
	"strings"

	"github.com/volnode/volnode/engine/core"
)

// Parameters and facts that mean the same in every source that has them. They are written in journals.
const (
	ParamPath     = "path"     // where the rung is
	ParamData     = "data"     // its vol_data.json
	ParamStop     = "stop"     // empty directories above path are removed up to here
	ParamMode     = "mode"     // "filesystem" or "block"
	ParamReadOnly = "readOnly" // "true" or ""
	// ParamSpec is the volume's spec name: the PersistentVolume's, or of an inline volume the pod's name for it.
	ParamSpec = "spec"
	ParamPV   = "pv" // the PersistentVolume's name
	// ParamOf says whose volume it is, for people, of what pods share and no PersistentVolume names.
	ParamOf   = "of"
	ParamNode = "node" // the node's name
	// ParamPod is namespace/name of the pod whose own the rung is, for tokens, and for people who find it in the journal
	// after a restart.
	ParamPod = "pod"
	// ParamGroup is the group that the volume's driver gives its files to, in decimal; "" for whichever.
	ParamGroup = "mountGroup"
	// ParamFSGroup is the group that volnode gives the files of the volume to, in decimal; "" for none.
	ParamFSGroup = "fsGroup"
	// ParamAccount is the service account of the pod, for its tokens, and ParamTokens those that a driver asks for, as a
	// JSON list.
	ParamAccount = "serviceAccount"
	ParamTokens  = "tokens"
	// ParamSecret and ParamOtherSecret are namespace/name of the volume's Secrets. A driver may quote both.
	ParamSecret      = "secret"
	ParamOtherSecret = "otherSecret"
	// ParamAttachment is the uid of the VolumeAttachment of a volume that must be attached.
	ParamAttachment = "attachment"

	FactPath = "path" // where the pod finds the volume
	FactLost = "lost" // what happened to the volume's data, for people; it stays until the pod ends
)

// Values of the parameters above.
const (
	ModeFilesystem = "filesystem"
	ModeBlock      = "block"
	Yes            = "true"
)

// PathOf is where a rung with these parameters is.
func PathOf(made []core.Param) string { return core.Value(made, ParamPath) }

// SpecOf is the spec name of the volume of a rung with these parameters; "" if it has none.
func SpecOf(made []core.Param) string { return core.Value(made, ParamSpec) }

// PVOf is the name of the PersistentVolume that a rung is of, "" if it is of none.
func PVOf(made []core.Param) string { return core.Value(made, ParamPV) }

// OwnerOf is the volume that a rung which pods share is made for, for people; "" if nothing says.
func OwnerOf(made []core.Param) string {
	if pv := PVOf(made); pv != "" {
		return "PersistentVolume " + pv
	}
	return core.Value(made, ParamOf)
}

// NodeOf returns the name of the node that a rung with these parameters was made for; "" if they do not say.
func NodeOf(made []core.Param) string { return core.Value(made, ParamNode) }

// PodOf returns the namespace and the name of the pod whose rung was made with these parameters; "" if they do not say,
// as those of an orphan.
func PodOf(made []core.Param) (namespace, name string) {
	namespace, name, _ = strings.Cut(core.Value(made, ParamPod), "/")
	return namespace, name
}

// IsReadOnly reports whether a rung with these parameters is read-only.
func IsReadOnly(made []core.Param) bool { return core.Value(made, ParamReadOnly) == Yes }

// IsBlock reports whether a rung with these parameters is of a raw block volume.
func IsBlock(made []core.Param) bool { return core.Value(made, ParamMode) == ModeBlock }

// SecretsOf names the Secrets of a rung's volume, as namespace/name. Its driver may quote any of them.
func SecretsOf(params []core.Param) []string {
	var names []string
	for _, param := range [...]string{ParamSecret, ParamOtherSecret} {
		if name := core.Value(params, param); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// IsAttached reports whether what was made with these parameters is of a volume that is attached to a node.
func IsAttached(made []core.Param) bool {
	for _, p := range made {
		if p.Name == ParamAttachment {
			return true
		}
	}
	return false
}

// FoundAt is where a pod finds the volume whose top rung has these facts.
func FoundAt(facts []core.Fact) string { return core.FactOf(facts, FactPath) }

// LostOf says what happened to the data of a volume whose top rung has these facts, "" if nothing did.
func LostOf(facts []core.Fact) string { return core.FactOf(facts, FactLost) }
