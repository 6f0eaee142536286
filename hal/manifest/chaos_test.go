package manifest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/volnode/volnode/hal"
)

// This file is people, deaths and full disks in any order, against a model of what must be served: the reader never
// removes what people want, sends no Synced without it, and gives its uid to nobody else. Once all is in order it
// serves that and nothing else.

// chaos is a world and what people mean with it.
type chaos struct {
	*world
	t       *rapid.T
	meant   map[string]string     // by file: what it should hold
	actual  map[string]string     // what it holds; not there: as meant. "" is a file that can't be read
	copies  map[string]bool       // files that hold a uid or a name of another by mistake
	served  map[hal.Identity]bool // by what was delivered in this life
	settled map[hal.Identity]bool // that were served, and have been meant ever since
	former  map[hal.Identity]bool // that people meant once
	isLossy bool                  // what the agent has written may be lost, or older than what it knew
	pods    int                   // that were made
	read    int                   // events of w.raw that were looked at
	story   []string
	objects map[string][]hal.Identity // of texts
}

func newChaos(tt *testing.T, t *rapid.T) *chaos {
	c := &chaos{
		world: newWorld(tt), t: t, meant: map[string]string{}, actual: map[string]string{}, copies: map[string]bool{},
		served: map[hal.Identity]bool{}, settled: map[hal.Identity]bool{}, former: map[hal.Identity]bool{},
		objects: map[string][]hal.Identity{},
	}
	c.left = []string{}
	c.make()
	c.make()
	c.startBare()
	c.look()
	return c
}

func (c *chaos) says(format string, args ...any) {
	c.story = append(c.story, fmt.Sprintf(format, args...))
}

func (c *chaos) fails(format string, args ...any) {
	c.t.Fatalf("%s\n%s\n%q\n%v", fmt.Sprintf(format, args...), strings.Join(c.story, "\n"), c.events, c.data)
}

// of are the identities of what a text holds.
func (c *chaos) of(text string) []hal.Identity {
	if _, is := c.objects[text]; !is {
		content, err := decode("node1", "f", []byte(text))
		require.NoError(c.world.t, err)
		c.objects[text] = []hal.Identity{}
		for _, o := range content.objects {
			c.objects[text] = append(c.objects[text], hal.IdentityOf(o.value))
		}
	}
	return c.objects[text]
}

// isMeant reports whether people mean an object to be there.
func (c *chaos) isMeant(id hal.Identity) bool {
	for name, text := range c.meant {
		if !c.copies[name] && slices.Contains(c.of(text), id) {
			return true
		}
	}
	return false
}

// puts writes a file as it is meant, or as it is spoilt.
func (c *chaos) puts(name string) {
	at := dir + "/" + name
	delete(c.fail, "read "+at)
	text, isSpoilt := c.actual[name]
	switch {
	case c.meant[name] == "":
		c.rm(name)
		delete(c.actual, name)
		return
	case !isSpoilt:
		text = c.meant[name]
		for _, id := range c.of(text) {
			c.former[id] = c.former[id] || !c.copies[name]
		}
	case text == "":
		c.fail["read "+at] = errno("read", at, syscall.EIO)
		text = c.meant[name]
	}
	c.put(name, text)
}

// forget drops what is not meant any more from what must be served.
func (c *chaos) forget() {
	for id := range c.settled {
		if !c.isMeant(id) {
			delete(c.settled, id)
		}
	}
}

// look judges what was delivered.
func (c *chaos) look() {
	for _, e := range c.raw[c.read:] {
		switch e := e.(type) {
		case hal.Changed:
			for _, o := range e.Removed {
				id := hal.IdentityOf(o)
				c.left = slices.DeleteFunc(c.left, func(uid string) bool { return uid == id.UID })
				if delete(c.served, id); c.isMeant(id) && c.settled[id] {
					c.fails("the reader removes %s, which people want", id)
				}
			}
			for _, o := range e.Applied {
				c.takes(hal.IdentityOf(o))
			}
		case hal.Synced: // what nobody wants is taken down
			c.left = c.left[:0]
			for id := range c.served {
				c.left = append(c.left, id.UID)
			}
			for id := range c.settled {
				if !c.served[id] && !c.hasFormer(id) {
					c.fails("Synced comes before %s, which people want; troubles: %v", id, c.troubles())
				}
			}
		}
	}
	c.read = len(c.raw)
}

// hasFormer: a pod that was renamed is served under its former name, as what was written last is older.
func (c *chaos) hasFormer(id hal.Identity) bool {
	for other := range c.served {
		if other.UID == id.UID && c.isLossy && c.former[other] {
			return true
		}
	}
	return false
}

func (c *chaos) takes(id hal.Identity) {
	if c.served[id] = true; !slices.Contains(c.left, id.UID) {
		c.left = append(c.left, id.UID)
	}
	if c.isMeant(id) {
		c.settled[id] = true
	}
	// Once the record is lost, nothing tells whose uid it is as long as the other's file is bad, nor that what
	// was written last is older.
	isBlind := c.isLossy && (len(c.actual) > 0 || c.former[id])
	for other := range c.settled {
		if other != id && other.UID == id.UID && !isBlind {
			c.fails("the reader serves %s, and people want %s, which has that uid", id, other)
		}
	}
}

