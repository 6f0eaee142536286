package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/scenarios/fleet"
)

// Merged is what several hunts came to.
type Merged struct {
	Commit   string   // that all of them have; "" if it is not known
	Hunts    int      // that began
	Ended    int      // that told their end
	Missing  []string // shards of which there is nothing
	Sums     fleet.Sums
	CPU      time.Duration // of the hunts that ended
	Elapsed  time.Duration // of the longest one
	Failures []Failure     // lowest seeds first
	Damaged  []error       // lines that can't be read, each with its place

	heads   []placed[Head]
	batches []placed[fleet.Batch]
}

// placed is a thing and where it was read.
type placed[T any] struct {
	what  T
	place string // file:line
}

// Signatures is the distinct ones of the failures, each with its failures, in the order of their lowest seeds.
func (m *Merged) Signatures() (order []string, by map[string][]Failure) {
	by = map[string][]Failure{}
	for _, f := range m.Failures {
		if by[f.Signature()] == nil {
			order = append(order, f.Signature())
		}
		by[f.Signature()] = append(by[f.Signature()], f)
	}
	return order, by
}

// Tally is the sums as of one hunt.
func (m *Merged) Tally() fleet.Tally {
	return fleet.Tally{Sums: m.Sums, CPU: m.CPU, Elapsed: m.Elapsed}
}

// Results is the sums as the results of one hunt.
func (m *Merged) Results() Results {
	t := m.Tally()
	r := Results{
		Title: "Hunts", Commit: m.Commit, Tally: &t, Hunts: m.Hunts, Families: map[string]uint64{},
		Failures: m.Failures,
	}
	for _, b := range m.batches {
		for seed := b.what.From; seed < b.what.To; seed++ {
			r.Families[fleet.FamilyOf(seed)]++
		}
	}
	return r
}

// Read adds the lines of one file. Lines that can't be read go to Damaged; the error is that of reading alone.
func (m *Merged) Read(name string, in io.Reader) error {
	lines := bufio.NewReader(in)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		isLast := errors.Is(err, io.EOF)
		if err != nil && !isLast {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		place := fmt.Sprintf("%s:%d", name, n)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if wrong := m.line(line, place); wrong != nil {
				m.Damaged = append(m.Damaged, fmt.Errorf("%s: %w", place, wrong))
			}
		}
		if isLast {
			return nil
		}
	}
}

func (m *Merged) line(line []byte, place string) error {
	var k kind
	if err := json.Unmarshal(line, &k); err != nil {
		return errors.New("no line of a hunt, as volsim hunt --jsonl writes them: it is no JSON object, or a field " +
			"of it has another type")
	}
	if k.Schema != Schema {
		return fmt.Errorf("schema %d; this volsim reads %d", k.Schema, Schema)
	}
	switch k.Kind {
	case kindHead:
		var h Head
		if err := json.Unmarshal(line, &h); err != nil {
			return err
		}
		if _, err := fleet.ParseShard(h.Shard); err != nil {
			return err
		}
		m.heads = append(m.heads, placed[Head]{h, place})
		m.Hunts++
	case kindBatch:
		var b fleet.Batch
		if err := json.Unmarshal(line, &b); err != nil {
			return err
		}
		if b.From >= b.To || b.To-b.From != b.Schedules || b.Schedules > fleet.BlockSeeds ||
			b.Caught > b.Canaries || b.Canaries > b.Schedules {
			return fmt.Errorf("a batch of the seeds %d up to %d can't have %d schedules with %d of %d canaries",
				b.From, b.To, b.Schedules, b.Caught, b.Canaries)
		}
		m.batches = append(m.batches, placed[fleet.Batch]{b, place})
		m.Sums.Add(b.Sums)
	case kindFailure:
		var f Failure
		if err := json.Unmarshal(line, &f); err != nil {
			return err
		}
		if f.Violation == nil {
			return errors.New("a failure without its violation")
		}
		m.Failures = append(m.Failures, f)
	case kindEnd:
		var e End
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		m.Ended++
		m.CPU += e.CPU
		m.Elapsed = max(m.Elapsed, e.Elapsed)
	default:
		return fmt.Errorf("%q is no kind of line; %s are", k.Kind,
			strings.Join([]string{kindHead, kindBatch, kindFailure, kindEnd}, ", "))
	}
	return nil
}

// Check sorts what was read. It is an error if a seed was run twice, or if the hunts are of different versions: sums
// would be of no one engine.
func (m *Merged) Check() error {
	slices.SortStableFunc(m.Failures, func(a, b Failure) int { return cmp.Compare(a.Seed, b.Seed) })
	slices.SortStableFunc(m.batches,
		func(a, b placed[fleet.Batch]) int { return cmp.Compare(a.what.From, b.what.From) })
	if len(m.heads)+len(m.batches) == 0 {
		return errors.New("there is no line of a hunt: give files that volsim hunt --jsonl wrote")
	}
	for i := 1; i < len(m.batches); i++ {
		a, b := m.batches[i-1], m.batches[i]
		if b.what.From < a.what.To {
			return fmt.Errorf("the seeds from %d to %d are in %s and in %s: give each result once, and hunts of "+
				"other seeds (--shard, --seed)",
				b.what.From, min(a.what.To, b.what.To)-1, a.place, b.place)
		}
	}
	shards := map[string]bool{}
	for _, h := range m.heads {
		if first := m.heads[0]; h.what.Commit != first.what.Commit {
			return fmt.Errorf("%s is a hunt of version %q and %s of %q: merge those of one version", first.place,
				first.what.Commit, h.place, h.what.Commit)
		}
		m.Commit = h.what.Commit
		shards[h.what.Shard] = true
	}
	m.missing(shards)
	return nil
}

// missing looks for shards of which there is nothing, if all hunts are parts of as many.
func (m *Merged) missing(shards map[string]bool) {
	of := uint64(0)
	for _, h := range m.heads {
		s, _ := fleet.ParseShard(h.what.Shard) // it was parsed when it was read
		if of != 0 && s.Of != of {
			return
		}
		of = s.Of
	}
	for i := range of {
		if s := (fleet.Shard{Index: i, Of: of}).String(); !shards[s] {
			m.Missing = append(m.Missing, s)
		}
	}
}
