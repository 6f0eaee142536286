package edits

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/e2e/host"
)

// marker begins the names of the files, and of the pods, that tell when the agent has read everything. They sort before
// all others.
const marker = "0-marker-"

const handles = 40

func handleOf(i int) string { return fmt.Sprintf("vol-%d", i) }

// session is one run of edits on one node.
type session struct {
	h      *host.Host
	agent  *host.Agent
	states []string // where the drivers keep their state
	seed   uint64
	r      *rand.Rand
	model  *model
	hidden []hidden

	folders, serial, handle, markers int
	// handles that hold data; that may have been staged at the last rest
	written, staged     map[string]bool
	strays              []string
	done                []string // the edits
	restedIn            int      // the folder of the last rest
	marked              []string // and the markers that were in it
	kinds               map[string]int
	rests, held, rested int
	slowest             time.Duration
}

func newSession(h *host.Host, seed uint64) *session {
	s := &session{
		h: h, seed: seed, r: rand.New(rand.NewPCG(seed, 0)), written: map[string]bool{},
		kinds: map[string]int{},
	}
	s.model = &model{
		known: map[string]last{}, served: map[identity]object{}, held: map[identity]bool{},
		lives: map[string]*life{}, isDown: true,
	}
	s.model.now = s.next()
	var flags []string
	for i := range handles {
		flags = append(flags, "--volume="+handleOf(i)+"=dir")
	}
	h.StartDriver(flags...)
	h.OtherDriver(otherDriver, flags...).Start()
	s.states = []string{h.StateDir(), filepath.Join(h.Dir, otherDriver, "state")}
	both := []object{{kind: driver, name: csidriver.DefaultName}, {kind: driver, name: otherDriver}}
	s.saves(driverFile, good(textOf(documents, "", both), both))
	var volumes []object
	for _, name := range claims {
		volumes = append(volumes, object{kind: pv, name: name, driver: s.pick(drivers), handle: s.freeHandle()},
			object{kind: claim, name: name})
	}
	s.saveDocs("volumes.yaml", volumes[:6])
	s.saveDocs("more.yaml", volumes[6:])
	s.starts()
	return s
}

// run makes edits, up to a number of them, and compares whenever they rest.
func (s *session) run(edits int) {
	s.rest()
	for len(s.done) < edits {
		s.batch(edits - len(s.done))
		s.rest()
	}
	if s.model.unusable != "" {
		s.edit("the directory can be used again", s.mends)
		s.rest()
	}
	s.edit("the agent starts again at the end", func() {
		s.dies()
		s.starts()
	})
	s.rest()
}

func (s *session) edit(name string, does func()) {
	s.done = append(s.done, name)
	kind, _, _ := strings.Cut(name, ":")
	s.kinds[kind]++
	does()
}

// batch makes a few edits without a rest, or one that is delicate.
func (s *session) batch(most int) {
	if s.model.unusable != "" {
		s.edit("the directory can be used again", s.mends)
		return
	}
	dies := s.r.IntN(8)
	if dies == 0 {
		s.edit("the agent ends", s.dies)
	}
	if s.r.IntN(12) == 0 {
		s.edit("a stray entry in the root directory", s.strays1)
	}
	delicate := s.isDelicate()
	switch how := s.r.IntN(20); {
	case delicate && how < 11:
		if repairs := s.repairs(); len(repairs) > 0 {
			s.one(repairs)
			break
		}
		s.one(s.free())
	case delicate && how < 16:
		s.one(s.free())
	case delicate, how < 9:
		s.one(s.alone())
	default:
		for range min(most, 1+s.r.IntN(5)) {
			s.one(s.free())
			s.pause()
			if s.r.IntN(12) == 0 && !s.model.isDown {
				s.edit("the agent ends", s.dies)
			} else if s.model.isDown && s.r.IntN(2) == 0 {
				s.edit("the agent starts", s.starts)
			}
		}
	}
	if s.model.isDown {
		s.edit("the agent starts", s.starts)
	}
}

