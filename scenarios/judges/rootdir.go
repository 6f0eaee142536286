package judges

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what happens to the root directory as a whole, and to the agent's own files in it: people copy disks,
// rename hosts, point the agent at another agent's directory. S30 judges it.

const (
	AnotherUID = "99999999-aaaa-4bbb-8ccc-dddddddddddd" // of the pod in another agent's root directory
	anotherPod = lang.RootDir + "/pods/" + AnotherUID
	anotherID  = "0f0e0d0c0b0a09080706050403020100"
)

// IsAnothers makes the root directory another agent's: a kubelet's, with a pod that has a volume of each source.
func IsAnothers(r *world.Run) {
	for _, m := range world.Rooms {
		if m.Leave != nil {
			r.Root.Kept = append(r.Root.Kept, m.Leave(r.W, m.Path(AnotherUID, "cache"))...)
		}
	}
	r.W.WriteFile(anotherPod+"/etc-hosts", nil)
	r.Root.IsAnothers, r.Root.MayRefuse = true, true
}

// IsCopied: the disk is in another machine at the next start.
func IsCopied(r *world.Run) {
	r.W.SetMachineID(anotherID)
	r.Root.IsCopied, r.Root.MayRefuse = true, true
}

// Bars notes at a start whether it may change anything.
func Bars(r *world.Run) {
	r.Root.Left, r.Root.Unpruned = map[string]bool{}, map[string]bool{}
	for _, p := range r.List {
		p.IsMimicked = p.IsMimicked || p.IsPublish && !p.IsHeld && isWhole(r, p)
	}
	r.Root.Spoilt.IsRead, r.Root.Boot = mustTell(r), r.W.BootID()
	_, isListed := r.W.Exists(world.CopiesDir + "/.ledger.json")
	r.Root.Unsaved = r.Root.Unsaved && !isListed
	if (r.Root.Unsaved || r.Root.Behind > 0) && isBare(r) {
		clear(r.Recalled)
	}
	r.Root.Behind = 0
	file := identity.File(lang.RootDir)
	_, isOurs := r.W.Exists(file)
	// A journal is there only after a person has said that the directory may be taken over: it, too, says whose the
	// directory is by now.
	isTaken := isOurs || len(r.W.Entries(identity.Dir(lang.RootDir)+"/journal")) > 0
	isRefused := r.Root.IsAnothers && !isTaken || r.Root.IsCopied && isOurs &&
		!bytes.Contains(r.W.ReadFile(file), []byte(anotherID))
	r.Root.IsBarred = isRefused && r.Word == nil || hasOthers(r)
}

// Refused: a start asks a person, who reads why and answers by starting the agent with a word.
func Refused(r *world.Run, why string) {
	r.Judges("S30")
	if r.Root.IsTold {
		return
	}
	if !r.Root.MayRefuse && r.Registrars.Begun != 0 {
		// before it has begun for the first time, others may have made what is there
		r.Fail("S30", "refused", "agent",
			"the agent refuses to start, and the root directory is as the agent made it: "+why)
		return
	}
	life := r.W.Life()
	r.W.After(time.Minute, "a person reads why the start is refused", func() {
		if r.W.Life() != life || !r.W.AgentLives() {
			return
		}
		r.Word = func(c *engine.Config) {
			c.Adopt, c.AcceptMachine = strings.Contains(why, "--adopt"), strings.Contains(why, "--accept-machine")
		}
		r.W.Restarts(false)
		r.W.KillAgent()
		if hasOthers(r) {
			PutsJournalBack(r)
		}
		if strings.Contains(why, "damaged") {
			_ = RemoveTree(r, identity.File(lang.RootDir)) // the node's name is in the journal
		}
		r.W.Restarts(true)
		r.W.StartAgent()
	})
}

// leaves is S30 at the instant of an effect.
func leaves(r *world.Run, e *sim.Effect) {
	if e.Actor != "agent" || e.Since != 0 && e.Since < r.BornAt { // a helper of an earlier run
		return
	}
	r.Judges("S30")
	if r.Root.IsBarred {
		r.Fail("S30", e.Kind.String(), e.Path,
			e.Kind.String()+" of "+e.Path+" in the root directory of another agent, before a person allowed it")
	}
}

