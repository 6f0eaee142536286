package engine

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
)

const (
	startRetry    = time.Second
	startRetryMax = 30 * time.Second
	// patience is how many listings of the layout fail before a directory that can't be listed is one entry's trouble.
	patience = 4
)

// node is what a start reads of the node.
type node struct {
	journal *journal.Journal      // open for writing
	loaded  journal.Loaded        // what it held
	id      identity.Identity     // whose root directory it is
	log     *deletions.Log        // of deletions
	deleted []deletions.Entry     // what that log says
	start   core.Start            // what core begins with
	base    hal.MountID           // on which the root directory is
	strange []stranger            // mounted below it
	isRead  bool                  // all but the layout
	left    []plugin.Unrecognised // names in the layout that give no rung
}

// starting is the start: it reads the node until that succeeds, or a person has to decide.
type starting struct {
	*port
	begin   func(node)             // is called once the node is read
	damaged func([]journal.Damage) // told of what the journal has lost

	id       identity.Identity // whose root directory it is
	why      string            // why the start failed last; "" if it did not
	starts   int               // failed attempts to start
	listings int               // the part of starts that failed to list the root directory
	refusal  *Refusal          // why the start was refused for good; nil for none. Run returns it.
}

// start reads the node, beside the owner, until it could be read; then core begins. What can't be read is not taken for
// absent: the start waits.
func (s *starting) start() {
	if s.stopping {
		return
	}
	isPatient, known := s.listings >= patience, s.id
	s.h.Runtime.Go(func() {
		n, err := s.read(isPatient, known)
		if misplaced := s.misplaced(err); misplaced != nil {
			err = misplaced
		}
		s.h.Runtime.Post(func() {
			if s.stopping {
				return
			}
			if n.id.Node != "" {
				s.id = n.id
			}
			s.damaged(n.loaded.Damages)
			if refusal, is := errors.AsType[*Refusal](err); is {
				s.startRefused(refusal)
				return
			}
			if err != nil {
				s.why = reason("start", err)
				s.starts++
				if n.isRead {
					s.listings++ // other failures say nothing of the directories: each has its own tries
				}
				s.emit(StartFailed{err.Error()})
				wait := min(startRetry<<min(s.starts-1, 5), startRetryMax)
				s.h.Runtime.At(s.h.Runtime.Now().Add(wait), s.start)
				return
			}
			s.why, s.starts, s.listings = "", 0, 0
			s.begin(n)
		})
	})
}

