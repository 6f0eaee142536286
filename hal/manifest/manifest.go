// Package manifest serves a [hal.Cluster] from a directory of manifests: no API server, no cluster.
//
// The directory holds files *.yaml, *.yml and *.json, each with any number of documents: Pod, PersistentVolume,
// PersistentVolumeClaim, Secret, ConfigMap, CSIDriver, VolumeAttachment, and List of these. StorageClass is passed
// over. Names that begin with "." are passed over, and so are, with a word to [Options].Passed, all other names: those
// that end with "~", sub-directories, and other suffixes. Decoding is strict: an unknown or doubled field is an error,
// a field without which the API server takes no Pod, PersistentVolume or PersistentVolumeClaim must be there, and one
// error anywhere makes the whole file bad.
//
// A change counts once two readings, a moment apart, agree on it. The last good copy of each file is kept in the cache
// directory, and with it a ledger: which files counted, and in which directory each was seen last. So a start is no
// special case: it compares the directory with what the last run knew. Copies of files that change together lie in one
// file, a pack, if they hold no Secret.
//
// The removal of a file counts in the directory in which the file was seen last. Another directory at the same path
// (another filesystem, the disk not mounted, a directory that was renamed into its place) says nothing of it: the last
// good copy serves until a person accepts the removal.
//
// A bad file is one that cannot be read or decoded, or is no regular file. Its last good copy serves. Whatever else
// disappears while the file is bad is kept if the bad file may hold it (see [file.mayHold]); everything else goes on.
// What is kept is written down, so it is kept after a start, too. A file without any object is bad; to delete its
// objects, remove the file. So is one that ends within a line as its last good copy began, or within a document if
// later ones are missing: it looks half written. A tool that writes files should write to a hidden name and rename: a
// new file that is cut short such that it is good, or one that is cut exactly between two documents, looks like one
// that is meant.
//
// Secrets and ConfigMaps are read from the files each time they are used. The copies of files hold the Secrets that the
// files hold: they are made with mode 0600 in a directory of mode 0700.
package manifest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal"
)

// Source is the name of this source.
const Source hal.Source = "manifest"

const (
	// debounce is how long after a notice a reading begins, and how far apart the two readings are that must agree.
	debounce = 200 * time.Millisecond
	// again is when what could not be read is tried once more: no notice comes when an I/O error ends.
	again = 10 * time.Second
)

// Options say where the manifests are. All but the last are set; the paths are absolute.
type Options struct {
	Dir      string
	CacheDir string // belongs to this package alone
	NodeName string
	// AcceptsAnyDirectory: a file that is missing is removed, also if the directory is another one than before.
	AcceptsAnyDirectory bool
	// Owner, when set, says who the node is, in place of NodeName. Watch calls it. On the owner.
	Owner func() Owner
	// LeftPods, when set, returns the uids of pods that may have left something on the node, from an earlier run or
	// another agent. It also returns the paths that volnode could not look at yet: they may be any pod's. Watch calls
	// it, and later readings do as long as it returns such paths. On the owner.
	LeftPods func() []string
	// IsBare, when set, says whether nothing of an earlier run is left on the node, so no earlier manifest can matter.
	// Watch calls it. On the owner.
	IsBare func() bool
	// Passed, when set, gets all names in the directory that are no manifest's, whenever they have changed. On the
	// owner.
	Passed func(names []string)
	// Memo, when set, remembers what manifests have come to, for simulations.
	Memo *Memo

	gathers int // how many copies without a form are put together, for tests; as many as fill a pack if 0
}

// Owner is the node that a ledger, and all that lies beside it, is of.
type Owner struct {
	Node    string `json:"node"`
	Machine string `json:"machine,omitempty"` // another one once a person has accepted that
	// Created is when its root directory was made; another time once its identity was lost.
	Created string `json:"created,omitempty"`
}

// is reports whether o is the node, or is not known, as in ledgers of earlier versions.
func (o Owner) is(node Owner) bool {
	return o == Owner{} || node == Owner{} || o.Node == node.Node &&
		(o.Machine == node.Machine || o.Machine == "" || node.Machine == "" ||
			o.Created == node.Created && o.Created != "")
}

// New makes the source. It touches nothing before Watch.
func New(h hal.Host, o Options) *Cluster {
	return &Cluster{h: h, o: o, known: map[id]object{}, troubles: map[string]hal.Trouble{}}
}