// keeps is S30 for names that go: no file goes with them that nobody has said to be gone.
func keeps(r *world.Run, e *sim.Effect) {
	if e.Actor != "agent" {
		return
	}
	for _, file := range r.Root.Kept {
		if e.Path == file || e.Kind != sim.EffectRemoved && world.Below(file, e.Path) {
			// a directory that is removed alone is empty
			r.Fail("S30", e.Kind.String(), e.Path,
				e.Path+" is deleted with "+file+", and nobody has said that its pod is gone")
			return
		}
	}
}

// StrayPlaces are names in each directory that a start lists, of which none is a volume's.
var StrayPlaces = []string{
	"pods/stray", "pods/" + AnotherUID + "/volumes", "pods/" + AnotherUID + "/volumes/kubernetes.io~csi",
	"pods/" + AnotherUID + "/volumes/kubernetes.io~csi/stray",
	"pods/" + AnotherUID + "/volumes/kubernetes.io~empty-dir/stray",
	"plugins/kubernetes.io/csi/stray.example", "plugins/kubernetes.io/csi/disk.example/stray",
	"plugins/kubernetes.io/csi/volumeDevices/stray",
	"plugins/kubernetes.io/csi/volumeDevices/staging/stray", "plugins/kubernetes.io/csi/volumeDevices/publish/stray",
	"plugins_registry/stray",
	"volnode/journal/stray", "volnode/manifests/stray", "volnode/stray",
}

// layout is the directories that are there without a volume.
var layout = []string{"pods", "csi", "plugins_registry", "journal", "manifests", "volnode"}

// Strays is somebody who leaves a link, a file, or a directory with a mount on it in the root directory of a node.
func Strays(r *world.Run, place string, what int) {
	at := lang.RootDir + "/" + place
	if _, isNode := r.W.Exists(identity.File(lang.RootDir)); !isNode || r.Root.IsAnothers || r.W.Off() {
		return
	}
	if _, taken := r.W.Exists(at); taken {
		return
	}
	for dir := path.Dir(at); len(dir) > len(lang.RootDir); dir = path.Dir(dir) {
		if kind, there := r.W.Exists(dir); there && kind != hal.TypeDirectory {
			return // an earlier stray is in the way
		}
	}
	r.W.MakeDir(path.Dir(at))
	switch what {
	case 0:
		if r.W.Symlink("/srv", at) != nil {
			return
		}
	case 1:
		r.W.WriteFile(at, []byte("stray"))
	default:
		r.W.MakeDir(at)
		_ = r.W.MountForeign(at) // without it, it is an empty directory
	}
	r.Root.Strays = append(r.Root.Strays, at)
	if what < 2 {
		r.Root.Kept = append(r.Root.Kept, at)
	}
}

// Denies: a directory can't be listed, or a file can't be read, for a while.
func Denies(r *world.Run, at string, why syscall.Errno, last time.Duration) {
	r.W.Deny(at, why)
	Delays(r, last+time.Minute) // and until it is looked at again
	r.W.After(last, "the directory can be listed again", func() { r.W.Deny(at, 0) })
}

// RemoveTree removes a path and all below it, as somebody on the node would: what a link leads to stays.
func RemoveTree(r *world.Run, at string) syscall.Errno {
	var names []string
	if kind, _ := r.W.Exists(at); kind == hal.TypeDirectory {
		names = r.W.Entries(at)
	}
	for _, name := range names {
		if errno := RemoveTree(r, at+"/"+name); errno != 0 {
			return errno
		}
	}
	return r.W.RemoveFile(at)
}

// OwnFiles are the agent's own files, which somebody may remove.
var OwnFiles = []string{"journal", "identity", "", "manifests", "deletions.log"}

