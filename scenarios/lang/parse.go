// Package lang is the language of scenario files: it reads them, says all that is wrong with one, and what somebody may
// have meant. What statements do is the runner's, which gives their words as a [Language].
package lang

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/hal/sim"
)

// Scenario is one story: a world and what happens in it. Its text is read by [Language.Parse].
//
// A scenario file begins with comments that say what happens and which bug it comes from. Its statements follow,
// one in each line:
//
//	host runtime                          containers outlive the deletion of their pod; the default is a host without
//
// a runtime
//
//	objects from files                    the agent reads them from a directory of manifests; the default is a stream
//	driver NAME TRAIT…                    staging device serial forgetful slow not-found watchful nameless unchecked
//
// stages-below stages-nothing
//
//	publishes-nothing, credulous (of any mount), daemon (FUSE), queues (one
//
// thing at a time, in any order),
//
//	crashes-on-third (call of each life), acts-behind (after an answer; the
//
// engine is configured for it),
//
//	acts-untold (the same, and the engine is not),
//	attach (its volumes can go to another node), quotes (secrets, in its
//
// errors),
//
//	network (its volumes are those of a server, NFS),
//	without-mount (the engine is configured for it), absent (until it is
//
// started)
//
//	volume NAME of DRIVER TRAIT…          a claim NAME, its PersistentVolume pv-NAME and the CSIDriver: block one-pod
//
// read-only handle HANDLE
//
//	                                      option OPTION
//	pod NS/NAME [version V] uses VOLUME…  a pod with volumes: NAME or NAME:ro of a volume line, scratch (emptyDir),
//
// memory (emptyDir), inline:DRIVER,
//
//	                                      host:PATH
//	fault SITE [of OBJECT] [nth N] KIND   one fault, at a call; SITE is as in a trace: csi.stage, mounts.mount,
//
// files.sync
//
//	at TIME ACTION                        since the beginning
//	after TIME ACTION                     since the statement before
//	within TIME expect CONDITION          it holds at some moment from the statement before on
//	end stuck                             the scenario ends with its last statement: there is no calm after it
//
// Objects that need more than volume and pod say are behind a line ---: manifests of Pod, PersistentVolume,
// PersistentVolumeClaim, Secret and CSIDriver, separated by --- each.
type Scenario struct {
	Name    string
	File    string   // that it was read from
	Stored  bool     // it is of the catalogue, and not read from a file
	Head    []string // the comments, without #
	Runtime bool
	// Measures: the agent asks how full volumes are, and all drivers can say.
	Measures bool
	// IsWithoutGit: the agent is configured to clone no repositories.
	IsWithoutGit bool
	// IsWithoutFsck: the node has no program that checks the filesystems of its disks.
	IsWithoutFsck bool
	// HasQuotas: the node's disk has project quotas. HoldsLimits: the agent is configured to use them.
	HasQuotas, HoldsLimits bool
	Files                  bool
	Disk                   sim.Disk // of the node
	Stuck                  bool
	Drivers                []sim.DriverSpec
	Absent                 map[string]bool // drivers that are not installed before a statement starts them
	Bare                   map[string]bool // drivers that the engine is configured to expect no mount of
	Faults                 []FaultRule
	Steps                  []Step
	Objects                []Object
	// JournalBytes and JournalMost are how large the agent's journal is at first, and how large it may grow.
	JournalBytes, JournalMost int64
}

// Title is the first sentence of the head.
func (s *Scenario) Title() string {
	title := strings.Join(slices.DeleteFunc(slices.Clone(s.Head),
		func(line string) bool { return strings.HasPrefix(line, caughtBy) }), " ")
	if end := strings.Index(title, ". "); end >= 0 {
		title = title[:end+1]
	}
	return title
}

// Step is one statement of the timeline.
type Step struct {
	Line   int
	Wait   time.Duration
	Since  bool // Wait is since the statement before
	Within bool // an expectation that may become true up to Wait from the statement before
	Words  []string
	Means  string   // the statement of the language that it is
	Args   []string // the words that stand for something in it
}

func (s Step) String() string { return strings.Join(s.Words, " ") }

// parser reads one file.
type parser struct {
	in   *Language
	file string
	line int
	s    *Scenario
	// claims are those of volume statements, true for block; served are the drivers that short statements name, inline
	// those of inline volumes, which learn from the pod's information that a volume is one, and those that want their
	// publishes repeated.
	claims, served, inline, renews, tokens map[string]bool

	drivers []namedDriver // what volume and pod lines name
	bad     []parseError  // all that is wrong
	lost    string        // the lines and manifests that make something and are bad: what they name may be there
	timed   int           // how many statements of the timeline there are, bad ones included
}

