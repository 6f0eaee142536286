package edits

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/hal/manifest"
)

// The kinds of objects.
const (
	pod    = "Pod"
	pv     = "PersistentVolume"
	claim  = "PersistentVolumeClaim"
	driver = "CSIDriver"
)

// otherDriver is the second driver of each node.
const otherDriver = "other.volnode.dev"

var drivers = []string{csidriver.DefaultName, otherDriver}

type identity struct{ kind, name, uid string }

func (i identity) named() identity { return identity{kind: i.kind, name: i.name} }
func (i identity) owned() identity { return identity{kind: i.kind, uid: i.uid} }

// object is one object of a manifest. A claim is bound to the PersistentVolume of its name.
type object struct {
	kind, name, uid string
	driver, handle  string   // of a PersistentVolume
	volumes         []volume // of a pod
}

// volume is one of a pod's.
type volume struct {
	name, kind string // kind: empty, memory, claim, inline
	of         string // the claim, or the driver
}

func (o object) id() identity {
	uid := o.uid
	switch {
	case uid != "":
	case o.kind == pod:
		uid = string(manifest.PodUID(host.NodeName, "default", o.name))
	default:
		uid = "made of " + o.kind + " " + o.name
	}
	return identity{o.kind, o.name, uid}
}

// at is where a pod finds the volume, below the pod's directory.
func (v volume) at() string {
	switch v.kind {
	case "claim":
		return path.Join("volumes/kubernetes.io~csi", v.of, "mount")
	case "inline":
		return path.Join("volumes/kubernetes.io~csi", v.name, "mount")
	}
	return path.Join("volumes/kubernetes.io~empty-dir", v.name)
}

func (v volume) source() string {
	switch v.kind {
	case "claim":
		return host.Claim(v.of)
	case "inline":
		return "csi: {driver: " + v.of + "}"
	case "memory":
		return "emptyDir: {medium: Memory, sizeLimit: 1Mi}"
	}
	return "emptyDir: {}"
}

func (o object) text() string {
	meta := fmt.Sprintf("metadata: {name: %s}\n", o.name)
	if o.uid != "" {
		meta = fmt.Sprintf("metadata: {name: %s, uid: %q}\n", o.name, o.uid)
	}
	switch o.kind {
	case pod:
		var volumes []string
		for _, v := range o.volumes {
			volumes = append(volumes, v.name, v.source())
		}
		return strings.Replace(host.Pod(o.name, o.uid, volumes...),
			fmt.Sprintf("metadata: {name: %s, uid: %q}\n", o.name, o.uid), meta, 1)
	case pv:
		return "apiVersion: v1\nkind: PersistentVolume\n" + meta + fmt.Sprintf(`spec:
  capacity: {storage: 64Mi}
  accessModes: [ReadWriteMany]
  claimRef: {namespace: default, name: %s}
  csi: {driver: %s, volumeHandle: %s}
`, o.name, o.driver, o.handle)
	case claim:
		return "apiVersion: v1\nkind: PersistentVolumeClaim\n" + meta + fmt.Sprintf(`spec:
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 64Mi}}
  volumeName: %s
`, o.name)
	}
	return "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\n" + meta +
		"spec: {attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: [Persistent, Ephemeral]}\n"
}

// The forms of a file.
const (
	documents = iota
	yamlList
	jsonList
	forms
)

// textOf writes objects into one file. The comment makes another text of the same meaning.
func textOf(form int, comment string, docs []object) string {
	if form == documents {
		text := comment
		for i, o := range docs {
			if i > 0 {
				text += "---\n"
			}
			text += o.text()
		}
		return text
	}
	var items []string
	for _, o := range docs {
		item, err := yaml.YAMLToJSON([]byte(o.text()))
		if err != nil {
			panic(err)
		}
		items = append(items, string(item))
	}
	if form == yamlList {
		return comment + "apiVersion: v1\nkind: List\nitems:\n- " + strings.Join(items, "\n- ") + "\n"
	}
	raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": raws(items)})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func raws(items []string) []json.RawMessage {
	var all []json.RawMessage
	for _, i := range items {
		all = append(all, json.RawMessage(i))
	}
	return all
}
