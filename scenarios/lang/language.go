package lang

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal/sim"
)

// Language is the words of a timeline's statements, but for the names that a scenario gives.
type Language struct {
	// Statements are the words of each statement. Those in capitals stand for any one word, and parser.means says what
	// that must be.
	Statements []string
	// Volumes are the words for volumes of pods that are no claims, and for PersistentVolumes that are not of CSI.
	Volumes []Word
	// What METHOD, BREAKAGE, FAILURE, BADNESS, STANDING, REASON, HEALTH, CONTENT, FLAW and MANNER stand for.
	Methods, Breakages, Failures, Badnesses, Standings, Reasons, Healths, Contents, Flaws, Manners []string
}

// Word is how scenarios write volumes of one source.
type Word struct {
	Form string // as messages have it: "scratch", or "host:PATH" if something stands behind it
	// Volume is the volume that it asks for, with what is behind the colon, "" if there is none; false if that is wrong.
	// nil if no pod has such a volume without a claim.
	Volume func(rest string) (src corev1.VolumeSource, ok bool)
	// Persistent is the same for a PersistentVolume; nil if none is of the source.
	Persistent func(rest string) (src corev1.PersistentVolumeSource, ok bool)
}

// Plain is a word behind which nothing stands.
func Plain(word string, is corev1.VolumeSource) Word {
	return Word{
		Form: word, Volume: func(rest string) (corev1.VolumeSource, bool) { return *is.DeepCopy(), rest == "" },
	}
}

// name is the word itself.
func (w Word) name() string {
	name, _, _ := strings.Cut(w.Form, ":")
	return name
}

// faultsAt are the faults that calls of a site can meet; nil if there is no such site.
func faultsAt(site string) []sim.Fault {
	all := sim.Sites()
	i := slices.IndexFunc(all, func(s sim.Site) bool { return s.Name == site })
	if i < 0 {
		return nil
	}
	return all[i].Faults()
}

func siteNames() (names []string) {
	for _, s := range sim.Sites() {
		names = append(names, s.Name)
	}
	return names
}

// faultWords lists the faults that can be at a site, in the words of a scenario.
func faultWords(site string) string {
	var all []string
	for _, fault := range faultsAt(site) {
		isNamed := false
		for _, k := range faultKinds {
			if !slices.Contains(k.faults, fault) {
				continue
			}
			words := k.words
			switch k.takes {
			case "time":
				words += " TIME"
			case "code":
				words += " STATUS"
			}
			all, isNamed = append(all, words), true
		}
		if !isNamed {
			all = append(all, fault.String())
		}
	}
	return strings.Join(all, ", ")
}
