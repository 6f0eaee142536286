package workload

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
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is people who put something else in the place of the directory of manifests: another directory, by one
// rename, or a link. Another directory says nothing of what is missing in it: nobody has deleted those pods. What comes
// in it counts, and so does what goes from it.

const (
	besideManifests = lang.ManifestDir + ".next"
	awayManifests   = lang.ManifestDir + ".away"
)

// swapsManifests does it for a while. keeps says which manifests the copy has; returns, whether the former directory
// comes back, or the copy stays.
func swapsManifests(r *world.Run, how world.Swapping, keeps func(file string) bool, returns bool, d time.Duration) {
	if r.Swapped != judges.NotSwapped || r.IsAside() || r.W.Off() {
		return
	}
	if r.W.IsUnread(lang.ManifestDir) || r.Alive() && len(r.Missing()) > 0 {
		// The copy of the last swap was the directory that the agent knows, or saw last what is missing now. It would come
		// back with other contents, and nothing could tell that from people who edit it where it is.
		_ = r.W.RemoveDir(besideManifests)
	}
	r.W.MakeDir(besideManifests)
	for _, name := range r.W.Entries(lang.ManifestDir) {
		if kind, _ := r.W.Exists(lang.ManifestDir + "/" + name); kind == hal.TypeFile && keeps(name) {
			r.W.WriteFile(besideManifests+"/"+name, r.W.ReadFile(lang.ManifestDir+"/"+name))
		}
	}
	if how == judges.ByRename || how == judges.ByRemake {
		if how == judges.ByRename && r.W.Exchange(lang.ManifestDir, besideManifests) != 0 || how == judges.ByRemake &&
			!remakesManifests(r) {
			return
		}
		r.Swapped = how
		r.W.After(d, "the swap of the manifests ends", func() { SwapsBack(r, returns) })
		return
	}
	if r.W.Move(lang.ManifestDir, awayManifests) != 0 {
		return
	}
	_ = r.W.Symlink(awayManifests, lang.ManifestDir) // the name is free
	r.Swapped, r.IsLinked = how, true
	judges.Delays(r, d+judges.Lengthy)
	if how == judges.ByTurnedLink {
		r.W.After(d/2, "the link to the manifests is turned", func() {
			if r.IsLinked {
				_ = r.W.RemoveFile(lang.ManifestDir)
				_ = r.W.Symlink(besideManifests, lang.ManifestDir)
			}
		})
	}
	r.W.After(d, "the link to the manifests goes", func() { SwapsBack(r, true) })
}

// remakesManifests makes the directory again, as its copy is.
func remakesManifests(r *world.Run) bool {
	if r.W.Remake(lang.ManifestDir) != 0 {
		return false
	}
	for _, name := range r.W.Entries(besideManifests) {
		r.W.WriteFile(lang.ManifestDir+"/"+name, r.W.ReadFile(besideManifests+"/"+name))
	}
	return true
}

// SwapsBack ends it: who did it puts right what the directory lacks, and what was deleted meanwhile.
func SwapsBack(r *world.Run, returns bool) {
	if r.Swapped == judges.NotSwapped || !r.IsLinked && r.Defers(func() { SwapsBack(r, returns) }) {
		return
	}
	switch {
	case r.IsLinked:
		_ = r.W.RemoveFile(lang.ManifestDir)
		_ = r.W.Move(awayManifests, lang.ManifestDir)
	case returns && r.Swapped == judges.ByRename:
		_ = r.W.Exchange(lang.ManifestDir, besideManifests)
	}
	r.Swapped, r.IsLinked = judges.NotSwapped, false
	for _, name := range r.W.Entries(besideManifests) { // the directory itself may come again
		_ = r.W.RemoveFile(besideManifests + "/" + name)
	}
	r.W.SyncDirectory(besideManifests) // what was removed from it does not come again with it after a power cut
	putsAll(r)
	judges.CatchesUp(r)
}

// putsAll makes the directory hold what people want it to hold.
func putsAll(r *world.Run) {
	for _, file := range slices.Sorted(maps.Keys(r.Written)) {
		if text, isSecret := r.Written[file].(string); isSecret {
			r.W.WriteFile(file, []byte(text))
		} else {
			r.Puts(file, r.Written[file])
		}
	}
	judges.UnlinksAgain(r)
}

// LooksForMissing is a person who looks each minute at what is missing in another directory than before. What should be
// there is put back; once all that is missing was deleted, they say so.
func LooksForMissing(r *world.Run) {
	r.W.After(time.Minute, "a person looks for missing manifests", func() { LooksForMissing(r) })
	if r.Swapped != judges.NotSwapped || r.IsAside() || !r.Alive() || len(r.Missing()) == 0 {
		return
	}
	if missesWanted(r) {
		putsAll(r)
		return
	}
	acceptsMissing(r)
}

// missesWanted reports whether people want an object of a manifest that is missing.
func missesWanted(r *world.Run) bool {
	return slices.ContainsFunc(r.Missing(), func(file string) bool { return r.Written[file] != nil })
}

// acceptsMissing is volnode sources --accept.
func acceptsMissing(r *world.Run) {
	r.W.Do(func() { r.Source.Accept() })
}

