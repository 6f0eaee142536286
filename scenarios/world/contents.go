package world

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is the Secrets and ConfigMaps of a world, and what they hold.

// Holds makes or changes a Secret or a ConfigMap. data is not changed afterwards.
func (r *Run) Holds(kind, namespace, name string, data map[string]string) {
	is := r.W.Cluster.Hold(kind, namespace, name, data)
	r.noteHeld(kind, namespace+"/"+name, data)
	if !r.Files {
		r.W.Cluster.Apply(is)
		return
	}
	field := "data"
	if kind == hal.SecretKind {
		field = "stringData"
	}
	text := "apiVersion: v1\nkind: " + kind + "\nmetadata: {namespace: " + namespace + ", name: " + name + "}\n" +
		field + ":\n"
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text += "  " + key + ": " + strconv.Quote(data[key]) + "\n"
	}
	r.writes(fileOf(kind, name), text)
}

// writes writes a manifest, once the manifests are there.
func (r *Run) writes(file, text string) {
	if r.Defers(func() { r.writes(file, text) }) {
		return
	}
	r.Written[file], r.EditedAt = text, r.W.Now()
	delete(r.Unlinked, file)
	r.W.WriteManifest(file, []byte(text))
}

func fileOf(kind, name string) string {
	return lang.ManifestDir + "/" + strings.ToLower(kind) + "-" + name + ".yaml"
}

// Drops deletes a Secret or a ConfigMap.
func (r *Run) Drops(kind, namespace, name string) {
	is := r.W.Cluster.Drop(kind, namespace+"/"+name)
	if is == nil {
		return
	}
	r.noteHeld(kind, namespace+"/"+name, nil)
	if !r.Files {
		r.W.Cluster.Delete(is)
		return
	}
	r.unlinks(fileOf(kind, name))
}

func (r *Run) unlinks(file string) {
	if !r.Defers(func() { r.unlinks(file) }) {
		r.Unlinks(file)
	}
}

// Holding is what one object holds, over time.
type Holding struct {
	Kind, Name string              // namespace/name
	Held       []map[string]string // the present last; nil: there was none
	MovedAt    hal.Instant         // when it came or went last
}

func (r *Run) noteHeld(kind, name string, data map[string]string) {
	at := slices.IndexFunc(r.Held, func(h Holding) bool { return h.Kind == kind && h.Name == name })
	if at < 0 {
		at = len(r.Held)
		r.Held = append(r.Held, Holding{Kind: kind, Name: name, Held: []map[string]string{nil}})
	}
	if h := &r.Held[at]; (data == nil) != (h.Held[len(h.Held)-1] == nil) {
		h.MovedAt = r.W.Now()
	}
	r.Held[at].Held = append(r.Held[at].Held, data)
}

// HeldBy is what an object, as namespace/name, holds and has held.
func (r *Run) HeldBy(kind, name string) Holding {
	for i := range r.Held {
		if r.Held[i].Kind == kind && r.Held[i].Name == name {
			return r.Held[i]
		}
	}
	return Holding{Kind: kind, Name: name, Held: []map[string]string{nil}}
}

// Present is what it holds now; nil if it is not there.
func (h Holding) Present() map[string]string { return h.Held[len(h.Held)-1] }

// ContentOf is what a Secret or a ConfigMap of a scenario holds; false of another object. A Secret without a value has
// the mark.
func ContentOf(object any) (is hal.Content, data map[string]string, ok bool) {
	data = map[string]string{}
	switch o := object.(type) {
	case *corev1.Secret:
		is = hal.Content{Kind: hal.SecretKind, Namespace: o.Namespace, Name: o.Name}
		for key, value := range o.Data {
			data[key] = string(value)
		}
		maps.Copy(data, o.StringData)
		if len(data) == 0 {
			data["mark"] = SecretMark
		}
	case *corev1.ConfigMap:
		is = hal.Content{Kind: hal.ConfigMapKind, Namespace: o.Namespace, Name: o.Name}
		maps.Copy(data, o.Data)
		for key, value := range o.BinaryData {
			data[key] = string(value)
		}
	default:
		return is, nil, false
	}
	return is, data, true
}
