package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// forms changes the forms that lie in packs.
func (w *world) forms(change func(all map[string][]byte, name string)) *world {
	_, packs := w.kept()
	for _, in := range packs {
		all := map[string][]byte{}
		require.NoError(w.t, json.Unmarshal([]byte(w.data[cache+"/"+in]), &all))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if strings.HasPrefix(name, beginsForm) {
				change(all, name)
			}
		}
		data, err := json.Marshal(all)
		require.NoError(w.t, err)
		w.data[cache+"/"+in] = string(data)
	}
	return w
}

// named gives each pack the name of what is in it, as if it had been written so.
func (w *world) named() *world {
	_, packs := w.kept()
	for _, in := range packs {
		data, info := w.data[cache+"/"+in], w.names[cache+"/"+in]
		delete(w.data, cache+"/"+in)
		delete(w.names, cache+"/"+in)
		is := packName(sha256.Sum256([]byte(data)))
		w.data[cache+"/"+is], w.names[cache+"/"+is] = data, info
		w.data[cache+"/"+ledger] = strings.ReplaceAll(w.data[cache+"/"+ledger], in, is)
	}
	return w
}

// lists is a text with all that a manifest may hold but for Secrets.
const lists = "# of many\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, " +
	"metadata: {name: m}, data: {no: 'yes'}}\n- apiVersion: v1\n  kind: Pod\n" +
	"  metadata: {name: listed, annotations: {}}\n  spec:\n    containers: [{name: c, image: x, resources: {limits: " +
	"{cpu: 0.5, memory: 1Gi}}}]\n" +
	"    volumes: [{name: d, emptyDir: {sizeLimit: 1e3}}, {name: h, hostPath: {path: /a, type: ''}}]\n---\n" +
	"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {accessModes: [ReadWriteOnce], capacity: " +
	"{storage: 1Gi}, " +
	"csi: {driver: d, volumeHandle: h, readOnly: off, volumeAttributes: {}}}\n"

// What is made of a form is what is made of its text, to the last field that is empty and not missing.
func TestAFormIsItsText(t *testing.T) {
	d := dice{Rand: rand.New(rand.NewPCG(1, 1))}
	texts := []string{lists, pod("a"), "# c\n---\n" + pod("b") + "---\n" + pod("c")}
	for range 500 {
		texts = append(texts, d.text())
	}
	for _, text := range texts {
		is := sum(sha256.Sum256([]byte(text)))
		want, err := decode("node1", "x.yaml", []byte(text))
		if err != nil {
			continue
		}
		form := formOf(want, is)
		got, ok := understand("node1", is, form)
		require.Equal(t, !slices.ContainsFunc(want.objects, object.isSecret), ok, text)
		if ok {
			require.Equal(t, want.objects, got.objects)
			require.Equal(t, form, formOf(got, is))
		}
	}
}

// A form of one byte more, less or other serves nobody, and neither does that of another text.
func TestAFormThatIsDamagedIsNone(t *testing.T) {
	text := sum(sha256.Sum256([]byte(lists)))
	c, err := decode("node1", "x.yaml", []byte(lists))
	require.NoError(t, err)
	form := formOf(c, text)
	for at := range form {
		for _, bit := range []byte{1, 0x80} {
			bad := slices.Clone(form)
			bad[at] ^= bit
			_, ok := understand("node1", text, bad)
			require.False(t, ok, at)
		}
		_, ok := understand("node1", text, form[:at])
		require.False(t, ok, at)
	}
	_, ok := understand("node1", sum{}, form)
	require.False(t, ok)
}

// A form is read by other versions: who changes what it holds, or what is made of a text, changes the name that the
// seal is made of.
func TestFormsAreWhatTheyWere(t *testing.T) {
	c, err := decode("node1", "x.yaml", []byte(lists))
	require.NoError(t, err)
	is := sha256.Sum256(formOf(c, sum{}))
	require.Equal(t, "bd06f34e22a780b8", hex.EncodeToString(is[:8]), "change the constant formed, and this")
}

// A start reads no YAML of what it knows. A form that is damaged, of another manifest, or not there costs YAML and
// nothing else.
func TestAStartTrustsNoFormThatItMayNot(t *testing.T) {
	other := pod("other")
	c, err := decode("node1", "x.yaml", []byte(other))
	require.NoError(t, err)
	for how, change := range map[string]func(all map[string][]byte, name string){
		"good":    func(map[string][]byte, string) {},
		"damaged": func(all map[string][]byte, name string) { all[name][len(all[name])-9] ^= 1 },
		"other":   func(all map[string][]byte, name string) { all[name] = formOf(c, sha256.Sum256([]byte(other))) },
		"gone":    func(all map[string][]byte, name string) { delete(all, name) },
		"its text is damaged": func(all map[string][]byte, name string) {
			of := strings.TrimPrefix(name, beginsForm)
			all[of] = []byte(strings.Replace(string(all[of]), "name: pod-", "name: bad-", 1))
		},
	} {
		w := newWorld(t).many(8).start().forms(change)
		w.put("pod-1.yaml", "kind: [").start().pass(5 * second)
		is := w.changes()
		require.Contains(t, is, "+pod-7/", how)
		require.NotContains(t, is, "other", how)
		require.Equal(t, how != "its text is damaged", strings.Contains(is, "+pod-1/"),
			"%s: it says what its text says", how)
	}
}

