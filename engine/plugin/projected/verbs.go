package projected

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// readTimeout is how long a verb waits for what one object holds.
const readTimeout = 30 * time.Second

// directory is that of a volume. 0755: a pod reads it, and nobody in it may put a link in the writer's way.
func directory(o core.Op) (d op.Directory, r core.Result, ok bool) {
	d = op.Directory{
		Path: core.Value(o.Params, plugin.ParamPath), Stop: core.Value(o.Params, plugin.ParamStop), Mode: 0o755,
		Source: "volnode-" + string(o.Kind), InMemory: core.Value(o.Params, paramMedium) == memory,
		Group: core.Value(o.Params, plugin.ParamFSGroup),
	}
	if d.Path == "" {
		return d, op.NotDone("the record of " + string(o.Key) + " has no " + plugin.ParamPath), false
	}
	return d, r, true
}

func inspect(h *hal.Host, o core.Op) core.Result {
	return op.InspectResult(op.Inspect(h, op.Call(o), core.Value(o.Params, plugin.ParamPath)))
}

// setUp makes the directory and the files. What they are made of is read first: if some of it is not there, nothing is
// made, and the files of a pod that runs stay as they are.
func setUp(h *hal.Host, o core.Op) core.Result {
	d, r, ok := directory(o)
	if !ok {
		return r
	}
	m, why := collect(h, o)
	if why != "" {
		return op.NotDone(why)
	}
	seen, r, ok := d.Make(h, o)
	if !ok {
		return r
	}
	w := writer{h: h, c: op.Call(o), dir: d.Path, mode: d.FullMode(), group: max(0, op.Number(d.Group))}
	if top, mounted := seen.Top(); mounted {
		w.c.Inside = hal.Inside{Path: d.Path, ID: top.ID}
	}
	short, err := w.write(m.files)
	switch {
	case err != nil && o.Verb == core.Refresh:
		return op.NotDone("cannot write its new content; the pod sees the former: " + err.Error())
	case err != nil:
		return op.Unknown("cannot write its content: " + err.Error())
	}
	r.Facts = plugin.DirectoryFacts(h, o, d, r.Fingerprint, unseen)
	r.RefreshBy, r.Expires = m.renewBy, m.expires
	if r.Short, r.Unfinished = d.ClearTrash(h, o); r.Short == "" {
		r.Short = short
	}
	return r
}

// unseen is the loss of a volume whose content is made again, also after each boot.
var unseen = plugin.Loss{
	Why:          "containers that still run have lost it: they see its former content, and no change of it",
	EndsWithBoot: true,
}

// tearDown deletes what no record tells of only if all of it is the writer's: nobody else's files go.
func tearDown(h *hal.Host, o core.Op) core.Result {
	d, r, ok := directory(o)
	if !ok {
		return r
	}
	if !plugin.IsOurs(o.Params, paramFiles, o.IsNamed) {
		w := writer{h: h, c: op.Call(o), dir: d.Path}
		isWritten, err := w.isAllWritten()
		if err != nil && !hal.Is(err, syscall.EXDEV) { // a mount: it is ours, or stays
			return op.NotDone(err.Error())
		}
		if err == nil && !isWritten {
			return op.NotDone(d.Path + op.KeptWhy)
		}
	}
	return d.Remove(h, o)
}

// file is what is to be at a path of the volume.
type file struct {
	data string
	mode uint32
	user int // whose it is
}

// made is what a volume is to show.
type made struct {
	files   map[string]file // by path
	renewBy hal.Instant     // when it is to be made again; 0 is never
	expires hal.Instant     // when it is no good any more; 0 is never
}

