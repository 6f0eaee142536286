package csi

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
)

// The kinds of rungs of this package.
const (
	KindStage   core.Kind = "csi.stage"
	KindPublish core.Kind = "csi.publish"
)

// The parameters of both kinds, beside those of [plugin.ParamPath] and on. "" stands for what a volume does not have.
const (
	paramDriver    = "driver"
	paramHandle    = "handle"
	paramLifecycle = "lifecycle" // "Persistent" or "Ephemeral"
	paramFSType    = "fsType"
	paramFlags     = "mountFlags"     // JSON list
	paramAccess    = "access"         // name of a CSI access mode
	paramContext   = "context"        // volume_context, JSON map
	paramPublished = "publishContext" // publish_context of a volume that must be attached, as a JSON map

	// Of csi.publish only.
	paramStaging      = "staging" // the staging target path to pass
	paramWithoutMount = "publishesWithoutMount"
	paramTokensSecret = "tokensInSecrets"
)

// The facts. A stage says which device is at its path, "" if none does; a publish says where the pod finds the
// volume.
const (
	factDevice = "device"
)

// access names the CSI access mode of a volume from the first access mode of its PersistentVolume, as the kubelet does
// (K:G28).
func access(mode string, singleNodeMultiWriter bool) (csi.VolumeCapability_AccessMode_Mode, bool) {
	switch mode {
	case "", "ReadWriteOnce":
		if singleNodeMultiWriter {
			return csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER, true
		}
		return csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, true
	case "ReadWriteOncePod":
		if singleNodeMultiWriter {
			return csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER, true
		}
		return csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, true
	case "ReadOnlyMany":
		return csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY, true
	case "ReadWriteMany":
		return csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER, true
	}
	return csi.VolumeCapability_AccessMode_UNKNOWN, false
}

// capability is the volume_capability that the parameters describe. It is the same for stage and publish of a volume
// (CSI spec).
func capability(params []core.Param) *csi.VolumeCapability {
	mode := csi.VolumeCapability_AccessMode_Mode(csi.VolumeCapability_AccessMode_Mode_value[core.Value(params,
		paramAccess)])
	all := &struct { // one object of all its parts
		is     csi.VolumeCapability
		access csi.VolumeCapability_AccessMode
		as     csi.VolumeCapability_Mount
		mount  csi.VolumeCapability_MountVolume
	}{}
	c := &all.is
	c.AccessMode, all.access.Mode = &all.access, mode
	if core.Value(params, plugin.ParamMode) == plugin.ModeBlock {
		c.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		return c
	}
	c.AccessType, all.as.Mount = &all.as, &all.mount
	all.mount.FsType, all.mount.MountFlags = core.Value(params, paramFSType), listOf(core.Value(params, paramFlags))
	all.mount.VolumeMountGroup = core.Value(params, plugin.ParamGroup)
	return c
}

// mapText writes the pairs of a map as canonical JSON, as encoding/json does: keys sorted, "" for an empty map.
func mapText(pairs []plugin.Pair) string {
	if len(pairs) == 0 {
		return ""
	}
	b := make([]byte, 0, 512)
	for _, p := range pairs {
		b = appendJSON(append(b, ','), p.Key)
		b = appendJSON(append(b, ':'), p.Value)
	}
	b[0] = '{'
	return string(append(b, '}'))
}

// listText writes a list as JSON, "" for an empty list.
func listText(l []string) string {
	if len(l) == 0 {
		return ""
	}
	var b []byte
	for _, s := range l {
		b = appendJSON(append(b, ','), s)
	}
	b[0] = '['
	return string(append(b, ']'))
}

// appendJSON appends a string as encoding/json writes it.
func appendJSON(b []byte, s string) []byte {
	if !strings.ContainsFunc(s, isEscaped) {
		return append(append(append(b, '"'), s...), '"')
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic("a string did not marshal: " + err.Error())
	}
	return append(b, text...)
}

// isEscaped: of what is not printable ASCII encoding/json escapes a part; the rest is safe in HTML.
func isEscaped(r rune) bool {
	return r < ' ' || r > '~' || r == '"' || r == '\\' || r == '<' || r == '>' || r == '&'
}

// mapOf reads what mapText wrote. Text that it did not write is an empty map: a teardown, which must always be
// possible, needs no map.
func mapOf(text string) map[string]string {
	if text == "" {
		return nil
	}
	if m, ok := plainMap(text); ok {
		return m
	}
	var m map[string]string
	if json.Unmarshal([]byte(text), &m) != nil {
		return nil
	}
	return m
}

// plainMap is mapOf for text without escapes; not ok of all other.
func plainMap(text string) (m map[string]string, ok bool) {
	m = map[string]string{}
	rest, ok := strings.CutPrefix(text, "{")
	for ok && rest != "}" {
		var key, value string
		if key, rest, ok = plainString(rest, ":"); !ok {
			break
		}
		if value, rest, ok = plainString(rest, ""); !ok {
			break
		}
		m[key] = value
		if rest != "}" {
			rest, ok = strings.CutPrefix(rest, ",")
			ok = ok && rest != "}"
		}
	}
	return m, ok
}

// plainString reads a string of JSON without escapes, and what comes after it.
func plainString(text, after string) (s, rest string, ok bool) {
	if text, ok = strings.CutPrefix(text, `"`); !ok {
		return "", "", false
	}
	if s, rest, ok = strings.Cut(text, `"`); !ok || strings.ContainsFunc(s, isEscaped) {
		return "", "", false
	}
	rest, ok = strings.CutPrefix(rest, after)
	return s, rest, ok
}

func listOf(text string) []string {
	if text == "" {
		return nil
	}
	var l []string
	if json.Unmarshal([]byte(text), &l) != nil {
		return nil
	}
	return l
}

func flag(b bool) string {
	if b {
		return plugin.Yes
	}
	return ""
}

// podInfo adds what podInfoOnMount asks for (K:G48) to attributes, in whose place it comes if they have the same keys.
func podInfo(attributes []plugin.Pair, v plugin.Volume, inline bool) []plugin.Pair {
	ephemeral := "false"
	if inline {
		ephemeral = plugin.Yes
	}
	info := [...]plugin.Pair{
		{Key: "csi.storage.k8s.io/ephemeral", Value: ephemeral},
		{Key: "csi.storage.k8s.io/pod.name", Value: v.Pod.Name},
		{Key: "csi.storage.k8s.io/pod.namespace", Value: v.Pod.Namespace},
		{Key: "csi.storage.k8s.io/pod.uid", Value: string(v.Pod.UID)},
		{Key: "csi.storage.k8s.io/serviceAccount.name", Value: v.Pod.Spec.ServiceAccountName},
	}
	all := append(make([]plugin.Pair, 0, len(info)+len(attributes)), info[:]...)
	for _, p := range attributes {
		if !slices.ContainsFunc(info[:], func(i plugin.Pair) bool { return i.Key == p.Key }) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b plugin.Pair) int { return cmp.Compare(a.Key, b.Key) })
	return all
}