// Cluster is the [hal.Cluster] of a directory. Its fields belong to the owner; a task gets copies of what it needs and
// posts what it has found.
type Cluster struct {
	h       hal.Host
	o       Options
	owner   Owner
	deliver func(hal.ClusterEvent)

	reading       bool     // a task is under way
	noticed       bool     // something changed since it began
	whole         bool     // the next reading is to look at everything
	isUnconfirmed bool     // something has changed and is read again before it counts
	isLooking     bool     // it is planned to look whether the copies are there
	isVague       bool     // whether the copies are there could not be seen
	asked         hal.Info // the ledger as volnode had written it at the last question about the cache directory
	changed       question
	ours          question    // about the cache directory
	due           hal.Instant // of the next reading, 0 if none is planned
	accepted      accepted
	isBare        bool     // this run began with nothing of an earlier one
	left          []string // pods of before this run, and nobody has accepted that they are gone

	state    state
	known    map[id]object          // what was in an Applied, and in no Removed since
	troubles map[string]hal.Trouble // by Where
	passed   []string               // names that are no manifest's, as Passed got them last
	synced   bool
}

// question asks which names in a directory have changed since it was asked last; nothing can be said if isAny.
type question func() (names []string, isAny bool)

// accepted is the missing files whose removal somebody has accepted, and in which directory they were missing.
type accepted struct {
	in    dirID
	files []string
}

// Watch starts the stream.
func (c *Cluster) Watch(f func(hal.ClusterEvent)) {
	c.deliver = f
	if c.o.Owner != nil {
		c.owner = c.o.Owner()
		c.o.NodeName = c.owner.Node
	}
	c.isBare = c.o.IsBare != nil && c.o.IsBare()
	if c.o.LeftPods != nil && !c.o.AcceptsAnyDirectory {
		c.left = c.o.LeftPods()
	}
	c.changed = c.h.Watches.Directory(c.o.Dir, func() { c.plan(debounce) })
	c.ours = c.h.Watches.Directory(c.o.CacheDir, c.missesOurs)
	c.plan(0)
}

// Accepted is a missing file whose removal counts from now on, and the pods that go with it, as namespace/name. Without
// a file it is the uids of pods that no manifest names and of which something was left before this run, or that are
// kept for what was in another directory.
type Accepted struct {
	File string   `json:"file,omitempty"`
	Pods []string `json:"pods,omitempty"`
}

// Accept takes as removed the files that are missing in another directory, and the pods that no manifest names and that
// left something before this run. It returns them, or why there is nothing to accept. Owner only.
func (c *Cluster) Accept() (all []Accepted, why string) {
	if c.state.in == (dirID{}) {
		return nil, "volnode cannot read the manifest directory, so it does not know what is missing"
	}
	c.findLeft()
	c.accepted = accepted{c.state.in, c.state.missing()}
	// What is behind a path is not known, so nobody accepts that it goes.
	unnamed := slices.DeleteFunc(slices.Clone(c.state.unnamed), isPath)
	// Nobody is asked once more, by uid, about what a missing file held, or keeps because its copy is lost.
	going := slices.Clone(unnamed)
	kept := c.state.elsewhere()
	for _, name := range c.accepted.files {
		for _, o := range slices.Concat(c.state.files.of(name).objects, c.state.kept) {
			going = append(going, o.id.UID)
		}
	}
	for _, o := range kept {
		going = append(going, o.id.UID)
		if o.id.Kind == "Pod" && !slices.Contains(unnamed, o.id.UID) {
			unnamed = append(unnamed, o.id.UID)
		}
	}
	c.left = slices.DeleteFunc(c.left, func(uid string) bool { return slices.Contains(going, uid) })
	if len(c.accepted.files)+len(unnamed)+len(kept) > 0 {
		c.plan(0)
	}
	for _, name := range c.accepted.files {
		all = append(all, Accepted{name, c.state.files.of(name).pods()})
	}
	if len(unnamed)+len(kept) > 0 {
		all = append(all, Accepted{Pods: unnamed})
	}
	switch {
	case len(all) > 0:
	case len(c.state.unnamed) > 0:
		why = "volnode cannot look into " + some(c.state.unnamed) +
			", so it does not know what would go; make it readable"
	case c.isUnconfirmed:
		why = "manifests have just changed, and volnode reads them again; try again in a second"
	case c.state.lostRecord:
		why = "no manifest is missing in another directory, and a manifest names each pod that has volumes here; " +
			"teardown waits for manifests in trouble: correct or remove them"
	default:
		why = "no manifest is missing in another directory"
	}
	return all, why
}