// collect reads what the volume is made of. It says why it can't. Of two sources with one path the later one counts
// (K:G103).
func collect(h *hal.Host, o core.Op) (m made, why string) {
	var of corev1.ProjectedVolumeSource
	if err := json.Unmarshal([]byte(core.Value(o.Params, paramFiles)), &of); err != nil {
		return m, "the record of " + string(o.Key) + ": " + paramFiles + ": " + err.Error()
	}
	m.files = map[string]file{}
	bundles := strings.Split(core.Value(o.Params, paramBundles), ";")
	for i := range of.Sources {
		if b := of.Sources[i].ClusterTrustBundle; b != nil {
			if why := m.addBundles(h, o, bundles[0], b, of.DefaultMode); why != "" {
				return m, why
			}
			bundles = append(bundles[1:], "") // of a record that lacks names
			continue
		}
		if why := m.add(h, o, &of.Sources[i], of.DefaultMode); why != "" {
			return m, why
		}
	}
	for _, at := range slices.Sorted(maps.Keys(m.files)) {
		if core.Value(o.Params, plugin.ParamFSGroup) != "" { // the owner and the group read it (K:G102)
			f := m.files[at]
			f.mode |= 0o440
			m.files[at] = f
		}
		for i := strings.IndexByte(at, '/'); i >= 0; {
			if _, is := m.files[at[:i]]; is {
				return m, fmt.Sprintf("%.100q would be a file and a directory; give one of the two another path", at[:i])
			}
			next := strings.IndexByte(at[i+1:], '/')
			if next < 0 {
				break
			}
			i += 1 + next
		}
	}
	return m, ""
}

// add adds the files of one source, or says why it can't.
func (m *made) add(h *hal.Host, o core.Op, p *corev1.VolumeProjection, byDefault *int32) (why string) {
	switch {
	case p.DownwardAPI != nil:
		c, namespace := reading(h, o)
		pod, err := h.Cluster.Pod(c, namespace, core.Value(o.Params, paramName), string(o.Pod))
		if err != nil {
			return "volnode cannot read the pod: " + err.Error()
		}
		return addDownward(m.files, pod, p.DownwardAPI.Items, byDefault)
	case p.ServiceAccountToken != nil:
		return m.addToken(h, o, p.ServiceAccountToken, byDefault)
	}
	r, ok := referenceOf(p)
	if !ok {
		return "the record of " + string(o.Key) + " has a source that volnode does not serve"
	}
	name := core.Value(o.Params, paramNamespace) + "/" + r.name
	data, err := read(h, o, r)
	switch {
	case hal.Is(err, syscall.ENOENT) && r.isOptional:
		return ""
	case hal.Is(err, syscall.ENOENT):
		return fmt.Sprintf("%s %s is not there; add it", r.kind, name)
	case err != nil:
		return fmt.Sprintf("%s %s: volnode cannot read it: %v", r.kind, name, err)
	}
	if why := r.add(m.files, data, byDefault); why != "" {
		return r.kind + " " + name + " " + why
	}
	return ""
}

// reading is a call that reads an object, and the namespace of the objects.
func reading(h *hal.Host, o core.Op) (c hal.Call, namespace string) {
	c = op.Call(o)
	c.Deadline = h.Runtime.Now().Add(readTimeout)
	return c, core.Value(o.Params, paramNamespace)
}

func read(h *hal.Host, o core.Op, r reference) (map[string]string, error) {
	c, namespace := reading(h, o)
	if r.kind == hal.ConfigMapKind {
		return h.Cluster.ConfigMap(c, namespace, r.name)
	}
	secret, err := h.Cluster.Secret(c, namespace, r.name)
	return secret.Reveal(), err
}

// modeOf is the mode of a file: its own, its volume's, or 0644.
func modeOf(mode, byDefault *int32) uint32 {
	switch {
	case mode != nil:
		return uint32(*mode)
	case byDefault != nil:
		return uint32(*byDefault)
	}
	return defaultMode
}

// add adds the files that are made of data, or says what data lacks.
func (r reference) add(files map[string]file, data map[string]string, byDefault *int32) (why string) {
	for i := range r.items {
		item := &r.items[i]
		text, is := data[item.Key]
		switch {
		case is:
			files[item.Path] = file{data: text, mode: modeOf(item.Mode, byDefault)}
		case !r.isOptional:
			return fmt.Sprintf("has no key %.100q, which the volume asks for; add it", item.Key)
		}
	}
	if len(r.items) > 0 {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if bad := badPath(key); bad != "" || strings.Contains(key, "/") {
			return fmt.Sprintf("has the key %.100q, which can't be the name of a file; name the keys in items", key)
		}
		files[key] = file{data: data[key], mode: modeOf(nil, byDefault)}
	}
	return ""
}
