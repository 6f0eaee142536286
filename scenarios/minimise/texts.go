package minimise

import (
	"fmt"
	"strings"

	"github.com/volnode/volnode/hal/sim"

	"github.com/volnode/volnode/scenarios/world"
)

// names replaces keys, paths and handles by short names.
type names struct {
	short *strings.Replacer
	prose *strings.Replacer // the same, with "the stage of" before a rung
	// owners are the names of the pods that use a volume, by the name of the volume.
	owners map[string][]string
}

// namesOf is the names by labels.
func namesOf(l world.Labels) *names {
	n := &names{owners: l.Owners}
	n.short, n.prose = l.Replacers()
	return n
}

// name is the short name of a record's object.
func (n *names) name(object string) string { return n.short.Replace(object) }

// sentence is a story with short names, in one line.
func (n *names) sentence(story string) string { return n.prose.Replace(firstLine(story)) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// calls are the sites of calls, as people name what they do.
var calls = map[string]string{
	"csi.stage": "stage", "csi.unstage": "unstage", "csi.publish": "publish", "csi.unpublish": "unpublish",
	"mounts.mount": "mount", "mounts.bind": "bind", "mounts.unmount": "unmount",
	"tree.remove-tree": "removal of the tree",
	"tree.remove":      "removal", "files.sync": "fsync", "tree.sync": "fsync of the directory",
}

func callName(site string) string {
	site, _, _ = strings.Cut(site, "/")
	if name := calls[site]; name != "" {
		return name
	}
	_, verb, _ := strings.Cut(site, ".")
	return strings.ReplaceAll(verb, "-", " ")
}

// faultTexts say what a fault does; X is the call, O what it is about.
var faultTexts = map[sim.Fault]string{
	sim.Slow:            "X is slow",
	sim.Pause:           "the agent is stopped for a while",
	sim.CrashBefore:     "the agent is killed before X",
	sim.CrashAfter:      "the agent is killed after X has acted, before its reply",
	sim.CrashReplied:    "the agent is killed just after the reply of X",
	sim.Reboot:          "the node reboots at X",
	sim.PowerCut:        "the node loses power at X",
	sim.FailNone:        "X fails without effect",
	sim.FailPart:        "X fails half done",
	sim.FailFull:        "X fails, but takes full effect",
	sim.Hang:            "X hangs in the kernel",
	sim.NoSpace:         "X finds no space",
	sim.SyncFails:       "X fails, and what was not synced is gone",
	sim.Refused:         "X is refused by its driver's socket",
	sim.Intercepted:     "a proxy answers X, which acts later",
	sim.ErrorNone:       "X is answered with an error, nothing done",
	sim.ErrorPart:       "X is answered with an error, half done",
	sim.ErrorFull:       "X is answered with an error, but takes full effect",
	sim.Lost:            "the reply of X is lost",
	sim.Dropped:         "X never reaches its driver",
	sim.Late:            "X acts after its deadline",
	sim.Stalled:         "X occupies its driver past its deadline",
	sim.Doubled:         "X acts twice",
	sim.DriverCrash:     "the driver dies at X",
	sim.LateDropped:     "the late reply of X is not delivered",
	sim.OrphanActs:      "a call for O acts though its driver has died",
	sim.GoneUnseen:      "the agent does not hear that O is gone",
	sim.StaleSocket:     "the socket of a dead driver stays: O",
	sim.RegistersLate:   "O registers late",
	sim.RegistersTwice:  "O registers a second time",
	sim.ChildLives:      "the helper of O outlives the agent",
	sim.NoticeDoubled:   "a watch reports O twice",
	sim.NoticeLate:      "a watch reports O late",
	sim.DriverLies:      "the driver says that X is done, and has done nothing",
	sim.MountsElsewhere: "the driver mounts O elsewhere",
	sim.DriverGarbles:   "the driver does X, and says what nobody understands",
	sim.NoticeVague:     "a watch does not say where O has changed",
	sim.ObjectLate:      "the agent hears of O late",
	sim.ObjectRepeated:  "the agent hears of O twice",
	sim.ObjectStale:     "the agent gets an old version of O",
	sim.SyncedLate:      "the source O says late that it is synced",
	sim.DriverNasty:     "driver O has that manner",
	sim.LostWrite:       "the power cut loses what was written to O",
}

// ordinal is "", "2nd", "3rd".
func ordinal(nth uint32) string {
	switch n := nth + 1; {
	case n == 1:
		return ""
	case n%100/10 != 1 && n%10 == 2:
		return fmt.Sprintf("%dnd ", n)
	case n%100/10 != 1 && n%10 == 3:
		return fmt.Sprintf("%drd ", n)
	case n%100/10 != 1 && n%10 == 1:
		return fmt.Sprintf("%dst ", n)
	default:
		return fmt.Sprintf("%dth ", n)
	}
}

// faultText says what a fault at a call does.
func (n *names) faultText(f sim.Fault, id sim.ID) string {
	text, object := faultTexts[f], n.name(id.Object)
	if text == "" {
		text = "X: " + f.String()
	}
	if f == sim.DriverNasty {
		driver, manner, _ := strings.Cut(id.Object, " ")
		return "driver " + driver + " has the manner: " + manner
	}
	call := "the " + ordinal(id.Nth) + callName(id.Site)
	if object != "" {
		call += " of " + object
	}
	words := strings.Fields(text)
	for i, w := range words {
		switch w {
		case "X", "X:":
			words[i] = strings.Replace(w, "X", call, 1)
		case "O":
			words[i] = object
		}
	}
	return strings.Join(words, " ")
}
