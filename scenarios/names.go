package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/hal/sim"
)

// This file is short names for what keys and paths are about: disk:vol-1 is a volume, disk:vol-1@pod-3 what a pod has
// of it, pod-3/scratch an emptyDir.

// names replaces keys, paths and handles by short names.
type names struct {
	short *strings.Replacer
	prose *strings.Replacer // the same, with "the stage of" before a rung
	// owners are the names of the pods that use a volume, by the name of the volume.
	owners map[string][]string
}

// pair is a text and what stands for it.
type pair struct{ from, short, prose string }

// naming is the short names of everything that the run knows of.
func (r *run) naming() *names {
	n := &names{owners: map[string][]string{}}
	var pairs []pair
	add := func(from, short, prose string) { pairs = append(pairs, pair{from, short, prose}) }
	pods := map[string]string{}
	for i, p := range r.pods {
		name := strings.TrimPrefix(p.name, "default/")
		if twins := slices.IndexFunc(r.pods[:i], func(q *pod) bool { return q.name == p.name }); twins >= 0 {
			name += "." + fmt.Sprint(i-twins+1)
		}
		pods[string(p.uid)] = name
		add(string(p.uid), name, name)
		for _, u := range p.uses {
			if u.driver == "" {
				if strings.Contains(u.path, string(p.uid)) {
					add(u.path, name+"/"+u.name, name+"/"+u.name)
					add("emptydir/"+string(p.uid)+"/"+u.name, name+"/"+u.name, "the emptyDir "+name+"/"+u.name)
				}
				continue
			}
			volume := r.volumeName(u.driver, u.volume)
			if strings.HasPrefix(u.volume, "csi-") && len(u.volume) > 60 {
				volume = u.name // an inline volume's handle is a hash
				add(u.volume, volume, volume)
			}
			label := volume + "@" + name
			n.owners[volume] = append(n.owners[volume], name)
			add(u.driver+"^"+u.volume+" "+u.path, label, label)
			add(u.path, label, label)
			add(strings.TrimSuffix(u.path, "/mount"), label, label)
			add(u.driver+"^"+u.volume, volume, volume)
		}
	}
	for _, p := range r.list {
		volume := r.volumeName(p.driver, p.volume)
		if p.isPublish {
			uid := strings.Split(string(p.key), "/")
			label := volume
			if owner := pods[uid[min(len(uid)-1, 2)]]; owner != "" {
				label += "@" + owner
			}
			add(string(p.key), label, "the publish of "+label)
			add(p.path, label, label)
			continue
		}
		add(string(p.key), volume, "the stage of "+volume)
		add(p.path, volume, "its staging path")
		add(strings.TrimSuffix(p.path, "/globalmount"), volume, volume)
		add(p.driver+"^"+p.volume+" "+p.path, volume, volume)
	}
	pairs = append(pairs, pair{rootDir + "/volnode/", "", ""}, pair{rootDir + "/", "", ""}, pair{"default/", "", ""})
	slices.SortStableFunc(pairs, func(a, b pair) int { return len(b.from) - len(a.from) })
	var short, prose []string
	for _, p := range pairs {
		short, prose = append(short, p.from, p.short), append(prose, p.from, p.prose)
	}
	n.short, n.prose = strings.NewReplacer(short...), strings.NewReplacer(prose...)
	return n
}

// volumeName is the handle, with the driver before it if another driver has a volume of that handle or one that
// resembles it.
func (r *run) volumeName(driver, handle string) string {
	if len(r.w.Drivers()) < 2 {
		return handle
	}
	name, _, _ := strings.Cut(driver, ".")
	return name + ":" + handle
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
	sim.Slow:           "X is slow",
	sim.Pause:          "the agent is stopped for a while",
	sim.CrashBefore:    "the agent is killed before X",
	sim.CrashAfter:     "the agent is killed after X has acted, before its reply",
	sim.CrashReplied:   "the agent is killed just after the reply of X",
	sim.Reboot:         "the node reboots at X",
	sim.PowerCut:       "the node loses power at X",
	sim.FailNone:       "X fails without effect",
	sim.FailPart:       "X fails half done",
	sim.FailFull:       "X fails and is done all the same",
	sim.Hang:           "X hangs in the kernel",
	sim.NoSpace:        "X finds no space",
	sim.SyncFails:      "X fails, and what was not synced is gone",
	sim.Refused:        "X is refused by its driver's socket",
	sim.Intercepted:    "X is answered by something before its driver, and acts later",
	sim.ErrorNone:      "X is answered with an error, nothing done",
	sim.ErrorPart:      "X is answered with an error, half done",
	sim.ErrorFull:      "X is answered with an error and is done all the same",
	sim.Lost:           "the reply of X is lost",
	sim.Dropped:        "X never reaches its driver",
	sim.Late:           "X acts after its deadline",
	sim.Stalled:        "X occupies its driver until after its deadline",
	sim.Doubled:        "X acts twice",
	sim.DriverCrash:    "the driver dies at X",
	sim.LateDropped:    "the late reply of X is not delivered",
	sim.OrphanActs:     "a call for O acts though its driver has died",
	sim.GoneUnseen:     "nobody tells that O is gone",
	sim.StaleSocket:    "the socket of a dead driver stays: O",
	sim.RegistersLate:  "O registers late",
	sim.RegistersTwice: "O registers a second time",
	sim.ChildLives:     "the helper of O outlives the agent",
	sim.NoticeDoubled:  "a watch tells of O twice",
	sim.NoticeLate:     "a watch tells of O late",
	sim.NoticeVague:    "a watch does not tell where O has changed",
	sim.ObjectLate:     "the agent is told of O late",
	sim.ObjectRepeated: "the agent is told of O twice",
	sim.ObjectStale:    "the agent is told of O as it was before",
	sim.SyncedLate:     "the source O says late that it has told all",
	sim.DriverNasty:    "driver O has that manner",
	sim.LostWrite:      "what was written to O is lost with the power",
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

// comesAgain: the agent is told of a pod. If it knows that the one before has ended, containers will run on what this one
// wants, and on nothing else.
func (r *run) comesAgain(p *pod) {
	if p.told == nil && p.freedIn == r.w.Life() {
		for _, at := range r.list {
			at.isFormer = at.isFormer || r.podOf(at.path) == p
		}
	}
	p.freedIn = 0
}

// forgetsUnsaid: what the former life of the agent believed to be up, and told nobody of, no container has.
func (r *run) forgetsUnsaid() {
	for _, at := range r.list {
		at.isFormer = at.isFormer || !at.isSaid
	}
}
