// Package kinds is the table of volume sources. The rest of the engine asks it, and knows no source by its name.
package kinds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/engine/plugin/emptydir"
	"github.com/volnode/volnode/engine/plugin/fc"
	"github.com/volnode/volnode/engine/plugin/flex"
	"github.com/volnode/volnode/engine/plugin/gitrepo"
	"github.com/volnode/volnode/engine/plugin/hostpath"
	"github.com/volnode/volnode/engine/plugin/image"
	"github.com/volnode/volnode/engine/plugin/iscsi"
	"github.com/volnode/volnode/engine/plugin/local"
	"github.com/volnode/volnode/engine/plugin/nfs"
	"github.com/volnode/volnode/engine/plugin/projected"
	"github.com/volnode/volnode/hal"
)

// Table is the volume sources that an engine serves.
type Table []plugin.Source

// All is the sources of volnode. The last one serves what no other does.
func All() Table {
	all := append(
		Table{
			csi.Source(), emptydir.Source(), fc.Source(), gitrepo.Source(), hostpath.Source(), image.Source(), iscsi.Source(),
			local.Source(), nfs.Source(),
		}, projected.Sources()...)
	return append(all, flex.Source())
}

// Bad says why an engine can't serve the table, "" if it can. The names of plugins tell sources apart in the layout,
// and those of kinds in the journal.
func (t Table) Bad() string {
	plugins, kinds := map[string]bool{}, map[core.Kind]bool{core.KindActs: true, core.KindServes: true}
	for i := range t {
		s := &t[i]
		vendor, name, _ := strings.Cut(s.Plugin, "/")
		switch {
		case plugin.BadObjectName(vendor) != "" || plugin.BadObjectName(name) != "":
			return fmt.Sprintf("%q, the Plugin of source %q, is not VENDOR/NAME, with letters, digits, . and -",
				s.Plugin, s.Name)
		case plugins[s.Plugin]:
			return fmt.Sprintf("two sources have the Plugin %q; give each its own", s.Plugin)
		case s.Ladder == nil:
			return "source " + s.Plugin + " has no Ladder"
		}
		plugins[s.Plugin] = true
		for _, k := range s.Kinds {
			switch {
			case k.Name == "" || strings.Contains(string(k.Name), "/"):
				return fmt.Sprintf("%q, a kind of source %s, begins no key; give it a name without /", k.Name, s.Plugin)
			case kinds[k.Name]:
				return fmt.Sprintf("the kind %q of source %s is taken; give it another name", k.Name, s.Plugin)
			case k.Verbs.SetUp == nil || k.Verbs.TearDown == nil || k.Verbs.Inspect == nil:
				return fmt.Sprintf("the kind %q of source %s lacks a verb", k.Name, s.Plugin)
			}
			kinds[k.Name] = true
		}
	}
	return ""
}

// Names lists the fields of a pod's volume that the table serves, as a sentence does: "a, b and c".
func (t Table) Names() string {
	return sentence([]string{"persistentVolumeClaim"}, t, func(s *plugin.Source) bool { return s.InPod != nil })
}

