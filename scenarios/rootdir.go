package scenarios

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
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is what happens to the root directory as a whole, and to the agent's own files in it: people copy disks,
// rename hosts, point the agent at another agent's directory. S30 judges it.

// rootWorld is the truth of the root directory.
type rootWorld struct {
	isAnothers bool            // it was another agent's before this one came
	isCopied   bool            // it was made by another machine
	others     []byte          // the file of a journal that was made elsewhere
	isBarred   bool            // the present life may change nothing, as no person has said that it may
	mayRefuse  bool            // there is a reason for a start to ask a person
	isTold     bool            // in a story that says itself which word a person gives to a start
	kept       []string        // files that nobody has said to be gone: the agent deletes none of them
	strays     []string        // names that somebody has left in directories that a start lists
	lostAt     hal.Instant     // when somebody removed own files of the agent last
	left       map[string]bool // what the present life has told that it leaves alone
	unpruned   map[string]bool // names without a volume that the present life could not remove
	forgotten  bool            // the journal was lost: nothing says whose data is that it knew of
	unsaved    bool            // what is known of manifests could not be written, and no ledger tells of it since
	isSwept    bool            // a start has come since all pods were deleted
	spoilt     spoilt
	boot       hal.BootID      // of the present life
	woundedAt  hal.Instant     // when somebody changed own files in place last
	unseen     map[string]bool // emptyDirs that containers have, and that no life has seen since the journal was lost
}

const (
	anotherUID  = "99999999-aaaa-4bbb-8ccc-dddddddddddd"
	anotherPod  = lang.RootDir + "/pods/" + anotherUID
	anotherData = anotherPod + "/volumes/kubernetes.io~empty-dir/cache/data"
	anotherID   = "0f0e0d0c0b0a09080706050403020100"
)

// isAnothers makes the root directory another agent's: a kubelet's, with a pod.
func (r *run) isAnothers() {
	r.w.WriteFile(anotherData, []byte("of another agent"))
	r.w.WriteFile(anotherPod+"/etc-hosts", nil)
	r.root.isAnothers, r.root.mayRefuse = true, true
	r.root.kept = append(r.root.kept, anotherData)
}

// isCopied: the disk is in another machine at the next start.
func (r *run) isCopied() {
	r.w.SetMachineID(anotherID)
	r.root.isCopied, r.root.mayRefuse = true, true
}

// bars notes at a start whether it may change anything.
func (r *run) bars() {
	r.root.left, r.root.unpruned = map[string]bool{}, map[string]bool{}
	for _, p := range r.list {
		p.isMimicked = p.isMimicked || p.isPublish && !p.isHeld && r.isWhole(p)
	}
	r.root.spoilt.isRead, r.root.boot = r.mustTell(), r.w.BootID()
	_, isListed := r.w.Exists(copiesDir + "/.ledger.json")
	if r.root.unsaved = r.root.unsaved && !isListed; r.root.unsaved && r.isBare() {
		clear(r.recalled)
	}
	file := identity.File(lang.RootDir)
	_, isOurs := r.w.Exists(file)
	// A journal is there only after a person has said that the directory may be taken over: it, too, says whose the
	// directory is by now.
	isTaken := isOurs || len(r.w.Entries(identity.Dir(lang.RootDir)+"/journal")) > 0
	isRefused := r.root.isAnothers && !isTaken || r.root.isCopied && isOurs &&
		!bytes.Contains(r.w.ReadFile(file), []byte(anotherID))
	r.root.isBarred = isRefused && r.word == nil || r.hasOthers()
}

// refused: a start asks a person, who reads why and answers by starting the agent with a word.
func (r *run) refused(why string) {
	r.judges("S30")
	if r.root.isTold {
		return
	}
	if !r.root.mayRefuse && r.registrars.begun != 0 {
		// before it has begun for the first time, others may have made what is there
		r.fail("S30", "refused", "agent", "a start is refused, and the root directory is as the agent made it: "+why)
		return
	}
	life := r.w.Life()
	r.w.After(time.Minute, "a person reads why the start is refused", func() {
		if r.w.Life() != life || !r.w.AgentLives() {
			return
		}
		r.word = func(c *engine.Config) {
			c.Adopt, c.AcceptMachine = strings.Contains(why, "--adopt"), strings.Contains(why, "--accept-machine")
		}
		r.w.Restarts(false)
		r.w.KillAgent()
		if r.hasOthers() {
			r.putsJournalBack()
		}
		if strings.Contains(why, "damaged") {
			_ = r.removeTree(identity.File(lang.RootDir)) // the node's name is in the journal
		}
		r.w.Restarts(true)
		r.w.StartAgent()
	})
}