// planSwaps draws when somebody does that.
func (g *Workload) planSwaps() {
	g.R.IsTended = true
	g.R.W.After(time.Minute, "a person looks for missing manifests", func() { LooksForMissing(g.R) })
	if g.Pick("workload.swap", "", 0, 1, 1) == 0 {
		return
	}
	for n := range 2 {
		how := world.Swapping(g.Pick("workload.swap-how", "", n, 1, 4, 1, 1, 2))
		if how == judges.NotSwapped {
			continue
		}
		keeps := g.Pick("workload.swap-keeps", "", n, 1, 2, 1)
		g.At(g.Time("workload.swap-time", "", n, cases.Chaos), "manifests", func() {
			last := time.Second + g.Time("workload.swap-lasts", "", n, AwayMost)
			if g.Pick("workload.swap-away", "", n, 2, 1) == 1 {
				g.R.Sleeps(last / 2)
			}
			returns := g.Pick("workload.swap-back", "", n, 1, 1) == 1
			swapsManifests(g.R, how, func(file string) bool {
				return keeps == 0 || keeps == 1 && g.Pick("workload.swap-file", file, n, 1, 1) == 1
			}, returns, last)
		})
	}
}

// swap is a statement.
func (t *Scene) swap(how world.Swapping, without string, d time.Duration) string {
	if !t.S.Files {
		return "only manifests can be swapped; write: objects from files"
	}
	file := ""
	if without != "" {
		object, _ := t.Pod(without)
		file = strings.TrimPrefix(t.R.FileOf(object), lang.ManifestDir+"/")
	}
	swapsManifests(t.R, how, func(name string) bool { return file != "" && name != file }, true, d)
	if t.R.Swapped != how {
		return "the directory of manifests is not where it was"
	}
	return ""
}

// accept is a statement. Nobody accepts that what they want is gone. An agent that dies before it counts has not heard
// it: whoever said it looks again.
func (t *Scene) accept() string {
	if !missesWanted(t.R) {
		acceptsMissing(t.R)
	}
	if !t.R.IsTended {
		t.R.IsTended = true
		t.W.After(time.Minute, "a person looks for missing manifests", func() { LooksForMissing(t.R) })
	}
	return ""
}

// otherCopies puts the copies of manifests of another node in the place of this node's: one of a pod, and their ledger.
func (t *Scene) otherCopies(node, pod string) string {
	if !t.S.Files || t.W.AgentLives() {
		return "only copies of manifests, while no agent lives; write: objects from files; kill it for a while first"
	}
	object, _ := t.Pod(pod)
	dir, name := lang.RootDir+"/volnode/manifests", path.Base(t.R.FileOf(object))
	t.RemoveTree(dir)
	t.W.MakeDir(dir)
	t.W.WriteFile(dir+"/"+name, world.ManifestOf(object))
	t.W.WriteFile(dir+"/.ledger.json", fmt.Appendf(nil, `{"owner":{"node":%q},"files":{%q:{"in":{}}}}`+"\n", node,
		name))
	return ""
}

// changeKept has somebody change the uid of a pod in what bad manifests keep: what it says can be read all the same.
func (t *Scene) changeKept(pod string) string {
	object, _ := t.Pod(pod)
	file, uid := lang.RootDir+"/volnode/manifests/.kept.json", []byte(object.UID)
	data := t.W.ReadFile(file)
	if t.W.AgentLives() || !bytes.Contains(data, uid) {
		return "only what a bad manifest keeps, while no agent lives; kill it for a while first"
	}
	t.W.WriteFile(file, bytes.Replace(data, uid[len(uid)-4:], []byte("0bad"), 1))
	return ""
}

// SwapActions are the statements about what comes into the place of the directory of manifests, or of the journal.
func SwapActions() []Action {
	return []Action{
		{"copy journal", func(t *Scene, _ []string) string { return copiesJournal(t.R) }},
		{"restore journal", func(t *Scene, _ []string) string { return restoresJournal(t.R) }},
		{
			"make the journal one of root directory PATH",
			func(t *Scene, a []string) string { return t.otherJournal(inRoot(a[0])) },
		},
		{"make the journal one of node NAME", func(t *Scene, a []string,
		) string {
			return t.otherJournal(ofNode(a[0]))
		}},
		{"change the uid of pod POD in what is kept", func(t *Scene, a []string) string { return t.changeKept(a[0]) }},
		{"put copies of manifests of node NAME with pod POD", func(t *Scene, a []string) string {
			return t.otherCopies(a[0], a[1])
		}},
		{
			"swap the manifests for an empty directory for TIME",
			func(t *Scene, a []string) string { return t.swap(judges.ByRename, "", Duration(a[0])) },
		},
		{
			"swap the manifests for a copy without pod POD for TIME",
			func(t *Scene, a []string) string { return t.swap(judges.ByRename, a[0], Duration(a[1])) },
		},
		{
			"recreate the manifests without pod POD for TIME",
			func(t *Scene, a []string) string { return t.swap(judges.ByRemake, a[0], Duration(a[1])) },
		},
		{"turn the manifests into a link for TIME", func(t *Scene, a []string,
		) string {
			return t.swap(judges.ByTurnedLink, "", Duration(a[0]))
		}},
		{"accept the missing manifests", func(t *Scene, _ []string) string { return t.accept() }},
	}
}
