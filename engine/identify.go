package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Refusal is a start that a person has to decide on. Nothing was touched, and the start is not tried again.
type Refusal struct{ Why string }

func (e *Refusal) Error() string { return e.Why }

func refusal(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// startRefused ends a start for good.
func (s *starting) startRefused(r *Refusal) {
	s.refusal, s.why = r, r.Why
	s.emit(StartRefused{r.Why})
	s.stopping = true
	s.rested() // once the events are taken
}

// identify returns whose root directory it is: this node's; and whether the node has begun before. It runs as a task,
// before the start changes anything. An earlier try of this start may have read the file before somebody removed it.
func (s *starting) identify(
	c hal.Call, earlier identity.Identity,
) (id identity.Identity, known bool, err error) {
	id, known, err = identity.Read(&s.h, c, s.cfg.RootDir)
	if damaged, is := errors.AsType[*identity.DamagedError](err); is {
		return id, known, &Refusal{damaged.Error()}
	}
	if err != nil {
		return id, known, err
	}
	machine := s.h.Machine.ID()
	switch {
	case known:
	case earlier.Node != "":
		id = earlier
	default:
		if id.Node, err = s.formerName(c); err != nil {
			return identity.Identity{}, known, err
		}
	}
	if s.cfg.IsNameGiven && s.cfg.NodeName != id.Node {
		return id, known, refusal("nodeName is %q, but the root directory %s belongs to node %q. volnode derives missing "+
			"pod UIDs from the node's name, so another name would delete data of pods. Set nodeName to %[3]q, or leave "+
			"it out. To rename the node: remove its manifests, wait until all volumes are gone, stop volnode, and "+
			"remove %[4]s", s.cfg.NodeName, s.cfg.RootDir, id.Node,
			identity.File(s.cfg.RootDir))
	}
	switch {
	case known && id.MachineID == machine, known && machine == "":
		return id, known, nil
	case known && id.MachineID != "" && !s.cfg.AcceptMachine:
		return id, known, refusal("the root directory %s belongs to machine-id %s, but this machine has %s: it is a copy, "+
			"or the machine was reinstalled. Two machines that serve one volume destroy its data. If the other machine "+
			"is gone for good, start volnode run once with --accept-machine; else start with an empty root directory",
			s.cfg.RootDir,
			id.MachineID, machine)
	}
	if known { // by a person's word; the journal may be another machine's all the same
		if records, _, err := journal.Peek(&s.h, c, s.cfg.journalDir()); err != nil {
			return id, known, err
		} else if err := s.areOurs(records, id); err != nil {
			return id, known, err
		}
	}
	id.MachineID = machine
	if id.Created == "" {
		id.Created = s.h.Machine.Date()
	}
	return id, known, identity.Write(&s.h, c, s.cfg.RootDir, id)
}

// formerName is the node's name where no identity file says it: what the journal's records were made with; else the
// configured one.
func (s *starting) formerName(c hal.Call) (string, error) {
	records, there, err := journal.Peek(&s.h, c, s.cfg.journalDir())
	if err != nil {
		return "", err
	}
	if !there {
		return s.cfg.NodeName, s.mayTakeOver(c)
	}
	if err := s.areInRoot(records); err != nil {
		return "", err
	}
	names, derived, fits := []string{}, "", false
	for _, rec := range records {
		if name := plugin.NodeOf(rec.Rung.Want); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		namespace, name := plugin.PodOf(rec.Rung.Want)
		if s.cfg.PodUID == nil || name == "" || rec.Rung.Pod == "" {
			continue
		}
		if s.cfg.PodUID(s.cfg.NodeName, namespace, name) == rec.Rung.Pod {
			fits = true
		} else if isDerived(rec.Rung.Pod) {
			derived = namespace + "/" + name
		}
	}
	switch {
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0 && (fits || derived == ""):
		return s.cfg.NodeName, nil
	case len(names) > 1:
		return "", refusal("the journal in %s has records of the nodes %s; volnode cannot tell which one this is. "+
			"Stop volnode on the other node, and restore the journal of this node",
			s.cfg.journalDir(), strings.Join(names, ", "))
	}
	return "", refusal("the UID of pod %s does not derive from the node name %q, and there is no identity file: the "+
		"host was renamed. Start volnode once with --node-name and the former name; the identity file then keeps it",
		derived, s.cfg.NodeName)
}

// elsewhere is what a person can do about a journal that was not made here.
const elsewhere = "restore the journal of this root directory, or move %[1]s away: volnode then inspects all " +
	"volumes"

// areInRoot refuses a journal that tells of another root directory: it was copied from there. What it says is not so
// here, and what it names there is not ours to take down.
func (s *starting) areInRoot(records []core.Record) error {
	for i := range records {
		for _, at := range s.cfg.VolumeSources.Places(&records[i].Rung) {
			if records[i].Phase != core.Lingering && !s.cfg.isBelowRoot(at) {
				return refusal("the journal in %s names %q, which is not below the root directory %q: it was copied "+
					"or moved from another root directory. Start with that --root-dir if it still exists. To move a "+
					"root directory, remove its manifests and wait until all volumes are gone. Else "+elsewhere,
					s.cfg.journalDir(), at, s.cfg.RootDir)
			}
		}
	}
	return nil
}

// areOurs refuses a journal of another root directory, or of another node.
func (s *starting) areOurs(records []core.Record, id identity.Identity) error {
	for i := range records {
		if name := plugin.NodeOf(records[i].Rung.Want); records[i].Phase != core.Lingering && name != "" &&
			name != id.Node {
			return refusal("the journal in %s has records of node %q, but this node is %q: it was copied from there. "+
				"Stop volnode, and "+elsewhere,
				s.cfg.journalDir(), name, id.Node)
		}
	}
	return s.areInRoot(records)
}

// isDerived: a uid of version 5 (RFC 9562), as a source makes it of a name.
func isDerived(uid core.PodUID) bool { return len(uid) == 36 && uid[14] == '5' }

// planLines bounds how much of a plan a refusal shows.
const planLines = 40

// mayTakeOver refuses a root directory with volumes that no journal of ours knows, unless a person has said that they
// are to be taken over.
func (s *starting) mayTakeOver(c hal.Call) error {
	if s.cfg.Adopt {
		return nil
	}
	listing, err := s.cfg.VolumeSources.Scan(&s.h, c, s.cfg.RootDir, true)
	if err != nil {
		return err
	}
	rungs, left := s.cfg.VolumeSources.Discover(s.cfg.RootDir, listing, s.cfg.driver)
	pods, err := plugin.List(&s.h, c, plugin.PodsDir(s.cfg.RootDir))
	if err != nil {
		return err
	}
	if len(rungs)+len(left)+len(listing.Empty)+len(pods) == 0 {
		return nil // a first start
	}
	var plan []string
	for _, r := range rungs {
		plan = append(plan, "tear down "+string(r.Key)+", unless a pod in a manifest uses it")
	}
	for _, u := range left {
		plan = append(plan, fmt.Sprintf("leave %q alone: %s", u.Path, u.Why))
	}
	if len(rungs) == 0 {
		plan = append(plan, fmt.Sprintf("leave %d directories in %s alone", len(pods), plugin.PodsDir(s.cfg.RootDir)))
	}
	if more := len(plan) - planLines; more > 0 {
		plan = append(plan[:planLines], fmt.Sprintf("and %d more", more))
	}
	return refusal("the root directory %s has volumes, but no identity file and no journal of volnode: it is "+
		"another agent's. volnode changed nothing. Stop the other agent and start volnode run once with --adopt, or "+
		"name another --root-dir. With --adopt, volnode first reads all manifests. It waits until a manifest names "+
		"each pod that has volumes here, or until 'volnode sources --accept' (missingManifests: gone) says that the "+
		"other pods are gone. Then it would:\n  %s\n  keep the data in emptyDirs, unless a manifest named their pod "+
		"and was removed",
		s.cfg.RootDir, strings.Join(plan, "\n  "))
}
