package host

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Served is a filesystem of a server of the test's (FUSE). While the server is silent, whoever asks for something hangs
// in the kernel. It keeps nothing in the kernel's cache. Once the test's process is dead, each call fails.
type Served struct {
	Path string // where it is mounted, outside of the root directory
	Data string // what it shows, for the test, which must not ask the server itself

	mu     sync.Mutex
	answer chan struct{} // closed while the server answers
}

// Serve mounts a filesystem of a server of its own. The test is skipped on a host without FUSE.
func (h *Host) Serve(name string) *Served {
	h.T.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		h.T.Skip("this host has no FUSE:", err)
	}
	s := &Served{Path: filepath.Join(h.Dir, name), Data: filepath.Join(h.Dir, name+"-data"), answer: make(chan struct{})}
	close(s.answer)
	require.NoError(h.T, os.Mkdir(s.Path, 0o755))
	require.NoError(h.T, os.Mkdir(s.Data, 0o755))
	root, err := fs.NewLoopbackRoot(s.Data)
	require.NoError(h.T, err)
	loopback, _ := root.(*fs.LoopbackNode)
	server, err := fs.Mount(s.Path, &servedNode{loopback, s}, &fs.Options{MountOptions: fuse.MountOptions{
		DirectMountStrict: true, FsName: name, AllowOther: true, Options: []string{"dev"},
	}})
	require.NoError(h.T, err)
	h.T.Cleanup(func() {
		s.Answers()
		_ = unix.Unmount(s.Path, unix.MNT_DETACH)
		server.Wait()
	})
	return s
}

// DiskOn attaches a loop device over a file that the server serves: while that is silent, the disk hangs.
func (h *Host) DiskOn(s *Served) (device string) {
	h.T.Helper()
	return h.loop(filepath.Join(s.Path, "disk.img"))
}

// DropsCache has the kernel forget what it has read of a disk.
func (h *Host) DropsCache(device string) {
	h.T.Helper()
	f, err := os.Open(device)
	require.NoError(h.T, err)
	defer f.Close()
	require.NoError(h.T, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}

// FallsSilent has the server answer nothing from now on.
func (s *Served) FallsSilent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = make(chan struct{})
}

// Answers has it answer all that it was asked, and what comes.
func (s *Served) Answers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.answer:
	default:
		close(s.answer)
	}
}

// waits is before each answer. That the caller was killed does not end it.
func (s *Served) waits() {
	s.mu.Lock()
	answer := s.answer
	s.mu.Unlock()
	<-answer
}

// servedNode is one file.
type servedNode struct {
	*fs.LoopbackNode
	server *Served
}

// WrapChild has the children wait, too.
func (n *servedNode) WrapChild(_ context.Context, of fs.InodeEmbedder) fs.InodeEmbedder {
	loopback, _ := of.(*fs.LoopbackNode)
	return &servedNode{loopback, n.server}
}

// servedFile is one open file.
type servedFile struct {
	*fs.LoopbackFile
	server *Served
}

func (n *servedNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.server.waits()
	return n.LoopbackNode.Lookup(ctx, name, out)
}

func (n *servedNode) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.server.waits()
	return n.LoopbackNode.Getattr(ctx, f, out)
}

func (n *servedNode) Statfs(ctx context.Context, out *fuse.StatfsOut) syscall.Errno {
	n.server.waits()
	return n.LoopbackNode.Statfs(ctx, out)
}

func (n *servedNode) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	n.server.waits()
	return n.LoopbackNode.OpendirHandle(ctx, flags)
}

func (n *servedNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	n.server.waits()
	f, _, errno := n.LoopbackNode.Open(ctx, flags)
	if is, ok := f.(*fs.LoopbackFile); ok {
		f = &servedFile{is, n.server}
	}
	return f, fuse.FOPEN_DIRECT_IO, errno
}

func (f *servedFile) Read(ctx context.Context, into []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	f.server.waits()
	return f.LoopbackFile.Read(ctx, into, at)
}

func (f *servedFile) Write(ctx context.Context, data []byte, at int64) (uint32, syscall.Errno) {
	f.server.waits()
	return f.LoopbackFile.Write(ctx, data, at)
}
