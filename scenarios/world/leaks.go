package world

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/internal/wording"
	"github.com/volnode/volnode/scenarios/lang"
)

// Plant puts a secret into the world, and into what must come out nowhere.
func (r *Run) Plant(namespace, name string, data map[string]string) {
	is := r.W.Cluster.Hold(hal.SecretKind, namespace, name, data)
	if !r.Files {
		r.W.Cluster.Apply(is)
		return
	}
	text := "apiVersion: v1\nkind: Secret\nmetadata: {namespace: " + namespace + ", name: " + name + "}\nstringData:\n"
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text += "  " + key + ": " + strconv.Quote(data[key]) + "\n"
	}
	file := lang.ManifestDir + "/secret-" + name + ".yaml"
	r.Written[file] = text
	r.W.WriteFile(file, []byte(text))
}

// Uproots deletes a secret; what was in it must come out nowhere all the same.
func (r *Run) Uproots(namespace, name string) {
	is := r.W.Cluster.Drop(hal.SecretKind, namespace+"/"+name)
	if is != nil && !r.Files {
		r.W.Cluster.Delete(is)
	}
	if r.Files {
		r.Unlinks(lang.ManifestDir + "/secret-" + name + ".yaml")
	}
}

// ContentOf is what a Secret of a scenario holds. One without a value has the mark.
func ContentOf(s *corev1.Secret) map[string]string {
	data := map[string]string{}
	for key, value := range s.Data {
		data[key] = string(value)
	}
	maps.Copy(data, s.StringData)
	if len(data) == 0 {
		data["mark"] = SecretMark
	}
	return data
}

// Reveals is S17 of a text that people read: it has no secret, and nothing that a terminal obeys.
func (r *Run) Reveals(site, object, text string) {
	if part := r.Leaks.In(text); part != "" {
		r.Fail("S17", site, object, fmt.Sprintf("%q, of a secret, is in the %s: %q", part, site, text))
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' || c == 0x7f {
			r.Fail("S17", site, object, fmt.Sprintf("a control character is in the %s: %q", site, text))
			return
		}
	}
}

// Wording is L12 of a text that people read: nothing is missing in it.
func (r *Run) Wording(site, object, text string) {
	r.Judges("L12")
	if why := wording.Wrong(strings.ReplaceAll(text, "***", "masked")); why != "" {
		r.Fail("L12", "wording", object, fmt.Sprintf("%s, in the %s: %q", why, site, text))
	}
}

// ReadsLine looks at a line of the log: S17 of its fields, L12 of what it gives for a reason.
func (r *Run) ReadsLine(l engine.Line) {
	r.Judges("S17")
	for _, f := range l.Fields {
		r.Reveals("log", l.Message, f)
	}
	r.Wording("log", l.Message, l.Message)
	for i := 1; i < len(l.Fields); i += 2 {
		switch l.Fields[i-1] {
		case "why", "reason", "error", "field":
			r.Wording("log", l.Message, l.Fields[i])
		}
	}
}

// ReadsStatus looks at all reasons that a status gives.
func (r *Run) ReadsStatus(s engine.Status) {
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			r.Wording("status", p.Name+"/"+v.Name, v.Why)
		}
	}
	for _, k := range s.Rungs {
		for _, text := range []string{k.Step, k.Why, k.Next} {
			r.Wording("status", string(k.Key), text)
		}
	}
	for _, d := range s.Drivers {
		r.Wording("status", d.Name, d.Why)
		r.Wording("status", d.Name, d.LastAnswer)
	}
	for _, t := range s.Sources {
		r.Wording("status", t.Where, t.Where)
		r.Wording("status", t.Where, t.Why)
	}
	for _, text := range append(s.Journal.Damage, s.Journal.Why) {
		r.Wording("status", "journal", text)
	}
}
