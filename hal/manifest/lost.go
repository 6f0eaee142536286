package manifest

import (
	"bytes"
	"crypto/sha256"
	"hash/crc32"
	"path"
	"slices"

	"github.com/volnode/volnode/hal"
)

// This file notices that somebody has removed or changed what the next run must know, and has it written again. It
// looks at the names in the cache directory that have changed, the agent's own changes included. So a change of a
// manifest costs the same however many copies there are. Where nobody knows the names, it looks at all; in a reading of
// everything, it lists all. It reads copies, and of the ledger, which is as long as there are manifests, it looks
// whether its file is as the agent's last write left it. Another change soon after that may show the same time
// (hal.Info): so it reads a ledger that has changed since a look, and that the agent has not written since.

// look adds to what is lost, of all that is to be there, or of what has changed. A list does not show what somebody has
// changed in place. So each name is looked at that may have changed, but for a start, which reads what it needs.
func (r *reader) look(isAll bool) {
	changed, isAny := r.ours()
	if isAny = isAny || r.isVague; isAny {
		changed = r.before.keeps()
	} else {
		changed = slices.DeleteFunc(changed, func(name string) bool { return !r.before.isKept(name) })
	}
	var err error
	is := map[string]bool{} // by name: it is there
	if isAll {
		is, err = r.listsOurs()
	}
	r.compares = isAny || r.before.ledger.is == r.asked
	if err == nil && !(isAll && isAny && !r.before.served) {
		err = r.looksAtOurs(changed, is)
	}
	if r.isVague = err != nil; r.isVague {
		return
	}
	if isAll {
		changed = r.before.keeps()
	}
	for _, name := range changed {
		if !is[name] && r.before.needs(name) {
			r.lost = append(r.lost, name)
		}
	}
}

func (r reader) listsOurs() (map[string]bool, error) {
	entries, err := r.h.Tree.List(r.call, r.o.CacheDir)
	if err != nil && !isNoFile(err) {
		return nil, err
	}
	is := make(map[string]bool, len(entries))
	for _, e := range entries {
		is[e.Name] = e.Type == hal.TypeFile
	}
	return is, nil
}

// looksAtOurs says of each name whether what was written lies there, if it is needed.
func (r reader) looksAtOurs(names []string, is map[string]bool) error {
	for _, name := range names {
		if !r.before.needs(name) {
			continue
		}
		holds, err := r.holds(name)
		if err != nil && !isNoCopy(err) {
			return err
		}
		is[name] = err == nil && holds
	}
	return nil
}

// holds reports whether a name in the cache directory has what this run or the last one wrote there.
func (r reader) holds(name string) (bool, error) {
	at := path.Join(r.o.CacheDir, name)
	if name == ledger {
		info, err := r.h.Tree.Stat(r.call, at)
		if err != nil || info != r.before.ledger.is || !r.compares {
			return info == r.before.ledger.is, err
		}
	}
	data, err := r.h.Files.Read(r.call, at, maxLedger)
	is := sha256.Sum256(data)
	switch {
	case name == ledger:
		return crc32.ChecksumIEEE(data) == r.before.ledger.sum, err
	case name == kept:
		return bytes.Equal(data, r.before.keeping), err
	case r.before.packs.has(name):
		return name == packName(is), err
	}
	return is == r.before.files.of(name).sum, err
}

// isKept reports whether a name in the cache directory is of something that the next run must know, or was.
func (s state) isKept(name string) bool {
	return name == ledger || name == kept || s.files.has(name) || s.packs.has(name)
}

// keeps is all such names, in any order.
func (s state) keeps() []string {
	all := []string{ledger, kept}
	for name := range s.files.all() {
		all = append(all, name)
	}
	for name := range s.packs.all() {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// needs reports whether something that the next run must know lies under such a name.
func (s state) needs(name string) bool {
	switch f := s.files.of(name); {
	case name == ledger:
		return s.ledger.isThere
	case name == kept:
		return len(s.keeping) > 0
	case s.packs.has(name):
		return len(s.copiesIn(name)) > 0
	default:
		return f.copied && f.pack == ""
	}
}

// copiesIn names the files whose copies lie in a pack.
func (s state) copiesIn(pack string) (names []string) {
	for name, f := range s.files.all() {
		if f.copied && f.pack == pack {
			names = append(names, name)
		}
	}
	return names
}

// miss has what is lost not be there any more, so that this reading writes it again.
func (s *state) miss(lost []string) {
	for _, name := range lost {
		switch {
		case name == ledger:
			s.ledger = noBook()
		case name == kept:
			s.keeping = nil
		case s.packs.has(name):
			for _, one := range s.copiesIn(name) {
				f := s.files.of(one)
				f.copied = false
				s.put(one, f)
			}
		default:
			f := s.files.of(name)
			f.copied, f.alone = false, false
			s.put(name, f)
		}
	}
}

// missesOurs looks whether the copies are there, once nothing is being read: a reading looks for itself.
func (c *Cluster) missesOurs() {
	if c.isLooking {
		return
	}
	c.isLooking = true
	c.h.Runtime.At(c.h.Runtime.Now().Add(debounce), func() {
		c.isLooking = false
		if c.reading {
			c.missesOurs()
			return
		}
		c.reading = true // who reads asks for the same names, and may change the state
		r := c.reader()
		c.h.Runtime.Go(func() {
			if r.look(false); len(r.lost) > 0 {
				found := r.read()
				c.h.Runtime.Post(func() { c.take(found) })
				return
			}
			c.h.Runtime.Post(func() { c.looked(r.isVague) })
		})
	})
}

// looked ends an inspection that has missed nothing.
func (c *Cluster) looked(isVague bool) {
	c.reading, c.isVague = false, isVague
	switch {
	case c.noticed:
		c.noticed = false
		c.plan(0)
	case isVague:
		c.plan(again)
	}
}