// sentence lists names, and those of the sources that fit.
func sentence(names []string, t Table, fits func(*plugin.Source) bool) string {
	for i := range t {
		if fits(&t[i]) && !slices.Contains(names, t[i].Name) {
			names = append(names, t[i].Name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Serves reports whether a source has this name in a pod's volume.
func (t Table) Serves(name string) bool {
	return slices.ContainsFunc(t, func(s plugin.Source) bool { return s.InPod != nil && s.Name == name })
}

// ServesVolume reports whether a source serves a PersistentVolume.
func (t Table) ServesVolume(pv *corev1.PersistentVolume) bool { return t.sourceOf(pv, nil) != nil }

// sourceOf is the source of a volume, nil if the table has none.
func (t Table) sourceOf(pv *corev1.PersistentVolume, spec *corev1.Volume) *plugin.Source {
	for i := range t {
		if t[i].Serves(pv, spec) {
			return &t[i]
		}
	}
	return nil
}

// Driver names the CSI driver of a volume, and the volume as the driver knows it, "" of an inline one; "" if it has no
// driver.
func (t Table) Driver(pv *corev1.PersistentVolume, spec *corev1.Volume) (driver, handle string) {
	if s := t.sourceOf(pv, spec); s != nil && s.Driver != nil {
		return s.Driver(pv, spec)
	}
	return "", ""
}

// Plugin is the kubelet's name of the plugin that has rungs of kind, and whether it calls what sets them up
// mount_device. If no source has such rungs, the name is that of the kind.
func (t Table) Plugin(kind core.Kind) (name string, isDevice bool) {
	if s, k := t.of(kind); s != nil {
		return s.Plugin, k.IsDevice
	}
	return string(kind), false
}

// of is the source that has rungs of a kind, and what it says of the kind; nil if the table has none.
func (t Table) of(name core.Kind) (*plugin.Source, *plugin.Kind) {
	for i := range t {
		for j := range t[i].Kinds {
			if k := &t[i].Kinds[j]; k.Name == name {
				return &t[i], k
			}
		}
	}
	return nil, nil
}

func (t Table) kind(name core.Kind) *plugin.Kind {
	_, k := t.of(name)
	return k
}

// VerbsOf returns the verbs that move rungs of kind; false if no source has such rungs.
func (t Table) VerbsOf(kind core.Kind) (plugin.Verbs, bool) {
	k := t.kind(kind)
	if k == nil {
		return plugin.Verbs{}, false
	}
	return k.Verbs, true
}

// IsDirectory reports whether the directory at a rung's path holds the volume's data itself.
func (t Table) IsDirectory(kind core.Kind) bool {
	k := t.kind(kind)
	return k != nil && k.IsDirectory
}

// Measure returns how to ask how full a volume is whose ladder a rung of kind is at the top of, nil if nobody can say.
func (t Table) Measure(kind core.Kind) func(*hal.Host, hal.Call, []core.Param) (hal.Usage, error) {
	if k := t.kind(kind); k != nil {
		return k.Measure
	}
	return nil
}

// Health returns how to ask what is wrong with such a volume, nil if nobody can say.
func (t Table) Health(kind core.Kind) func(*hal.Host, hal.Call, []core.Param) ([]hal.HealthEntry, error) {
	if k := t.kind(kind); k != nil {
		return k.Health
	}
	return nil
}

// Limit returns how many bytes a volume may hold: see [plugin.Kind].
func (t Table) Limit(kind core.Kind, made []core.Param) int64 {
	if k := t.kind(kind); k != nil && k.Limit != nil {
		return k.Limit(made)
	}
	return 0
}

// Deletes returns the data that a teardown deletes; false if it deletes none. isNamed: see [plugin.Kind].
func (t Table) Deletes(kind core.Kind, made []core.Param, isNamed bool) (plugin.Doomed, bool) {
	if k := t.kind(kind); k != nil && k.Deletes != nil {
		return k.Deletes(made, isNamed)
	}
	return plugin.Doomed{}, false
}

// Ladder appends the rungs of a volume, top first, or says why it can't be served. The top rung's fact "path" is where
// the pod finds the volume.
func (t Table) Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	s := t.sourceOf(v.PV, v.Spec)
	switch {
	case s == nil && v.PV != nil:
		return to, plugin.Problemf(v.PVField("spec"), "is of a source that volnode does not serve; it serves %s",
			sentence(nil, t, func(s *plugin.Source) bool { return s.InVolume != nil }))
	case s == nil:
		return to, plugin.Problemf(v.Field(""), "is of a source that volnode does not serve; it serves %s", t.Names())
	}
	all, problem := s.Ladder(to, v)
	if problem != nil {
		return to, problem
	}
	name, rungs := v.Pod.Namespace+"/"+v.Pod.Name, all[len(to):]
	for i := range rungs {
		if r := &rungs[i]; r.Pod != "" {
			at, _ := slices.BinarySearchFunc(r.Want, plugin.ParamPod,
				func(p core.Param, name string) int { return cmp.Compare(p.Name, name) })
			r.Want = slices.Insert(r.Want, at, core.Param{Name: plugin.ParamPod, Value: name})
		}
		rungs[i].Places = t.Places(&rungs[i])
	}
	return all, nil
}

// Places are the paths that a rung made with its Want has for its own, its vol_data.json among them: a start that has
// lost the journal takes down what that names. Those of two rungs are the same or apart, never one below the other.
func (t Table) Places(r *core.Rung) []string {
	if k := t.kind(r.Kind); k != nil && k.IsOfHost {
		return nil
	}
	all := make([]string, 0, 2)
	for _, name := range [...]string{plugin.ParamPath, plugin.ParamData} {
		if at := core.Value(r.Want, name); at != "" {
			all = append(all, at)
		}
	}
	return all
}

// SecretsOfPod names the Secrets that the drivers of a pod's inline volumes are given, as namespace/name.
func (t Table) SecretsOfPod(pod *corev1.Pod) (names []string) {
	for i := range t {
		if secrets := t[i].PodSecrets; secrets != nil {
			names = append(names, secrets(pod)...)
		}
	}
	return names
}

// SecretsOfVolume names the Secrets that a PersistentVolume's driver is given on a node, as namespace/name.
func (t Table) SecretsOfVolume(pv *corev1.PersistentVolume) (names []string) {
	for i := range t {
		if secrets := t[i].VolumeSecrets; secrets != nil {
			names = append(names, secrets(pv)...)
		}
	}
	return names
}

// Scan lists the layout. From a task. See [plugin.Scanner].
func (t Table) Scan(h *hal.Host, c hal.Call, root string, isPatient bool) (plugin.Listing, error) {
	s := &plugin.Scanner{Host: h, Call: c, Root: root, IsPatient: isPatient}
	of := map[string]plugin.Scan{} // by the source's directory
	for i := range t {
		if t[i].Scan != nil {
			scan := t[i].Scan()
			of[t[i].Directory()] = scan
			s.Found.Scans = append(s.Found.Scans, scan)
		}
	}
	pods, err := s.Top(plugin.PodsDir(root))
	if err != nil {
		return plugin.Listing{}, err
	}
	for _, pod := range s.Directories(plugin.PodsDir(root), pods) {
		s.Pod(pod, func(e plugin.Entry) {
			scan := of[e.Source]
			if scan == nil {
				if scan = t.scanOf(e.Source); scan != nil {
					of[e.Source] = scan
					s.Found.Scans = append(s.Found.Scans, scan)
				}
			}
			if scan != nil {
				scan.Entry(s, e.Pod, e.Name)
			} else {
				s.Found.Unserved = append(s.Found.Unserved, e)
			}
		})
		s.PodDevices(pod, func(source string, e hal.Entry) {
			if scan, has := of[source].(plugin.DeviceScan); has {
				scan.Device(s, pod, e)
			}
		})
	}
	for _, scan := range s.Found.Scans {
		if err := scan.Node(s); err != nil {
			return plugin.Listing{}, err
		}
	}
	return s.Found, s.Err
}

// scanOf is the scan of a directory's name that is no source's own, nil if no source knows it.
func (t Table) scanOf(directory string) plugin.Scan {
	for i := range t {
		if t[i].ScanOf == nil {
			continue
		}
		if scan := t[i].ScanOf(directory); scan != nil {
			return scan
		}
	}
	return nil
}

// Discover makes rungs of what a start has found, so that what has no record, because the journal is lost or damaged,
// can still be taken down. The keys are those that the ladders make, and lower rungs come first. Whether a rung has a
// record, or is wanted, is not its business.
func (t Table) Discover(
	root string, l plugin.Listing, config func(driver string) plugin.DriverConfig,
) ([]core.Rung, []plugin.Unrecognised) {
	d := &plugin.Discovery{Root: root, Config: config, Left: l.Left}
	for _, scan := range l.Scans {
		scan.Discover(d)
	}
	for _, e := range l.Unserved {
		dir := plugin.PodDir(root, e.Pod) + "/volumes/" + e.Source + "/" + e.Name
		if d.IsPod(dir, e.Pod) {
			d.Unrecognised(dir, "volnode does not serve volumes of "+strings.ReplaceAll(e.Source, "~", "/"))
		}
	}
	all := append(d.Lower, d.Upper...)
	for i := range all {
		all[i].Places = t.Places(&all[i])
	}
	return all, d.Left
}
