package lang

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/internal/wording"
)

// This file says what the words of a scenario must mean, what somebody may have meant by one that means nothing, and
// all that is wrong with a file.

// parseError is one error of a scenario.
type parseError struct {
	line int
	text string
}

func (e parseError) Error() string { return e.text }

// namedDriver is a driver that a line names.
type namedDriver struct {
	line int
	name string
}

func (p *parser) errorf(format string, args ...any) error {
	return parseError{p.line, fmt.Sprintf("%s:%d: %s", p.file, p.line, fmt.Sprintf(format, args...))}
}

// note keeps an error, if it is one, so that those of other lines are found, too. It reports whether it is none.
func (p *parser) note(err error) bool {
	bad := parseError{p.line, ""}
	switch {
	case err == nil:
		return true
	case !errors.As(err, &bad):
		bad.text = err.Error()
	}
	p.bad = append(p.bad, bad)
	return false
}

// MostErrors are told of one scenario.
const MostErrors = 20

// errors is all that is wrong, a line for each, in the order of the file; nil for nothing.
func (p *parser) errors() error {
	slices.SortStableFunc(p.bad, func(a, b parseError) int { return cmp.Compare(a.line, b.line) })
	var all []error
	for i, bad := range p.bad {
		if i == MostErrors {
			all = append(all, fmt.Errorf("%s: %d more errors", p.file, len(p.bad)-i))
			break
		}
		all = append(all, bad)
	}
	return errors.Join(all...)
}

// check makes sure that every statement means something, names objects that there are, and comes at a time that is not
// over.
func (p *parser) check() {
	earliest := time.Duration(0)
	for i := range p.s.Steps {
		s := &p.s.Steps[i]
		p.line = s.Line
		for _, words := range p.in.Statements {
			pattern := strings.Fields(words)
			args, ok := match(pattern, s.Words)
			if !ok {
				continue
			}
			for at, part := range pattern {
				p.note(p.means(part, s.Words, at))
			}
			s.Means, s.Args = words, args
			break
		}
		switch {
		case s.Means == "":
			p.note(p.errorf("%q is nothing that can happen or be expected%s docs/volsim.md lists what can", s,
				p.in.nearest(s.Words)))
		case s.Since && !s.Within:
			earliest += s.Wait
		case !s.Since && s.Wait < earliest:
			p.note(p.errorf("at %v is over by then: what comes before it comes at %v or later", s.Wait, earliest))
		case !s.Since:
			earliest = s.Wait
		}
	}
}

// nearest ends an error about a statement that means nothing: what it may have meant, if it is like any that
// means something.
func (l *Language) nearest(words []string) string {
	best, least := "", float64(len(words))/2
	for _, s := range l.Statements {
		if d := unlike(strings.Fields(s), words); d < least {
			best, least = s, d
		}
	}
	if best == "" {
		return ";"
	}
	return "; did you mean: " + best + "?"
}

