package scenarios

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is people who put something else in the place of the directory of manifests: another directory, by one
// rename, or a link. Another directory says nothing of what is missing in it: nobody has deleted those pods. What comes
// in it counts, and so does what goes from it.

// swapping is what somebody does to the directory of manifests.
type swapping uint8

const (
	notSwapped   swapping = iota
	byRename              // a copy, with some of the manifests, comes into its place
	byLink                // a link comes into its place, which leads to the directory
	byTurnedLink          // the link is turned to the copy in the middle of the time
	// the directory is removed and made again with the manifests of the copy: its inode has the same number.
	byRemake
)

const (
	besideManifests = lang.ManifestDir + ".next"
	awayManifests   = lang.ManifestDir + ".away"
)

// swapsManifests does it for a while. keeps says which manifests the copy has; returns, whether the former directory
// comes back, or the copy stays.
func (r *run) swapsManifests(how swapping, keeps func(file string) bool, returns bool, d time.Duration) {
	if r.swapped != notSwapped || r.isAside() || r.w.Off() {
		return
	}
	r.w.MakeDir(besideManifests)
	for _, name := range r.w.Entries(lang.ManifestDir) {
		if kind, _ := r.w.Exists(lang.ManifestDir + "/" + name); kind == hal.TypeFile && keeps(name) {
			r.w.WriteFile(besideManifests+"/"+name, r.w.ReadFile(lang.ManifestDir+"/"+name))
		}
	}
	if how == byRename || how == byRemake {
		if how == byRename && r.w.Exchange(lang.ManifestDir, besideManifests) != 0 || how == byRemake &&
			!r.remakesManifests() {
			return
		}
		r.swapped = how
		r.w.After(d, "the swap of the manifests ends", func() { r.swapsBack(returns) })
		return
	}
	if r.w.Move(lang.ManifestDir, awayManifests) != 0 {
		return
	}
	_ = r.w.Symlink(awayManifests, lang.ManifestDir) // the name is free
	r.swapped, r.isLinked = how, true
	r.delays(d + lengthy)
	if how == byTurnedLink {
		r.w.After(d/2, "the link to the manifests is turned", func() {
			if r.isLinked {
				_ = r.w.RemoveFile(lang.ManifestDir)
				_ = r.w.Symlink(besideManifests, lang.ManifestDir)
			}
		})
	}
	r.w.After(d, "the link to the manifests goes", func() { r.swapsBack(true) })
}

// lacksManifests: in the place of the directory of manifests is another one that lacks some: an object of a pod that
// comes may be among them.
func (r *run) lacksManifests() bool {
	if r.swapped == notSwapped {
		return false
	}
	for file, object := range r.written { // the order does not matter
		if _, is := r.w.Exists(file); object != nil && !is {
			return true
		}
	}
	return false
}

// remakesManifests makes the directory again, as its copy is.
func (r *run) remakesManifests() bool {
	if r.w.Remake(lang.ManifestDir) != 0 {
		return false
	}
	for _, name := range r.w.Entries(besideManifests) {
		r.w.WriteFile(lang.ManifestDir+"/"+name, r.w.ReadFile(besideManifests+"/"+name))
	}
	return true
}

// swapsBack ends it: who did it puts right what the directory lacks, and what was deleted meanwhile.
func (r *run) swapsBack(returns bool) {
	if r.swapped == notSwapped || !r.isLinked && r.defers(func() { r.swapsBack(returns) }) {
		return
	}
	switch {
	case r.isLinked:
		_ = r.w.RemoveFile(lang.ManifestDir)
		_ = r.w.Move(awayManifests, lang.ManifestDir)
	case returns && r.swapped == byRename:
		_ = r.w.Exchange(lang.ManifestDir, besideManifests)
	}
	r.swapped, r.isLinked = notSwapped, false
	for _, name := range r.w.Entries(besideManifests) { // the directory itself may come again
		_ = r.w.RemoveFile(besideManifests + "/" + name)
	}
	r.putsAll()
	r.catchesUp()
}

// putsAll makes the directory hold what people want it to hold.
func (r *run) putsAll() {
	for _, file := range slices.Sorted(maps.Keys(r.written)) {
		if text, isSecret := r.written[file].(string); isSecret {
			r.w.WriteFile(file, []byte(text))
		} else {
			r.puts(file, r.written[file])
		}
	}
	r.unlinksAgain()
}

// isAside: nobody can edit manifests at their place.
func (r *run) isAside() bool { return r.isCovered || r.isLinked }

// catchesUp makes the edits that nobody could make.
func (r *run) catchesUp() {
	if r.isAside() {
		return
	}
	deferred := r.deferred
	r.deferred = nil
	for _, f := range deferred {
		f()
	}
}

// looksForMissing is a person who looks each minute at what is missing in another directory than before. What should be
// there is put back; once all that is missing was deleted, they say so.
func (r *run) looksForMissing() {
	r.w.After(time.Minute, "a person looks for missing manifests", r.looksForMissing)
	if r.swapped != notSwapped || r.isAside() || !r.alive() || len(r.missing) == 0 {
		return
	}
	for file := range r.missing { // the order does not matter
		if r.written[file] != nil {
			r.putsAll()
			return
		}
	}
	r.acceptsMissing()
}

// acceptsMissing is volnode sources --accept.
func (r *run) acceptsMissing() {
	r.w.Do(func() { r.source.Accept() })
}

