package kinds

import (
	"path"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/engine/plugin/emptydir"
	"github.com/volnode/volnode/hal"
)

// Unrecognised is something in the layout that no rung can be made of. It is reported and left alone.
type Unrecognised struct {
	Path, Why string
	Volume    string // that it tells of, driver^handle; "" if it is not known: a record of it makes it recognised
	IsHidden  bool   // it could not be looked at: volumes may be there
}

// Discover makes rungs of what a start has found, so that what has no record, because the journal is lost or damaged,
// can still be taken down. The keys are those that the ladders make, and lower rungs come first. Whether a rung has a
// record, or is wanted, is not its business.
func Discover(root string, l Listing, config func(driver string) plugin.DriverConfig) ([]core.Rung, []Unrecognised) {
	d := discovery{root: root, left: l.Left, config: config, stages: map[hal.Key]*csi.Found{}, dirs: map[hal.Key]bool{}}
	for _, e := range l.Staged {
		d.staged(e)
	}
	for _, e := range l.Blocks {
		d.block(e)
	}
	for _, e := range l.Pods {
		d.pod(e)
	}
	all := append(d.lower, d.upper...)
	for i := range all {
		all[i].Places = Places(&all[i])
	}
	return all, d.left
}

type discovery struct {
	root         string
	config       func(string) plugin.DriverConfig
	stages       map[hal.Key]*csi.Found
	dirs         map[hal.Key]bool // emptyDirs
	lower, upper []core.Rung
	left         []Unrecognised
}

func (d *discovery) unrecognised(path, why string) {
	d.left = append(d.left, Unrecognised{Path: path, Why: why})
}

// volume reads a data file and checks that what it says may go into paths and calls.
func (d *discovery) volume(dir string, f File) (csi.VolData, bool) {
	if f.Problem != "" {
		d.left = append(d.left, Unrecognised{
			Path: dir, Why: "volnode cannot read its vol_data.json: " + f.Problem,
			IsHidden: f.isHidden(),
		})
		return csi.VolData{}, false
	}
	data, err := csi.ParseVolData(f.Data)
	if err != nil {
		d.unrecognised(dir, "its vol_data.json is "+err.Error())
		return csi.VolData{}, false
	}
	if bad := plugin.BadDriverName(data.DriverName); bad != "" {
		d.unrecognised(dir, "driverName in its vol_data.json "+bad)
		return csi.VolData{}, false
	}
	bad := plugin.BadCSIString(data.VolumeHandle)
	if data.VolumeHandle == "" {
		bad = "is empty"
	}
	if bad != "" {
		d.unrecognised(dir, "volumeHandle in its vol_data.json "+bad)
		return csi.VolData{}, false
	}
	return data, true
}

func (d *discovery) staged(e StagedEntry) {
	dir := plugin.CSIDir(d.root) + "/" + e.Driver + "/" + e.Name
	data, ok := d.volume(dir, e.Data)
	if !ok {
		return
	}
	place := plugin.StagePlace(d.root, data.DriverName, data.VolumeHandle)
	if e.Driver == "pv" {
		// The layout before Kubernetes 1.24: by the name of the PersistentVolume.
		place = plugin.Place{Path: dir + "/globalmount", Data: dir + "/vol_data.json", Stop: path.Dir(dir)}
	}
	if path.Dir(place.Path) != dir {
		d.unrecognised(dir, "its vol_data.json names driver "+data.DriverName+" and a volume with another directory")
		return
	}
	d.stage(&csi.Found{Place: place, Data: data, Config: d.config(data.DriverName)})
}

func (d *discovery) stage(f *csi.Found) {
	rung := f.StageRung()
	if earlier, taken := d.stages[rung.Key]; taken {
		d.unrecognised(f.Place.Path, "the same volume is staged at "+earlier.Place.Path)
		return
	}
	d.stages[rung.Key] = f
	d.lower = append(d.lower, rung)
}

// besideHidden is a name of which nothing can be told, as another one could not be looked at.
func besideHidden(at, hidden string) Unrecognised {
	return Unrecognised{
		Path: at, Why: "its volume is not known, because volnode cannot read " + hidden,
		IsHidden: true,
	}
}