// Copies without a form are put together at a start. Whatever is lost of that at a death, the next start knows them
// all.
func TestCopiesWithoutAFormAreGathered(t *testing.T) {
	for dies, lost, isOver := 1, uint(0), false; !isOver; lost++ {
		w := newWorld(t).start()
		for i := range 6 {
			w.put(fmt.Sprint("pod-", i, ".yaml"), pod(fmt.Sprint("pod-", i))).pass(5 * second)
		}
		w.put("s.yaml", secretOf("s", "x")).pass(5 * second)
		copies, packs := w.kept()
		require.Len(t, copies, 7)
		require.Empty(t, packs)
		w.gathers = 6
		isAlive := !w.dying(dies, func() { w.start() })
		isAll := lost+1 >= 1<<len(w.loose)
		isOver = isAlive && isAll
		if isAlive {
			copies, packs = w.kept()
			require.Equal(t, []string{"s.yaml"}, copies)
			require.Len(t, packs, 1)
		}
		w.cutsPower(lost)
		for i := range 6 {
			w.put(fmt.Sprint("pod-", i, ".yaml"), "kind: [")
		}
		is := w.start().pass(10 * second).changes()
		for i := range 6 {
			require.Contains(t, is, fmt.Sprint("+pod-", i, "/"), "dies at %d, loses %b", dies, lost)
		}
		require.Contains(t, is, "synced")
		if isAll {
			dies, lost = dies+1, ^uint(0)
		}
	}
}

// Two agents live through the same. All forms of one are lost or damaged in each of its deaths. They tell of the same.
// So they do if one gathers copies, as long as nothing happens to the copies themselves.
func TestAStartWithoutFormsComesToTheSame(t *testing.T) {
	runs := 300
	if testing.Short() {
		runs = 60
	}
	formed := 0
	for seed := range uint64(2 * runs) {
		d := dice{Rand: rand.New(rand.NewPCG(seed, 3))}
		good, bad := newWorld(t), newWorld(t)
		good.gathers, bad.gathers = 1<<20, 1<<20
		if seed%2 == 0 {
			d.kinds, good.gathers = 22, 1+d.IntN(3)
		}
		good.start()
		bad.start()
		for step := range 40 {
			for range 1 + d.IntN(3) {
				d.edit(good, bad)
			}
			pause, isDead := time.Duration(d.IntN(10))*90*time.Millisecond, d.IntN(4) == 0
			if d.IntN(3) == 0 {
				pause = 15 * time.Second
			}
			good.pass(pause)
			bad.pass(pause)
			if isDead {
				good.forms(func(map[string][]byte, string) { formed++ }).start()
				bad.forms(func(all map[string][]byte, name string) {
					if delete(all, name); step%2 == 0 {
						all[name] = make([]byte, 99)
					}
				}).named().start()
			}
			at := fmt.Sprintf("seed %d, step %d", seed, step)
			require.Equal(t, good.events, bad.events, at)
			require.Equal(t, good.cloud.(*Cluster).troubles, bad.cloud.(*Cluster).troubles, at)
			require.Equal(t, good.cloud.(*Cluster).state.objects.base, bad.cloud.(*Cluster).state.objects.base, at)
			good.cloud.(*Cluster).state.requireIndexed(t, at)
		}
	}
	require.Greater(t, formed, runs)
}

// A start decodes the YAML of no manifest whose form lies beside its copy, and needs half of the memory.
func TestAStartOfManyDecodesNoYAML(t *testing.T) {
	w := newWorld(t).many(1000).start()
	load := func() (formed int, allocations float64) {
		w.start()
		for _, f := range w.cloud.(*Cluster).state.files.all() {
			if f.isFormed {
				formed++
			}
		}
		r := w.cloud.(*Cluster).reader()
		return formed, testing.AllocsPerRun(3, func() {
			clear(r.packs)
			_, err := r.load()
			require.NoError(t, err)
		})
	}
	formed, with := load()
	require.Equal(t, 1000, formed)
	w.gathers = 1 << 20 // they stay as they are
	w.forms(func(all map[string][]byte, name string) { delete(all, name) }).named()
	formed, without := load()
	require.Zero(t, formed)
	require.Less(t, 2*with, without)
}
