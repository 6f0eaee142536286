package workload

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is manifests that go for a while, and nobody has deleted what they hold: an editor removes the file before
// it writes it again, or the document is in another file by now, which nobody understands.

// document is what is in a manifest.
type document interface {
	metav1.Object
	runtime.Object
}

// badness is what is wrong with the file that a document was moved to. What may be in it tells which objects it holds.
type badness uint8

const (
	bad        badness = iota // another document of it is no object
	renamed                   // and the object has another name in it, and its uid
	escaped                   // and the object's name and uid are spelled by the numbers of their letters
	cutInLine                 // it ends in the middle of the name
	cutAtLine                 // it ends with a line, before the name
	empty                     // nothing of it is written yet
	unfinished                // it ends within a pod that comes before it: good YAML, but for what that pod lacks
	// it ends within that pod, and behind that are zeros, as a power cut leaves them, and a line.
	zeroed
)

// Badnesses are the words for them.
var Badnesses = []string{"bad", "renamed", "escaped", "torn", "short", "empty", "unfinished", "zeroed"}

// rewriteMost is how long a manifest is not there while it is written again: less than any two readings that must agree
// are apart.
const rewriteMost = 190 * time.Millisecond

// takesAway has a pod's manifest be away for a while, and come back under a name. Nobody has deleted the pod.
func takesAway(r *world.Run, p *world.Pod, d time.Duration, to string) {
	if r.IsAside() || !p.IsWanted {
		return
	}
	file, object := r.FileOf(p.Object), p.Object
	if r.W.RemoveFile(file) != 0 {
		return
	}
	r.W.After(d, "a manifest is written again", func() {
		makesFile(r, p, object, file)
		if to != "" && p.Object == object && p.IsWanted && r.Names[sim.ObjectName(object)] == file {
			movesFile(r, object, lang.ManifestDir+"/"+to)
		}
	})
}

// misplaces has the document of a pod, or of what pods need, moved into a file that nobody understands, for a while.
// Nobody has deleted it.
func misplaces(r *world.Run, name string, how badness, d time.Duration) {
	file := r.Names[name]
	object, is := r.Written[file].(document)
	if r.IsAside() || !is || sim.ObjectName(object) != name {
		return
	}
	to := lang.ManifestDir + "/misplaced-" + strings.NewReplacer(" ", "-", "/", "-").Replace(name) + ".yaml"
	if _, there := r.W.Exists(to); there {
		return
	}
	r.W.WriteFile(to, misplacedText(object, how))
	_ = r.W.RemoveFile(file)
	if _, isPod := object.(*corev1.Pod); isPod {
		judges.Delays(r, d+judges.Shortly)
	}
	if d > 4*time.Second {
		r.W.After(d/2, "an editor writes the bad file again", func() { rewrites(r, to) })
	}
	r.W.After(d, "a misplaced object is where it was", func() { putsBack(r, file, object, to) })
}

// rewrites is an editor that does not rename: it makes a file of its own, deletes the old one, and writes that again,
// all in less time than lies between two readings that agree. It leaves alone a file that no
// agent has read: a start in between could not know what that held.
func rewrites(r *world.Run, file string) {
	const beat = 100 * time.Millisecond
	if _, there := r.W.Exists(file); !there || r.IsAside() || !r.Synced {
		return
	}
	text, own := r.W.ReadFile(file), path.Join(path.Dir(file), "."+path.Base(file)+".swp")
	r.W.WriteFile(own, nil)
	r.W.After(beat, "the old file goes", func() {
		if r.IsAside() {
			return
		}
		_ = r.W.RemoveFile(file)
		r.W.After(beat+beat/2, "the new file comes", func() {
			if r.IsAside() {
				return // it comes back as a manifest that is missing
			}
			first, _, _ := bytes.Cut(text, []byte("---\n"))
			r.W.WriteFile(file, first)
			r.W.After(beat, "the rest of it comes", func() {
				if _, there := r.W.Exists(file); there && !r.IsAside() {
					r.W.WriteFile(file, text)
				}
				_ = r.W.RemoveFile(own)
			})
		})
	})
}

// misplacedText is what a bad file holds of an object.
func misplacedText(object document, how badness) []byte {
	speck, text := []byte("speck: {}\n---\n"), world.ManifestOf(object)
	metadata, name := []byte("\nmetadata:\n"), []byte("\n  name: ")
	switch how {
	case renamed:
		if object.GetUID() == "" {
			break // nothing in it would tell which object it is
		}
		other := object.DeepCopyObject().(document)
		other.SetName("other-" + object.GetName())
		text = world.ManifestOf(other)
	case escaped:
		for _, word := range []string{string(object.GetUID()), object.GetName()} {
			if word == "" {
				continue
			}
			text = bytes.ReplaceAll(text, []byte(word), fmt.Appendf(nil, "\"\\x%02x%s\"", word[0], word[1:]))
		}
	case cutInLine:
		// The name comes last, as nothing but the line that is cut is to show that more was to come.
		head, rest, _ := bytes.Cut(text, metadata)
		meta, spec, _ := bytes.Cut(rest, []byte("\nspec:\n"))
		spec, _, _ = bytes.Cut(spec, []byte("\nstatus:"))
		_, begun, _ := bytes.Cut(append([]byte("\n"), meta...), name)
		text = slices.Concat(head, []byte("\nspec:\n"), bytes.TrimRight(spec, "\n"), metadata, name[1:], begun[:1])
	case cutAtLine:
		text = text[:bytes.Index(text, metadata)+len(metadata)]
	case empty:
		return nil
	case unfinished, zeroed:
		begun := "apiVersion: v1\nkind: Pod\nmetadata:\n  name: before-" + object.GetName() + "\nspec:\n  hostname: h\n"
		if how == zeroed {
			begun += "\x00\x00\x00\n"
		}
		return []byte(begun)
	default:
	}
	return append(speck, text...)
}

// putsBack ends misplaces. What somebody has deleted or edited since has been dealt with.
func putsBack(r *world.Run, file string, object document, from string) {
	if r.Defers(func() { putsBack(r, file, object, from) }) {
		return
	}
	if r.Written[file] == object && r.Names[sim.ObjectName(object)] == file {
		r.Puts(file, object)
	}
	r.W.After(judges.Shortly, "the bad file goes", func() { discardsFile(r, from) })
}

func discardsFile(r *world.Run, file string) {
	if !r.Defers(func() { discardsFile(r, file) }) {
		r.Unlinks(file)
	}
}

func (t *Scene) takeAway(name, to string, d time.Duration) string {
	_, p := t.Pod(name)
	if p == nil || !t.S.Files {
		return "the pod has no manifest; write: objects from files"
	}
	takesAway(t.R, p, d, to)
	return ""
}

func (t *Scene) misplace(name, how string, d time.Duration) string {
	for _, kind := range []string{hal.SecretKind, hal.ConfigMapKind, hal.TrustBundleKind} {
		word := strings.TrimPrefix(strings.ToLower(kind), "cluster") + " "
		if of, is := strings.CutPrefix(name, word); is {
			if kind == hal.TrustBundleKind {
				of = "/" + of
			}
			if how != Badnesses[bad] {
				return "a " + strings.ToLower(kind) + " is moved to the bad manifest alone"
			}
			return t.R.Misplaces(kind, of, d)
		}
	}
	if t.R.Names[name] == "" {
		return "the " + name + " has no manifest; write: objects from files"
	}
	misplaces(t.R, name, badness(slices.Index(Badnesses, how)), d)
	return ""
}
