// Package manifest serves a [hal.Cluster] from a directory of manifests: no API server, no cluster.
//
// The directory holds files *.yaml, *.yml and *.json, each with any number of documents: Pod, PersistentVolume, PersistentVolumeClaim, Secret,
// CSIDriver, and List of these. ConfigMap and StorageClass are passed over. Names that begin with "." or end with "~" are passed over too.
// Decoding is strict: an unknown or doubled field is an error, and one error anywhere makes the whole file bad.
//
// A change counts once two readings, a moment apart, agree on it. The last good copy of each file is kept in the cache directory: while a file is
// bad, its copy serves, also after a restart. While a bad file has no copy, nothing is said to be deleted, and the source does not become synced.
// A file without any object is bad; to delete its objects, remove the file. A tool that writes files should write to a hidden name and rename:
// a file cut short exactly between two documents looks like one that is meant.
//
// Secrets are read from the files each time they are used. The copies of files hold the Secrets that the files hold: they
// are made with mode 0600 in a directory of mode 0700.
package manifest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// Source is the name of this source.
const Source hal.Source = "manifest"

const (
	// settle is how long after a notice a reading begins, and how far apart the two readings are that must agree.
	settle = 200 * time.Millisecond
	// again is when what could not be read is tried once more: nobody tells of the end of an I/O error.
	again = 10 * time.Second
)

// Options say where the manifests are. All are set; the paths are absolute.
type Options struct {
	Dir      string
	CacheDir string // belongs to this package alone
	NodeName string
}

// New makes the source. It touches nothing before Watch.
func New(h hal.Host, o Options) hal.Cluster {
	return &cluster{h: h, o: o, known: map[id]object{}, troubles: map[string]string{}}
}

// cluster's fields belong to the owner; a task gets copies of what it needs and posts what it has found.
type cluster struct {
	h       hal.Host
	o       Options
	deliver func(hal.ClusterEvent)

	reading bool        // a task is under way
	noticed bool        // something changed since it began
	due     hal.Instant // of the next reading, 0 if none is planned

	state    state
	known    map[id]object     // what was in an Applied, and in no Removed since
	secrets  map[string]string // namespace/name: the file that it is in
	troubles map[string]string // by Where
	synced   bool
}

// Watch starts the stream.
func (c *cluster) Watch(f func(hal.ClusterEvent)) {
	c.deliver = f
	c.h.Watches.Directory(c.o.Dir, func() { c.plan(settle) })
	c.plan(0)
}

