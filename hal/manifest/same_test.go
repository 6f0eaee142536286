package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// This file makes sure that a reading of what has changed comes to the same as a reading of everything.

// dice are what people do.
type dice struct {
	*rand.Rand
	kinds int // of edits: all if 0
}

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

// document is one of few objects, so that many have a name or a uid in common.
func (d dice) document() string {
	switch name, uid := d.one("a", "b", "c", "d"), d.one("", "u1", "u2", "u3"); d.IntN(6) {
	case 0:
		if d.IntN(2) == 0 {
			return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {a: '" + d.one("x", "y") + "'}\n"
		}
		return secretOf(name, d.one("x", "y"))
	case 1:
		return "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: " + name +
			"}\nspec: {attachRequired: " + d.one("true", "false") + "}\n"
	case 2:
		return strings.Replace(pod(name), "{name: "+name, "{namespace: "+d.one("x", "y")+", name: "+name, 1)
	case 3:
		return strings.Replace(pod(name), "spec: {", "spec: {nodeName: "+d.one("node1", "node2")+", ", 1)
	default:
		if uid == "" {
			return pod(name)
		}
		return owned(name, uid)
	}
}

func (d dice) text() string {
	switch d.IntN(12) {
	case 0:
		return "kind: [\n"
	case 1:
		return "speck: " + d.one("a", "b", "u1", "u2") + "\n"
	case 2:
		return strings.TrimSuffix(pod(d.one("a", "b", "c")), "\n")[:40]
	case 3:
		return d.document() + "---\n" + d.document()
	}
	return d.document()
}

// hands edit the files of two worlds in the same way.
func (d dice) edit(worlds ...*world) {
	names := []string{"a.yaml", "b.yaml", "c.yaml", "d.json", "e.yml", "f.yaml", "x.txt"}
	name, other, text, what := d.one(names...), d.one(names...), d.text(), d.IntN(cmp.Or(d.kinds, 28))
	for _, w := range worlds {
		at := dir + "/" + name
		switch {
		case what < 11:
			w.put(name, text)
			w.touch(name)
		case what < 14:
			w.rm(name)
		case what < 17 && w.names[at].Type == hal.TypeFile: // as mv
			w.put(other, w.data[at]).touch(other)
			w.rm(name)
		case what == 17:
			w.names[at] = hal.Info{Type: hal.TypeDirectory, Mode: 0o755}
			w.rings(name)
		case what == 18:
			w.names[at] = hal.Info{Type: hal.TypeFile, Mode: 0o666}
			w.touch(name).rings(name)
		case what == 19:
			w.fail["read "+at] = errno("read", at, syscall.EIO)
			w.touch(name).rings(name)
		case what == 20:
			clear(w.fail)
			w.rings()
		case what == 21:
			w.born = 7 + int64(len(text)%2)
		case what == 22:
			w.takesNoWrites(syscall.ENOSPC)
		case what == 23:
			w.fail["stat "+at] = errno("stat", at, syscall.EIO)
			w.rings(name)
		case what == 24:
			w.cloud.(*Cluster).Accept()
		case what == 25:
			w.loses(ledger)
		case what == 26:
			w.loses(w.ours("")...)
		case what == 27:
			w.loses(name)
		}
	}
}

// touch has a file show that it is another one.
func (w *world) touch(name string) *world {
	if info, ok := w.names[dir+"/"+name]; ok {
		w.ticks++
		info.Inode, info.Size, info.Changed = uint64(w.ticks), int64(len(w.data[dir+"/"+name])), 1_000_000+w.ticks
		w.names[dir+"/"+name] = info
	}
	return w
}

// Two agents live through the same. One is told which names have changed, the other that anything may have. They tell
// of the same.
func TestAReadingByNameComesToTheSame(t *testing.T) {
	runs := 3000
	if testing.Short() {
		runs = 60
	}
	for seed := range uint64(runs) {
		d := dice{Rand: rand.New(rand.NewPCG(seed, 1))}
		byName, byAll := newWorld(t), newWorld(t)
		byAll.isAlwaysAny = true
		byName.start()
		byAll.start()
		for step := range 60 {
			for range 1 + d.IntN(3) {
				d.edit(byName, byAll)
			}
			pause := time.Duration(d.IntN(10)) * 90 * time.Millisecond
			if d.IntN(4) == 0 {
				pause = 15 * time.Second
			}
			isDead := d.IntN(15) == 0
			for _, w := range []*world{byName, byAll} {
				w.pass(pause)
				if isDead {
					w.start()
				}
			}
			at := fmt.Sprintf("seed %d, step %d", seed, step)
			require.Equal(t, byAll.decided(), byName.decided(), at)
			all, some := byAll.cloud.(*Cluster), byName.cloud.(*Cluster)
			require.ElementsMatch(t, slices.Collect(maps.Keys(all.troubles)),
				slices.Collect(maps.Keys(some.troubles)), at)
			require.ElementsMatch(t, slices.Collect(maps.Keys(all.known)), slices.Collect(maps.Keys(some.known)), at)
			some.state.requireIndexed(t, at)
		}
		byName.unlessCopies(t, byAll, seed)
	}
}

