package linux

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// This file clones what somebody has made to harm the node. None of it may run, and none of it may write outside its
// volume.

// trap is a command that leaves a trace if it runs.
func (s *gitServer) trap() (command, trace string) {
	trace = filepath.Join(s.t.TempDir(), "trace")
	return "touch " + trace + "; touch /run/volume/TRAP; touch TRAP", trace
}

// runsNothing clones a repository, if it can be cloned, and finds no trace of its trap.
func (s *gitServer) runsNothing(name, trace string) (dir string, err error) {
	s.t.Helper()
	dir, err = s.clone(name, nil)
	require.NoFileExists(s.t, trace)
	for _, at := range []string{s.root, s.dir} {
		require.NoError(s.t, filepath.WalkDir(at, func(at string, e fs.DirEntry, err error) error {
			require.NoError(s.t, err)
			require.NotEqual(s.t, "TRAP", e.Name(), at)
			return nil
		}))
	}
	return dir, err
}

func TestCloneRunsNothingOfARepository(t *testing.T) {
	s := newGitServer(t)
	trap, trace := s.trap()
	config := "[core]\n\tfsmonitor = \"" + trap + "; false\"\n\thooksPath = hooks\n\tbare = true\n" +
		"[filter \"f\"]\n\tsmudge = " + trap + "\n\trequired = true\n\tprocess = " + trap + "\n[include]\n\tpath = config\n"
	hook := "#!/bin/sh\n" + trap + "\n"
	s.put("app", map[string]string{
		".gitattributes": "* filter=f diff=f merge=f working-tree-encoding=UTF-8\n", ".gitconfig": config, "config": config,
		"hooks/post-checkout": hook, "hooks/reference-transaction": hook, ".githooks/post-checkout": hook,
		"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": "", "file": "data",
		".lfsconfig": "[lfs]\n\turl = ext::x\n",
		".gitmodules": "[submodule \"sub\"]\n\tpath = sub\n\turl = ext::sh -c 'touch% " + trace + "'\n" +
			"\tupdate = !" + trap + "\n",
	})
	require.NoError(t, os.Chmod(s.dir+"/app/hooks/post-checkout", 0o755))
	first := s.git("app", "rev-parse", "HEAD")
	s.git("app", "update-index", "--add", "--cacheinfo", "160000,"+first+",sub")
	s.git("app", "commit", "--quiet", "--message=m")
	dir, err := s.runsNothing("app/.git", trace)
	require.NoError(t, err)
	require.Equal(t, "data", text(t, dir, "file"), "no filter has changed it")
	require.NoDirExists(t, dir+"/.git/hooks", "no hook comes from a template of the node")
	entries, err := os.ReadDir(dir + "/sub")
	require.NoError(t, err)
	require.Empty(t, entries, "no submodule is cloned")
	require.NoDirExists(t, dir+"/.git/modules")
}

func TestCloneLeavesNothingThatLeadsOutOfTheVolume(t *testing.T) {
	for name, links := range map[string][][2]string{
		"absolute":     {{"/etc/passwd", "a"}},
		"upwards":      {{"../x", "a"}},
		"far upwards":  {{"../../../../../../../../etc", "b/a"}},
		"by links":     {{".", "a"}, {"a/a/..", "b"}},
		"into /proc":   {{"/proc/self/root/etc", "a"}},
		"by its .git":  {{".git/../../x", "a"}},
		"below a link": {{"/", "a"}, {"a/etc", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newGitServer(t)
			s.put("app", map[string]string{"b/file": "f"})
			for _, link := range links {
				at := s.dir + "/app/" + link[1]
				require.NoError(t, os.RemoveAll(at))
				require.NoError(t, os.Symlink(link[0], at))
			}
			s.commit("app", nil)
			_, err := s.clone("app/.git", nil)
			require.True(t, hal.Is(err, syscall.EBADMSG), "%v", err)
			require.ErrorContains(t, err, "leads out of the volume")
		})
	}
	s := newGitServer(t)
	s.put("app", map[string]string{"b/file": "f"})
	for to, at := range map[string]string{
		"nowhere": "a", "../b/file": "b/c", "d": "d", "b/file/x": "e", ".git/config": "f",
	} {
		require.NoError(t, os.Symlink(to, s.dir+"/app/"+at))
	}
	s.commit("app", nil)
	_, err := s.clone("app/.git", nil)
	require.NoError(t, err, "links within the volume stay")
}