// maxScenario is the longest text of a scenario, in bytes.
const maxScenario = 256 << 10

// Parse reads a scenario. file is for its errors, and its base without suffix is the scenario's name.
func (l *Language) Parse(file string, text string) (*Scenario, error) {
	p := &parser{
		in: l, file: file, s: &Scenario{
			Disk: sim.DiskOrdered,
			Name: nameOf(file), File: file, JournalBytes: usualJournal << 10,
			JournalMost: usualJournal << 10, Absent: map[string]bool{}, Bare: map[string]bool{},
		},
		claims: map[string]bool{}, served: map[string]bool{}, inline: map[string]bool{},
		renews: map[string]bool{}, tokens: map[string]bool{},
	}
	if len(text) > maxScenario {
		return nil, fmt.Errorf("%s: longer than %d bytes", file, maxScenario)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		p.line = i + 1
		if strings.TrimSpace(line) == "---" {
			p.objects(lines[i+1:])
			break
		}
		if !p.note(p.statement(line)) && !slices.Contains(users, strings.Fields(line)[0]) {
			p.lost += line + "\n"
		}
	}
	p.line = 1
	p.note(p.serve())
	if len(p.s.Head) == 0 {
		p.note(p.errorf("the scenario says nothing of itself; begin it with a comment: what happens, and the bug " +
			"that it comes from"))
	}
	if p.timed == 0 {
		p.note(p.errorf("nothing happens; write at least one line like: at 0s apply all"))
	}
	p.namesDrivers()
	p.check()
	if err := p.errors(); err != nil {
		return nil, err
	}
	return p.s, nil
}

func nameOf(file string) string {
	file = file[strings.LastIndexByte(file, '/')+1:]
	return strings.TrimSuffix(file, ".txt")
}

// statements are the words that begin one.
var statements = append([]string{"host", "journal", "objects", "driver", "volume", "pod", "end"}, users...)

// users are those of them that make nothing that others could name.
var users = []string{"fault", "at", "after", "within"}

func (p *parser) statement(line string) error {
	trimmed := strings.TrimSpace(line)
	if comment, ok := strings.CutPrefix(trimmed, "#"); ok {
		if p.timed+len(p.s.Drivers)+len(p.s.Faults)+len(p.s.Objects) == 0 {
			p.s.Head = append(p.s.Head, strings.TrimSpace(comment))
		}
		return nil
	}
	words, err := split(trimmed)
	if err != nil {
		return p.errorf("%v", err)
	}
	if len(words) == 0 {
		return nil
	}
	switch words[0] {
	case "host":
		if len(words) == 2 && words[1] == "measures" {
			p.s.Measures = true
			return nil
		}
		if len(words) == 2 && words[1] == "without-git" {
			p.s.IsWithoutGit = true
			return nil
		}
		if len(words) == 2 && words[1] == "without-fsck" {
			p.s.IsWithoutFsck = true
			return nil
		}
		if len(words) == 2 && words[1] == "quotas" {
			p.s.HasQuotas = true
			return nil
		}
		if len(words) == 2 && words[1] == "holds-limits" {
			p.s.HoldsLimits = true
			return nil
		}
		return p.choice(words, "host runtime", "host no-runtime", &p.s.Runtime)
	case "journal":
		return p.journal(words[1:])
	case "objects":
		return p.choice(words, "objects from files", "objects from stream", &p.s.Files)
	case "disk":
		return p.disk(words[1:])
	case "end":
		return p.choice(words, "end stuck", "end calm", &p.s.Stuck)
	case "driver":
		return p.driver(words[1:])
	case "volume":
		return p.volume(words[1:])
	case "pod":
		return p.pod(words[1:])
	case "fault":
		return p.fault(words[1:])
	case "at", "after", "within":
		return p.step(words)
	}
	return p.oneOf(words[0], "begins no statement", statements)
}

// leastJournal, usualJournal and mostJournal are sizes of a scenario's journal, in KiB.
const leastJournal, usualJournal, mostJournal = 4, 64, 4096

// journal is how large the agent's journal is at first, and how large it may grow.
func (p *parser) journal(words []string) error {
	var sizes []int64
	for i, word := range words {
		if i == 1 && word == "to" && len(words) == 3 {
			continue
		}
		number, isSize := strings.CutSuffix(word, "KiB")
		if i == 1 || !isSize {
			return p.errorf("write the size of the journal like this: journal 16KiB; or, if it may grow: journal " +
				"16KiB to 64KiB")
		}
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n < leastJournal || n > mostJournal {
			return p.errorf("%q is not a size of %d to %dKiB", word, leastJournal, mostJournal)
		}
		sizes = append(sizes, n<<10)
	}
	p.s.JournalBytes, p.s.JournalMost = sizes[0], sizes[len(sizes)-1]
	return nil
}