// plan asks for a reading after d, unless an earlier one is planned.
func (c *Cluster) plan(d time.Duration) {
	at := c.h.Runtime.Now().Add(d)
	if c.due != 0 && c.due <= at {
		return
	}
	c.due = at
	c.h.Runtime.At(at, func() {
		if c.due == at {
			c.due = 0
			c.read()
		}
	})
}

// read starts a reading. There is one at a time.
func (c *Cluster) read() {
	if c.reading {
		c.noticed = true
		return
	}
	c.reading = true
	c.findLeft()
	r := c.reader()
	c.h.Runtime.Go(func() {
		found := r.read()
		c.h.Runtime.Post(func() { c.take(found) })
	})
}

// isPath reports whether what LeftPods has returned is a path that nobody could look at, and no uid.
func isPath(uid string) bool { return strings.HasPrefix(uid, "/") }

// findLeft puts the pods in the place of a name that nobody could look at, once somebody could.
func (c *Cluster) findLeft() {
	if !slices.ContainsFunc(c.left, isPath) {
		return
	}
	now := c.o.LeftPods()
	isSeen := func(name string) bool { return isPath(name) && !slices.Contains(now, name) }
	if !slices.ContainsFunc(c.left, isSeen) {
		return
	}
	c.left = slices.DeleteFunc(c.left, isSeen)
	for _, uid := range now {
		if !isPath(uid) && !slices.Contains(c.left, uid) {
			c.left = append(c.left, uid)
		}
	}
}

// reader is one that begins with what is known now.
func (c *Cluster) reader() reader {
	asked := c.asked
	c.asked = c.state.ledger.is
	return reader{
		h: c.h, o: c.o, owner: c.owner, before: c.state, accepted: c.accepted,
		isBare: c.isBare, left: slices.Clone(c.left),
		packs:   map[string]pack{},
		changed: c.changed, ours: c.ours, isWhole: c.whole, isVague: c.isVague, asked: asked,
	}
}

// take accepts what was found, delivers the difference, and plans what has to be read again.
func (c *Cluster) take(f finding) {
	c.reading, c.whole, c.isVague = false, f.whole, f.isVague
	touched := c.touched(f.state)
	c.state, c.isUnconfirmed = f.state.merge(), f.unconfirmed
	c.accepted.files = slices.DeleteFunc(c.accepted.files, func(name string) bool {
		this := c.state.files.of(name)
		return !this.missing && !this.going // it is gone, or back: what was accepted is done
	})
	troubles := map[string]hal.Trouble{}
	for _, t := range f.troubles {
		t.Source = Source
		troubles[t.Where] = t
	}
	if e := c.difference(touched); len(e.Removed)+len(e.Applied) > 0 {
		c.deliver(e)
	}
	if f.synced && !c.synced {
		c.synced = true
		c.deliver(hal.Synced{Source: Source})
	}
	c.tell(troubles)
	if passed := c.state.passed; !slices.Equal(passed, c.passed) {
		c.passed = passed
		if c.o.Passed != nil {
			c.o.Passed(passed)
		}
	}
	switch {
	case c.noticed, f.unconfirmed:
		c.noticed = false
		c.plan(debounce)
	case f.retry:
		c.plan(again)
	}
}

// touched returns the objects that a reading may have changed; of the first one that knows of an earlier run all there
// are.
func (c *Cluster) touched(s state) map[id]object {
	all := map[id]object{}
	for key, o := range s.objects.over { // the order does not matter
		all[key] = o.is
	}
	if !c.state.loaded {
		maps.Copy(all, s.objects.base)
	}
	return all
}

// difference is what has changed since the last reading: removals, those first that refer to others, then what is
// there.
func (c *Cluster) difference(touched map[id]object) hal.Changed {
	e := hal.Changed{Source: Source}
	keys := inOrder(touched)
	for _, key := range slices.Backward(keys) {
		if known, ok := c.known[key]; ok && !c.state.objects.has(key) {
			e.Removed = append(e.Removed, known.value)
			delete(c.known, key)
		}
	}
	for _, key := range keys {
		o, ok := c.state.objects.get(key)
		if old, isKnown := c.known[key]; !ok || isKnown && old.sum == o.sum {
			continue
		}
		c.known[key] = c.given(o)
		e.Applied = append(e.Applied, c.known[key].value)
	}
	return e
}

// tell delivers the troubles that have come, changed or gone.
func (c *Cluster) tell(troubles map[string]hal.Trouble) {
	for _, where := range slices.Sorted(maps.Keys(c.troubles)) {
		if _, ok := troubles[where]; !ok {
			c.deliver(hal.Trouble{Source: Source, Where: where})
		}
	}
	for _, where := range slices.Sorted(maps.Keys(troubles)) {
		if c.troubles[where] != troubles[where] {
			c.deliver(troubles[where])
		}
	}
	c.troubles = troubles
}