// object writes an object that git itself would not make.
func (s *gitServer) object(name, kind string, content []byte) (id []byte) {
	s.t.Helper()
	whole := append([]byte(fmt.Sprintf("%s %d\x00", kind, len(content))), content...)
	sum := sha1.Sum(whole)
	text := hex.EncodeToString(sum[:])
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, err := w.Write(whole)
	require.NoError(s.t, err)
	require.NoError(s.t, w.Close())
	dir := s.dir + "/" + name + "/.git/objects/" + text[:2]
	require.NoError(s.t, os.MkdirAll(dir, 0o755))
	require.NoError(s.t, os.WriteFile(dir+"/"+text[2:], packed.Bytes(), 0o444))
	return sum[:]
}

func entry(mode, name string, id []byte) []byte { return append([]byte(mode+" "+name+"\x00"), id...) }

// A server sends trees that no git makes: names that lead out of the volume, into .git, or through a link.
func TestCloneOfTreesThatNoGitMakes(t *testing.T) {
	s := newGitServer(t)
	trap, trace := s.trap()
	outside := t.TempDir()
	puts := func(name string, tree func(blob, link []byte) []byte) {
		s.put(name, map[string]string{"file": "f"})
		blob := s.object(name, "blob", []byte("#!/bin/sh\n"+trap+"\n"))
		link := s.object(name, "blob", []byte(outside))
		root := s.object(name, "tree", tree(blob, link))
		who := "a <a@example> 1700000000 +0000"
		commit := s.object(name, "commit", fmt.Appendf(nil, "tree %x\nauthor %s\ncommitter %s\n\nm\n", root, who, who))
		require.NoError(t, os.WriteFile(s.dir+"/"+name+"/.git/refs/heads/main", fmt.Appendf(nil, "%x\n", commit), 0o644))
	}
	within := func(name string, in ...string) func(blob, link []byte) []byte {
		return func(blob, _ []byte) []byte {
			tree := entry("100755", name, blob)
			for i := len(in) - 1; i >= 0; i-- {
				tree = entry("40000", in[i], s.object("tree", "tree", tree))
			}
			return tree
		}
	}
	require.NoError(t, os.MkdirAll(s.dir+"/tree/.git/objects", 0o755))
	for i, tree := range []func(blob, link []byte) []byte{
		within("evil", ".."), within("evil", ".", ".."), within("../evil"),
		within("/" + strings.TrimPrefix(outside, "/") + "/evil"),
		within("post-checkout", ".git", "hooks"), within("post-checkout", ".GIT", "hooks"), within("x", "git~1"),
		within("config", ".git"), within("evil", "a/../../.."),
		func(blob, link []byte) []byte {
			below := s.object("tree", "tree", entry("100755", "evil", blob))
			return append(entry("120000", "d", link), entry("40000", "d", below)...)
		},
		func(blob, _ []byte) []byte { return entry("104755", "setuid", blob) },
	} {
		name := "app" + strconv.Itoa(i)
		puts(name, tree)
		copyObjects(t, s.dir+"/tree/.git/objects", s.dir+"/"+name+"/.git/objects")
		dir, err := s.runsNothing(name+"/.git", trace)
		entries, readErr := os.ReadDir(outside)
		require.NoError(t, readErr)
		require.Empty(t, entries, "tree %d", i)
		if err == nil { // git has read it as something harmless
			var st unix.Stat_t
			require.NoFileExists(t, dir+"/.git/hooks/post-checkout")
			if unix.Stat(dir+"/setuid", &st) == nil {
				require.Zero(t, st.Mode&0o6000)
			}
		}
	}
}

