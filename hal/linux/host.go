package linux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// Options configure a [Host].
type Options struct {
	// RootDir is the agent's root directory: absolute, clean, no component a symbolic link. It is made (0750) if
	// missing. Tree and Files work below it.
	RootDir string
	// MoreDirs are directories that Tree.List, Tree.Stat and Files.Read may also touch: a manifest directory.
	MoreDirs []string
	// HelperPath is the program started for a helper child; its main must begin as the package says. Default
	// /proc/self/exe.
	HelperPath string
	// ImageDir is where the OCI images lie that pods may have volumes of, as image layouts at any depth; "" for
	// nowhere.
	ImageDir string
	// FlexVolumeDir is where the FlexVolume drivers are; "" for nowhere.
	FlexVolumeDir string
	// MachineIDFile holds the machine's id. Default /etc/machine-id.
	MachineIDFile string
	// LateWindow is how long after its deadline an RPC with Call.Late may still be answered. Default 120 s.
	LateWindow time.Duration
	// Unwatched gets the reason why volnode notices changes late: inotify(7) can't watch all that should be watched. It
	// gets each reason once, and "" once all is watched again. It must not wait, and any goroutine may call it.
	Unwatched func(why string)
}

// Host is the node this program runs on.
type Host struct {
	options  Options
	runtime  *owner
	drivers  *drivers
	children *children
	watches  *watches
	mounts   *mounts
	quotas   *quotas

	stop   chan struct{} // closed by Close
	mu     sync.Mutex    // orders watch and Close
	closed bool
	tasks  sync.WaitGroup // watchers
}

// New opens the node. It starts no owner: see Run.
func New(o Options) (*Host, error) {
	if o.HelperPath == "" {
		o.HelperPath = "/proc/self/exe"
	}
	if o.MachineIDFile == "" {
		o.MachineIDFile = "/etc/machine-id"
	}
	if o.LateWindow == 0 {
		o.LateWindow = 120 * time.Second
	}
	if err := checkDirs(o); err != nil {
		return nil, err
	}
	r, err := newOwner()
	if err != nil {
		return nil, err
	}
	h := &Host{options: o, runtime: r, stop: make(chan struct{})}
	h.drivers = &drivers{host: h, byName: map[string]*driver{}}
	h.children = &children{host: h, running: map[int]bool{}}
	h.quotas = &quotas{host: h, files: []string{"/etc/projects", "/etc/projid"}}
	index := newMountIndex()
	h.watches = &watches{host: h, index: index, rescanEvery: time.Minute, places: &places{host: h}}
	h.watches.short = newShortage(o.Unwatched)
	h.mounts = &mounts{host: h, index: index, crowded: &crowded{rootDir: o.RootDir, copied: -1, read: &index.read}}
	return h, nil
}

func checkDirs(o Options) error {
	if !filepath.IsAbs(o.RootDir) || filepath.Clean(o.RootDir) != o.RootDir || o.RootDir == "/" {
		return fmt.Errorf("root directory %q: want an absolute path without dots or double slashes, not /", o.RootDir)
	}
	for _, d := range o.MoreDirs {
		if !filepath.IsAbs(d) || filepath.Clean(d) != d {
			return fmt.Errorf("directory %q: want an absolute path without dots or double slashes", d)
		}
	}
	if err := makeDurably(o.RootDir); err != nil {
		return err
	}
	fd, err := openHome(o.RootDir)
	switch err {
	case nil:
		return unix.Close(fd)
	case unix.ELOOP:
		// The mount table shows real paths, and drivers are handed the same string: a link in it would make the two
		// differ.
		target, _ := filepath.EvalSymlinks(o.RootDir)
		return fmt.Errorf("root directory %q leads through a symbolic link: use %q", o.RootDir, target)
	case unix.ENOSYS:
		return fmt.Errorf("openat2(2): %w: Linux 5.12 or later is needed", err)
	}
	return fmt.Errorf("root directory %q: %w", o.RootDir, err)
}

// makeDurably makes dir and what is missing above it, and has the name of each on disk: the journal's durability begins
// with the root directory's. The name of dir itself is synced also if it was there: the agent may have died before it
// did so.
func makeDurably(dir string) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := makeDurably(parent); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	f, err := os.Open(parent)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	// Some filesystems don't know fsync(2) of directories (EINVAL); theirs is not ours to mend.
	if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

// HAL returns the node's interfaces. Cluster is nil: the caller sets it.
func (h *Host) HAL() hal.Host {
	return hal.Host{
		Runtime: h.runtime, Machine: machine{h.options.MachineIDFile}, Mounts: h.mounts, Tree: &tree{h},
		Files: &files{h}, HostPaths: &hostPaths{h}, Images: &images{h}, Flex: &flex{h},
		Repositories: &repositories{h}, Quotas: h.quotas, Blocks: &blocks{h}, ISCSI: &iscsi{h}, SCSI: &scsi{h}, FC: &fc{h},
		Multipath: &multipath{h},
		Children:  h.children, Registration: &registration{host: h, slots: make(chan struct{}, maxRegistrations)},
		Drivers: h.drivers, Watches: h.watches,
		CSIIdentity: &csiIdentity{h.drivers}, CSINode: &csiNode{h.drivers}, CSIController: &csiController{h.drivers},
	}
}

// MountsRead counts the entries of the mount table that were read up to now, be it one by one or in a reading of all
// of it.
func (h *Host) MountsRead() uint64 { return h.mounts.index.read.Load() }

// Run is the owner: it runs what is posted, in order, until ctx is over.
func (h *Host) Run(ctx context.Context) { h.runtime.run(ctx) }

// Close ends the watches and closes the connections. Helper children and calls in flight go on.
func (h *Host) Close() {
	h.mu.Lock()
	if !h.closed {
		close(h.stop)
	}
	h.closed = true
	h.mu.Unlock()
	h.drivers.close()
	h.mounts.crowded.close()
	h.tasks.Wait()
	h.mounts.index.close()
}

// watch runs a watcher that ends when h.stop is closed. It reports whether there is one: none after Close.
func (h *Host) watch(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.tasks.Go(f)
	return true
}