// decided is what was told, but for texts about disputes: who is served comes first from then on, so another may be the
// one to dispute with.
func (w *world) decided() []string {
	return slices.DeleteFunc(slices.Clone(w.events), func(e string) bool { return strings.Contains(e, ": "+dir+"/") })
}

// placesOf is where disputes are.
func placesOf(s state) (all []string) {
	for _, troubles := range s.disputes.all() {
		for _, t := range troubles {
			all = append(all, t.Where)
		}
	}
	slices.Sort(all)
	return all
}

// unlessCopies makes sure that the same copies are kept, and the same ledger.
func (w *world) unlessCopies(t *testing.T, other *world, seed uint64) {
	for _, is := range []*world{w, other} {
		clear(is.fail)
		is.pass(60 * second)
		is.changed().pass(60 * second)
	}
	copies, packs := w.kept()
	otherCopies, otherPacks := other.kept()
	require.Equal(t, otherCopies, copies, seed)
	require.Equal(t, otherPacks, packs, seed)
	require.Equal(t, other.book().lines.base, w.book().lines.base, seed)
}

// requireIndexed makes sure that the indexes of a state are what the files make them.
func (s state) requireIndexed(t *testing.T, at string) {
	again := state{}.begin()
	for name, f := range s.files.all() {
		again.put(name, f)
	}
	again = again.merge()
	require.Equal(t, again.holders.base, s.holders.base, at)
	require.Equal(t, again.restless.base, s.restless.base, at)
	for in, is := range s.packs.all() {
		require.Equal(t, again.packs.of(in).living, is.living, at)
	}
	require.Equal(t, again.packs.len(), s.packs.len(), at)
}

// What is resolved by what has changed comes to the same as when all is.
func TestAResolutionOfSomeComesToTheSame(t *testing.T) {
	runs := 3000
	if testing.Short() {
		runs = 500
	}
	for seed := range uint64(runs) {
		d := dice{Rand: rand.New(rand.NewPCG(seed, 2))}
		some, all := state{}.begin().merge(), state{}.begin().merge()
		for step := range 30 {
			at := fmt.Sprintf("seed %d, step %d", seed, step)
			some, all = some.begin(), all.begin()
			for range 1 + d.IntN(3) {
				name := fmt.Sprint(d.IntN(9), ".yaml")
				f, isGone := d.file(), d.IntN(4) == 0
				for _, s := range []*state{&some, &all} {
					if isGone {
						s.forget(name)
					} else {
						s.put(name, f)
					}
				}
			}
			everything := slices.Concat(slices.Collect(maps.Keys(all.files.base)), all.touched())
			keepAll := d.IntN(5) == 0
			r := resolver{o: Options{Dir: dir, NodeName: "node1"}, keepAll: keepAll}
			require.Equal(t, all.resolve(r, everything),
				some.resolve(r, append(some.touched(), some.restlessly()...)), at)
			some.served, all.served = true, true
			some, all = some.merge(), all.merge()
			require.Equal(t, all.objects.base, some.objects.base, at)
			require.Equal(t, all.kept, some.kept, at)
			require.Equal(t, placesOf(all), placesOf(some), at)
			for name, f := range all.files.base {
				require.ElementsMatch(t, f.refused, some.files.base[name].refused, at)
			}
		}
	}
}

// file draws what a manifest may have come to.
func (d dice) file() (f file) {
	f = file{known: true, copied: true}
	for range 1 + d.IntN(2) {
		if c, err := decode("node1", "x.yaml", []byte(d.document())); err == nil {
			f.objects = append(f.objects, c.objects...)
		}
	}
	if d.IntN(5) == 0 {
		f.problem = "is bad"
		f.texts = []text{(*Memo)(nil).textOf([]byte(d.text()))}
		f.known = d.IntN(3) > 0
	}
	f.opaque = d.IntN(20) == 0
	f.going = d.IntN(20) == 0
	return f
}
