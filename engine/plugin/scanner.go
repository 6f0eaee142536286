package plugin

import (
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Listing is what a start finds in the layout below the root directory.
type Listing struct {
	Scans []Scan // what each source has found
	// Unserved are the directories of volumes of sources that volnode does not serve.
	Unserved []Entry
	// Empty is the names in which there is no volume, each as deep as it goes: what a setup that was cut short before
	// its call, or a teardown, has left. They may go, with the directories above them that are empty then: see [Stop].
	Empty []string
	// Left is the entries that are no directories of volumes: volnode reports them and leaves them alone.
	Left []Unrecognised
	// Unseen is the directories below which pods may use volumes that are not known: what seems unused may be used
	// there.
	Unseen []string
}

// Entry is pods/<Pod>/volumes/<Source>/<Name>.
type Entry struct{ Pod, Source, Name string }

// Unrecognised is something in the layout that no rung can be made of. It is reported and left alone.
type Unrecognised struct {
	Path, Why string
	Volume    string // that it tells of, driver^handle; "" if it is not known: a record of it makes it recognised
	IsHidden  bool   // it could not be looked at: volumes may be there
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

// File is the content of a file. Problem, when not "", says why there is none.
type File struct {
	Data    []byte
	Problem string
	Missing bool // there is no such file: Problem says so
}

// IsHidden: there may be such a file, and it could not be read.
func (f File) IsHidden() bool { return f.Problem != "" && !f.Missing }

// Stop is the directory up to which those above an empty name go, if they are empty then; it stays.
func Stop(root, empty string) string {
	if rest, ok := strings.CutPrefix(empty, CSIDir(root)+"/"); ok {
		driver, _, _ := strings.Cut(rest, "/")
		return CSIDir(root) + "/" + driver
	}
	return PodsDir(root)
}

// List lists a directory; none if it is missing, or if the name is not a directory's.
func List(h *hal.Host, c hal.Call, dir string) ([]hal.Entry, error) {
	s := Scanner{Host: h, Call: c}
	entries, err := s.Top(dir)
	if hal.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return entries, err
}

// Scanner lists the layout for one start. An entry that is no directory, or can't be listed for a reason of its own, is
// one entry's trouble, in Left. Any other error fails the scan: nothing may be concluded from what is missing. With
// IsPatient that, too, is the entry's trouble: it has lasted.
type Scanner struct {
	Host      *hal.Host
	Call      hal.Call
	Root      string
	IsPatient bool
	Found     Listing
	Err       error // the first that fails the scan

	held   []hal.HeldDevice
	isHeld bool // held is known
}

// Held are the block devices that an earlier life has held.
func (s *Scanner) Held() ([]hal.HeldDevice, error) {
	if s.isHeld {
		return s.held, nil
	}
	var err error
	s.held, err = s.Host.Blocks.Holds(s.Call)
	s.isHeld = err == nil
	return s.held, err
}

// Top is the entries of a directory that the layout has; none if it is missing.
func (s *Scanner) Top(dir string) ([]hal.Entry, error) {
	entries, err := s.Host.Tree.List(s.Call, dir)
	if err != nil && !hal.Is(err, syscall.ENOENT) {
		return nil, err
	}
	return entries, nil
}

// Names are the names in a directory that an entry names. ok is false if it can't be listed, or is no directory.
func (s *Scanner) Names(dir string) (names []hal.Entry, ok bool) {
	entries, err := s.Top(dir)
	switch {
	case hal.Is(err, syscall.ENOTDIR):
		info, _ := s.Host.Tree.Stat(s.Call, dir) // any type, if it can't be read
		s.noDirectory(dir, info.Type)
	case err != nil:
		s.trouble(dir, err)
	}
	return entries, err == nil
}

// noDirectory reports a name in the place of a directory, once.
func (s *Scanner) noDirectory(at string, is hal.FileType) {
	if !slices.ContainsFunc(s.Found.Left, func(l Unrecognised) bool { return l.Path == at }) {
		s.Found.Left = append(s.Found.Left, Unrecognised{Path: at, Why: "not a directory, but a " + is.String()})
	}
}

// trouble is a name that can't be looked at.
func (s *Scanner) trouble(name string, err error) {
	if !isItsOwn(err) && !s.IsPatient {
		s.fail(err)
		return
	}
	s.Found.Left = append(s.Found.Left, Unrecognised{
		Path: name, Why: "volnode cannot read it: " + err.Error(),
		IsHidden: true,
	})
	if strings.HasPrefix(name, PodsDir(s.Root)+"/") || strings.HasPrefix(name, CSIDir(s.Root)+"/"+volumeDevices+"/") {
		s.Found.Unseen = append(s.Found.Unseen, name)
	}
}

// fail notes the first error that fails the scan.
func (s *Scanner) fail(err error) {
	if s.Err == nil {
		s.Err = err
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

// Directories are the names of the directories among entries; the others are told of.
func (s *Scanner) Directories(dir string, entries []hal.Entry) []string {
	var names []string
	for _, e := range entries {
		if e.Type == hal.TypeDirectory {
			names = append(names, e.Name)
			continue
		}
		s.noDirectory(dir+"/"+e.Name, e.Type)
	}
	return names
}

// Mounts is what is mounted at a path, bottom first.
func (s *Scanner) Mounts(path string) []hal.Mount {
	stack, err := s.Host.Mounts.At(s.Call, path)
	if err != nil {
		s.trouble(path, err)
	}
	return stack
}

// Read reads a file of at most that many bytes.
func (s *Scanner) Read(file string, most int64) File {
	data, err := s.Host.Files.Read(s.Call, file, most)
	if err != nil && !s.IsPatient && !isItsOwn(err) {
		s.fail(err) // what it would say is not known yet
	}
	if err != nil {
		return File{Problem: err.Error(), Missing: hal.Is(err, syscall.ENOENT)}
	}
	return File{Data: data}
}

// Pod calls each for the directories of volumes of a pod: pods/<pod>/volumes/<source>/<name>.
func (s *Scanner) Pod(pod string, each func(Entry)) {
	volumes := PodDir(s.Root, pod) + "/volumes"
	sources, ok := s.Names(volumes)
	if ok && len(sources) == 0 {
		s.Empty(volumes)
	}
	for _, source := range s.Directories(volumes, sources) {
		of := volumes + "/" + source
		names, ok := s.Names(of)
		if ok && len(names) == 0 {
			s.Empty(of)
		}
		for _, name := range s.Directories(of, names) {
			each(Entry{Pod: pod, Source: source, Name: name})
		}
	}
}

// PodDevices calls each for the raw block volumes of a pod: pods/<pod>/volumeDevices/<source>/<name>.
func (s *Scanner) PodDevices(pod string, each func(source string, e hal.Entry)) {
	devices := PodDir(s.Root, pod) + "/" + volumeDevices
	sources, err := s.Host.Tree.List(s.Call, devices)
	switch {
	case hal.Is(err, syscall.ENOENT): // of most pods
		return
	case err != nil:
		sources, _ = s.Names(devices) // it tells of it
	case len(sources) == 0:
		s.Empty(devices)
	}
	for _, source := range s.Directories(devices, sources) {
		names, ok := s.Names(devices + "/" + source)
		if ok && len(names) == 0 {
			s.Empty(devices + "/" + source)
		}
		for _, e := range names {
			each(source, e)
		}
	}
}

// IsIncomplete notes the names to remove of a volume's directory that tells of no volume: it holds nothing but an
// unfinished Read file and a target on which nothing stands and in which nothing is. It is what a setup that was cut
// short before its call, or a teardown, has left. It reports whether the directory needs no more looking at.
func (s *Scanner) IsIncomplete(dir, target string) bool {
	entries, ok := s.Names(dir)
	if !ok {
		return true
	}
	if len(entries) == 0 {
		return s.Empty(dir)
	}
	var names []string
	for _, e := range entries {
		name := dir + "/" + e.Name
		switch e.Name {
		case ".vol_data.json.new":
		case target:
			if !s.IsEmpty(name) {
				return false // a mount is there, or something is in it
			}
		default:
			return false
		}
		names = append(names, name)
	}
	s.Found.Empty = append(s.Found.Empty, names...)
	return true
}

// Empty notes a directory without entries. It reports whether it is one. What is no directory is somebody's file.
func (s *Scanner) Empty(dir string) bool {
	info, err := s.Host.Tree.Stat(s.Call, dir)
	if err != nil && !isItsOwn(err) {
		s.trouble(dir, err)
	}
	isEmpty := hal.Is(err, syscall.ENOENT) || err == nil && info.Type == hal.TypeDirectory && !info.MountPoint
	if isEmpty {
		s.Found.Empty = append(s.Found.Empty, dir)
	}
	return isEmpty
}

// IsEmpty reports whether a name is a directory's on which nothing is mounted and in which nothing is.
func (s *Scanner) IsEmpty(dir string) bool {
	info, err := s.Host.Tree.Stat(s.Call, dir)
	var inside []hal.Entry
	if err == nil && info.Type == hal.TypeDirectory && !info.MountPoint {
		inside, err = s.Host.Tree.List(s.Call, dir)
	}
	if err != nil && !isItsOwn(err) {
		s.trouble(dir, err)
	}
	return err == nil && info.Type == hal.TypeDirectory && !info.MountPoint && len(inside) == 0
}

// Holds reports whether a name is all that is in a directory.
func (s *Scanner) Holds(dir, name string) bool {
	inside, err := s.Host.Tree.List(s.Call, dir)
	if err != nil && !isItsOwn(err) {
		s.trouble(dir, err)
	}
	return err == nil && len(inside) == 1 && inside[0].Name == name
}

// Discovery makes rungs of what a start has found. Lower rungs come first.
type Discovery struct {
	Root         string
	Config       func(driver string) DriverConfig
	Lower, Upper []core.Rung
	Left         []Unrecognised
}

// Unrecognised reports a name of which no rung can be made.
func (d *Discovery) Unrecognised(path, why string) {
	d.Left = append(d.Left, Unrecognised{Path: path, Why: why})
}

// IsPod reports whether the name of a pod's directory is a uid. If not, it reports dir.
func (d *Discovery) IsPod(dir, uid string) bool {
	bad := BadPodUID(uid)
	if bad != "" {
		d.Unrecognised(dir, "the directory's name is not a pod UID: it "+bad)
	}
	return bad == ""
}
