package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file makes the texts about files that do not count as they are.

// podsOnNode is the place of trouble of pods that only the journal or the disk names.
const podsOnNode = "pods of the node"

func (r reader) troublesOfPods(uids []string) (all []hal.Trouble) {
	pods := slices.DeleteFunc(slices.Clone(uids), isPath)
	if len(pods) > 0 {
		all = append(all, r.troubleOfPods(pods))
	}
	for _, at := range uids {
		if isPath(at) {
			all = append(all, hal.Trouble{
				Where: at,
				Problem: "volnode cannot look at it, so volumes of any pod may be in it, and the record of manifests " +
					"is lost, or was another agent's; volnode tears down nothing until it can; make it readable",
			})
		}
	}
	return all
}

func (r reader) troubleOfPods(uids []string) hal.Trouble {
	pods, their, them := "the pods "+some(uids), "their manifests", "them"
	if len(uids) == 1 {
		pods, their, them = "pod "+uids[0], "its manifest", "it"
	}
	return hal.Trouble{
		Where: podsOnNode, Accept: true,
		Problem: "no manifest names " + pods + ", whose volumes were on the node before this start, and the record " +
			"of manifests is lost, or was another agent's; volnode tears down nothing; put " + their + " into " +
			r.o.Dir + " (findmnt -T " + r.o.Dir + " shows what is mounted there), or run 'volnode sources --accept' " +
			"to accept " + them + " as removed",
	}
}

// reportOwn adds a trouble about an own file that a start could not use: something else is in its place, or, without an
// error, it is damaged.
func (r reader) reportOwn(s *state, name string, err error) {
	what, next := "it is damaged", "volnode writes it again; find out who damaged it"
	switch {
	case hal.Is(err, syscall.ENOENT):
		what, next = "it was removed", "volnode writes it again; find out who removed it"
	case err != nil:
		what, next = err.Error(), hal.DiskAdvice(r.o.CacheDir, err)
	}
	at, want := r.o.CacheDir, hal.TypeDirectory
	is, statErr := r.h.Tree.Stat(r.call, at)
	if statErr == nil && is.Type == want {
		at, want = path.Join(at, name), hal.TypeFile
		is, statErr = r.h.Tree.Stat(r.call, at)
	}
	if statErr == nil && is.Type != want {
		what = "a " + is.Type.String() + " is in its place"
	}
	s.ownTroubles = append(s.ownTroubles, hal.Trouble{
		Where: at,
		Problem: "cannot use what the last run wrote down of the manifests: " + what +
			"; volnode serves the good manifests, and tears down no pod whose manifest is bad or missing; " + next,
	})
}

// noCopy is for a manifest whose good content is only in memory.
const noCopy = ", and it would not survive a restart: volnode has no copy of it until the manifest is good again"

// troubleOf describes a file that does not count as it is.
func (r reader) troubleOf(name string, this file) hal.Trouble {
	t := hal.Trouble{Where: r.path(name), Problem: this.problem, Accept: this.missing}
	switch {
	case this.missing && this.known && !this.copied:
		t.Problem += noCopy
	case this.missing:
	case this.isGone:
		t.Problem += "; volnode tears down nothing; correct or remove the bad manifests"
	case this.problem == "":
		t.Problem = this.warning
	case this.known:
		t.Problem += "; until it is corrected, its last good content counts"
		if !this.copied {
			t.Problem += noCopy
		}
	case this.lost:
		t.Problem += "; its former content is not known, so volnode tears down nothing; correct or remove it"
	case this.isOpaque():
		t.Problem += "; nothing in it counts, and volnode keeps pods whose manifests disappear; correct or remove " +
			"it"
	case len(this.texts) > 0:
		t.Problem += "; nothing in it counts, and volnode keeps the pods in it that are up; correct or remove " +
			"it"
	}
	return t
}

// strays says where a file is missing, and where it was seen last.
func (r reader) strays(in dirID, f file) string {
	here, was := in.String(), f.was.String()
	switch {
	case f.was == (dirID{}): // the ledger could not be written, or an earlier version had none
		return "is not there, and volnode has lost the record of the directory in which it was seen last" + r.served(f) +
			"; restore the file, or " + acceptIt
	case was == here:
		was = " (the same, made or mounted another time)"
	default:
		was = " (" + was + ")"
	}
	return "is not there, but the directory is another one (" + here + ") than the one in which it was seen last" +
		was + r.served(f) +
		"; mount or restore that directory (findmnt -T " + r.o.Dir + " shows what is mounted there), or " + acceptIt
}

// served names what a file that is missing keeps up.
func (r reader) served(f file) string {
	pods := f.pods()
	switch {
	case !f.known && !f.lost:
		return "; it was bad there, so volnode keeps pods whose manifests are gone: the file may hold them"
	case len(pods) == 0:
		return ", so it still counts"
	}
	verb := " stay up"
	if len(pods) == 1 {
		verb = " stays up"
	}
	return ", so it still counts: " + some(pods) + verb
}

// some names the first of many.
func some(names []string) string {
	more := ""
	if n := len(names) - 3; n > 0 {
		names, more = names[:3], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + more
}

// staysUp is what a directory that can't be read means.
const staysUp = "; volnode reads no manifest there, and volumes stay up"

// directory says which directory is there. A problem concerns the directory itself: then its content is not known.
func (r reader) directory() (here dirID, problem string) {
	info, err := r.h.Tree.Stat(r.call, r.o.Dir)
	switch {
	case hal.Is(err, syscall.ENOENT):
		return here, "the directory is missing; create it, empty if no pod is wanted"
	case hal.Is(err, syscall.ELOOP) || hal.Is(err, syscall.ENOTDIR):
		return here, "a directory above it is a link, or is no directory" + staysUp + ". Put the directory back " +
			"('namei -l " + r.o.Dir + "' shows what is there)"
	case err != nil:
		return here, err.Error() + staysUp + "; it tries again"
	case info.Type != hal.TypeDirectory:
		return here, "is a " + info.Type.String() + ", not a directory" + staysUp +
			". Move it away and put the directory of manifests back; no link may lead to it"
	}
	is, bad := dirOf(info, r.h.Runtime.BootID()), insecure(info, r.o.Dir)
	switch was := r.before.in; {
	case bad == "":
		return is, ""
	case was != (dirID{}) && !was.is(is):
		return here, "is another directory than before: another filesystem may be mounted over it, see 'findmnt -T " +
			r.o.Dir + "'; volnode reads no manifest in it, and volumes stay up. If this directory is right: it " + bad
	}
	return here, bad
}