func (d *discovery) block(e BlockEntry) {
	devices := plugin.CSIDir(d.root) + "/volumeDevices"
	dir := devices + "/" + e.Spec
	data, ok := d.volume(dir, e.Data)
	if !ok && e.Data.isHidden() {
		for _, at := range []string{devices + "/staging/" + e.Spec, devices + "/publish/" + e.Spec} {
			d.left = append(d.left, besideHidden(at, dir))
		}
	}
	if !ok {
		return
	}
	if bad := plugin.BadObjectName(e.Spec); bad != "" || data.SpecVolID != e.Spec {
		d.unrecognised(dir, "its vol_data.json names another volume")
		return
	}
	isStaged := e.Staged || data.IsStaged() // the name of the stage may be lost, and its driver may have it
	if !isStaged && len(e.Pods) == 0 {
		// Not deleted: a call that its driver has not ended yet may bring a device, and this file alone says which
		// volume it is.
		d.left = append(d.left, Unrecognised{
			Path: dir, Volume: data.DriverName + "^" + data.VolumeHandle,
			Why: "only its vol_data.json is left of volume " + data.VolumeHandle + " of driver " + data.DriverName +
				"; volnode leaves it alone; if the driver does not hold the volume on this node, remove the directory",
		})
		return
	}
	config := d.config(data.DriverName)
	var stage *csi.Found
	if isStaged {
		stage = &csi.Found{Place: plugin.BlockStagePlace(d.root, e.Spec), Data: data, Block: true, Config: config}
		d.stage(stage)
	}
	for _, pod := range e.Pods {
		place := plugin.BlockPublishPlace(d.root, pod, e.Spec)
		if bad := plugin.BadPodUID(pod); bad != "" {
			d.unrecognised(place.Path, "the name is not a pod UID: it "+bad)
			continue
		}
		if stage != nil {
			place.Data = ""
		}
		f := csi.Found{Place: place, Data: data, Block: true, Pod: pod, Config: config}
		d.upper = append(d.upper, f.PublishRung(stage))
	}
}

func (d *discovery) pod(e PodEntry) {
	dir := plugin.PodDir(d.root, e.Pod) + "/volumes/" + e.Plugin + "/" + e.Name
	if bad := plugin.BadPodUID(e.Pod); bad != "" {
		d.unrecognised(dir, "the directory's name is not a pod UID: it "+bad)
		return
	}
	switch e.Plugin {
	case "kubernetes.io~empty-dir":
		name := plugin.EmptyDirTrashed(e.Name)
		if plugin.BadVolumeName(name) != "" {
			d.unrecognised(dir, "the name is not the name of a volume")
			return
		}
		// A directory and the remains of an earlier one of the same name are one rung.
		key := emptydir.Key(e.Pod, name)
		if !d.dirs[key] {
			d.dirs[key] = true
			d.upper = append(d.upper, emptydir.Found(d.root, e.Pod, name))
		}
	case "kubernetes.io~csi":
		d.published(dir, e)
	default:
		d.unrecognised(dir, "volnode does not serve volumes of "+strings.ReplaceAll(e.Plugin, "~", "/"))
	}
}

func (d *discovery) published(dir string, e PodEntry) {
	data, ok := d.volume(dir, e.Data)
	if !ok {
		return
	}
	if bad := plugin.BadObjectName(e.Name); bad != "" || data.SpecVolID != e.Name {
		d.unrecognised(dir, "its vol_data.json names another volume")
		return
	}
	key, config := csi.StageKey(data.DriverName, data.VolumeHandle), d.config(data.DriverName)
	if data.IsStaged() && d.stages[key] == nil { // its directory is lost, and its driver may have it
		d.stage(&csi.Found{
			Place: plugin.StagePlace(d.root, data.DriverName, data.VolumeHandle), Data: data,
			Config: config,
		})
	}
	stage := d.stages[key]
	if data.Lifecycle == "Ephemeral" {
		stage = nil
	}
	f := csi.Found{Place: plugin.PublishPlace(d.root, e.Pod, e.Name), Data: data, Pod: e.Pod, Config: config}
	d.upper = append(d.upper, f.PublishRung(stage))
}