func (p *parser) choice(words []string, yes, no string, into *bool) error {
	text := strings.Join(words, " ")
	if text != yes && text != no {
		return p.errorf("write %q or %q", yes, no)
	}
	*into = text == yes
	return nil
}

func (p *parser) disk(words []string) error {
	disks := map[string]sim.Disk{"ext4": sim.DiskOrdered, "xfs": sim.DiskEager, "volatile": sim.DiskVolatile}
	is, ok := disks[strings.Join(words, " ")]
	if !ok {
		return p.errorf("write %q, %q or %q", "disk ext4", "disk xfs", "disk volatile")
	}
	p.s.Disk = is
	return nil
}

// split splits a line into words; a word in double quotes may hold spaces. What follows a lone # is a comment.
func split(line string) ([]string, error) {
	var words []string
	for {
		line = strings.TrimLeft(line, " \t")
		switch {
		case line == "" || line[0] == '#':
			return words, nil
		case line[0] == '"':
			end := strings.IndexByte(line[1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("the quotation mark is not closed: %s", line)
			}
			words, line = append(words, line[1:1+end]), line[end+2:]
		default:
			end := strings.IndexAny(line, " \t")
			if end < 0 {
				end = len(line)
			}
			words, line = append(words, line[:end]), line[end:]
		}
	}
}

func (p *parser) driver(words []string) error {
	if len(words) == 0 {
		return p.errorf("write driver NAME TRAIT…")
	}
	if p.s.Driver(words[0]) != nil {
		return p.errorf("driver %s is there twice", words[0])
	}
	d := sim.DriverSpec{Name: words[0], Personality: sim.Personality{Checks: true}}
	is := &d.Personality
	traits := map[string]func(){
		"staging": func() { is.Staging = true }, "device": func() { is.BlockDevice = true },
		"serial":    func() { is.Serial = true },
		"forgetful": func() { is.Forgetful = true }, "slow": func() { is.Slow = true },
		"not-found": func() { is.NotFound = true },
		"watchful":  func() { is.Watchful = true }, "nameless": func() { is.Nameless = true },
		"unchecked":    func() { is.Checks = false },
		"stages-below": func() { is.Style = sim.StageBelow }, "stages-nothing": func() { is.Style = sim.StageNothing },
		"publishes-nothing": func() { is.PublishesNothing = true }, "without-mount": func() { p.s.Bare[d.Name] = true },
		"places-nodes": func() { is.PlacesNodes = true },
		"absent":       func() { p.s.Absent[d.Name] = true }, "credulous": func() { is.Credulous = true },
		"daemon": func() { is.Daemon = true },
		"queues": func() { is.Queues = true }, "leaves-mounts": func() { is.Leaves = true },
		"lasting": func() { is.Lasting = true },
		"network": func() { is.Network = true }, "attach": func() { is.Attach = true },
		"quotes":      func() { is.Quotes = true },
		"acts-behind": func() { is.ActsBehind = true }, "acts-untold": func() { is.ActsUntold = true },
		"mount-group":      func() { is.MountGroup = true },
		"republish":        func() { p.renews[d.Name] = true },
		"tokens":           func() { p.tokens[d.Name] = true },
		"crashes-on-third": func() { is.CrashesOn = 3 },
	}
	for _, word := range words[1:] {
		if p.note(p.oneOf(word, "is no trait of a driver", slices.Sorted(maps.Keys(traits)))) {
			traits[word]()
		}
	}
	p.s.Drivers = append(p.s.Drivers, d)
	return nil
}

func (p *parser) step(words []string) error {
	if p.timed++; len(words) < 3 {
		return p.errorf("write %s TIME ACTION, like: %[1]s 2m expect nothing left", words[0])
	}
	d, err := time.ParseDuration(words[1])
	s := Step{Line: p.line, Wait: d, Since: words[0] != "at", Within: words[0] == "within", Words: words[2:]}
	if err != nil || d < 0 || d > longestWait {
		s.Wait, s.Since = 0, true // what it says is checked all the same
		p.note(p.errorf("%q is not a time of up to a day; write it like 90s or 2m", words[1]))
	}
	if s.Within && s.Words[0] != "expect" {
		return p.errorf("only an expectation has time; write within %s expect CONDITION", words[1])
	}
	p.s.Steps = append(p.s.Steps, s)
	return nil
}
