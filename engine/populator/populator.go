// Package populator turns a pod and the objects that describe its volumes into rungs, or into a problem that names the
// field to blame. It is a pure function: it reads nothing itself, and what a version does not support is a problem,
// never ignored.
package populator

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
)

// Input is a pod and how to find the objects around it. The functions return nil for what is not known; objects are not
// changed.
type Input struct {
	Sources        kinds.Table
	Root, NodeName string
	Run            string            // see [plugin.Volume]
	NodeLabels     map[string]string // of this node; its host name goes without saying
	Pod            *corev1.Pod

	Claim  func(namespace, name string) *corev1.PersistentVolumeClaim
	Volume func(name string) *corev1.PersistentVolume
	Object func(driver string) *storagev1.CSIDriver
	// Attachment finds a VolumeAttachment by its name.
	Attachment func(name string) *storagev1.VolumeAttachment
	// Held finds what is known of a Secret, a ConfigMap or a ClusterTrustBundle.
	Held func(kind, namespace, name string) *hal.Content
	// Bundles are the ClusterTrustBundles that are known, by name.
	Bundles map[string]*hal.Content
	// RepositorySchemes, HoldsLimits, HasTokens, IsComplete and ServesFlex: see [plugin.Volume].
	RepositorySchemes []string
	HoldsLimits       bool
	HasTokens         bool
	IsComplete        bool
	ServesFlex        bool
	Driver            func(driver string) *plugin.DriverFacts // nil until it is registered
	Config            func(driver string) plugin.DriverConfig
	// Registered names the drivers that are registered, sorted.
	Registered []string
	// Memory is what the result is made in: it is valid until another is made in it. It is new if it is nil.
	Memory *Memory
}

// Memory is what results are made in.
type Memory struct {
	uses    []use
	volumes []Volume
	ladders []core.Rung // of the volumes
	rungs   []core.Rung // see [Result.Rungs]
	populator
}

// RefKind says what a [Ref] refers to.
type RefKind string

// The kinds of things that a pod's volumes may depend on.
const (
	RefClaim  RefKind = "PersistentVolumeClaim"
	RefVolume RefKind = "PersistentVolume"
	RefObject RefKind = "CSIDriver"
	RefDriver RefKind = "driver" // a registration

	RefAttachment RefKind = "VolumeAttachment"

	RefSecret    RefKind = hal.SecretKind
	RefConfigMap RefKind = hal.ConfigMapKind
	RefBundle    RefKind = hal.TrustBundleKind // without a name: any of them
)

// Ref is something that was consulted, whether it was found or not: when it changes, the pod is to be populated again.
type Ref struct {
	Kind            RefKind
	Namespace, Name string // Namespace of claims, Secrets and ConfigMaps only
}

// Volume is one used volume of the pod: its rungs, top first, or a problem.
type Volume struct {
	Name    string
	Rungs   []core.Rung
	Problem *plugin.Problem
}

// Result is what became of the volumes of a pod that its containers use, in the pod's order.
type Result struct {
	Volumes []Volume
	Refs    []Ref // each once, in the order of their first use; in memory of their own
	memory  *Memory
}

// Complete says that every volume has rungs.
func (r Result) Complete() bool {
	return !slices.ContainsFunc(r.Volumes, func(v Volume) bool { return v.Problem != nil })
}

// Rungs are the rungs of all volumes, each once.
func (r Result) Rungs() []core.Rung {
	all := r.memory.rungs[:0]
	for i := range r.Volumes {
		for j := range r.Volumes[i].Rungs {
			if rung := &r.Volumes[i].Rungs[j]; indexOf(all, rung.Key) < 0 {
				all = append(all, *rung)
			}
		}
	}
	r.memory.rungs = all
	return all
}

// indexOf is where the rung of a key is among rungs, -1 if it is not.
func indexOf(rungs []core.Rung, key hal.Key) int {
	for i := range rungs {
		if rungs[i].Key == key {
			return i
		}
	}
	return -1
}

// Populate resolves the volumes of in.Pod. Volumes that no container uses are left out, as the kubelet leaves them
// (K:B10).
func Populate(in Input) Result {
	memory := in.Memory
	if memory == nil {
		memory = &Memory{}
	}
	p := &memory.populator
	*p = populator{Input: in}
	p.Memory = memory
	p.result.memory, p.result.Volumes, memory.ladders = memory, memory.volumes[:0], memory.ladders[:0]
	memory.uses = usesOf(in.Pod, memory.uses[:0])
	uses := memory.uses
	for i := range in.Pod.Spec.Volumes {
		spec := &in.Pod.Spec.Volumes[i]
		if at := slices.IndexFunc(uses, func(u use) bool { return u.volume == spec.Name }); at >= 0 {
			p.result.Volumes = append(p.result.Volumes, p.volume(spec, &uses[at]))
		}
	}
	p.result.Volumes = append(p.result.Volumes, missing(in.Pod)...)
	p.conflicts()
	memory.volumes = p.result.Volumes
	result := p.result
	memory.populator = populator{}
	return result
}

type populator struct {
	Input
	result Result
}

func (p *populator) consult(kind RefKind, namespace, name string) {
	if p.result.Refs == nil {
		p.result.Refs = make([]Ref, 0, 2+2*len(p.Pod.Spec.Volumes)) // the claim and the volume of each, and a driver
	}
	if ref := (Ref{kind, namespace, name}); !slices.Contains(p.result.Refs, ref) {
		p.result.Refs = append(p.result.Refs, ref)
	}
}

