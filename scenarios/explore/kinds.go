package explore

import (
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/states"
)

// longest is longer than any time; it is cut to what the call allows.
const longest = 24 * time.Hour

// offer is one choice of a fault that a run came to.
type offer struct {
	id     sim.ID
	faults []sim.Fault // what can be chosen, the first is none
	caller sim.Caller  // the call that it is about; its zero value if it is about none
	next   func(site, object string) sim.ID
	isFile bool // its object is the path of a plain file
	// unsynced is how many changes of names and sizes a power cut may take back.
	unsynced int
	// isFurther: it is told once in like circumstances.
	isFurther bool

	// things is how everything stood when it came up, about the thing that it is about, "" for all, and before the
	// fault that its operation had met, "" for none; unset unless further faults are told once in like circumstances.
	things        []scenarios.Circumstance
	about, before string

	// after is the state in which a death after the effect of the call would leave all, if isAfter.
	after   states.State
	isAfter bool
}

// isDeath reports whether an offer is of the ways in which the agent dies at a call.
func (o *offer) isDeath() bool { return strings.HasSuffix(o.id.Site, "/crash") }

// alternatives are what can be chosen at an offer in place of nothing, each as the choices that make it up. Of the
// menu of the class only one of those is left that differ in nothing but what nobody sees:
//
//   - the agent dies after an effect, not also before the next one or with its reply: nothing happens between these,
//     and its memory is gone
//     at all three;
//   - a clean reboot leaves what a power cut leaves that takes back nothing;
//   - an RPC that the agent dies at has been sent only, or has acted;
//   - a status is one of each row of the CSI outcome table (engine/plugin/csi/outcome.go) that a driver may answer
//     with whatever it has done;
//   - what acts late does so at once after its deadline, or as late as it may; what is slow is slow by so much that
//     other things happen meanwhile;
//   - a call that has no effect when there is no space fails like any other: the engine does not ask why;
//   - a failed fsync of a directory has no data to drop;
//   - a power cut leaves all names that were not synced, or none of them.
//
// Of a further fault that is told once in like circumstances it is not told which status an error has, how much of a
// file was written when the agent died, a call that acts late at once, a sync that is slow, or fails and drops
// nothing, and a disk that is full in place of one that fails; nor the death of the agent after a sync, which is as
// after the write before, a power cut after a write, which the sync is for, and one that takes back names, other than
// after a sync.
func alternatives(o offer) [][]cases.Kept {
	var all [][]cases.Kept
	for _, f := range o.faults {
		if f != sim.NoFault {
			all = append(all, variants(o, cases.Kept{ID: o.id, Fault: f})...)
		}
	}
	return all
}