func copyObjects(t *testing.T, from, to string) {
	t.Helper()
	out, err := exec.Command("cp", "-rn", from+"/.", to).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestCloneTakesNoOddNames(t *testing.T) {
	s := newGitServer(t)
	s.host.options.HelperPath = "/nonexistent" // nothing is started for them
	s.put("app", map[string]string{"f": ""})
	for _, url := range []string{
		"", "-u./x", "--upload-pack=touch x", "ext::sh -c touch% x", "fd::7", s.dir + "/app", "./app",
		"file://" + s.dir + "/app",
		"git://127.0.0.1/app", "ssh://127.0.0.1/app", "ssh://-oProxyCommand=x/app", "git@127.0.0.1:app",
		"ftp://127.0.0.1/app",
		"https://user:password@127.0.0.1/app", "https://token@127.0.0.1/app", "https:///app", "https://-x/app",
		"https://127.0.0.1", "https://127.0.0.1/", "https://127.0.0.1/a b", "https://127.0.0.1/a\nb",
		"https://127.0.0.1/a\\b",
		"https://127.0.0.1/a?x=1", "https://127.0.0.1/a#x", "https://127.0.0.1/\u00e9", "HTTPS://127.0.0.1/app",
		"http::https://127.0.0.1/app", "https://:443/app", "https://h/" + strings.Repeat("x", 3000),
	} {
		_, err := s.clone("", func(r *hal.Repository) { r.URL = url })
		require.True(t, hal.Is(err, syscall.EINVAL), "%q: %v", url, err)
		require.NotContains(t, err.Error(), "password@")
	}
	for _, below := range []string{
		"", "..", "../x", "a/../b", "a/..", "/x", "-x", "a//b", "./a", "a/", ".git", "a/.GIT/b", "a\nb", "a\x00b", "\xff",
		strings.Repeat("x", 300), strings.Repeat("x/", 1000) + "x",
	} {
		_, err := s.clone("app/.git", func(r *hal.Repository) { r.Below = below })
		require.True(t, hal.Is(err, syscall.EINVAL), "%q: %v", below, err)
	}
	for _, revision := range []string{"-f", "--", "a b", "a\nb", "a\x00", "\xff", strings.Repeat("x", 2000)} {
		_, err := s.clone("app/.git", func(r *hal.Repository) { r.Revision = revision })
		require.True(t, hal.Is(err, syscall.EINVAL), "%q: %v", revision, err)
	}
}

func TestRepositoryNames(t *testing.T) {
	for url, name := range map[string]string{
		"https://h/team/app.git": "app", "https://h/app": "app", "https://h/app/": "app", "https://h/app/.git": "app",
		"https://h/app.git//": "app", "https://h/.git": "", "https://h/..": "", "https://h/.": "", "https://h/-app": "",
		"https://h/a/.GIT": "", "https://h/.git.git": "",
	} {
		require.Equal(t, name, hal.RepositoryName(url), url)
	}
	require.Equal(t, "/a/.b.cloning", hal.Cloning("/a/b"))
	require.Equal(t, "b", hal.Cloned(".b.cloning"))
	require.Equal(t, ".b", hal.Cloned(".b"))
}

func TestCloneFollowsNoServerElsewhere(t *testing.T) {
	s := newGitServer(t)
	s.put("app", map[string]string{"f": ""})
	for _, to := range []string{s.url + "/app/.git", "file://" + s.dir + "/app", "ext::sh"} {
		url := s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to+"/info/refs?"+r.URL.RawQuery)
			w.WriteHeader(http.StatusFound)
		}))
		_, err := s.clone("", func(r *hal.Repository) { r.URL = url + "/app" })
		require.Error(t, err, to)
	}
	for status, errno := range map[int]syscall.Errno{
		http.StatusUnauthorized: syscall.EACCES, http.StatusForbidden: syscall.EACCES, http.StatusNotFound: syscall.ENOENT,
		http.StatusInternalServerError: syscall.EIO,
	} {
		url := s.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", "Basic realm=x")
			w.WriteHeader(status)
		}))
		_, err := s.clone("", func(r *hal.Repository) { r.URL = url + "/app" })
		require.True(t, hal.Is(err, errno), "%d: %v", status, err)
	}
	_, err := s.clone("", func(r *hal.Repository) { r.URL = "http://127.0.0.1:1/app" })
	require.True(t, hal.Is(err, syscall.ECONNREFUSED), "%v", err)
}

// silent is the URL of a server that takes a request and never answers, until the test ends.
func (s *gitServer) silent() string {
	ended := make(chan struct{})
	s.t.Cleanup(func() { close(ended) })
	return s.serve(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) { <-ended })) + "/app"
}

// ofGit are the processes that run as git's user.
func ofGit(t *testing.T) (pids []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, dir := range dirs {
		status, _ := os.ReadFile(dir + "/status")
		if strings.Contains(string(status), fmt.Sprintf("\nUid:\t%d", gitUser)) {
			pids = append(pids, filepath.Base(dir))
		}
	}
	return pids
}