// leaves is S30 at the instant of an effect.
func (r *run) leaves(e *sim.Effect) {
	if e.Actor != "agent" {
		return
	}
	r.judges("S30")
	if r.root.isBarred {
		r.fail("S30", e.Kind.String(), e.Path,
			e.Kind.String()+" of "+e.Path+" in a root directory that is another's, before a person has said that "+
				"it may be")
	}
}

// keeps is S30 for names that go: no file goes with them that nobody has said to be gone.
func (r *run) keeps(e *sim.Effect) {
	if e.Actor != "agent" {
		return
	}
	for _, file := range r.root.kept {
		if e.Path == file || e.Kind != sim.EffectRemoved && below(file, e.Path) {
			// a directory that is removed alone is empty
			r.fail("S30", e.Kind.String(), e.Path,
				e.Path+" is deleted with "+file+", and nobody has said that its pod is gone")
			return
		}
	}
}

// strayPlaces are names in each directory that a start lists, of which none is a volume's.
var strayPlaces = []string{
	"pods/stray", "pods/" + anotherUID + "/volumes", "pods/" + anotherUID + "/volumes/kubernetes.io~csi",
	"pods/" + anotherUID + "/volumes/kubernetes.io~csi/stray",
	"pods/" + anotherUID + "/volumes/kubernetes.io~empty-dir/stray",
	"plugins/kubernetes.io/csi/stray.example", "plugins/kubernetes.io/csi/disk.example/stray",
	"plugins/kubernetes.io/csi/volumeDevices/stray",
	"plugins/kubernetes.io/csi/volumeDevices/staging/stray", "plugins/kubernetes.io/csi/volumeDevices/publish/stray",
	"plugins_registry/stray",
	"volnode/journal/stray", "volnode/manifests/stray", "volnode/stray",
}

// layout is the directories that are there without a volume.
var layout = []string{"pods", "csi", "plugins_registry", "journal", "manifests", "volnode"}

// strays is somebody who leaves a link, a file, or a directory with a mount on it in the root directory of a node.
func (r *run) strays(place string, what int) {
	at := lang.RootDir + "/" + place
	if _, isNode := r.w.Exists(identity.File(lang.RootDir)); !isNode || r.root.isAnothers || r.w.Off() {
		return
	}
	if _, taken := r.w.Exists(at); taken {
		return
	}
	for dir := path.Dir(at); len(dir) > len(lang.RootDir); dir = path.Dir(dir) {
		if kind, there := r.w.Exists(dir); there && kind != hal.TypeDirectory {
			return // an earlier stray is in the way
		}
	}
	r.w.MakeDir(path.Dir(at))
	switch what {
	case 0:
		if r.w.Symlink("/srv", at) != nil {
			return
		}
	case 1:
		r.w.WriteFile(at, []byte("stray"))
	default:
		r.w.MakeDir(at)
		_ = r.w.MountForeign(at) // without it, it is an empty directory
	}
	r.root.strays = append(r.root.strays, at)
	if what < 2 {
		r.root.kept = append(r.root.kept, at)
	}
}

// denies: a directory can't be listed, or a file can't be read, for a while.
func (r *run) denies(at string, why syscall.Errno, last time.Duration) {
	r.w.Deny(at, why)
	r.delays(last + time.Minute) // and until it is looked at again
	r.w.After(last, "the directory can be listed again", func() { r.w.Deny(at, 0) })
}

// removeTree removes a path and all below it, as somebody on the node would: what a link leads to stays.
func (r *run) removeTree(at string) syscall.Errno {
	var names []string
	if kind, _ := r.w.Exists(at); kind == hal.TypeDirectory {
		names = r.w.Entries(at)
	}
	for _, name := range names {
		if errno := r.removeTree(at + "/" + name); errno != 0 {
			return errno
		}
	}
	return r.w.RemoveFile(at)
}

// ownFiles are the agent's own files, which somebody may remove.
var ownFiles = []string{"journal", "identity", "", "manifests", "deletions.log"}

