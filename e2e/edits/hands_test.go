package edits

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// This file is the hands of people: each change of the directory is made, and told to the model, one by one.

// does makes one change that readers see at once.
func (s *session) does(change func(), means func(m *model)) {
	began := time.Now()
	change()
	means(s.model)
	s.model.read()
	s.model.follow(began)
}

func (s *session) must(err error) {
	s.h.T.Helper()
	require.NoError(s.h.T, err)
}

func (s *session) path(name string) string { return filepath.Join(s.h.Manifests, name) }

// pause lets some time pass in the middle of an edit. What is drawn never depends on time.
func (s *session) pause() {
	milliseconds := []time.Duration{0, 0, 0, 0, 20, 250, 500}[s.r.IntN(7)]
	time.Sleep(milliseconds * time.Millisecond) //nolint:forbidigo // people are slow
}

func (s *session) set(name string, e entry) func(*model) {
	return func(m *model) { m.now.entries[name] = e }
}

func (s *session) unset(name string) func(*model) {
	return func(m *model) { delete(m.now.entries, name) }
}

func good(text string, docs []object) entry {
	return entry{is: regular, text: text, docs: docs, good: true}
}

func bad(text string) entry { return entry{is: regular, text: text} }

// The manners of editors.
const (
	byRename = iota
	bySed
	inPlace
	inPieces
	byVim
	byEmacs
	manners
	other // in the place of what is no file
)

// saves writes a file as some editor does. In a dispute none is without the file for a moment: whoever sees that has
// the other object count.
func (s *session) saves(name string, e entry) {
	manner := s.r.IntN(manners)
	if now, ok := s.model.now.entries[name]; manner == byVim && (!ok || !now.good || !e.good || s.model.disputes > 0) {
		manner = inPieces
	}
	if now, ok := s.model.now.entries[name]; ok && now.is != regular {
		manner = other
	}
	cut, pauses := cutAt(e.text, s.r.IntN), [2]time.Duration{}
	for i := range pauses {
		pauses[i] = []time.Duration{0, 0, 30, 300, 700}[s.r.IntN(5)] * time.Millisecond
	}
	switch manner {
	case byRename, bySed, other:
		temporary := s.path("." + name + ".tmp")
		if manner == bySed {
			temporary = s.path("sed" + strings.ReplaceAll(name, ".", "x"))
		}
		s.must(os.WriteFile(temporary, []byte(e.text), 0o600))
		s.does(func() { s.exchange(temporary, name) }, s.set(name, e))
	case inPlace:
		s.writes(name, "", e.text, e, [2]time.Duration{})
	case inPieces:
		s.writes(name, e.text[:cut], e.text[cut:], e, pauses)
	case byVim:
		for _, extra := range []string{"." + name + ".swp", "4913"} {
			s.must(os.WriteFile(s.path(extra), []byte("b0VIM 9.1"), 0o600))
		}
		s.must(os.Remove(s.path("4913")))
		s.does(func() { s.must(os.Rename(s.path(name), s.path(name+"~"))) }, s.unset(name))
		s.writes(name, "", e.text, e, [2]time.Duration{})
		s.must(os.Remove(s.path(name + "~")))
		s.must(os.Remove(s.path("." + name + ".swp")))
	case byEmacs:
		s.must(os.WriteFile(s.path("#"+name+"#"), []byte(e.text), 0o600))
		if before, err := os.ReadFile(s.path(name)); err == nil {
			s.must(os.WriteFile(s.path(name+"~"), before, 0o600))
		}
		s.writes(name, "", e.text, e, [2]time.Duration{})
		s.must(os.Remove(s.path("#" + name + "#")))
	}
}

