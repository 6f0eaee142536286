package csi

import (
	"maps"
	"path"
	"slices"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// directory is where volumes are below a pod.
var directory = plugin.DirectoryOf(plugin.CSI)

// scan is what a start finds of CSI volumes.
type scan struct {
	pods   []podEntry
	staged []stagedEntry
	blocks []blockEntry

	*plugin.Discovery                    // while rungs are made
	stages            map[hal.Key]*found // that have been found
}

// podEntry is pods/<pod>/volumes/kubernetes.io~csi/<name>.
type podEntry struct {
	pod, name string
	data      plugin.File // vol_data.json
}

// stagedEntry is plugins/kubernetes.io/csi/<driver>/<name>.
type stagedEntry struct {
	driver, name string
	data         plugin.File
}

// blockEntry is plugins/kubernetes.io/csi/volumeDevices/<spec>, with what is published of it.
type blockEntry struct {
	spec     string
	data     plugin.File
	isStaged bool     // staging/<spec> is there
	pods     []string // publish/<spec>/<pod uid>
}

// Entry looks at a volume of a pod.
func (l *scan) Entry(s *plugin.Scanner, uid, name string) {
	dir := plugin.PodDir(s.Root, uid) + "/volumes/" + directory + "/" + name
	if s.IsIncomplete(dir, "mount") {
		return
	}
	e := podEntry{uid, name, s.Read(dir+"/vol_data.json", MaxVolData)}
	if e.data.IsHidden() {
		s.Found.Unseen = append(s.Found.Unseen, dir)
	}
	l.pods = append(l.pods, e)
}

// Node looks at the stages and the raw block volumes.
func (l *scan) Node(s *plugin.Scanner) error {
	drivers, err := s.Top(plugin.CSIDir(s.Root))
	if err != nil {
		return err
	}
	for _, driver := range s.Directories(plugin.CSIDir(s.Root), drivers) {
		if driver == "volumeDevices" {
			l.listBlocks(s, plugin.CSIDir(s.Root)+"/"+driver)
		} else {
			l.listStaged(s, driver)
		}
	}
	return nil
}

func (l *scan) listStaged(s *plugin.Scanner, driver string) {
	dir := plugin.CSIDir(s.Root) + "/" + driver
	names, _ := s.Names(dir)
	for _, name := range s.Directories(dir, names) {
		if !s.IsIncomplete(dir+"/"+name, "globalmount") {
			l.staged = append(l.staged, stagedEntry{
				driver, name,
				s.Read(dir+"/"+name+"/vol_data.json", MaxVolData),
			})
		}
	}
}

// listBlocks lists the raw block volumes. Each has a name in up to three directories.
func (l *scan) listBlocks(s *plugin.Scanner, dir string) {
	specs, _ := s.Names(dir)
	staged, knowsStages := s.Names(dir + "/staging")
	if knowsStages && len(staged) == 0 && s.IsEmpty(dir+"/staging") {
		s.Found.Empty = append(s.Found.Empty, dir+"/staging")
	}
	published, isListed := s.Names(dir + "/publish")
	if isListed && len(published) == 0 && s.IsEmpty(dir+"/publish") {
		s.Found.Empty = append(s.Found.Empty, dir+"/publish")
	}
	of := map[string]bool{}
	for _, name := range s.Directories(dir, specs) {
		of[name] = name != "staging" && name != "publish"
	}
	isStaged := map[string]bool{}
	for _, name := range s.Directories(dir+"/staging", staged) {
		of[name], isStaged[name] = true, true
	}
	for _, name := range s.Directories(dir+"/publish", published) {
		of[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		switch {
		case of[name] && knowsStages:
			l.listBlock(s, dir, name, isStaged[name])
		case of[name]:
			// a stage that may be there has its data file in common with the publishes, which would remove it
			s.Found.Left = append(s.Found.Left, besideHidden(dir+"/publish/"+name, dir+"/staging"))
		}
	}
}

func (l *scan) listBlock(s *plugin.Scanner, dir, spec string, isStaged bool) {
	b := blockEntry{spec: spec, isStaged: isStaged}
	pods, ok := s.Names(dir + "/publish/" + spec)
	if !ok {
		if isStaged { // who uses it is not known
			s.Found.Left = append(s.Found.Left, besideHidden(dir+"/staging/"+spec, dir+"/publish/"+spec))
		}
		return
	}
	for _, pod := range pods {
		b.pods = append(b.pods, pod.Name)
	}
	var leftovers []string
	data := dir + "/" + spec + "/data"
	for _, at := range []string{data, dir + "/" + spec, dir + "/staging/" + spec, dir + "/publish/" + spec} {
		if s.IsEmpty(at) {
			leftovers = append(leftovers, at)
		}
	}
	if s.Holds(data, ".vol_data.json.new") {
		leftovers = append(leftovers, data+"/.vol_data.json.new")
	}
	b.data = s.Read(data+"/vol_data.json", MaxVolData)
	isIncompleteStage := len(pods) == 0 && b.data.Missing &&
		(!isStaged || slices.Contains(leftovers, dir+"/staging/"+spec))
	if isIncompleteStage && len(leftovers) > 0 {
		s.Found.Empty = append(s.Found.Empty, leftovers...)
		return
	}
	if len(pods) == 0 && !isStaged {
		s.Found.Empty = append(s.Found.Empty, leftovers...)
	}
	l.blocks = append(l.blocks, b)
}

// Discover makes rungs of what was found.
func (l *scan) Discover(d *plugin.Discovery) {
	l.Discovery, l.stages = d, map[hal.Key]*found{}
	for _, e := range l.staged {
		l.stagedAt(e)
	}
	for _, e := range l.blocks {
		l.block(e)
	}
	for _, e := range l.pods {
		l.published(e)
	}
	l.Discovery, l.stages = nil, nil
}

// volume reads a data file and checks that what it says may go into paths and calls.
func (l *scan) volume(dir string, f plugin.File) (VolData, bool) {
	if f.Problem != "" {
		l.Left = append(l.Left, plugin.Unrecognised{
			Path: dir, Why: "volnode cannot read its vol_data.json: " + f.Problem,
			IsHidden: f.IsHidden(),
		})
		return VolData{}, false
	}
	data, err := ParseVolData(f.Data)
	if err != nil {
		l.Unrecognised(dir, "its vol_data.json is "+err.Error())
		return VolData{}, false
	}
	if bad := plugin.BadDriverName(data.DriverName); bad != "" {
		l.Unrecognised(dir, "driverName in its vol_data.json "+bad)
		return VolData{}, false
	}
	bad := plugin.BadCSIString(data.VolumeHandle)
	if data.VolumeHandle == "" {
		bad = "is empty"
	}
	if bad != "" {
		l.Unrecognised(dir, "volumeHandle in its vol_data.json "+bad)
		return VolData{}, false
	}
	return data, true
}

func (l *scan) stagedAt(e stagedEntry) {
	dir := plugin.CSIDir(l.Root) + "/" + e.driver + "/" + e.name
	data, ok := l.volume(dir, e.data)
	if !ok {
		return
	}
	place := plugin.StagePlace(l.Root, data.DriverName, data.VolumeHandle)
	if e.driver == "pv" {
		// The layout before Kubernetes 1.24: by the name of the PersistentVolume.
		place = plugin.Place{Path: dir + "/globalmount", Data: dir + "/vol_data.json", Stop: path.Dir(dir)}
	}
	if path.Dir(place.Path) != dir {
		l.Unrecognised(dir, "its vol_data.json names driver "+data.DriverName+" and a volume with another directory")
		return
	}
	l.stage(&found{Place: place, Data: data, Config: l.Config(data.DriverName)})
}

func (l *scan) stage(f *found) {
	rung := f.asStage()
	if earlier, taken := l.stages[rung.Key]; taken {
		l.Unrecognised(f.Place.Path, "the same volume is staged at "+earlier.Place.Path)
		return
	}
	l.stages[rung.Key] = f
	l.Lower = append(l.Lower, rung)
}

// besideHidden is a name of which nothing can be told, as another one could not be looked at.
func besideHidden(at, hidden string) plugin.Unrecognised {
	return plugin.Unrecognised{
		Path: at, Why: "its volume is not known, because volnode cannot read " + hidden,
		IsHidden: true,
	}
}

func (l *scan) block(e blockEntry) {
	devices := plugin.CSIDir(l.Root) + "/volumeDevices"
	dir := devices + "/" + e.spec
	data, ok := l.volume(dir, e.data)
	if !ok && e.data.IsHidden() {
		for _, at := range []string{devices + "/staging/" + e.spec, devices + "/publish/" + e.spec} {
			l.Left = append(l.Left, besideHidden(at, dir))
		}
	}
	if !ok {
		return
	}
	if bad := plugin.BadObjectName(e.spec); bad != "" || data.SpecVolID != e.spec {
		l.Unrecognised(dir, "its vol_data.json names another volume")
		return
	}
	isStaged := e.isStaged || data.IsStaged() // the name of the stage may be lost, and its driver may have it
	if !isStaged && len(e.pods) == 0 {
		// Not deleted: a call that its driver has not ended yet may bring a device, and this file alone says which
		// volume it is.
		l.Left = append(l.Left, plugin.Unrecognised{
			Path: dir, Volume: data.DriverName + "^" + data.VolumeHandle,
			Why: "only its vol_data.json is left of volume " + data.VolumeHandle + " of driver " + data.DriverName +
				"; volnode leaves it alone; if the driver does not hold the volume on this node, remove the directory",
		})
		return
	}
	config := l.Config(data.DriverName)
	var stage *found
	if isStaged {
		stage = &found{Place: plugin.BlockStagePlace(l.Root, e.spec), Data: data, Block: true, Config: config}
		l.stage(stage)
	}
	for _, pod := range e.pods {
		place := plugin.BlockPublishPlace(l.Root, pod, e.spec)
		if bad := plugin.BadPodUID(pod); bad != "" {
			l.Unrecognised(place.Path, "the name is not a pod UID: it "+bad)
			continue
		}
		if stage != nil {
			place.Data = ""
		}
		f := found{Place: place, Data: data, Block: true, Pod: pod, Config: config}
		l.Upper = append(l.Upper, f.asPublish(stage))
	}
}

func (l *scan) published(e podEntry) {
	dir := plugin.PodDir(l.Root, e.pod) + "/volumes/" + directory + "/" + e.name
	if !l.IsPod(dir, e.pod) {
		return
	}
	data, ok := l.volume(dir, e.data)
	if !ok {
		return
	}
	if bad := plugin.BadObjectName(e.name); bad != "" || data.SpecVolID != e.name {
		l.Unrecognised(dir, "its vol_data.json names another volume")
		return
	}
	key, config := StageKey(data.DriverName, data.VolumeHandle), l.Config(data.DriverName)
	if data.IsStaged() && l.stages[key] == nil { // its directory is lost, and its driver may have it
		l.stage(&found{
			Place: plugin.StagePlace(l.Root, data.DriverName, data.VolumeHandle), Data: data,
			Config: config,
		})
	}
	stage := l.stages[key]
	if data.Lifecycle == "Ephemeral" {
		stage = nil
	}
	f := found{Place: plugin.PublishPlace(l.Root, e.pod, e.name), Data: data, Pod: e.pod, Config: config}
	l.Upper = append(l.Upper, f.asPublish(stage))
}