// lives passes time in which the agent may die; then it starts again.
func (c *chaos) lives(d time.Duration, dies int) {
	died := c.dying(dies, func() { c.pass(d) })
	c.says("%s pass", d)
	if c.look(); !died {
		return
	}
	c.says("the agent dies before its write %d", dies)
	c.isLossy = true
	if rapid.Bool().Draw(c.t, "power") {
		c.cutsPower(uint(rapid.IntRange(0, 255).Draw(c.t, "lost")))
		c.says("the power is cut")
	}
	c.again()
}

// again is a new life of the agent.
func (c *chaos) again() {
	c.says("the agent starts")
	c.served, c.read = map[hal.Identity]bool{}, 0
	c.start()
	c.look()
}

func (c *chaos) file(t *rapid.T) string {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(c.meant))).Draw(t, "file")
}

func (c *chaos) free() string {
	c.pods++
	return fmt.Sprintf("%c%d.yaml", "anz"[c.pods%3], c.pods)
}

// text is that of a new pod: every third one has a uid that is made of its name.
func (c *chaos) text() string {
	c.pods++
	if c.pods%3 == 0 {
		return pod(fmt.Sprintf("pod-%dx", c.pods))
	}
	return owned(fmt.Sprintf("pod-%dx", c.pods), fmt.Sprintf("uid-%dx", c.pods))
}

func (c *chaos) make() {
	name := c.free()
	c.meant[name] = c.text()
	c.says("somebody writes %s: %v", name, c.of(c.meant[name]))
	c.puts(name)
}

func (c *chaos) drop(name string) {
	delete(c.meant, name)
	delete(c.copies, name)
	c.puts(name)
	c.forget()
}

func (c *chaos) actions() map[string]func(*rapid.T) {
	change := func(do func(*rapid.T)) func(*rapid.T) {
		return func(t *rapid.T) {
			if len(c.meant) == 0 {
				c.make()
			}
			do(t)
			if rapid.Bool().Draw(t, "waits") {
				c.lives(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms"))*time.Millisecond,
					rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3, 4, 6}).Draw(t, "dies"))
			}
		}
	}
	all := map[string]func(*rapid.T){
		"write":  func(*rapid.T) { c.make() },
		"delete": func(t *rapid.T) { name := c.file(t); c.says("somebody deletes %s", name); c.drop(name) },
		"rename": c.rename, "move": c.move, "swap": c.swap, "again": c.recreate, "spoil": c.spoil, "mend": c.mend,
		"copy": c.copy, "correct": c.correct, "lose": c.loseCopies, "full": c.fillDisk, "break": c.breakDisk,
		"restart": func(t *rapid.T) { c.again() },
	}
	for name, do := range all {
		all[name] = change(do)
	}
	return all
}

func (c *chaos) rename(t *rapid.T) {
	from, to := c.file(t), c.free()
	c.says("somebody renames %s to %s", from, to)
	c.meant[to], c.copies[to] = c.meant[from], c.copies[from]
	if text, is := c.actual[from]; is {
		c.actual[to] = text
	}
	delete(c.meant, from)
	delete(c.copies, from)
	c.puts(to)
	c.puts(from)
}

// move puts what a file holds into another one, before or behind what is there.
func (c *chaos) move(t *rapid.T) {
	from, to := c.file(t), c.file(t)
	if from == to || c.copies[from] || c.copies[to] {
		return
	}
	c.says("somebody moves what %s holds to %s", from, to)
	c.meant[to] += "---\n" + c.meant[from]
	if text, is := c.actual[to]; is && text != "" {
		c.actual[to] = c.meant[to] + "---\nspeck: {}\n"
	}
	delete(c.meant, from)
	c.puts(to)
	c.puts(from)
}

func (c *chaos) swap(t *rapid.T) {
	a, b := c.file(t), c.file(t)
	_, isSpoilt := c.actual[a]
	_, isAlso := c.actual[b]
	if isSpoilt || isAlso || c.copies[a] || c.copies[b] {
		return
	}
	c.says("somebody swaps what %s and %s hold", a, b)
	c.meant[a], c.meant[b] = c.meant[b], c.meant[a]
	c.puts(a)
	c.puts(b)
}

// recreate gives a pod another uid or another name.
func (c *chaos) recreate(t *rapid.T) {
	name := c.file(t)
	if _, isSpoilt := c.actual[name]; isSpoilt || c.copies[name] {
		return
	}
	what := rapid.SampledFrom([]string{"pod-", "uid-"}).Draw(t, "what")
	c.pods++
	c.meant[name] = strings.Replace(c.meant[name], what, fmt.Sprintf("%s%dx", what, c.pods), 1)
	c.says("somebody edits %s: %v", name, c.of(c.meant[name]))
	c.puts(name)
	c.forget()
}

