// Package gitserver is a server of git repositories on the loopback interface, for tests. It panics if git fails.
package gitserver

import (
	"errors"
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

// Server has repositories in a directory, and serves them.
type Server struct {
	Dir  string
	url  string
	http *http.Server
}

// New serves the repositories in a directory, which is made.
func New(dir string) *Server {
	check(os.MkdirAll(dir, 0o755))
	programs, err := exec.Command("git", "--exec-path").Output()
	check(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	s := &Server{Dir: dir, url: "http://" + listener.Addr().String(), http: &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: &cgi.Handler{
			Path: strings.TrimSpace(string(programs)) + "/git-http-backend", Stderr: io.Discard,
			Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent"},
		},
	}}
	go func() { _ = s.http.Serve(listener) }() // it ends with Close
	return s
}

// Close ends the server, and the calls that are under way.
func (s *Server) Close() { check(s.http.Close()) }

// URL is that of a repository.
func (s *Server) URL(name string) string { return s.url + "/" + name + "/.git" }

// Put commits exactly these files, by their paths, to a repository, which is made if it is missing. It returns the URL.
// A tag names the commit, too, unless it is "".
func (s *Server) Put(name, tag string, files map[string]string) (url string) {
	at := filepath.Join(s.Dir, name)
	check(os.MkdirAll(at, 0o755))
	s.Git(name, "init", "--quiet", "--initial-branch=main")
	s.Git(name, "rm", "-r", "--quiet", "--force", "--ignore-unmatch", ".")
	check(os.MkdirAll(at, 0o755)) // git removes a directory that is empty
	for file, content := range files {
		check(os.MkdirAll(filepath.Dir(filepath.Join(at, file)), 0o755))
		check(os.WriteFile(filepath.Join(at, file), []byte(content), 0o644))
	}
	s.Commit(name)
	if tag != "" {
		s.Git(name, "tag", "--force", tag)
	}
	return s.URL(name)
}

// Commit commits all that there is in the directory of a repository.
func (s *Server) Commit(name string) {
	s.Git(name, "add", "--all")
	s.Git(name, "commit", "--quiet", "--allow-empty", "--message=m")
}

// Git runs git in the directory of a repository, and returns what it says.
func (s *Server) Git(name string, args ...string) (said string) {
	cmd := exec.Command("git", append([]string{"-C", filepath.Join(s.Dir, name)}, args...)...)
	cmd.Env = []string{
		"HOME=/nonexistent", "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		panic(errors.Join(err, errors.New(string(out))))
	}
	return strings.TrimSpace(string(out))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