// LosesOwn removes own files of the agent. One that lives must notice and make them again; what a dead one has not told
// anybody is lost.
func LosesOwn(r *world.Run, name string) {
	if _, isNode := r.W.Exists(identity.File(lang.RootDir)); !isNode {
		return
	}
	r.Root.Spoilt = world.Spoilt{}
	// Nothing is in the journal of a start that never came to its end, and the directory of pods may go with the power.
	_, isThere := r.W.Exists(lang.RootDir + "/pods")
	if isThere && r.Registrars.Begun != 0 && name == "journal" && !r.W.AgentLives() {
		r.Root.Spoilt = world.Spoilt{File: JournalDir, IsGone: present(r) != ""}
	}
	_ = RemoveTree(r, path.Clean(identity.Dir(lang.RootDir)+"/"+name)) // what is not there need not go
	hasLost(r)
}

// hasLost notes that own files of the agent are gone, or damaged.
func hasLost(r *world.Run) {
	r.Root.MayRefuse, r.Root.LostAt = true, r.W.Now()
	if r.Host != lang.NodeName && !r.Alive() && r.W.AgentLives() {
		r.W.KillAgent() // a start that may not have read the file yet was given another name
	}
	r.Host = lang.NodeName // who lost the identity file names the node by hand
	if _, there := r.W.Exists(dealings.DeletionsLog); !there {
		dealings.LosesLog(r)
	}
	// Without the identity file, this life can't know whose the directory is.
	r.Root.IsBarred = false
	if !r.Alive() {
		Forgets(r)
	}
}

// EmptiesOwn is losesOwn by somebody who leaves files of those names, with nothing in them: a restore that goes wrong,
// or a full disk of theirs.
func EmptiesOwn(r *world.Run, name string) {
	if _, isNode := r.W.Exists(identity.File(lang.RootDir)); !isNode {
		return
	}
	var files []string
	at := path.Clean(identity.Dir(lang.RootDir) + "/" + name)
	if kind, there := r.W.Exists(at); there && kind == hal.TypeFile {
		files = append(files, at)
	}
	for _, entry := range r.W.Entries(at) {
		if kind, _ := r.W.Exists(at + "/" + entry); kind == hal.TypeFile {
			files = append(files, at+"/"+entry)
		}
	}
	LosesOwn(r, name)
	for _, file := range files {
		r.W.WriteFile(file, nil)
	}
}

// Removes notes that somebody removes a path of the agent's: its own files may be there.
func Removes(r *world.Run, at string) {
	r.Root.MayRefuse = true
	if at == dealings.DeletionsLog || world.Below(dealings.DeletionsLog, at) {
		dealings.LosesLog(r)
	}
	if journal := identity.Dir(lang.RootDir) + "/journal"; at == journal || world.Below(journal, at) {
		r.Root.LostAt, r.Root.Spoilt = r.W.Now(), world.Spoilt{}
	}
	for _, p := range r.Pods {
		for _, u := range p.Given {
			_, is := r.W.Exists(u.Path)
			if is && u.IsDirectory() && (at == u.Path || world.Below(u.Path, at)) {
				r.Disturbed[u.Path] = r.W.Now()
				Loses(r, p, u.Path)
			}
		}
	}
}

// Forgets: what the journal held is lost, and nobody can know any more of calls that may act, nor whose data is that it
// knew of.
func Forgets(r *world.Run) {
	for _, p := range r.List {
		p.IsTrace, p.IsTold, p.Answered = true, false, slices.Clone(p.Untold)
		for i := range p.Calls {
			p.Forgotten = append(p.Forgotten, p.Calls[i].Id)
		}
		if len(p.Calls) > 0 {
			p.IsTouched, p.TouchedAt, p.Calls = true, r.W.Now(), nil
		}
		p.IsMixedUp = p.IsMixedUp || isNameless(r, p)
		for _, m := range r.W.MountsAt(p.Path) {
			if !p.IsHeld && !dealings.IsForeign(r, m) {
				p.Leftover = m.ID
			}
			// That it was there before the first call, or over what was up, is told by a record alone.
			if f, is := r.Foreign[m.ID]; is && f.IsOther {
				r.Foreign[m.ID], p.IsMixedUp = world.Foreign{Since: f.Since}, true
			}
		}
	}
	clear(r.Untold.Durable)
	clear(r.Lost)
	r.Root.Forgotten, r.Root.Unseen = true, map[string]bool{}
	for _, p := range r.Pods {
		for _, u := range p.Given {
			if u.IsDirectory() {
				r.Root.Unseen[u.Path] = true
			}
		}
	}
}