// writes truncates a file, and writes two parts of it.
func (s *session) writes(name, first, second string, e entry, pauses [2]time.Duration) {
	var f *os.File
	s.does(func() {
		var err error
		f, err = os.OpenFile(s.path(name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		s.must(err)
	}, s.set(name, bad("")))
	time.Sleep(pauses[0]) //nolint:forbidigo // people are slow
	s.does(func() { s.part(f, first) }, s.set(name, bad(first)))
	time.Sleep(pauses[1]) //nolint:forbidigo // people are slow
	s.does(func() { s.part(f, second) }, s.set(name, e))
	s.must(f.Close())
}

func (s *session) part(f *os.File, text string) {
	_, err := f.WriteString(text)
	s.must(err)
}

// cutAt is a place in the middle of a mapping in braces: what ends there is no YAML.
func cutAt(text string, pick func(int) int) int {
	var places []int
	depth := 0
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth > 0 && c != '\n' {
			places = append(places, i+1)
		}
	}
	if len(places) == 0 {
		return 0
	}
	return places[pick(len(places))]
}

func (s *session) removes(name string) {
	s.does(func() { s.must(os.RemoveAll(s.path(name))) }, s.unset(name))
}

func (s *session) moves(from, to string) {
	e := s.model.now.entries[from]
	s.does(func() { s.must(os.Rename(s.path(from), s.path(to))) }, func(m *model) {
		delete(m.now.entries, from)
		m.now.entries[to] = e
	})
}

// becomes puts something that is no regular file under a name: so soon that nobody sees the name without anything.
func (s *session) becomes(name, is string) {
	at := s.path(".put-" + name)
	switch is {
	case "directory":
		s.must(os.Mkdir(at, 0o755))
	case "link":
		s.must(os.Symlink("/etc/hostname", at))
	case "fifo":
		s.must(unix.Mkfifo(at, 0o600))
	}
	s.does(func() { s.exchange(at, name) }, s.set(name, entry{is: is}))
}

// exchange puts what is at a path in the place of what has the name, if anything has, in one step.
func (s *session) exchange(at, name string) {
	to, err := os.Lstat(s.path(name))
	from, fails := os.Lstat(at)
	s.must(fails)
	if err != nil || from.Mode().IsRegular() && to.Mode().IsRegular() {
		s.must(os.Rename(at, s.path(name)))
		return
	}
	s.must(unix.Renameat2(unix.AT_FDCWD, at, unix.AT_FDCWD, s.path(name), unix.RENAME_EXCHANGE))
	s.must(os.RemoveAll(at))
}

// opens lets others write to a file, or not any more.
func (s *session) opens(name string, open bool) {
	mode := os.FileMode(0o600)
	if open {
		mode = 0o666
	}
	s.does(func() { s.must(os.Chmod(s.path(name), mode)) }, func(m *model) {
		e := m.now.entries[name]
		e.open = open
		m.now.entries[name] = e
	})
}

// hidden is a directory that was where the manifests are.
type hidden struct {
	*folder
	path string // "": it is below a mount
}

// isCovered says that another filesystem is mounted over the manifests.
func (s *session) isCovered() bool { return len(s.hidden) > 0 && s.hidden[len(s.hidden)-1].path == "" }

func (s *session) next() *folder {
	s.folders++
	return &folder{id: s.folders, entries: map[string]entry{}}
}

// swaps renames another directory into the place of the manifests, with a copy of some of them in it.
func (s *session) swaps(keep func(name string) bool) {
	f := s.next()
	at := fmt.Sprintf("%s.new-%d", s.h.Manifests, f.id)
	s.must(os.Mkdir(at, 0o755))
	for _, name := range slices.Sorted(maps.Keys(s.model.now.entries)) {
		e := s.model.now.entries[name]
		if e.is == regular && !e.open && !strings.HasPrefix(name, marker) && (name == driverFile || keep(name)) {
			s.must(os.WriteFile(filepath.Join(at, name), []byte(e.text), 0o600))
			f.entries[name] = e
		}
	}
	away := fmt.Sprintf("%s.away-%d", s.h.Manifests, f.id)
	s.hidden = append(s.hidden, hidden{s.model.now, away})
	if s.r.IntN(2) == 0 { // in one step
		s.must(os.Rename(at, away))
		s.does(func() {
			s.must(unix.Renameat2(unix.AT_FDCWD, away, unix.AT_FDCWD, s.h.Manifests, unix.RENAME_EXCHANGE))
		}, func(m *model) { m.now = f })
		return
	}
	s.must(os.Rename(s.h.Manifests, away))
	s.pause()
	s.does(func() { s.must(os.Rename(at, s.h.Manifests)) }, func(m *model) { m.now = f })
}

// covers mounts another filesystem over the directory.
func (s *session) covers() {
	f := s.next()
	s.hidden = append(s.hidden, hidden{folder: s.model.now})
	s.does(func() { s.must(unix.Mount("cover", s.h.Manifests, "tmpfs", 0, "mode=0755")) }, func(m *model) { m.now = f })
	s.saves(driverFile, s.hidden[len(s.hidden)-1].entries[driverFile])
}

// returns brings the last hidden directory back.
func (s *session) returns() {
	last := s.hidden[len(s.hidden)-1]
	s.hidden = s.hidden[:len(s.hidden)-1]
	if last.path == "" {
		s.does(func() { s.must(unix.Unmount(s.h.Manifests, unix.MNT_DETACH)) }, func(m *model) { m.now = last.folder })
		return
	}
	s.must(os.Rename(s.h.Manifests, last.path+".done"))
	s.pause()
	s.does(func() { s.must(os.Rename(last.path, s.h.Manifests)) }, func(m *model) { m.now = last.folder })
}

// spoils makes the directory unusable.
func (s *session) spoils(how string) {
	away := s.h.Manifests + ".spoiled"
	s.model.unusable = how
	if how == "open" {
		s.must(os.Chmod(s.h.Manifests, 0o777))
		return
	}
	s.must(os.Rename(s.h.Manifests, away))
	switch how {
	case "link":
		s.must(os.Symlink(away, s.h.Manifests))
	case "file":
		s.must(os.WriteFile(s.h.Manifests, nil, 0o600))
	}
}

// mends takes that back.
func (s *session) mends() {
	s.does(func() {
		if s.model.unusable == "open" {
			s.must(os.Chmod(s.h.Manifests, 0o755))
			return
		}
		if s.model.unusable != "missing" {
			s.must(os.Remove(s.h.Manifests))
		}
		s.must(os.Rename(s.h.Manifests+".spoiled", s.h.Manifests))
	}, func(m *model) { m.unusable = "" })
}

// dies ends the agent, and starts brings it back.
func (s *session) dies() {
	if s.r.IntN(3) == 0 {
		s.must(s.agent.Terminate())
		require.Zero(s.h.T, s.agent.Exit(), "exit status after SIGTERM")
	} else {
		s.agent.Kill()
	}
	s.model.dies()
}

func (s *session) starts() {
	began := time.Now()
	s.agent = s.h.Start()
	s.model.isDown = false
	s.model.read()
	s.model.follow(began)
}
