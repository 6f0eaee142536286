package kinds

import (
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/hal"
)

// Listing is what a start finds in the layout below the root directory: which names are there, and what their data
// files hold.
type Listing struct {
	Pods   []PodEntry
	Staged []StagedEntry
	Blocks []BlockEntry
	// Empty is the names in which there is no volume, each as deep as it goes: what a setup that was cut short before
	// its call, or a teardown, has left. They may go, with the directories above them that are empty then: see [Stop].
	Empty []string
	// Left is the entries that are no directories of volumes: they are told of and left alone.
	Left []Unrecognised
	// Unseen is the directories below which pods may use volumes that are not known: what seems unused may be used
	// there.
	Unseen []string
}

// Hidden are the names in left that could not be looked at: what an earlier life has made may be at or below them.
func Hidden(left []Unrecognised) []string {
	var names []string
	for _, u := range left {
		if u.IsHidden {
			names = append(names, u.Path)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// PodEntry is pods/<Pod>/volumes/<Plugin>/<Name>.
type PodEntry struct {
	Pod, Plugin, Name string
	Data              File // of vol_data.json, for kubernetes.io~csi
}

// StagedEntry is plugins/kubernetes.io/csi/<Driver>/<Name>.
type StagedEntry struct {
	Driver, Name string
	Data         File
}

// BlockEntry is plugins/kubernetes.io/csi/volumeDevices/<Spec>, with what is published of it.
type BlockEntry struct {
	Spec   string
	Data   File
	Staged bool     // staging/<Spec> is there
	Pods   []string // publish/<Spec>/<pod uid>
}

// File is the content of a file. Problem, when not "", says why there is none.
type File struct {
	Data    []byte
	Problem string
	Missing bool // there is no such file: Problem says so
}

// isHidden: there may be such a file, and it could not be read.
func (f File) isHidden() bool { return f.Problem != "" && !f.Missing }

// Scan lists the layout. From a task. An entry that is no directory, or can't be listed for a reason of its own, is one
// entry's trouble, in Left. Any other error fails the scan: nothing may be concluded from what is missing. With
// isPatient that, too, is the entry's trouble: it has lasted.
func Scan(h *hal.Host, c hal.Call, root string, isPatient bool) (Listing, error) {
	s := &scanner{h: h, c: c, root: root, isPatient: isPatient}
	pods, err := s.top(plugin.PodsDir(root))
	if err != nil {
		return Listing{}, err
	}
	for _, pod := range s.directories(plugin.PodsDir(root), pods) {
		s.pod(pod)
	}
	drivers, err := s.top(plugin.CSIDir(root))
	if err != nil {
		return Listing{}, err
	}
	for _, driver := range s.directories(plugin.CSIDir(root), drivers) {
		if driver == "volumeDevices" {
			s.blocks(plugin.CSIDir(root) + "/" + driver)
		} else {
			s.staged(driver)
		}
	}
	return s.found, s.err
}

// Stop is the directory up to which those above an empty name go, if they are empty then; it stays.
func Stop(root, empty string) string {
	if rest, ok := strings.CutPrefix(empty, plugin.CSIDir(root)+"/"); ok {
		driver, _, _ := strings.Cut(rest, "/")
		return plugin.CSIDir(root) + "/" + driver
	}
	return plugin.PodsDir(root)
}

// Names lists a directory; none if it is missing.
func Names(h *hal.Host, c hal.Call, dir string) ([]hal.Entry, error) {
	s := scanner{h: h, c: c}
	return s.list(dir)
}

type scanner struct {
	h         *hal.Host
	c         hal.Call
	root      string
	isPatient bool
	found     Listing
	err       error // the first that fails the scan
}

// top is the entries of a directory that the layout has; none if it is missing.
func (s *scanner) top(dir string) ([]hal.Entry, error) {
	entries, err := s.h.Tree.List(s.c, dir)
	if err != nil && !hal.Is(err, syscall.ENOENT) {
		return nil, err
	}
	return entries, nil
}

// list is the entries of a directory; none if it is missing, or if the name is not a directory's.
func (s *scanner) list(dir string) ([]hal.Entry, error) {
	entries, err := s.top(dir)
	if hal.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return entries, err
}

// names are the names in a directory that an entry names. ok is false if it can't be listed.
func (s *scanner) names(dir string) (names []hal.Entry, ok bool) {
	entries, err := s.list(dir)
	if err != nil {
		s.trouble(dir, err)
	}
	return entries, err == nil
}

// trouble is a name that can't be looked at.
func (s *scanner) trouble(name string, err error) {
	if !isItsOwn(err) && !s.isPatient {
		s.fail(err)
		return
	}
	s.found.Left = append(s.found.Left, Unrecognised{
		Path: name, Why: "volnode cannot read it: " + err.Error(),
		IsHidden: true,
	})
	if strings.HasPrefix(name, plugin.PodsDir(s.root)+"/") ||
		strings.HasPrefix(name, plugin.CSIDir(s.root)+"/volumeDevices/") {
		s.found.Unseen = append(s.found.Unseen, name)
	}
}

// fail notes the first error that fails the scan.
func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// isItsOwn: the name is not what it should be: a mount's, a link's, another type's; or it may not be read. Looking
// again would not change that.
func isItsOwn(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{
		syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.EFBIG, syscall.ENXIO, syscall.EXDEV, syscall.ELOOP,
		syscall.EACCES, syscall.EPERM, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ENOTCONN, syscall.ESTALE,
	}, func(errno syscall.Errno) bool { return hal.Is(err, errno) })
}

// directories are the names of the directories among entries; the others are told of.
func (s *scanner) directories(dir string, entries []hal.Entry) []string {
	var names []string
	for _, e := range entries {
		if e.Type == hal.TypeDirectory {
			names = append(names, e.Name)
			continue
		}
		s.found.Left = append(s.found.Left, Unrecognised{
			Path: dir + "/" + e.Name,
			Why:  "not a directory, but a " + e.Type.String(),
		})
	}
	return names
}

func (s *scanner) data(file string) File {
	data, err := s.h.Files.Read(s.c, file, csi.MaxVolData)
	if err != nil && !s.isPatient && !isItsOwn(err) {
		s.fail(err) // what it would say is not known yet
	}
	if err != nil {
		return File{Problem: err.Error(), Missing: hal.Is(err, syscall.ENOENT)}
	}
	return File{Data: data}
}

func (s *scanner) pod(pod string) {
	volumes := plugin.PodDir(s.root, pod) + "/volumes"
	plugins, ok := s.names(volumes)
	if ok && len(plugins) == 0 {
		s.empty(volumes)
	}
	for _, source := range s.directories(volumes, plugins) {
		of := volumes + "/" + source
		names, ok := s.names(of)
		if ok && len(names) == 0 {
			s.empty(of)
		}
		for _, name := range s.directories(of, names) {
			e := PodEntry{Pod: pod, Plugin: source, Name: name}
			if source == "kubernetes.io~csi" {
				dir := of + "/" + name
				if s.isIncomplete(dir, "mount") {
					continue
				}
				e.Data = s.data(dir + "/vol_data.json")
				if e.Data.isHidden() {
					s.found.Unseen = append(s.found.Unseen, dir)
				}
			}
			s.found.Pods = append(s.found.Pods, e)
		}
	}
}

// isIncomplete notes the names to remove of a volume's directory that tells of no volume: it holds nothing but an unfinished
// data file and a target on which nothing stands and in which nothing is. It is what a setup that was cut short before
// its call, or a teardown, has left. It reports whether the directory needs no more looking at.
func (s *scanner) isIncomplete(dir, target string) bool {
	entries, ok := s.names(dir)
	if !ok {
		return true
	}
	if len(entries) == 0 {
		return s.empty(dir)
	}
	var names []string
	for _, e := range entries {
		name := dir + "/" + e.Name
		switch e.Name {
		case ".vol_data.json.new":
		case target:
			if !s.isEmpty(name) {
				return false // a mount is there, or something is in it
			}
		default:
			return false
		}
		names = append(names, name)
	}
	s.found.Empty = append(s.found.Empty, names...)
	return true
}

// empty notes a directory without entries. It reports whether it is one. What is no directory is somebody's file.
func (s *scanner) empty(dir string) bool {
	info, err := s.h.Tree.Stat(s.c, dir)
	if err != nil && !isItsOwn(err) {
		s.trouble(dir, err)
	}
	isEmpty := hal.Is(err, syscall.ENOENT) || err == nil && info.Type == hal.TypeDirectory && !info.MountPoint
	if isEmpty {
		s.found.Empty = append(s.found.Empty, dir)
	}
	return isEmpty
}

// isEmpty reports whether a name is a directory's on which nothing is mounted and in which nothing is.
func (s *scanner) isEmpty(dir string) bool {
	info, err := s.h.Tree.Stat(s.c, dir)
	var inside []hal.Entry
	if err == nil && info.Type == hal.TypeDirectory && !info.MountPoint {
		inside, err = s.h.Tree.List(s.c, dir)
	}
	if err != nil && !isItsOwn(err) {
		s.trouble(dir, err)
	}
	return err == nil && info.Type == hal.TypeDirectory && !info.MountPoint && len(inside) == 0
}

// holds reports whether a name is all that is in a directory.
func (s *scanner) holds(dir, name string) bool {
	inside, err := s.h.Tree.List(s.c, dir)
	if err != nil && !isItsOwn(err) {
		s.trouble(dir, err)
	}
	return err == nil && len(inside) == 1 && inside[0].Name == name
}

func (s *scanner) staged(driver string) {
	dir := plugin.CSIDir(s.root) + "/" + driver
	names, _ := s.names(dir)
	for _, name := range s.directories(dir, names) {
		if !s.isIncomplete(dir+"/"+name, "globalmount") {
			s.found.Staged = append(s.found.Staged, StagedEntry{
				driver, name,
				s.data(dir + "/" + name + "/vol_data.json"),
			})
		}
	}
}

// blocks lists the raw block volumes. Each has a name in up to three directories.
func (s *scanner) blocks(dir string) {
	specs, _ := s.names(dir)
	staged, knowsStages := s.names(dir + "/staging")
	if knowsStages && len(staged) == 0 && s.isEmpty(dir+"/staging") {
		s.found.Empty = append(s.found.Empty, dir+"/staging")
	}
	published, isListed := s.names(dir + "/publish")
	if isListed && len(published) == 0 && s.isEmpty(dir+"/publish") {
		s.found.Empty = append(s.found.Empty, dir+"/publish")
	}
	of := map[string]bool{}
	for _, name := range s.directories(dir, specs) {
		of[name] = name != "staging" && name != "publish"
	}
	isStaged := map[string]bool{}
	for _, name := range s.directories(dir+"/staging", staged) {
		of[name], isStaged[name] = true, true
	}
	for _, name := range s.directories(dir+"/publish", published) {
		of[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		switch {
		case of[name] && knowsStages:
			s.block(dir, name, isStaged[name])
		case of[name]:
			// a stage that may be there has its data file in common with the publishes, which would remove it
			s.found.Left = append(s.found.Left, besideHidden(dir+"/publish/"+name, dir+"/staging"))
		}
	}
}

func (s *scanner) block(dir, spec string, isStaged bool) {
	b := BlockEntry{Spec: spec, Staged: isStaged}
	pods, ok := s.names(dir + "/publish/" + spec)
	if !ok {
		if isStaged { // who uses it is not known
			s.found.Left = append(s.found.Left, besideHidden(dir+"/staging/"+spec, dir+"/publish/"+spec))
		}
		return
	}
	for _, pod := range pods {
		b.Pods = append(b.Pods, pod.Name)
	}
	var leftovers []string
	data := dir + "/" + spec + "/data"
	for _, at := range []string{data, dir + "/" + spec, dir + "/staging/" + spec, dir + "/publish/" + spec} {
		if s.isEmpty(at) {
			leftovers = append(leftovers, at)
		}
	}
	if s.holds(data, ".vol_data.json.new") {
		leftovers = append(leftovers, data+"/.vol_data.json.new")
	}
	b.Data = s.data(data + "/vol_data.json")
	isIncompleteStage := len(pods) == 0 && b.Data.Missing && (!isStaged || slices.Contains(leftovers, dir+"/staging/"+spec))
	if isIncompleteStage && len(leftovers) > 0 {
		s.found.Empty = append(s.found.Empty, leftovers...)
		return
	}
	if len(pods) == 0 && !isStaged {
		s.found.Empty = append(s.found.Empty, leftovers...)
	}
	s.found.Blocks = append(s.found.Blocks, b)
}