func (c *chaos) spoil(t *rapid.T) {
	name := c.file(t)
	text := c.meant[name]
	c.actual[name] = rapid.SampledFrom([]string{
		"", "kind: [\n", text + "---\nspeck: {}\n", text[:len(text)-20], "kind: [\n" + text,
	}).Draw(t, "bad")
	c.says("somebody spoils %s: %q", name, c.actual[name])
	c.puts(name)
}

func (c *chaos) mend(t *rapid.T) {
	for _, name := range slices.Sorted(maps.Keys(c.actual)) {
		c.says("somebody mends %s", name)
		delete(c.actual, name)
		c.puts(name)
		return
	}
}

// copy is somebody who copies a pod and forgets to change its uid, or its name.
func (c *chaos) copy(t *rapid.T) {
	from, to := c.file(t), c.free()
	if c.copies[from] || strings.Contains(c.meant[from], "---") {
		return
	}
	c.pods++
	what := rapid.SampledFrom([]string{"pod-", "uid-", "nothing"}).Draw(t, "changes")
	c.meant[to] = strings.Replace(c.meant[from], what, fmt.Sprintf("%s%dx", what, c.pods), 1)
	c.copies[to] = true
	c.says("somebody copies %s to %s by mistake: %v", from, to, c.of(c.meant[to]))
	c.puts(to)
}

func (c *chaos) correct(*rapid.T) {
	for _, name := range slices.Sorted(maps.Keys(c.copies)) {
		c.says("somebody removes %s", name)
		c.drop(name)
		return
	}
}

func (c *chaos) loseCopies(t *rapid.T) {
	c.isLossy = true
	var lost []string
	for at := range c.names {
		if name, is := strings.CutPrefix(at, cache+"/"); is {
			lost = append(lost, name)
		}
	}
	if slices.Sort(lost); !rapid.Bool().Draw(t, "all") && len(lost) > 0 {
		lost = rapid.SliceOfNDistinct(rapid.SampledFrom(lost), 1, -1, rapid.ID).Draw(t, "lost")
	}
	c.says("somebody removes of the agent's own files: %q", lost)
	c.loses(lost...)
}

// fillDisk has writes of copies fail until it is called again.
func (c *chaos) fillDisk(*rapid.T) {
	c.turns("write "+cache+"/"+next, syscall.ENOSPC)
	c.turns("append "+cache+"/"+ledger, syscall.ENOSPC)
}

// breakDisk has one of the steps fail by which something becomes durable, until it is drawn again.
func (c *chaos) breakDisk(t *rapid.T) {
	c.turns(rapid.SampledFrom([]string{
		"sync " + path.Dir(cache), "sync " + cache, "sync " + cache + "/" + next, "sync " + cache + "/" + ledger,
		"write " + cache + "/" + next, "append " + cache + "/" + ledger, "remove " + cache + "/" + kept,
	}).Draw(t, "step"), syscall.EIO)
}

// turns has a call fail, or work again.
func (c *chaos) turns(call string, with syscall.Errno) {
	if c.isLossy = true; c.fail[call] == nil {
		c.fail[call] = errno("write", cache, with)
		c.says("%s fails", call)
		return
	}
	delete(c.fail, call)
	c.says("%s works again", call)
}

// mayAsk: the agent's own files were lost, or could not be written, so it may ask a person what is gone.
func (c *chaos) mayAsk() bool {
	troubles := slices.Collect(maps.Values(c.troubles()))
	return c.isLossy && slices.ContainsFunc(troubles, func(t hal.Trouble) bool { return t.Accept })
}

// endsWell puts all in order. Then what is meant is served, and nothing else.
func (c *chaos) endsWell() {
	clear(c.actual)
	clear(c.fail)
	for name := range maps.Clone(c.copies) {
		if c.copies[name] {
			c.drop(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.meant)) {
		c.puts(name)
	}
	c.says("all is put in order")
	c.lives(5*time.Minute, 0)
	if c.mayAsk() {
		c.says("somebody accepts what is missing")
		c.cloud.(*Cluster).Accept()
		c.lives(5*time.Minute, 0)
	}
	want := map[hal.Identity]bool{}
	for _, text := range c.meant {
		for _, id := range c.of(text) {
			want[id] = true
		}
	}
	isSynced := slices.Contains(c.raw, hal.ClusterEvent(hal.Synced{Source: Source}))
	if !maps.Equal(want, c.served) || len(c.troubles()) > 0 || !isSynced {
		c.fails("in the end people want %v, and the reader serves %v; troubles: %v", want, c.served, c.troubles())
	}
}

func TestWhatIsMeantOutlastsChaos(t *testing.T) {
	for name, without := range map[string][]string{
		"nothing is lost":    {"lose", "full", "break"},
		"nobody errs":        {"copy", "full", "break"},
		"the disk is full":   {"copy", "lose", "spoil", "break"},
		"the disk is broken": {"copy", "lose", "spoil", "full"},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				c := newChaos(t, rt)
				actions := c.actions()
				for _, action := range without {
					delete(actions, action)
				}
				rt.Repeat(actions)
				c.endsWell()
				c.again()
				c.endsWell()
			})
		})
	}
}