// variants are the ways in which one fault can happen.
func variants(o offer, c cases.Kept) [][]cases.Kept {
	only := also(c)
	site, isRPC := o.caller.Site, o.caller.Class == hal.ClassRPC
	switch c.Fault {
	case sim.CrashBefore, sim.CrashReplied, sim.Reboot:
		return nil
	case sim.CrashAfter:
		switch {
		case o.isFurther && site == "files.sync":
			return nil
		case o.isFurther && !isRPC:
		case isRPC:
			return also(c, value(o.id, "moment", 1))
		case site == "files.write":
			return also(c, value(o.id, "amount", 1), value(o.id, "amount", 2))
		case site == "tree.remove-tree":
			return also(c, value(o.id, "amount", 1))
		}
	case sim.PowerCut:
		switch {
		case o.isFurther && isWrite(site):
			return nil
		case o.isFurther && site != "files.sync", o.unsynced == 0:
			return only
		}
		return also(c, cases.Kept{ID: o.next("powercut.names", ""), Value: int64(longest)})
	case sim.Slow:
		switch {
		case isRPC && o.caller.Writes:
			return also(c, lasts(o.id, "execute", time.Second))[1:] // a hundred times that, within the deadline
		case site == "files.sync" && !o.isFurther:
			return also(c, lasts(o.id, "request", longest))[1:]
		}
		return nil
	case sim.Late, sim.Doubled:
		all := also(c, lasts(o.id, "late", longest))
		if o.isFurther {
			return all[1:]
		}
		return all
	case sim.Intercepted:
		return also(c, lasts(o.id, "late", longest))[1:] // at once is as an error that does all
	case sim.Hang:
		hang := o.next("child.hang", helper[site]+o.id.Object)
		return also(c, cases.Kept{ID: hang, Value: int64(longest), Time: true})
	case sim.NoSpace:
		if !o.caller.Writes || o.isFurther || site == "tree.mkdir" || site == "tree.rename" {
			return nil
		}
	case sim.SyncFails:
		if !o.isFile {
			return only
		}
		all := also(c, cases.Kept{ID: o.next("files.sync/drop", o.id.Object), Value: 1})
		if o.isFurther {
			return all[1:]
		}
		return all
	case sim.ErrorNone, sim.ErrorPart, sim.ErrorFull:
		if o.caller.Writes && !o.isFurther {
			var codes []cases.Kept
			for _, code := range []hal.Code{hal.CodeUnknown, hal.CodeAlreadyExists, hal.CodeInvalidArgument} {
				if i := slices.Index(sim.ErrorCodes(c.Fault), code); i >= 0 {
					codes = append(codes, value(o.id, "code", int64(i)))
				}
			}
			return also(c, codes...)
		}
	default:
	}
	return only
}

// also is a choice by itself, and with each of others beside it.
func also(c cases.Kept, others ...cases.Kept) [][]cases.Kept {
	all := [][]cases.Kept{{c}}
	for _, other := range others {
		all = append(all, []cases.Kept{c, other})
	}
	return all
}

// value and lasts are other choices about the call of an offer: a number, a time.
func value(id sim.ID, of string, v int64) cases.Kept {
	return cases.Kept{ID: beside(id, of), Value: v}
}

func lasts(id sim.ID, of string, d time.Duration) cases.Kept {
	return cases.Kept{ID: beside(id, of), Value: int64(d), Time: true}
}

// isWrite: the site is of a call that changes a file or a directory, and a sync follows.
func isWrite(site string) bool {
	return strings.HasPrefix(site, "tree.") || strings.HasPrefix(site, "files.") && site != "files.sync"
}

// helper is what a helper process is called that carries out a call, before the object of the call.
var helper = map[string]string{
	"mounts.mount": "mount ", "mounts.bind": "bind ", "mounts.unmount": "umount ",
	"hostpaths.find": "find ", "hostpaths.make": "mkdir ",
}

// beside is another choice about the same call: its time, its status.
func beside(id sim.ID, of string) sim.ID {
	site, _, _ := strings.Cut(id.Site, "/")
	return sim.NewID(site+"/"+of, id.Object, id.Nth)
}

// outlivesCall reports whether a choice that goes with a fault may come up after the call that the fault is of, if not
// with it.
func outlivesCall(id sim.ID) bool {
	return id.Site == "powercut.names" || id.Site == "files.sync/drop" || id.Site == "child.hang"
}

// isPoint reports whether an offer is a choice point at all. Deaths are offered at calls that change something: those
// at others are the same. What else can happen is about an RPC, a death or a driver's life; not what the cluster or
// the kernel delivers, when.
func isPoint(o offer) bool {
	if o.caller.Site == "" {
		area, _, _ := strings.Cut(o.id.Site, ".")
		return area != "runtime" && area != "watch" && area != "cluster"
	}
	return o.caller.Writes || !strings.HasSuffix(o.id.Site, "/crash")
}

// isLook reports whether an offer is about a call that only looks, of the kernel or a file.
func isLook(o offer) bool {
	return o.caller.Site != "" && !o.caller.Writes && o.caller.Class != hal.ClassRPC
}