// losesOwn removes own files of the agent. One that lives must notice and make them again; what a dead one has not told
// anybody is lost.
func (r *run) losesOwn(name string) {
	if _, isNode := r.w.Exists(identity.File(lang.RootDir)); !isNode {
		return
	}
	r.root.spoilt = spoilt{}
	// Nothing is in the journal of a start that never came to its end, and the directory of pods may go with the power.
	_, isThere := r.w.Exists(lang.RootDir + "/pods")
	if isThere && r.registrars.begun != 0 && name == "journal" && !r.w.AgentLives() {
		r.root.spoilt = spoilt{file: journalDir, isGone: r.present() != ""}
	}
	_ = r.removeTree(path.Clean(identity.Dir(lang.RootDir) + "/" + name)) // what is not there need not go
	r.hasLost()
}

// hasLost notes that own files of the agent are gone, or damaged.
func (r *run) hasLost() {
	r.root.mayRefuse, r.root.lostAt = true, r.w.Now()
	if r.host != lang.NodeName && !r.alive() && r.w.AgentLives() {
		r.w.KillAgent() // a start that may not have read the file yet was given another name
	}
	r.host = lang.NodeName // who lost the identity file names the node by hand
	if _, there := r.w.Exists(deletionsLog); !there {
		r.losesLog()
	}
	// Without the identity file, this life can't know whose the directory is.
	r.root.isBarred = false
	if !r.alive() {
		r.forgets()
	}
}

// emptiesOwn is losesOwn by somebody who leaves files of those names, with nothing in them: a restore that goes wrong,
// or a full disk of theirs.
func (r *run) emptiesOwn(name string) {
	if _, isNode := r.w.Exists(identity.File(lang.RootDir)); !isNode {
		return
	}
	var files []string
	at := path.Clean(identity.Dir(lang.RootDir) + "/" + name)
	if kind, there := r.w.Exists(at); there && kind == hal.TypeFile {
		files = append(files, at)
	}
	for _, entry := range r.w.Entries(at) {
		if kind, _ := r.w.Exists(at + "/" + entry); kind == hal.TypeFile {
			files = append(files, at+"/"+entry)
		}
	}
	r.losesOwn(name)
	for _, file := range files {
		r.w.WriteFile(file, nil)
	}
}

// removes notes that somebody removes a path of the agent's: its own files may be there.
func (r *run) removes(at string) {
	r.root.mayRefuse = true
	if at == deletionsLog || below(deletionsLog, at) {
		r.losesLog()
	}
	if journal := identity.Dir(lang.RootDir) + "/journal"; at == journal || below(journal, at) {
		r.root.lostAt, r.root.spoilt = r.w.Now(), spoilt{}
	}
}

// lapse is what nobody can know of a place once the journal is lost.
type lapse struct {
	isCopied   bool      // the last copy of the journal says that it is held
	copied     hal.Mount // what showed there then
	isOutdated bool      // it was up, and the record that an old copy of the journal has of it says that it never was
	// it is up, and the record that an old copy of the journal has of it is of another boot; no start has looked at it
	// since
	isEarlier bool
	isTrace   bool        // names on the node alone tell of it: no record says in which boot it was up
	isUnseen  bool        // nothing tells the present life of it: neither the journal nor names on the node
	forgotten []uint64    // calls that may act and that a lost journal alone knew of
	answered  []uint64    // calls that were answered, may act yet, and that a lost journal alone knew of
	leftover  hal.MountID // what its driver has left mounted, of which a lost journal alone knew that it is not up
	isUndone  bool        // one of them has taken the volume away, and it was not brought since
	// the life in which one of them has acted, if that knew nothing of the place, and has not since
	littered   uint32
	isStranded bool // one of them has brought the volume, and no life has heard of it since
	isSpirited bool // an answered call has acted, and somebody else has changed what is there since
	isShown    bool // an answered call has acted, and a mount came of it
	isMimicked bool // a life has begun with others' mounts at it and at its stage
	isUnheard  bool // nothing shows that it did, and the driver was not asked since
	isTold     bool // since the journal was lost a life has known of it, or names on the node have told one of it
	// the life in which one that was answered has mounted the volume, if no life has known of the place since
	unclaimed uint32
}