// volume resolves one used volume.
func (p *populator) volume(spec *corev1.Volume, u *use) Volume {
	v := plugin.Volume{
		Root: p.Root, NodeName: p.NodeName, Run: p.Run, Pod: p.Pod, Spec: spec, Block: u.block, ReadOnly: u.readOnly,
		Registered: p.Registered, IsComplete: p.IsComplete, Contents: p,
		HasTokens: p.HasTokens, ServesFlex: p.ServesFlex, RepositorySchemes: p.RepositorySchemes,
		HoldsLimits: p.HoldsLimits,
	}
	result := Volume{Name: spec.Name, Problem: u.problem}
	if result.Problem == nil {
		result.Problem = p.source(&v)
	}
	if result.Problem == nil {
		p.driver(&v)
		before := len(p.Memory.ladders)
		p.Memory.ladders, result.Problem = p.Sources.Ladder(p.Memory.ladders, v)
		result.Rungs = p.Memory.ladders[before:]
	}
	return result
}

// source checks which source the volume has, and finds the claim's objects.
func (p *populator) source(v *plugin.Volume) *plugin.Problem {
	if n := count(p.Pod, v.Spec.Name); n > 1 {
		return plugin.Problemf(v.Field(".name"), "%d volumes of the pod have this name; give each its own", n)
	}
	source, number := sourceOf(v.Spec)
	switch {
	case number == 0:
		return plugin.Problemf(v.Field(""), "names no source; write emptyDir: {} for an empty directory")
	case number > 1:
		return plugin.Problemf(v.Field(""), "names more than one source: %v; keep one", sourcesOf(v.Spec))
	}
	switch source {
	case "persistentVolumeClaim", "ephemeral":
		return p.claim(v)
	}
	if !p.Sources.Serves(source) {
		if problem := p.translateInline(v, source); problem != nil || v.PV != nil {
			return problem
		}
		return plugin.Problemf(v.Field("."+source), "volnode does not serve this source; it serves %s",
			p.Sources.Names())
	}
	return nil
}

// driver finds what is known of the volume's CSI driver, if it has one.
func (p *populator) driver(v *plugin.Volume) {
	name, handle := p.Sources.Driver(v.PV, v.Spec)
	if name == "" {
		return
	}
	p.consult(RefObject, "", name)
	p.consult(RefDriver, "", name)
	v.Object, v.Driver, v.Config = p.Object(name), p.Driver(name), p.Config(name)
	if v.PV == nil || !p.Sources.IsAttachable(v.PV, v.Object) {
		return
	}
	attachment := plugin.AttachmentName(handle, name, p.NodeName)
	p.consult(RefAttachment, "", attachment)
	v.Attachment = p.Attachment(attachment)
}

// Content finds a Secret or a ConfigMap: see [plugin.Contents].
func (p *populator) Content(kind, namespace, name string) *hal.Content {
	p.consult(RefKind(kind), namespace, name)
	return p.Held(kind, namespace, name)
}

// TrustBundles are all that are known, in the order of their names: see [plugin.Contents].
func (p *populator) TrustBundles() (all []*hal.Content) {
	p.consult(RefBundle, "", "")
	for _, name := range slices.Sorted(maps.Keys(p.Bundles)) {
		all = append(all, p.Bundles[name])
	}
	return all
}

// conflicts: two volumes of the pod may come to the same rungs, as when both name one claim. They must want the same of
// them. And two that come to different rungs must not come to one path, as an inline volume does that is called like
// the PersistentVolume of another.
func (p *populator) conflicts() {
	for i := range p.result.Volumes {
		v := &p.result.Volumes[i]
		if problem := conflict(v, p.result.Volumes[:i]); problem != nil {
			v.Rungs, v.Problem = nil, problem
		}
	}
}

// conflict says which volume before v keeps it from being served.
func conflict(v *Volume, before []Volume) *plugin.Problem {
	field := func() string { return "spec.volumes[" + v.Name + "]" }
	for i := range v.Rungs {
		rung := &v.Rungs[i]
		for j := range before {
			other := &before[j]
			if same := indexOf(other.Rungs, rung.Key); same >= 0 {
				if name := difference(other.Rungs[same].Want, rung.Want); name != "" {
					return plugin.Problemf(field(),
						"is the same volume as %q and differs from it in %s; use it in one way", other.Name, name)
				}
				continue
			}
			if path := shared(other.Rungs, rung); path != "" {
				return plugin.Problemf(field(),
					"has the same path as %q, %s; an inline volume must not have the name of a PersistentVolume "+
						"of its pod",
					other.Name, path)
			}
		}
	}
	return nil
}

// shared is a path that one of rungs and a rung of another volume both have for their own, "" if there is none.
func shared(rungs []core.Rung, rung *core.Rung) string {
	for i := range rungs {
		if rungs[i].Volume != "" && rungs[i].Volume == rung.Volume {
			continue
		}
		for _, at := range rung.Places {
			if slices.Contains(rungs[i].Places, at) {
				return at
			}
		}
	}
	return ""
}

// difference names the first parameter that the same rung can't have both ways, "" if there is none.
func difference(a, b []core.Param) string {
	for _, p := range a {
		if p.OnChange != core.OnChangeKeep && core.Value(b, p.Name) != p.Value {
			return p.Name
		}
	}
	return ""
}