// read runs as a task. known is whose root directory an earlier try has found it to be.
func (s *starting) read(isPatient bool, known identity.Identity) (n node, err error) {
	c := hal.Call{}
	// Before anything is made: what is another agent's, or another machine's, is not touched.
	var isNode bool
	if n.id, isNode, err = s.identify(c, known); err != nil {
		return n, err
	}
	boot := s.h.Runtime.BootID()
	doubt := func(rec core.Record) core.Record { return doubtful(rec, s.h.Runtime.Now(), boot) }
	accept := func(records []core.Record) error { return s.areOurs(records, n.id) }
	n.journal, n.loaded, err = journal.Open(&s.h, c, s.cfg.journalDir(), s.cfg.JournalBytes, doubt, accept)
	if err != nil {
		return n, err
	}
	n.journal.MayGrow(s.cfg.JournalMost)
	n.loaded.Damages = append(n.loaded.Damages, s.goneJournal(c, isNode && n.loaded.New)...)
	hasRun, err := s.makeDirs(c)
	if err != nil {
		return n, err
	}
	n.log, n.deleted = deletions.Open(&s.h, c, identity.Dir(s.cfg.RootDir))
	// Before anything is looked at: a helper that is not in the list is dead, and what it has done is seen.
	children, err := s.h.Children.Living(c)
	if err != nil {
		return n, err
	}
	// One of no rung was only to look.
	children = slices.DeleteFunc(children, func(child hal.Child) bool { return child.Key == "" })
	table, err := s.h.Mounts.Table(c)
	if err != nil {
		return n, err
	}
	n.start = s.recorded(n.loaded, boot)
	// One reading of the table serves the looks of all records.
	h := s.h
	h.Mounts = tableOnce{Mounts: s.h.Mounts, stacks: stacksOf(table)}
	n.start.Found = found(s.cfg.VolumeSources, &h, n.loaded.Records)
	n.isRead = true
	listing, err := s.cfg.VolumeSources.Scan(&h, c, s.cfg.RootDir, isPatient)
	if err != nil {
		return n, err
	}
	n.start.Orphans, n.left = orphans(&s.cfg, listing, func(key hal.Key) bool {
		_, recorded := slices.BinarySearchFunc(n.loaded.Records, key,
			func(r core.Record, key hal.Key) int { return cmp.Compare(r.Rung.Key, key) })
		return recorded
	}, func(volume string) bool {
		return slices.ContainsFunc(n.loaded.Records, func(r core.Record) bool { return r.Rung.Volume == volume })
	})
	n.start.Hidden, n.start.Unseen = plugin.Hidden(n.left), listing.Unseen
	// The directory of pods alone may have been removed.
	n.start.HasRun = hasRun || !n.loaded.New || len(n.start.Orphans)+len(n.start.Hidden)+len(children) > 0
	n.start.Untold = untold(n.start.Unseen, table, n.start.Records)
	prune(&h, c, s.cfg.RootDir, listing.Empty)
	if s.cfg.HoldsLimits {
		// Of directories that are gone: somebody has removed them, or the disk has lost them. If it fails, the next setup
		// or teardown does it.
		_ = s.h.Quotas.Lift(c, s.cfg.RootDir, 0)
	}
	n.base = standsOn(table, s.cfg.RootDir).ID
	n.strange = strangers(table, s.cfg.RootDir, placesOf(&n.start))
	n.start.Covers = coversOf(nil, n.strange)
	s.follow(children)
	for _, child := range children {
		n.start.Children = append(n.start.Children, core.ChildSeen{Key: child.Key, What: childText(child)})
	}
	return n, nil
}

// recorded is what core begins with as far as the journal tells.
func (s *starting) recorded(loaded journal.Loaded, boot hal.BootID) core.Start {
	start := core.Start{
		Boot: boot, Records: loaded.Records, Forgive: s.cfg.forgiven(), InFlight: s.cfg.InFlight,
		HasLost: loaded.New || len(loaded.Damages) > 0,
	}
	for i := range start.Records {
		r := &start.Records[i].Rung
		r.Places = s.cfg.VolumeSources.Places(r) // by what it was made with: a record says nothing else of them
	}
	return start
}

// found inspects what records tell of.
func found(sources kinds.Table, h *hal.Host, records []core.Record) (all []core.Found) {
	for _, rec := range records {
		look := core.Op{
			Verb: core.Inspect, Key: rec.Rung.Key, Kind: rec.Rung.Kind, Params: rec.Rung.Want,
			Facts: rec.Facts, Fingerprint: rec.Fingerprint,
		}
		if res := run(sources, h, look); res.Outcome == hal.Done {
			all = append(all, core.Found{Key: rec.Rung.Key, Fingerprint: res.Fingerprint})
		}
	}
	return all
}

// makeDirs makes the directories that are ours, durably: see goneJournal. hasRun: an agent, this or another one, has
// run here before, as that of pods is there.
func (s *starting) makeDirs(c hal.Call) (hasRun bool, err error) {
	for _, dir := range s.cfg.dirs() {
		err := s.h.Tree.Mkdir(c, dir, dirMode)
		if err != nil && !hal.Is(err, syscall.EEXIST) {
			return false, err
		}
		hasRun = hasRun || err != nil && path.Base(dir) == "pods"
	}
	// Also if all were there: the agent may have died before it synced the names.
	return hasRun, s.h.Files.Sync(c, s.cfg.RootDir)
}