// plan asks for a reading after d, unless an earlier one is planned.
func (c *cluster) plan(d time.Duration) {
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
func (c *cluster) read() {
	if c.reading {
		c.noticed = true
		return
	}
	c.reading = true
	r := reader{h: c.h, o: c.o, before: c.state}
	c.h.Runtime.Go(func() {
		found := r.read()
		c.h.Runtime.Post(func() { c.take(found) })
	})
}

// take makes what was found the truth, tells of the differences, and plans what has to be read again.
func (c *cluster) take(f finding) {
	c.reading = false
	troubles := map[string]string{}
	if f.problem != "" {
		troubles[c.o.Dir] = f.problem
	} else {
		c.state = f.state
		r := resolve(c.o, f.state.files)
		c.secrets = r.secrets
		maps.Copy(troubles, r.troubles)
		settled := !f.unsettled && !f.state.blind()
		if e := c.difference(r.objects, settled); len(e.Removed)+len(e.Applied) > 0 {
			c.deliver(e)
		}
		maps.Copy(troubles, c.held(r.objects))
		if settled && !c.synced {
			c.synced = true
			c.deliver(hal.Synced{Source: Source})
		}
	}
	c.tell(troubles)
	switch {
	case c.noticed, f.unsettled:
		c.noticed = false
		c.plan(settle)
	case f.problem != "" || f.retry:
		c.plan(again)
	}
}

// difference is what has changed since the last reading that counted. remove: what is not among objects any more is gone.
func (c *cluster) difference(objects map[id]object, remove bool) hal.Changed {
	e := hal.Changed{Source: Source}
	keys := inOrder(c.known)
	slices.Reverse(keys)
	for _, key := range keys {
		if _, ok := objects[key]; !ok && remove {
			e.Removed = append(e.Removed, c.known[key].value)
			delete(c.known, key)
		}
	}
	for _, key := range inOrder(objects) {
		o := objects[key]
		if old, ok := c.known[key]; ok && old.sum == o.sum {
			continue
		}
		c.known[key] = o
		e.Applied = append(e.Applied, o.value)
	}
	return e
}

// held tells of each pod that is not deleted, though no manifest names it any more, because some file may hold it: its name, and why.
func (c *cluster) held(objects map[id]object) map[string]string {
	troubles := map[string]string{}
	unread := c.state.unread()
	if len(unread) == 0 {
		return troubles
	}
	why := "its manifest is gone, but nothing is deleted while " + path.Join(c.o.Dir, unread[0]) + " cannot be read"
	if more := len(unread) - 1; more > 0 {
		why = fmt.Sprintf("%s, nor %d more", why, more)
	}
	for key := range c.known {
		if _, ok := objects[key]; !ok && key.Kind == "Pod" {
			troubles[key.String()] = why
		}
	}
	return troubles
}

// tell says which troubles have come, changed or gone.
func (c *cluster) tell(troubles map[string]string) {
	for _, where := range slices.Sorted(maps.Keys(c.troubles)) {
		if _, ok := troubles[where]; !ok {
			c.deliver(hal.Trouble{Source: Source, Where: where})
		}
	}
	for _, where := range slices.Sorted(maps.Keys(troubles)) {
		if c.troubles[where] != troubles[where] {
			c.deliver(hal.Trouble{Source: Source, Where: where, Problem: troubles[where]})
		}
	}
	c.troubles = troubles
}

// Secret reads a secret out of its manifest, or out of the copy of it if the manifest is bad just then.
func (c *cluster) Secret(call hal.Call, namespace, name string) (hal.Secret, error) {
	key := namespace + "/" + name
	var file string
	err := c.h.Runtime.Await(background(), func(done func()) {
		file = c.secrets[key]
		done()
	})
	if err != nil {
		return hal.Secret{}, c.noSecret(key, syscall.EINTR, "the agent is ending")
	}
	if file == "" {
		return hal.Secret{}, c.noSecret(key, syscall.ENOENT, "no manifest holds it")
	}
	r := reader{h: c.h, o: c.o, call: call}
	for _, read := range []func(string) ([]byte, error){r.manifest, r.copy} {
		data, err := read(file)
		if err != nil {
			continue
		}
		if content, err := decode(c.o.NodeName, data); err == nil {
			if s, ok := content.secrets[key]; ok {
				return s, nil
			}
		}
	}
	return hal.Secret{}, c.noSecret(key, syscall.EIO, fmt.Sprintf("neither %s nor its last good copy can be read", file))
}

func (c *cluster) noSecret(key string, errno syscall.Errno, detail string) error {
	return &hal.Error{Op: "secret", Object: key, Class: hal.ClassFile, Outcome: hal.NotDone, Errno: errno, Detail: detail}
}

// state is what has been accepted so far. It is not changed once it has been handed out.
type state struct {
	files map[string]file
	// seen is the content that was read last of files whose change is not accepted yet; a zero sum is a file that was gone.
	seen map[string]sum
}

type sum [sha256.Size]byte

// blind: some file may hold objects that are not known.
func (s state) blind() bool {
	for _, f := range s.files { // the order does not matter
		if !f.known {
			return true
		}
	}
	return false
}

// unread lists the files that are bad and of which no earlier content is known. One that is merely not accepted yet is not among them.
func (s state) unread() []string {
	var names []string
	for name, f := range s.files {
		if !f.known && f.problem != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// file is what one manifest comes to.
type file struct {
	known   bool // its objects are known, from the file or from its copy
	sum     sum  // of the content they are from
	objects []object
	secrets []string // namespace/name
	problem string   // why the file itself does not count
	cached  bool     // its copy in the cache directory is of this content
}