// versionOf is the version of what a Secret or a ConfigMap holds. It is made with a key that lies beside the copies of
// manifests, since it comes out in places where what a Secret holds must not be guessed.
func versionOf(key string, sum [sha256.Size]byte) string {
	h := hmac.New(sha256.New, []byte(key))
	_, _ = h.Write(sum[:]) // it never fails
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// given is an object as it is handed out.
func (c *Cluster) given(o object) object {
	if is, ok := o.value.(*hal.Content); ok {
		told := *is
		told.Version = versionOf(c.state.key, o.sum)
		o.value = &told
	}
	return o
}

// Secret reads a secret out of its manifest, or out of the copy of it if the manifest is bad just then.
func (c *Cluster) Secret(call hal.Call, namespace, name string) (hal.Secret, error) {
	data, err := c.held(call, id{Kind: hal.SecretKind, Namespace: namespace, Name: name})
	return hal.NewSecret(data), err
}

// ConfigMap reads what a ConfigMap holds, as Secret does.
func (c *Cluster) ConfigMap(call hal.Call, namespace, name string) (map[string]string, error) {
	return c.held(call, id{Kind: hal.ConfigMapKind, Namespace: namespace, Name: name})
}

// Pod returns a pod as it counts now.
func (c *Cluster) Pod(_ hal.Call, namespace, name, uid string) (pod *corev1.Pod, err error) {
	key := id{Kind: "Pod", Namespace: namespace, Name: name, UID: uid}
	err = c.h.Runtime.Await(background(), func(done func()) {
		if o, ok := c.state.holding(byUID(key)); ok {
			pod, _ = o.value.(*corev1.Pod)
		}
		done()
	})
	switch {
	case err != nil:
		return nil, notHeld(key, syscall.EINTR, "volnode is stopping")
	case pod == nil:
		return nil, notHeld(key, syscall.ENOENT, "no manifest holds it")
	}
	return pod, nil
}

// held reads what an object holds: out of its manifest as that counts, whose copy has the same. Only if neither is
// there, somebody has just changed the manifest, and what it says now is the best there is.
func (c *Cluster) held(call hal.Call, key id) (map[string]string, error) {
	var file string
	var counts sum
	var in string
	var isKept, isSynced bool
	err := c.h.Runtime.Await(background(), func(done func()) {
		o, ok := c.state.holding(key)
		if ok {
			f := c.state.files.of(o.file)
			file, counts, in = o.file, f.sum, f.pack
		}
		isKept, isSynced = ok && o.file == "", c.synced
		done()
	})
	if err != nil {
		return nil, notHeld(key, syscall.EINTR, "volnode is stopping")
	}
	switch {
	case isKept: // of what it holds, nothing is kept
		return nil, notHeld(key, syscall.EAGAIN, "the manifest that held it has changed, is bad, or is not read yet")
	case file == "" && !isSynced:
		return nil, notHeld(key, syscall.EAGAIN, "volnode has not read every manifest yet")
	case file == "":
		return nil, notHeld(key, syscall.ENOENT, "no manifest holds it")
	}
	r := reader{h: c.h, o: c.o, call: call, packs: map[string]pack{}}
	var newer []byte
	for i, read := range []func() ([]byte, error){
		func() ([]byte, error) { return r.manifest(file) },
		func() ([]byte, error) { return r.copy(file, in) },
	} {
		data, err := read()
		if err != nil {
			continue
		}
		if sha256.Sum256(data) != counts {
			if i == 0 { // another copy is an older one
				newer = data
			}
			continue
		}
		content, err := c.o.decode(file, data)
		if is, ok := content.held[key]; err == nil && ok {
			return is, nil
		}
	}
	if content, err := c.o.decodeNew(file, newer); err == nil {
		if is, ok := content.held[key]; ok {
			return is, nil
		}
	}
	return nil, notHeld(key, syscall.EIO, fmt.Sprintf("volnode can read neither %s nor its last good copy", file))
}

func notHeld(key id, errno syscall.Errno, detail string) error {
	return &hal.Error{
		Op: strings.ToLower(key.Kind[:1]) + key.Kind[1:], Object: strings.TrimPrefix(key.Namespace+"/"+key.Name, "/"),
		Class: hal.ClassFile, Outcome: hal.NotDone, Errno: errno, Detail: detail,
	}
}
