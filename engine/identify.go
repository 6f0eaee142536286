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
func (m *VolumeManager) startRefused(r *Refusal) {
	m.refusal, m.why = r, r.Why
	m.log(LevelError, "start refused; volnode changed nothing", "why", r.Why)
	m.stopping = true
	m.checkStopped() // once the log is written
}

// identify returns whose root directory it is: this node's; and whether the node has begun before. It runs as a task,
// before the start changes anything. An earlier try of this start may have read the file before somebody removed it.
func (m *VolumeManager) identify(
	c hal.Call, earlier identity.Identity,
) (id identity.Identity, known bool, err error) {
	id, known, err = identity.Read(&m.h, c, m.cfg.RootDir)
	if damaged, is := errors.AsType[*identity.DamagedError](err); is {
		return id, known, &Refusal{damaged.Error()}
	}
	if err != nil {
		return id, known, err
	}
	machine := m.h.Machine.ID()
	switch {
	case known:
	case earlier.Node != "":
		id = earlier
	default:
		if id.Node, err = m.formerName(c); err != nil {
			return identity.Identity{}, known, err
		}
	}
	if m.cfg.IsNameGiven && m.cfg.NodeName != id.Node {
		return id, known, refusal("nodeName is %q, but the root directory %s belongs to node %q. volnode derives missing "+
			"pod UIDs from the node's name, so another name would delete data of pods. Set nodeName to %[3]q, or leave "+
			"it out. To rename the node: remove its manifests, wait until all volumes are gone, stop volnode, and "+
			"remove %[4]s", m.cfg.NodeName, m.cfg.RootDir, id.Node,
			identity.File(m.cfg.RootDir))
	}
	switch {
	case known && id.MachineID == machine, known && machine == "":
		return id, known, nil
	case known && id.MachineID != "" && !m.cfg.AcceptMachine:
		return id, known, refusal("the root directory %s belongs to machine-id %s, but this machine has %s: it is a copy, or "+
			"the machine was reinstalled. Two machines that serve one volume destroy its data. If the other machine "+
			"is gone for good, start volnode run once with --accept-machine; else start with an empty root directory", m.cfg.RootDir,
			id.MachineID, machine)
	}
	if known { // by a person's word; the journal may be another machine's all the same
		if records, _, err := journal.Peek(&m.h, c, m.cfg.journalDir()); err != nil {
			return id, known, err
		} else if err := m.areOurs(records, id); err != nil {
			return id, known, err
		}
	}
	id.MachineID = machine
	if id.Created == "" {
		id.Created = m.h.Machine.Date()
	}
	return id, known, identity.Write(&m.h, c, m.cfg.RootDir, id)
}

// formerName is the node's name where no identity file says it: what the journal's records were made with; else the
// configured one.
func (m *VolumeManager) formerName(c hal.Call) (string, error) {
	records, there, err := journal.Peek(&m.h, c, m.cfg.journalDir())
	if err != nil {
		return "", err
	}
	if !there {
		return m.cfg.NodeName, m.mayTakeOver(c)
	}
	if err := m.areInRoot(records); err != nil {
		return "", err
	}
	names, derived, fits := []string{}, "", false
	for _, rec := range records {
		if name := plugin.NodeOf(rec.Rung.Want); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		namespace, name := plugin.PodOf(rec.Rung.Want)
		if m.cfg.PodUID == nil || name == "" || rec.Rung.Pod == "" {
			continue
		}
		if m.cfg.PodUID(m.cfg.NodeName, namespace, name) == rec.Rung.Pod {
			fits = true
		} else if isDerived(rec.Rung.Pod) {
			derived = namespace + "/" + name
		}
	}
	switch {
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0 && (fits || derived == ""):
		return m.cfg.NodeName, nil
	case len(names) > 1:
		return "", refusal("the journal in %s has records of the nodes %s; volnode cannot tell which one this is. "+
			"Stop volnode on the other node, and restore the journal of this node",
			m.cfg.journalDir(), strings.Join(names, ", "))
	}
	return "", refusal("the UID of pod %s does not derive from the node name %q, and there is no identity file: the "+
		"host was renamed. Start volnode once with --node-name and the former name; the identity file then keeps it",
		derived, m.cfg.NodeName)
}

// elsewhere is what a person can do about a journal that was not made here.
const elsewhere = "restore the journal of this root directory, or move %[1]s away: volnode then inspects all " +
	"volumes"

// areInRoot refuses a journal that tells of another root directory: it was copied from there. What it says is not so
// here, and what it names there is not ours to take down.
func (m *VolumeManager) areInRoot(records []core.Record) error {
	for i := range records {
		for _, at := range m.cfg.VolumeSources.Places(&records[i].Rung) {
			if records[i].Phase != core.Lingering && !m.cfg.isBelowRoot(at) {
				return refusal("the journal in %s names %q, which is not below the root directory %q: it was copied "+
					"or moved from another root directory. Start with that --root-dir if it still exists. To move a "+
					"root directory, remove its manifests and wait until all volumes are gone. Else "+elsewhere,
					m.cfg.journalDir(), at, m.cfg.RootDir)
			}
		}
	}
	return nil
}

// areOurs refuses a journal of another root directory, or of another node.
func (m *VolumeManager) areOurs(records []core.Record, id identity.Identity) error {
	for i := range records {
		if name := plugin.NodeOf(records[i].Rung.Want); records[i].Phase != core.Lingering && name != "" &&
			name != id.Node {
			return refusal("the journal in %s has records of node %q, but this node is %q: it was copied from there. "+
				"Stop volnode, and "+elsewhere,
				m.cfg.journalDir(), name, id.Node)
		}
	}
	return m.areInRoot(records)
}

// isDerived: a uid of version 5 (RFC 9562), as a source makes it of a name.
func isDerived(uid core.PodUID) bool { return len(uid) == 36 && uid[14] == '5' }

// planLines bounds how much of a plan a refusal shows.
const planLines = 40

// mayTakeOver refuses a root directory with volumes that no journal of ours knows, unless a person has said that they
// are to be taken over.
func (m *VolumeManager) mayTakeOver(c hal.Call) error {
	if m.cfg.Adopt {
		return nil
	}
	listing, err := m.cfg.VolumeSources.Scan(&m.h, c, m.cfg.RootDir, true)
	if err != nil {
		return err
	}
	rungs, left := m.cfg.VolumeSources.Discover(m.cfg.RootDir, listing, m.cfg.driver)
	pods, err := plugin.List(&m.h, c, plugin.PodsDir(m.cfg.RootDir))
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
		plan = append(plan, fmt.Sprintf("leave %d directories in %s alone", len(pods), plugin.PodsDir(m.cfg.RootDir)))
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
		m.cfg.RootDir, strings.Join(plan, "\n  "))
}