// forgets: what the journal held is lost, and nobody can know any more of calls that may act, nor whose data is that it
// knew of.
func (r *run) forgets() {
	for _, p := range r.list {
		p.isTrace, p.isTold, p.answered = true, false, slices.Clone(p.untold)
		for i := range p.calls {
			p.forgotten = append(p.forgotten, p.calls[i].id)
		}
		if len(p.calls) > 0 {
			p.isTouched, p.touchedAt, p.calls = true, r.w.Now(), nil
		}
		p.isMixedUp = p.isMixedUp || r.isNameless(p)
		for _, m := range r.w.MountsAt(p.path) {
			if !p.isHeld && !r.isForeign(m) {
				p.leftover = m.ID
			}
			// That it was there before the first call, or over what was up, is told by a record alone.
			if f, is := r.foreign[m.ID]; is && f.isOther {
				r.foreign[m.ID], p.isMixedUp = foreign{since: f.since}, true
			}
		}
	}
	clear(r.untold.durable)
	clear(r.lost)
	r.root.forgotten, r.root.unseen = true, map[string]bool{}
	for _, p := range r.pods {
		for _, u := range p.given {
			if u.isEmptyDir() {
				r.root.unseen[u.path] = true
			}
		}
	}
}

// isNameless: something is mounted for a publish whose data file is gone, as a call acted after its answer, and after
// the teardown. Without a record only the device of its stage, if that shows one, tells that it is no stranger's.
func (r *run) isNameless(p *place) bool {
	return p.isPublish && !r.isRaw(p) && r.topOf(p.path).ID != 0 && !r.isWhole(p) &&
		len(r.w.ReadFile(path.Dir(p.path)+"/vol_data.json")) == 0
}

// diesForgetful: the agent has died before it noticed that its own files are gone.
func (r *run) diesForgetful() {
	if r.root.lostAt != 0 && r.w.Now().Sub(r.root.lostAt) < noticing {
		r.forgets()
	}
}

// discards is a person who deletes by hand what the agent keeps, as nothing says whose it is. That is nothing of a pod
// of whose end the agent has not heard.
func (r *run) discards() {
	if !r.root.forgotten {
		return
	}
	for _, p := range r.pods {
		for _, u := range p.uses {
			if p.isWanted || p.isRunning || p.told != nil || !strings.Contains(u.path, "/kubernetes.io~empty-dir/") {
				continue
			}
			if u.memory {
				_ = r.w.UnmountTop(u.path) // it may be gone
			}
			_ = r.removeTree(u.path)
		}
	}
}

// clears is a person who removes the last data files of raw block volumes, as the agent has asked for: their drivers do
// not have them. They unmount as well what a driver has mounted that nothing names: a start tells of it.
func (r *run) clears() {
	for _, p := range r.list {
		dir := path.Dir(p.path)
		if p.unclaimed == 0 || p.unclaimed != r.w.Life() && !r.root.left[dir] {
			continue
		}
		_, _ = r.w.UnmountTop(p.path), r.removeTree(dir)
		for at := path.Dir(dir); !slices.Contains(layout, path.Base(at)) && r.w.RemoveFile(at) == 0; {
			at = path.Dir(at)
		}
	}
	const blocks = lang.RootDir + "/plugins/kubernetes.io/csi/volumeDevices/"
	for _, at := range slices.Sorted(maps.Keys(r.root.left)) {
		if spec, isBlock := strings.CutPrefix(at, blocks); isBlock && !strings.Contains(spec, "/") &&
			len(r.w.Entries(blocks+"publish/"+spec)) == 0 {
			_ = r.removeTree(at)
		}
	}
}

// tidies is a person who clears away what the agent asks for: the data that it keeps.
func (r *run) tidies() {
	kept := r.root.kept
	r.root.kept = nil
	for _, file := range kept {
		_ = r.w.RemoveFile(file) // it may be gone with its directory, by the same hand
		if strings.HasPrefix(file, anotherPod) {
			_ = r.w.RemoveFile(anotherPod + "/etc-hosts")
		}
	}
	for _, at := range r.root.strays {
		for !slices.Contains(layout, path.Base(at)) {
			if errno := r.w.RemoveFile(at); errno != 0 && errno != syscall.ENOENT {
				break
			}
			at = path.Dir(at) // with what was made above it, if nothing else is there
		}
	}
}

func acceptMachine(c *engine.Config) { c.AcceptMachine = true }