// hearsOfMissing notes what the agent tells of manifests that are missing in another directory.
func (r *run) hearsOfMissing(t hal.Trouble) {
	if t.Accept {
		r.missing[t.Where] = true
	} else {
		delete(r.missing, t.Where)
	}
}

// planSwaps draws when somebody does that.
func (g *workload) planSwaps() {
	g.r.isTended = true
	g.r.w.After(time.Minute, "a person looks for missing manifests", g.r.looksForMissing)
	if g.pick("workload.swap", "", 0, 1, 1) == 0 {
		return
	}
	for n := range 2 {
		how := swapping(g.pick("workload.swap-how", "", n, 1, 4, 1, 1, 2))
		if how == notSwapped {
			continue
		}
		keeps := g.pick("workload.swap-keeps", "", n, 1, 2, 1)
		g.at(g.time("workload.swap-time", "", n, cases.Chaos), "manifests", func() {
			last := time.Second + g.time("workload.swap-lasts", "", n, awayMost)
			if g.pick("workload.swap-away", "", n, 2, 1) == 1 {
				g.r.sleeps(last / 2)
			}
			returns := g.pick("workload.swap-back", "", n, 1, 1) == 1
			g.r.swapsManifests(how, func(file string) bool {
				return keeps == 0 || keeps == 1 && g.pick("workload.swap-file", file, n, 1, 1) == 1
			}, returns, last)
		})
	}
}

// swap is a statement.
func (t *scene) swap(how swapping, without string, d time.Duration) string {
	if !t.s.Files {
		return "only manifests can be swapped; write: objects from files"
	}
	file := ""
	if without != "" {
		object, _ := t.pod(without)
		file = strings.TrimPrefix(t.r.fileOf(object), lang.ManifestDir+"/")
	}
	t.r.swapsManifests(how, func(name string) bool { return file != "" && name != file }, true, d)
	if t.r.swapped != how {
		return "the directory of manifests is not where it was"
	}
	return ""
}

// accept is a statement. An agent that dies before it counts has not heard it: whoever said it looks again.
func (t *scene) accept() string {
	t.r.acceptsMissing()
	if !t.r.isTended {
		t.r.isTended = true
		t.w.After(time.Minute, "a person looks for missing manifests", t.r.looksForMissing)
	}
	return ""
}

// otherCopies puts the copies of manifests of another node in the place of this node's: one of a pod, and their ledger.
func (t *scene) otherCopies(node, pod string) string {
	if !t.s.Files || t.w.AgentLives() {
		return "only copies of manifests, while no agent lives; write: objects from files; kill it for a while first"
	}
	object, _ := t.pod(pod)
	dir, name := lang.RootDir+"/volnode/manifests", path.Base(t.r.fileOf(object))
	t.removeTree(dir)
	t.w.MakeDir(dir)
	t.w.WriteFile(dir+"/"+name, manifestOf(object))
	t.w.WriteFile(dir+"/.ledger.json", fmt.Appendf(nil, `{"owner":{"node":%q},"files":{%q:{"in":{}}}}`+"\n", node, name))
	return ""
}

// changeKept has somebody change the uid of a pod in what bad manifests keep: what it says can be read all the same.
func (t *scene) changeKept(pod string) string {
	object, _ := t.pod(pod)
	file, uid := lang.RootDir+"/volnode/manifests/.kept.json", []byte(object.UID)
	data := t.w.ReadFile(file)
	if t.w.AgentLives() || !bytes.Contains(data, uid) {
		return "only what a bad manifest keeps, while no agent lives; kill it for a while first"
	}
	t.w.WriteFile(file, bytes.Replace(data, uid[len(uid)-4:], []byte("0bad"), 1))
	return ""
}

// swapActions are the statements about what comes into the place of the directory of manifests, or of the journal.
func swapActions() []action {
	return []action{
		{"copy journal", func(t *scene, _ []string) string { return t.r.copiesJournal() }},
		{"restore journal", func(t *scene, _ []string) string { return t.r.restoresJournal() }},
		{
			"make the journal one of root directory PATH",
			func(t *scene, a []string) string { return t.otherJournal(inRoot(a[0])) },
		},
		{"make the journal one of node NAME", func(t *scene, a []string,
		) string {
			return t.otherJournal(ofNode(a[0]))
		}},
		{"change the uid of pod POD in what is kept", func(t *scene, a []string) string { return t.changeKept(a[0]) }},
		{"put copies of manifests of node NAME with pod POD", func(t *scene, a []string) string {
			return t.otherCopies(a[0], a[1])
		}},
		{
			"swap the manifests for an empty directory for TIME",
			func(t *scene, a []string) string { return t.swap(byRename, "", duration(a[0])) },
		},
		{
			"swap the manifests for a copy without pod POD for TIME",
			func(t *scene, a []string) string { return t.swap(byRename, a[0], duration(a[1])) },
		},
		{
			"recreate the manifests without pod POD for TIME",
			func(t *scene, a []string) string { return t.swap(byRemake, a[0], duration(a[1])) },
		},
		{"turn the manifests into a link for TIME", func(t *scene, a []string,
		) string {
			return t.swap(byTurnedLink, "", duration(a[0]))
		}},
		{"accept the missing manifests", func(t *scene, _ []string) string { return t.accept() }},
	}
}