// unlike is how many words of a statement are not those of a pattern: Levenshtein's distance, in which a word that is
// like another one is a part of a word.
func unlike(pattern, words []string) float64 {
	row := make([]float64, len(words)+1)
	for j := range row {
		row[j] = float64(j)
	}
	for _, part := range pattern {
		diagonal := row[0]
		row[0]++
		for j, word := range words {
			cost := 0.2 // that a placeholder stands for it
			if !isPlaceholder(part) {
				cost = min(1, 1.5*float64(wording.Distance(part, word))/float64(len(part)))
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(words)]
}

// means says why the word at that place of a statement is not what the pattern has there.
func (p *parser) means(part string, words []string, at int) error {
	word := words[at]
	if is, names := p.listed(part); names != nil {
		return p.oneOf(word, is, names)
	}
	switch part {
	case "TIME":
		if d, err := time.ParseDuration(word); err != nil || d < 0 || d > longestWait {
			return p.errorf("%q is not a time of up to a day; write it like 90s or 2m", word)
		}
	case "N":
		if _, err := strconv.ParseUint(word, 10, 31); err != nil {
			return p.errorf("%q is not how many; write a whole number", word)
		}
	case "POD":
		return p.hasObject("pod", word, "", "pod "+word+" uses scratch")
	case "VOLUME": // of pod POD, or of driver DRIVER
		if words[at+2] == "driver" {
			return p.hasHandle(word, words[at+3])
		}
		return p.hasVolume(word, words[at+3])
	case "DRIVER":
		return p.hasDriver(word)
	case "HANDLE": // of driver DRIVER, or of any
		driver := ""
		if len(words) > at+3 && words[at+2] == "driver" {
			driver = words[at+3]
		}
		if d := p.s.Driver(driver); d != nil && (words[0] == "hand" || words[0] == "detach") && !d.Personality.Attach {
			return p.errorf("the volumes of %s can't go to another node; write: driver %[1]s attach", driver)
		}
		return p.hasHandle(word, driver)
	case "KIND":
		return p.oneOf(word, "is no kind of object", slices.Sorted(maps.Keys(kindsOfObjects)))
	case "OBJECT": // behind its KIND, and before its version
		version := ""
		if len(words) == at+3 {
			version = words[at+2]
		}
		if made := kindsOfObjects[words[at-1]]; made != "" {
			return p.hasObject(words[at-1], word, version, made)
		}
	case "FILE":
		if strings.Contains(word, "/") {
			return p.errorf("%q is no name of a file in a volume; write one without a slash", word)
		}
	case "OWNER", "MODE":
		return p.isAttribute(part, word)
	case "SHARE", "IMAGE", "URL", "REVISION", "PROGRAM":
		return p.isOfSource(part, word)
	case "PATH":
		if path.Clean(word) != word || !path.IsAbs(word) || word == "/" {
			return p.errorf("%q is no path of the host; write it from the root on, like /srv/data", word)
		}
	}
	return nil
}

// isOfSource checks what names a volume of a source that is no driver's.
func (p *parser) isOfSource(part, word string) error {
	switch part {
	case "SHARE":
		if !strings.Contains(word, ":/") {
			return p.errorf("%q is no export of a server; write it like nas:/data", word)
		}
	case "IMAGE":
		if strings.Contains(word, "://") {
			return p.errorf("%q is no reference of an image; write it like registry.example/app:v1", word)
		}
	case "URL":
		if bad := hal.BadRepositoryURL(word); bad != "" {
			return p.errorf("%q %s", word, bad)
		}
	case "REVISION":
		if bad := hal.BadRevision(word); bad != "" {
			return p.errorf("%q %s", word, bad)
		}
	case "PROGRAM":
		if hal.FlexDirectory(word) == "" {
			return p.errorf("%q is no FlexVolume driver; write it like example.com/fs", word)
		}
	}
	return nil
}

// listed returns the words that a part of a statement such as REASON stands for, and what another word is not.
func (p *parser) listed(part string) (is string, words []string) {
	switch part {
	case "METHOD":
		return "is no call that is counted", p.in.Methods
	case "BREAKAGE":
		return "is nothing that a driver can come to", p.in.Breakages
	case "FAILURE":
		return "is not how a disk fails", p.in.Failures
	case "BADNESS":
		return "is nothing that is wrong with a manifest", p.in.Badnesses
	case "STANDING":
		return "is not how a volume stands", p.in.Standings
	case "REASON":
		return "is no reason of an event", p.in.Reasons
	case "HEALTH":
		return "is nothing that a driver says of a volume, or its storage", p.in.Healths
	case "CONTENT":
		return "is nothing that a disk can hold", p.in.Contents
	case "FLAW":
		return "is nothing that is wrong with a filesystem", p.in.Flaws
	case "MANNER":
		return "is not how a FlexVolume driver behaves", p.in.Manners
	default:
		return "", nil
	}
}

// oneOf refuses a word that is none of names.
func (p *parser) oneOf(word, is string, names []string) error {
	if slices.Contains(names, word) {
		return nil
	}
	return p.errorf("%q %s%s", word, is, wording.Meant(word, names))
}

// kindsOfObjects are the kinds that statements name, each with a line that makes such an object.
var kindsOfObjects = map[string]string{
	"pod": "pod default/web uses scratch", "pv": "volume vol-a of disk.example", "pvc": "volume vol-a of disk.example",
	"csidriver": "volume vol-a of disk.example", "attachment": "a manifest of a VolumeAttachment behind a line ---",
	"secret":    "a manifest of a Secret behind a line ---",
	"configmap": "a manifest of a ConfigMap behind a line ---",

	"trustbundle": "a manifest of a ClusterTrustBundle behind a line ---",
}

// mayBe reports whether a line or manifest that is bad may make what has a name: then it is not said to be missing,
// too.
func (p *parser) mayBe(name string) bool {
	name = strings.TrimPrefix(name[strings.LastIndexByte(name, '/')+1:], "pv-")
	return slices.Contains(strings.FieldsFunc(p.lost,
		func(c rune) bool { return strings.ContainsRune(" \t\n,:/{}[]\"'", c) }), name)
}

// hasObject refuses an object that no line and no manifest makes.
func (p *parser) hasObject(kind, name, version, made string) error {
	if p.mayBe(name) || p.s.Object(kind+" "+name, version) != nil {
		return nil
	}
	var names []string
	for _, o := range p.s.Objects {
		if other, ok := strings.CutPrefix(o.Name, kind+" "); ok {
			names = append(names, strings.TrimSpace(other+" "+o.Version))
		}
	}
	return p.none(kind, strings.TrimSpace(name+" "+version), names, made)
}

// namesDrivers refuses drivers that volume and pod lines name and no line declares. A manifest may name any: that no
// driver serves it may be what the scenario is about.
func (p *parser) namesDrivers() {
	for _, d := range p.drivers {
		p.line = d.line
		p.note(p.hasDriver(d.name))
	}
}

// none says that there is no such thing, which there are, and, if none, what makes one.
func (p *parser) none(kind, name string, names []string, made string) error {
	slices.Sort(names)
	meant := cmp.Or(wording.Meant(name, slices.Compact(names)), "; what makes one: "+made)
	return p.errorf("there is no %s %s%s", kind, name, meant)
}

// hasDriver refuses a driver that no line declares. One that is not there from the beginning has the trait absent.
func (p *parser) hasDriver(name string) error {
	if p.mayBe(name) || p.s.Driver(name) != nil {
		return nil
	}
	var names []string
	for _, d := range p.s.Drivers {
		names = append(names, d.Name)
	}
	return p.none("driver", name, names, "driver "+name+" staging")
}

// hasVolume refuses a volume that no version of a pod has.
func (p *parser) hasVolume(volume, pod string) error {
	var names []string
	for _, o := range p.s.Objects {
		if web, ok := o.Value.(*corev1.Pod); ok && o.Name == "pod "+pod {
			for _, v := range web.Spec.Volumes {
				names = append(names, v.Name)
			}
		}
	}
	if p.mayBe(pod) || p.mayBe(volume) || slices.Contains(names, volume) || p.s.Object("pod "+pod, "") == nil {
		return nil
	}
	slices.Sort(names)
	return p.errorf("the pod %s has no volume %s%s", pod, volume,
		cmp.Or(wording.Meant(volume, slices.Compact(names)), "; it has none at all"))
}

// hasHandle refuses a handle that no volume of a driver has; "" is any driver.
func (p *parser) hasHandle(handle, driver string) error {
	if p.mayBe(handle) || driver != "" && p.s.Driver(driver) == nil {
		return nil
	}
	names := p.s.handles(driver)
	if slices.Contains(names, handle) {
		return nil
	}
	of := ""
	if driver != "" {
		of = " of " + driver
	}
	return p.errorf("no volume%s has the handle %s%s", of, handle,
		cmp.Or(wording.Meant(handle, names), "; there is no volume"+of))
}

// handles are those of the volumes of a driver, or of all; sorted.
func (s *Scenario) handles(driver string) (handles []string) {
	for _, pv := range s.Volumes() {
		if is := pv.Spec.CSI; is != nil && (driver == "" || is.Driver == driver) {
			handles = append(handles, is.VolumeHandle)
		}
	}
	for _, o := range s.Objects {
		pod, isPod := o.Value.(*corev1.Pod)
		if !isPod {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if v.CSI != nil && (driver == "" || v.CSI.Driver == driver) {
				handles = append(handles, plugin.InlineHandle(string(pod.UID), v.Name))
			}
		}
	}
	slices.Sort(handles)
	return slices.Compact(handles)
}

// longestWait is the longest time that a statement may name.
const longestWait = 24 * time.Hour

func isPlaceholder(part string) bool { return part == strings.ToUpper(part) }

// match returns the words that stand for something in the pattern, if words fit it.
func match(pattern []string, words []string) ([]string, bool) {
	if len(pattern) != len(words) {
		return nil, false
	}
	var args []string
	for i, part := range pattern {
		switch {
		case isPlaceholder(part):
			args = append(args, words[i])
		case part != words[i]:
			return nil, false
		}
	}
	return args, true
}

// isAttribute says why a word is no owner, or no mode, of a file.
func (p *parser) isAttribute(part, word string) error {
	if part == "MODE" {
		if _, err := strconv.ParseUint(word, 8, 12); err != nil {
			return p.errorf("%q is no mode; write it like 0640", word)
		}
		return nil
	}
	user, group, _ := strings.Cut(word, ":")
	_, err := strconv.ParseUint(user, 10, 31)
	if _, groupErr := strconv.ParseUint(group, 10, 31); err != nil || groupErr != nil {
		return p.errorf("%q is no user and group; write their numbers, like 0:2000", word)
	}
	return nil
}