func (s *session) one(edits []edit) {
	e := s.draw(edits)
	s.edit(e.name, e.does)
}

// accepts says that what is missing is gone.
func (s *session) accepts() {
	began := time.Now()
	stdout, stderr, status := s.h.Run("sources", "--accept")
	require.Zero(s.h.T, status, "sources --accept: %s%s", stdout, stderr)
	s.model.accept()
	s.model.follow(began)
}

// strays1 leaves something in a directory that volnode lists at a start.
func (s *session) strays1() {
	dirs := []string{"pods", "plugins", "plugins/kubernetes.io/csi", "plugins_registry", "volnode"}
	dir := filepath.Join(s.h.Root, s.pick(dirs))
	s.must(os.MkdirAll(dir, 0o750))
	s.serial++
	at := filepath.Join(dir, fmt.Sprintf("%s-%d", s.pick([]string{"note", "lost.found", "ZZ"}), s.serial))
	switch s.r.IntN(3) {
	case 0:
		s.must(os.WriteFile(at, []byte("kept\n"), 0o600))
	case 1:
		s.must(os.Symlink("/etc", at))
	case 2:
		s.must(os.MkdirAll(filepath.Join(at, "kept"), 0o755))
		s.must(os.WriteFile(filepath.Join(at, "kept", "file"), []byte("kept\n"), 0o600))
	}
	s.strays = append(s.strays, at)
}

// rest waits until the agent has read everything and all is as the model says. Then it looks at the data.
func (s *session) rest() {
	s.h.T.Helper()
	began := time.Now()
	m := s.model
	if m.unusable == "" {
		s.marks()
	}
	var differences []string
	var stands map[string]option
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { //nolint:forbidigo // another process
		if stands, differences = s.compare(); len(differences) == 0 {
			break
		}
		if time.Now().After(end) {
			s.fails(differences)
		}
	}
	s.rests++
	s.rested = len(s.done)
	s.held += len(m.held)
	s.slowest = max(s.slowest, time.Since(began))
	if lost := s.takesOver(stands); len(lost) > 0 {
		s.fails(lost)
	}
	m.rested = map[identity]bool{}
	for id := range m.served {
		m.rested[id] = true
	}
}

// marks makes a pod that is known once everything before it is read, and removes those that were seen in this
// directory.
func (s *session) marks() {
	if s.model.now.id == s.restedIn {
		for _, name := range s.marked {
			s.removes(name)
		}
	}
	s.markers++
	name := fmt.Sprintf("%s%d.yaml", marker, s.markers)
	docs := []object{{kind: pod, name: strings.TrimSuffix(name, ".yaml")}}
	e := good(textOf(documents, "", docs), docs)
	s.must(os.WriteFile(s.path("."+name), []byte(e.text), 0o600))
	s.does(func() { s.must(os.Rename(s.path("."+name), s.path(name))) }, s.set(name, e))
	s.restedIn, s.marked = s.model.now.id, nil
	for _, name := range slices.Sorted(maps.Keys(s.model.now.entries)) {
		if strings.HasPrefix(name, marker) {
			s.marked = append(s.marked, name)
		}
	}
}

func (s *session) fails(differences []string) {
	s.h.T.Helper()
	var files []string
	for _, name := range slices.Sorted(maps.Keys(s.model.now.entries)) {
		e := s.model.now.entries[name]
		files = append(files, fmt.Sprintf("%s (%s, good %v, open %v):\n%s", name, e.is, e.good, e.open, e.text))
	}
	stdout, _, _ := s.h.Run("status", "-o", "wide")
	require.FailNow(s.h.T, "a difference",
		"seed %d, after edit %d (%s):\n  %s\nthe last edits:\n  %s\n%s\nthe files:\n%s", s.seed, len(s.done),
		strings.Join(s.done[max(0, len(s.done)-1):], ""), strings.Join(differences, "\n  "),
		strings.Join(s.done[max(0, len(s.done)-12):], "\n  "), stdout, strings.Join(files, "\n"))
}
