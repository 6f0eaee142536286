package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/internal/wording"
	"github.com/volnode/volnode/scenarios/lang"
)

// plant puts a secret into the world, and into what must come out nowhere.
func (r *run) plant(namespace, name string, data map[string]string) {
	r.w.PutSecret(namespace, name, data)
	if !r.files {
		return
	}
	text := "apiVersion: v1\nkind: Secret\nmetadata: {namespace: " + namespace + ", name: " + name + "}\nstringData:\n"
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text += "  " + key + ": " + strconv.Quote(data[key]) + "\n"
	}
	file := lang.ManifestDir + "/secret-" + name + ".yaml"
	r.written[file] = text
	r.w.WriteFile(file, []byte(text))
}

// uproots deletes a secret; what was in it must come out nowhere all the same.
func (r *run) uproots(namespace, name string) {
	r.w.DeleteSecret(namespace, name)
	if r.files {
		r.unlinks(lang.ManifestDir + "/secret-" + name + ".yaml")
	}
}

// contentOf is what a Secret of a scenario holds. One without a value has the mark.
func contentOf(s *corev1.Secret) map[string]string {
	data := map[string]string{}
	for key, value := range s.Data {
		data[key] = string(value)
	}
	maps.Copy(data, s.StringData)
	if len(data) == 0 {
		data["mark"] = secretMark
	}
	return data
}

// reveals is S17 of a text that people read: it has no secret, and nothing that a terminal obeys.
func (r *run) reveals(site, object, text string) {
	if part := r.leaks.In(text); part != "" {
		r.fail("S17", site, object, fmt.Sprintf("%q, of a secret, is in the %s: %q", part, site, text))
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' || c == 0x7f {
			r.fail("S17", site, object, fmt.Sprintf("a control character is in the %s: %q", site, text))
			return
		}
	}
}

// wording is L12 of a text that people read: nothing is missing in it.
func (r *run) wording(site, object, text string) {
	r.judges("L12")
	if why := wording.Wrong(strings.ReplaceAll(text, "***", "masked")); why != "" {
		r.fail("L12", "wording", object, fmt.Sprintf("%s, in the %s: %q", why, site, text))
	}
}

// readsLog looks at what a line of the log gives for a reason.
func (r *run) readsLog(e engine.Entry) {
	r.wording("log", e.Message, e.Message)
	for i := 1; i < len(e.Fields); i += 2 {
		switch e.Fields[i-1] {
		case "why", "reason", "error", "field":
			r.wording("log", e.Message, e.Fields[i])
		}
	}
}

// readsStatus looks at all reasons that a status gives.
func (r *run) readsStatus(s engine.Status) {
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			r.wording("status", p.Name+"/"+v.Name, v.Why)
		}
	}
	for _, k := range s.Rungs {
		for _, text := range []string{k.Step, k.Why, k.Next} {
			r.wording("status", string(k.Key), text)
		}
	}
	for _, d := range s.Drivers {
		r.wording("status", d.Name, d.Why)
		r.wording("status", d.Name, d.LastAnswer)
	}
	for _, t := range s.Sources {
		r.wording("status", t.Where, t.Where)
		r.wording("status", t.Where, t.Why)
	}
	for _, text := range append(s.Journal.Damage, s.Journal.Why) {
		r.wording("status", "journal", text)
	}
}