// isNameless: something is mounted for a publish whose data file is gone, as a call acted after its answer, and after
// the teardown. Without a record only the device of its stage, if that shows one, tells that it is no stranger's.
func isNameless(r *world.Run, p *world.Place) bool {
	return p.IsPublish && !isRaw(p) && TopOf(r, p.Path).ID != 0 && !isWhole(r, p) &&
		len(r.W.ReadFile(path.Dir(p.Path)+"/vol_data.json")) == 0
}

// diesForgetful: the agent has died before it noticed that its own files are gone.
func diesForgetful(r *world.Run) {
	if r.Root.LostAt != 0 && r.W.Now().Sub(r.Root.LostAt) < dealings.Noticing {
		Forgets(r)
	}
}

// Discards is a person who deletes by hand what the agent keeps, as nothing says whose it is. That is nothing of a pod
// of whose end the agent has not heard.
func Discards(r *world.Run) {
	if !r.Root.Forgotten {
		return
	}
	for _, p := range r.Pods {
		for _, u := range p.Uses {
			if p.IsWanted || p.IsRunning || p.Told != nil || !strings.Contains(u.Path, "/kubernetes.io~empty-dir/") {
				continue
			}
			if u.Memory {
				_ = r.W.UnmountTop(u.Path) // it may be gone
			}
			_ = RemoveTree(r, u.Path)
		}
	}
}

// Clears is a person who removes the last data files of raw block volumes, as the agent has asked for: their drivers do
// not have them. They unmount as well what a driver has mounted that nothing names: a start tells of it.
func Clears(r *world.Run) {
	for _, p := range r.List {
		dir := path.Dir(p.Path)
		if p.Unclaimed == 0 || p.Unclaimed != r.W.Life() && !r.Root.Left[dir] {
			continue
		}
		_, _ = r.W.UnmountTop(p.Path), RemoveTree(r, dir)
		for at := path.Dir(dir); !slices.Contains(layout, path.Base(at)) && r.W.RemoveFile(at) == 0; {
			at = path.Dir(at)
		}
	}
	const blocks = lang.RootDir + "/plugins/kubernetes.io/csi/volumeDevices/"
	for _, at := range slices.Sorted(maps.Keys(r.Root.Left)) {
		if spec, isBlock := strings.CutPrefix(at, blocks); isBlock && !strings.Contains(spec, "/") &&
			len(r.W.Entries(blocks+"publish/"+spec)) == 0 {
			_ = RemoveTree(r, at)
		}
	}
}

// Tidies is a person who clears away what the agent asks for: the data that it keeps.
func Tidies(r *world.Run) {
	kept := r.Root.Kept
	r.Root.Kept = nil
	for _, file := range kept {
		_ = r.W.RemoveFile(file) // it may be gone with its directory, by the same hand
		if strings.HasPrefix(file, anotherPod) {
			_ = r.W.RemoveFile(anotherPod + "/etc-hosts")
		}
	}
	for _, at := range r.Root.Strays {
		for !slices.Contains(layout, path.Base(at)) {
			if errno := r.W.RemoveFile(at); errno != 0 && errno != syscall.ENOENT {
				break
			}
			at = path.Dir(at) // with what was made above it, if nothing else is there
		}
	}
}

// AcceptMachine starts the agent with --accept-machine.
func AcceptMachine(c *engine.Config) { c.AcceptMachine = true }

// isBare: there is nothing of a volume or a pod on the node.
func isBare(r *world.Run) bool {
	return len(r.W.Staged())+len(r.W.Published()) == 0 && NamesLeft(r, func(string) bool { return false }) == "" &&
		!slices.ContainsFunc(r.W.Mounts(), func(m hal.Mount) bool { return world.IsOurs(m.Path) })
}