// misplaced says which directory of the layout is none, if a start has failed because of that; nil if it has not. It
// runs as a task.
func (s *starting) misplaced(err error) error {
	_, isRefused := errors.AsType[*Refusal](err)
	if !isRefused && !hal.Is(err, syscall.ENOTDIR) && !hal.Is(err, syscall.ELOOP) {
		return nil
	}
	csi := plugin.CSIDir(s.cfg.RootDir)
	dirs := []string{identity.Dir(s.cfg.RootDir), s.cfg.journalDir()}
	for _, dir := range append(append(dirs, s.cfg.dirs()...), path.Dir(csi), csi) {
		info, err := s.h.Tree.Stat(hal.Call{}, dir)
		if err == nil && !info.MountPoint && info.Type != hal.TypeDirectory {
			return fmt.Errorf("%s is a %s, not a directory; volnode waits, and volumes stay as they are. Move it away, and "+
				"put the directory back: volnode looks again. To keep it on another disk, use a bind mount in place of a link",
				dir, info.Type)
		}
	}
	return nil
}

// goneJournal tells that a node has lost its journal. A start makes the directory of pods after the journal, so a node
// with that directory had one; if nobody can look, it is taken to be there.
func (s *starting) goneJournal(c hal.Call, isNew bool) []journal.Damage {
	if !isNew {
		return nil
	}
	if _, err := s.h.Tree.Stat(c, path.Join(s.cfg.RootDir, "pods")); hal.Is(err, syscall.ENOENT) {
		return nil
	}
	return []journal.Damage{{
		File: s.cfg.journalDir(), What: "the journal of this node is missing: someone removed it",
	}}
}

// follow tells core once the last of a rung's helpers is dead.
func (s *starting) follow(children []hal.Child) {
	living := map[hal.Key]int{} // the owner's, from the first Gone on
	for _, child := range children {
		living[child.Key]++
	}
	for _, child := range children {
		s.h.Children.Gone(child, func() {
			living[child.Key]--
			if living[child.Key] == 0 {
				step(s.port, core.ChildGone{Key: child.Key})
			}
		})
	}
}

// tell logs what a start found.
func (s *starting) tell(n node) {
	for _, u := range n.left {
		s.emit(NotRecognised{u.Path, u.Why})
	}
	s.emit(Started{len(n.start.Records), len(n.loaded.Doubtful), len(n.start.Orphans), len(n.start.Children)})
}

// doubtful is a record of which a later line, of this boot, may be lost: what it stands for is Unknown, and a call may
// act on it as long as one that was sent just now. Of what another boot has written, neither instants nor fingerprints
// mean anything in this one.
func doubtful(rec core.Record, now hal.Instant, boot hal.BootID) core.Record {
	if rec.Boot != boot {
		rec.Fingerprint, rec.Generation, rec.SetUpUntil, rec.TearDownUntil = "", nil, 0, 0
		rec.Seen = core.SeenUnknown
	}
	limits := rec.Rung.Limits
	rec.Phase, rec.Boot, rec.MayBeUsed = core.Intent, boot, rec.Rung.Pod != ""
	rec.SetUpUntil = max(rec.SetUpUntil, now.Add(limits.SetUp+limits.LateWindow))
	rec.TearDownUntil = max(rec.TearDownUntil, now.Add(limits.TearDown+limits.LateWindow))
	return rec
}

// tableOnce answers At from one reading of the mount table.
type tableOnce struct {
	hal.Mounts
	stacks map[string][]hal.Mount // by path, the lowest mount first
}

func (t tableOnce) At(_ hal.Call, path string) ([]hal.Mount, error) { return t.stacks[path], nil }

// stacksOf groups a table by mount point, each stack bottom first.
func stacksOf(table []hal.Mount) map[string][]hal.Mount {
	stacks := make(map[string][]hal.Mount, len(table))
	for _, mount := range table {
		stacks[mount.Path] = append(stacks[mount.Path], mount)
	}
	return stacks
}