// awaitNoGit waits for the processes of git that were killed to be gone.
func awaitNoGit(t *testing.T) {
	t.Helper()
	for began := time.Now(); len(ofGit(t)) > 0 && time.Since(began) < patience; {
		_, _ = unix.Poll(nil, 1)
	}
	require.Empty(t, ofGit(t))
}

func TestCloneFromASilentServerEnds(t *testing.T) {
	s := newGitServer(t)
	of := hal.Repository{URL: s.silent(), Dir: s.root + "/v", Below: "."}
	_, err := s.host.help(hal.Call{}, hal.ClassHelper, "clone", "", request{
		Clone: &cloneRequest{Repository: of, Root: s.root, Dir: "v", Most: 300 * time.Millisecond},
	})
	require.True(t, hal.Is(err, syscall.ETIMEDOUT), "%v", err)
	require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
	awaitNoGit(t)
	require.NoDirExists(t, hal.Cloning(of.Dir))
	// A helper that is killed leaves what it has begun, and no git behind.
	err = s.host.HAL().Repositories.Clone(hal.Call{Deadline: s.host.runtime.Now().Add(2 * time.Second)}, of)
	require.Equal(t, hal.Unknown, hal.OutcomeOf(err), "%v", err)
	require.DirExists(t, hal.Cloning(of.Dir))
	awaitNoGit(t)
	s.put("app", map[string]string{"f": ""})
	of.URL = s.url + "/app/.git"
	require.NoError(t, s.host.HAL().Repositories.Clone(hal.Call{}, of))
	require.NoDirExists(t, hal.Cloning(of.Dir))
}

func TestCloneLeavesRoomOnTheDisk(t *testing.T) {
	s := newGitServer(t)
	large := make([]byte, 12<<20)
	_, err := rand.Read(large)
	require.NoError(t, err)
	s.put("app", map[string]string{"large": string(large)})
	require.NoError(t, unix.Mount("disk", s.root, "tmpfs", 0, "size=16m,mode=0750"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(s.root, unix.MNT_DETACH)) })
	_, err = s.clone("app/.git", nil)
	require.True(t, hal.Is(err, syscall.ENOSPC), "%v", err)
}

// TestSandbox: what runs there has no right, sees nothing of the volumes of the node, and writes to its own alone.
func TestSandbox(t *testing.T) {
	s := newGitServer(t)
	require.NoError(t, os.MkdirAll(s.root+"/pods/p/secret", 0o777))
	mounted := s.root + "/pods/p/secret"
	require.NoError(t, unix.Mount("disk", mounted, "tmpfs", 0, "mode=0777"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(mounted, 0), "the sandbox holds no mount of the node") })
	dir := s.root + "/volume"
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chown(dir, gitUser, gitUser))
	volume, err := os.Open(dir)
	require.NoError(t, err)
	defer volume.Close()
	box, err := newSandbox(volume)
	require.NoError(t, err)
	defer box.close()
	is := func(script string) string {
		said, code, err := box.run("/bin/sh", []string{"-c", script}, []string{"PATH=/usr/bin:/bin"}, time.Minute)
		require.NoError(t, err, said)
		return strings.TrimSpace(said) + " " + strconv.Itoa(code)
	}
	require.Equal(t, fmt.Sprintf("%d %[1]d %[1]d 0", gitUser), is("echo $(id -u) $(id -g) $(id -G)"))
	require.Equal(t, "0", strings.TrimSpace(is("cd /run/volume; echo data > file; cat file > copy; chmod 4755 copy")))
	require.Equal(t, "data\n", text(t, dir, "copy"))
	for _, forbidden := range []string{
		"touch /x", "touch /etc/x", "touch /usr/x", "touch /tmp/x", "touch /run/x", "touch /dev/x", "cat /etc/shadow",
		"ls " + s.root, "ls /proc/1", "mount -t tmpfs x /run/volume", "chown 0 /run/volume/file", "mknod /run/volume/n b 7 0",
		"/run/volume/copy", "unshare -m true", "chroot / true", "kill -0 " + strconv.Itoa(os.Getpid()),
	} {
		require.NotRegexp(t, ` ?0$`, is(forbidden+" >/dev/null 2>&1"), forbidden)
	}
	require.Equal(t, "1 0", is("echo $$"), "it is the first process of its own namespace")
	require.Equal(t, "ok 0", is("echo x > /dev/null && head -c 1 /dev/urandom > /run/volume/r && echo ok"))
}
