package linux

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/gitserver"
)

// gitServer is a server of repositories on this host, and a host that clones them.
type gitServer struct {
	t    *testing.T
	root string // of the agent
	dir  string // where the repositories are
	url  string
	host *Host
	n    int

	server *gitserver.Server
}

func newGitServer(t *testing.T) *gitServer {
	t.Helper()
	haltest.NeedPrivateMounts(t)
	at, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := &gitServer{t: t, root: at + "/root", dir: at + "/repositories"}
	require.NoError(t, os.Mkdir(s.root, 0o755))
	// A clone leaves room on its disk, and the disk of the tests may be full.
	require.NoError(t, unix.Mount("roomy", s.root, "tmpfs", 0, "size=1g,mode=0755"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(s.root, unix.MNT_DETACH)) })
	s.host, err = New(Options{RootDir: s.root})
	require.NoError(t, err)
	t.Cleanup(s.host.Close)
	s.server = gitserver.New(s.dir)
	t.Cleanup(s.server.Close)
	s.url = strings.TrimSuffix(s.server.URL(""), "//.git")
	return s
}

// serve has a handler answer on the loopback interface.
func (s *gitServer) serve(h http.Handler) (url string) {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(s.t, err)
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	s.t.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String()
}

// git runs git in a repository.
func (s *gitServer) git(name string, args ...string) string {
	s.t.Helper()
	return s.server.Git(name, args...)
}

// put makes a repository that holds these files.
func (s *gitServer) put(name string, files map[string]string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(s.dir+"/"+name, 0o755))
	s.git(name, "init", "--quiet", "--initial-branch=main")
	s.commit(name, files)
}

func (s *gitServer) commit(name string, files map[string]string) (id string) {
	s.t.Helper()
	for file, content := range files {
		at := s.dir + "/" + name + "/" + file
		require.NoError(s.t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(s.t, os.WriteFile(at, []byte(content), 0o644))
	}
	s.server.Commit(name)
	return s.git(name, "rev-parse", "HEAD")
}

// clone clones a repository into a volume.
func (s *gitServer) clone(name string, change func(*hal.Repository)) (dir string, err error) {
	s.t.Helper()
	s.n++
	of := hal.Repository{URL: s.url + "/" + name, Dir: fmt.Sprintf("%s/v%d", s.root, s.n), Below: "."}
	if change != nil {
		change(&of)
	}
	err = s.host.HAL().Repositories.Clone(hal.Call{}, of)
	_, left := os.Lstat(hal.Cloning(of.Dir))
	require.ErrorIs(s.t, left, fs.ErrNotExist, "what was begun is removed")
	if err != nil {
		require.Equal(s.t, hal.NotDone, hal.OutcomeOf(err), "%v", err)
		require.NoDirExists(s.t, of.Dir)
	}
	return of.Dir, err
}

func TestCloneOfARevision(t *testing.T) {
	s := newGitServer(t)
	s.put("app", map[string]string{"version": "one", "etc/app.conf": "port = 80\n"})
	s.git("app", "tag", "v1")
	first := s.git("app", "rev-parse", "HEAD")
	s.commit("app", map[string]string{"version": "two"})
	s.git("app", "branch", "stable")
	s.commit("app", map[string]string{"version": "three"})
	for revision, is := range map[string]string{
		"": "three", "main": "three", "v1": "one", first: "one", first[:10]: "one", "stable": "two", "refs/tags/v1": "one",
	} {
		dir, err := s.clone("app/.git", func(r *hal.Repository) { r.Revision, r.Below = revision, "src/app" })
		require.NoError(t, err, revision)
		require.Equal(t, is, text(t, dir, "src/app/version"), revision)
		require.Equal(t, "port = 80\n", text(t, dir, "src/app/etc/app.conf"))
		require.DirExists(t, dir+"/src/app/.git")
	}
	for _, revision := range []string{"v2", strings.Repeat("1", 40), "version", "--version"} {
		_, err := s.clone("app/.git", func(r *hal.Repository) { r.Revision = revision })
		require.Error(t, err, revision)
		if revision[0] != '-' {
			require.True(t, hal.Is(err, syscall.ENOENT), "%v", err)
			require.ErrorContains(t, err, "no revision")
		}
	}
	_, err := s.clone("other", nil)
	require.True(t, hal.Is(err, syscall.ENOENT), "%v", err)
	require.NoError(t, os.Mkdir(s.root+"/v100", 0o755))
	s.n = 99
	err = s.host.HAL().Repositories.Clone(hal.Call{}, hal.Repository{
		URL: s.url + "/app", Dir: s.root + "/v100", Below: ".",
	})
	require.True(t, hal.Is(err, syscall.EEXIST), "%v", err)
}

// The files are root's, and of the group of the pod; nobody but a pod's root, and the group, may write them.
func TestCloneGivesTheFilesToRoot(t *testing.T) {
	s := newGitServer(t)
	s.put("app", map[string]string{"run.sh": "#!/bin/sh\n", "a/b/file": "f"})
	require.NoError(t, os.Chmod(s.dir+"/app/run.sh", 0o755))
	require.NoError(t, os.Symlink("a/b", s.dir+"/app/link"))
	s.commit("app", nil)
	modeOf := func(at string) (mode, uid, gid uint32) {
		var st unix.Stat_t
		require.NoError(t, unix.Lstat(at, &st))
		return st.Mode & 0o7777, st.Uid, st.Gid
	}
	for _, group := range []int{-1, 7} {
		dir, err := s.clone("app/.git", func(r *hal.Repository) {
			r.IsGroups, r.Group = group >= 0, uint32(max(group, 0))
		})
		require.NoError(t, err)
		modes := map[string]uint32{"": 0o777, "a": 0o755, "a/b/file": 0o644, "run.sh": 0o755, ".git/config": 0o644}
		if group >= 0 {
			modes = map[string]uint32{"": 0o2777, "a": 0o2775, "a/b/file": 0o664, "run.sh": 0o775, ".git/config": 0o664}
		}
		for name, mode := range modes {
			is, _, _ := modeOf(filepath.Join(dir, name))
			require.Equal(t, fmt.Sprintf("%04o", mode), fmt.Sprintf("%04o", is), name)
		}
		require.NoError(t, filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
			require.NoError(t, err)
			mode, uid, gid := modeOf(at)
			require.Zero(t, uid, at)
			require.Equal(t, uint32(max(group, 0)), gid, at)
			require.Zero(t, mode&0o4000, at)
			return nil
		}))
		to, err := os.Readlink(dir + "/link")
		require.NoError(t, err)
		require.Equal(t, "a/b", to)
	}
}
