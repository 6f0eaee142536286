package backends

import (
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// gitServer has repositories, and serves them on the loopback interface.
type gitServer struct {
	dir  string
	url  string
	http *http.Server
}

func newGitServer(dir string) *gitServer {
	check(os.MkdirAll(dir, 0o755))
	programs, err := exec.Command("git", "--exec-path").Output()
	check(err)
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	s := &gitServer{dir: dir, url: "http://" + listener.Addr().String(), http: &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: &cgi.Handler{
			Path: strings.TrimSpace(string(programs)) + "/git-http-backend", Stderr: io.Discard,
			Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent"},
		},
	}}
	go func() { _ = s.http.Serve(listener) }() // it ends with close
	return s
}

func (s *gitServer) close() { check(s.http.Close()) }

// put commits exactly these files.
func (s *gitServer) put(name, tag string, files map[string]string) (url string) {
	at := filepath.Join(s.dir, name)
	check(os.MkdirAll(at, 0o755))
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", at}, args...)...)
		cmd.Env = []string{
			"HOME=/nonexistent", "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example",
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			panic(err.Error() + ": " + string(out))
		}
	}
	git("init", "--quiet", "--initial-branch=main")
	git("rm", "-r", "--quiet", "--force", "--ignore-unmatch", ".")
	check(os.MkdirAll(at, 0o755)) // git removes a directory that is empty
	for file, content := range files {
		check(os.MkdirAll(filepath.Dir(filepath.Join(at, file)), 0o755))
		check(os.WriteFile(filepath.Join(at, file), []byte(content), 0o644))
	}
	git("add", "--all")
	git("commit", "--quiet", "--allow-empty", "--message=m")
	if tag != "" {
		git("tag", "--force", tag)
	}
	return s.url + "/" + name + "/.git"
}
