package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/hal/sim"
)

// Case is a schedule some of whose choices were taken away: what is not kept is benign.
type Case struct {
	Seed uint64
	Keep []Kept
	// Times is the seed of the times of what is not kept, in place of Seed; 0 is Seed.
	Times uint64
	// Still: times are the shortest, but those of a choice that is kept. Else they are the seed's.
	Still bool
}

// Kept is one choice that a case keeps.
type Kept struct {
	ID    sim.ID
	Hash  uint64
	Value int // what is chosen; 0 is what the seed chooses
}

// String is the value of the flag --keep that ParseKeep reads.
func (c Case) String() string {
	parts := make([]string, len(c.Keep))
	for i, k := range c.Keep {
		parts[i] = strconv.FormatUint(k.Hash, 16)
		if k.Value != 0 {
			parts[i] += ":" + strconv.Itoa(k.Value)
		}
	}
	return strings.Join(parts, ",")
}

// ParseKeep reads the choices that a case keeps.
func ParseKeep(text string) ([]Kept, error) {
	var kept []Kept
	for _, part := range strings.Split(text, ",") {
		hash, value, hasValue := strings.Cut(part, ":")
		h, err := strconv.ParseUint(hash, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a choice: want its hash in hexadecimal, as volsim shrink prints it", part)
		}
		k := Kept{Hash: h}
		if hasValue {
			if k.Value, err = strconv.Atoi(value); err != nil || k.Value < 1 {
				return nil, fmt.Errorf("%q: the number behind the colon is from 1", part)
			}
		}
		kept = append(kept, k)
	}
	return kept, nil
}

// Chooser makes the choices of the case.
func (c Case) Chooser() sim.Chooser {
	k := &keeper{
		inner: sim.Seeded(c.Seed), times: sim.Seeded(c.Seed ^ c.Times), values: make(map[uint64]int, len(c.Keep)), still: c.Still, even: c.Times % 3,
	}
	for _, kept := range c.Keep {
		k.values[kept.Hash] = kept.Value
	}
	return k
}

type keeper struct {
	inner  sim.Seeded
	times  sim.Seeded
	values map[uint64]int
	still  bool
	even   uint64 // 0: none of the times of the workload are even, 1: all, 2: some
}

// isEven: pods come and go at any time alike, and not mostly at the beginning of their slots. So it is quickly found which times bring about what
// else takes many deaths of the agent to wait for.
func (k *keeper) isEven(id sim.ID) bool {
	return k.even != 0 && id.Site == "workload.time" && (k.even == 1 || id.Hash()&1 == 0)
}

const evenSteps = 64

var evenWeights = func() (w [evenSteps]uint32) {
	for i := range w {
		w[i] = 1
	}
	return w
}()

// Pick implements sim.Chooser.
func (k *keeper) Pick(id sim.ID, weights []uint32) int {
	v, ok := k.values[id.Hash()]
	switch {
	case !ok:
		return 0
	case v > 0 && v < len(weights) && weights[v] > 0:
		return v
	}
	return k.inner.Pick(id, weights)
}

// Between implements sim.Chooser.
func (k *keeper) Between(id sim.ID, lo, hi int64) int64 {
	if k.still && !isWorkload(id.Site) {
		return lo
	}
	if k.isEven(id) {
		return lo + (hi-lo)/evenSteps*int64(k.times.Pick(id, evenWeights[:]))
	}
	return k.times.Between(id, lo, hi)
}

func isWorkload(site string) bool { return strings.HasPrefix(site, "workload.") }

// Shrunk is what became of a failing schedule.
type Shrunk struct {
	Case      Case
	Choices   int // of the whole schedule
	Runs      int // that it took
	Violation *Violation
	Equal     int // replays of three whose trace is the same
	CPU       time.Duration
}

// shrinker takes choices away as long as the same property breaks at the same site.
type shrinker struct {
	hunter *Hunter
	seed   uint64
	want   string
	values map[uint64]int // what the seed chooses, by the choice's hash
	runs   int
}

// Shrink minimises a failing seed; nil if it does not fail.
func Shrink(h *Hunter, seed uint64) *Shrunk {
	began := cpuTime()
	rec := &sim.Recorder{Inner: sim.Seeded(seed)}
	whole := h.Run(Schedule{Seed: seed, Chooser: rec})
	if whole.Violation == nil {
		return nil
	}
	s := &shrinker{hunter: h, seed: seed, want: whole.Violation.Signature(), values: make(map[uint64]int, len(rec.Choices))}
	c := Case{Seed: seed}
	for _, choice := range rec.Choices {
		c.Keep = append(c.Keep, Kept{ID: choice.ID, Hash: choice.ID.Hash()})
		s.values[choice.ID.Hash()] = int(choice.Value)
	}
	all := len(c.Keep)
	c = s.least(c)
	still := c
	still.Still = true
	if s.fails(still) {
		c = s.minimise(still)
	}
	c = s.minimise(s.weaken(c))
	for n := uint64(0); n < 1 || n < stirs && len(c.Keep) > fewChoices; n++ {
		c = s.stir(c, n)
	}
	first := h.Run(Schedule{Seed: seed, Chooser: c.Chooser()})
	out := &Shrunk{Case: c, Choices: all, Runs: s.runs, Violation: first.Violation}
	for range 3 {
		fresh := NewHunter()
		fresh.canary = h.canary
		if again := fresh.Run(Schedule{Seed: seed, Chooser: c.Chooser()}); again.Hash == first.Hash && again.Events == first.Events {
			out.Equal++
		}
	}
	out.CPU = cpuTime() - began
	return out
}

func (s *shrinker) fails(c Case) bool {
	s.runs++
	res := s.hunter.Run(Schedule{Seed: s.seed, Chooser: c.Chooser()})
	return res.Violation != nil && res.Violation.Signature() == s.want
}

// least minimises from the front and from the back, and takes the smaller result: what can't be taken away alone depends on what went before it.
func (s *shrinker) least(c Case) Case {
	back := c
	back.Keep = slices.Clone(c.Keep)
	slices.Reverse(back.Keep)
	c, back = s.minimise(c), s.minimise(back)
	if len(back.Keep) < len(c.Keep) {
		return back
	}
	return c
}

// minimise is ddmin: ever smaller parts are taken away, at last single choices, until none can go.
func (s *shrinker) minimise(c Case) Case {
	for size := max(len(c.Keep)/2, 1); ; {
		gone := false
		for i := 0; i < len(c.Keep); {
			less := c
			less.Keep = slices.Delete(slices.Clone(c.Keep), i, min(i+size, len(c.Keep)))
			if s.fails(less) {
				c, gone = less, true
				continue
			}
			i += size
		}
		switch {
		case size > 1:
			size = size / 2
		case !gone:
			return c
		}
	}
}

// weaken replaces what is chosen by what comes before it in its menu, where that fails too: the menus begin with the milder faults.
func (s *shrinker) weaken(c Case) Case {
	for i := range c.Keep {
		if isWorkload(c.Keep[i].ID.Site) {
			continue
		}
		for v := 1; v < s.chosen(c.Keep[i]); v++ {
			milder := c
			milder.Keep = slices.Clone(c.Keep)
			milder.Keep[i].Value = v
			if s.fails(milder) {
				c = milder
				break
			}
		}
	}
	return c
}

// chosen is what a choice chooses.
func (s *shrinker) chosen(k Kept) int {
	if k.Value != 0 {
		return k.Value
	}
	return s.values[k.Hash]
}
