// Package cases is runs told by their choices: the settings that a seed gives, the choices that are kept, and what
// makes them in a run.
package cases

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/internal/wording"
	"github.com/volnode/volnode/scenarios/lang"
)

// Case is a run told by its choices: what is not kept is benign.
type Case struct {
	// Scenario is in place of a world of a hunt; nil for one of those.
	Scenario *lang.Scenario
	// Seed is of a hunt. It gives the setup of the world and the times of what is not kept, unless Still.
	Seed uint64
	// Times is the seed of the times of what is not kept, in place of Seed; 0 is Seed.
	Times uint64
	// Still: nothing is drawn. Times that are not kept are the shortest, and the setup is the plainest but for the
	// settings that are kept.
	Still bool
	Keep  []Kept
}

// Kept is one choice that a case keeps.
type Kept struct {
	ID    sim.ID
	Value int64     // the index of a pick, or by how much a time is longer than the shortest; ignored with a fault
	Fault sim.Fault // NoFault of choices that are no faults
	Time  bool      // it is a time, or another value of a range
	// Drawn: the value is what the seed draws.
	Drawn bool
}

// Settings of a hunt's world are kept like choices.
var (
	setRuntime  = sim.NewID("hunt.no-runtime", "", 0)
	setFiles    = sim.NewID("hunt.files", "", 0)
	setNervous  = sim.NewID("hunt.nervous", "", 0)
	setRestart  = sim.NewID("hunt.no-restart", "", 0)
	setPods     = sim.NewID("hunt.pods", "", 0)
	setVolumes  = sim.NewID("hunt.volumes", "", 0)
	setTie      = sim.NewID("hunt.tie", "", 0)
	setDepth    = sim.NewID("hunt.depth", "", 0)
	setGrows    = sim.NewID("hunt.journal-grows", "", 0)
	setInFlight = sim.NewID("hunt.in-flight", "", 0)
	SetChaos    = sim.NewID("hunt.chaos", "", 0)
	setSteady   = sim.NewID("hunt.steady", "", 0) // of a scenario: see Play.IsSteady
)

const mostDepth = 8

func (k Kept) isSetting() bool { return strings.HasPrefix(k.ID.Site, "hunt.") }

// IsChoice: it is something that happens, and not how the world is set up or how long something takes.
func (k Kept) IsChoice() bool { return !k.Time && !k.isSetting() }

// IsWorkload reports whether the workload chooses at a site, and not the world.
func IsWorkload(site string) bool { return strings.HasPrefix(site, "workload.") }

// Steady is the setting that makes the play of a case steady: see [Play].
func Steady() Kept { return Kept{ID: setSteady, Value: 1} }

// IsSteady: the case keeps that setting.
func (c Case) IsSteady() bool {
	return slices.ContainsFunc(c.Keep, func(k Kept) bool { return k.ID == setSteady && k.Value != 0 })
}

// Choices is what is kept but settings and times.
func (c Case) Choices() []Kept {
	return slices.DeleteFunc(slices.Clone(c.Keep), func(k Kept) bool { return !k.IsChoice() })
}

// Without is the case without its i-th to j-th choice.
func (c Case) Without(i, j int) Case {
	c.Keep = slices.Concat(c.Keep[:i], c.Keep[j:])
	return c
}

// With is the case with its i-th choice changed.
func (c Case) With(i int, k Kept) Case {
	c.Keep = slices.Clone(c.Keep)
	c.Keep[i] = k
	return c
}

// plain is the setup with no settings. Every fault can happen, so that none depends on which others can.
func plain() Setup {
	return Setup{Pods: huntPods, Volumes: RawVolume, Idle: 1, Chaos: Chaos, Profile: sim.Everything()}
}

// Settings are what makes the plain setup one like s.
func (s Setup) Settings() []Kept {
	var all []Kept
	add := func(id sim.ID, value, usual int64) {
		if value != usual {
			all = append(all, Kept{ID: id, Value: value})
		}
	}
	flag := map[bool]int64{true: 1}
	add(setRuntime, flag[s.NoRuntime], 0)
	add(setFiles, flag[s.Files], 0)
	add(setNervous, flag[s.Nervous], 0)
	add(setRestart, flag[s.NoRestart], 0)
	add(setPods, int64(s.Pods), huntPods)
	add(setVolumes, int64(s.Volumes), RawVolume)
	add(setTie, int64(s.Tie), 0)
	add(setDepth, int64(s.Depth), 0)
	add(setInFlight, int64(s.InFlight), 0)
	add(setGrows, flag[s.Grows], 0)
	if s.Chaos != Chaos {
		all = append(all, Kept{ID: SetChaos, Value: int64(s.Chaos), Time: true})
	}
	return all
}

// Setup is that of the case's world.
func (c Case) Setup() Setup {
	s := plain()
	if !c.Still {
		s = SetupOf(c.Seed)
	}
	for _, k := range c.Keep {
		switch k.ID.Hash() {
		case setRuntime.Hash():
			s.NoRuntime = k.Value != 0
		case setFiles.Hash():
			s.Files = k.Value != 0
		case setNervous.Hash():
			s.Nervous = k.Value != 0
		case setRestart.Hash():
			s.NoRestart = k.Value != 0
		case setPods.Hash():
			s.Pods = int(min(max(k.Value, 1), huntPods))
		case setVolumes.Hash():
			s.Volumes = int(min(max(k.Value, RawVolume), HuntVolumes))
		case setTie.Hash():
			s.Tie = uint64(k.Value)
		case setDepth.Hash():
			s.Depth = int(min(max(k.Value, 0), mostDepth))
		case setGrows.Hash():
			s.Grows = k.Value != 0
		case setInFlight.Hash():
			s.InFlight = int(max(k.Value, 0))
		case SetChaos.Hash():
			s.Chaos = min(max(time.Duration(k.Value), time.Second), Chaos)
		}
	}
	return s
}

// Chooser makes the choices of the case.
func (c Case) Chooser() *Keeper {
	k := &Keeper{values: make(map[uint64]*Kept, len(c.Keep)), met: make(map[uint64]bool, len(c.Keep))}
	for i := range c.Keep {
		k.values[c.Keep[i].ID.Hash()] = &c.Keep[i]
	}
	if !c.Still {
		k.seed, k.times = sim.Seeded(c.Seed), sim.Seeded(c.Seed^c.Times)
	}
	return k
}

// Keeper makes the choices of a case. It notes which of them a run comes to.
type Keeper struct {
	values map[uint64]*Kept
	met    map[uint64]bool
	seed   sim.Chooser // nil for nobody
	times  sim.Chooser // of what is not kept; nil for the shortest
}

// Met says whether the run came to a choice that is kept, and could choose so: a case that no longer comes to its own
// is stale.
func (k *Keeper) Met(id sim.ID) bool { return k.met[id.Hash()] }

// Unmet returns the choices of the case that the run did not come to, as --keep has them.
func (k *Keeper) Unmet(c Case) []string {
	var all []string
	for _, kept := range c.Choices() {
		if !k.Met(kept.ID) {
			all = append(all, kept.String())
		}
	}
	return all
}

// Pick implements sim.Chooser.
func (k *Keeper) Pick(id sim.ID, weights []uint32) int {
	kept := k.values[id.Hash()]
	switch {
	case kept == nil:
		return 0
	case kept.Drawn && k.seed != nil:
		k.met[id.Hash()] = true
		return k.seed.Pick(id, weights)
	case kept.Value < 0 || kept.Value >= int64(len(weights)):
		return 0
	}
	k.met[id.Hash()] = true
	return int(kept.Value)
}

// PickFault implements sim.FaultChooser. A fault that the call can't meet is none.
func (k *Keeper) PickFault(id sim.ID, faults []sim.Fault, weights []uint32) sim.Fault {
	kept := k.values[id.Hash()]
	f := sim.NoFault
	switch {
	case kept == nil:
		return f
	case kept.Drawn && k.seed != nil:
		f = faults[k.seed.Pick(id, weights)]
	case slices.Contains(faults, kept.Fault):
		f = kept.Fault
	}
	if f != sim.NoFault {
		k.met[id.Hash()] = true
	}
	return f
}

// Between implements sim.Chooser.
func (k *Keeper) Between(id sim.ID, lo, hi int64) int64 {
	kept := k.values[id.Hash()]
	switch {
	case kept != nil:
		k.met[id.Hash()] = true
		return min(lo+kept.Value, hi)
	case k.times != nil:
		return k.times.Between(id, lo, hi)
	}
	return lo
}

// String is the value of the flag --keep that ParseKeep reads.
func (c Case) String() string {
	parts := make([]string, len(c.Keep))
	for i, k := range c.Keep {
		parts[i] = k.String()
	}
	return strings.Join(parts, ",")
}

// String is site@object#n=value: the value is a fault, an index or a time. What is about no object, for the first time,
// is site=value, and ~/ is the agent's root directory.
func (k Kept) String() string {
	id := k.ID.Site
	if k.ID.Object != "" || k.ID.Nth > 0 {
		id = k.ID.String()
	}
	id = strings.ReplaceAll(id, lang.RootDir+"/", "~/")
	switch {
	case k.Drawn:
		return id
	case k.Fault != sim.NoFault:
		return id + "=" + flagOf(k.Fault)
	case k.Time && time.Duration(k.Value) >= time.Microsecond:
		return id + "=" + time.Duration(k.Value).String()
	}
	return id + "=" + strconv.FormatInt(k.Value, 10)
}

// flagOf is a fault without blanks and commas.
func flagOf(f sim.Fault) string { return strings.NewReplacer(", ", "-", " ", "-").Replace(f.String()) }

// ParseKeep reads the choices that a case keeps.
func ParseKeep(text string) ([]Kept, error) {
	var kept []Kept
	for _, part := range strings.Split(text, ",") {
		k, err := ParseKept(part)
		if err != nil {
			return nil, err
		}
		kept = append(kept, k)
	}
	return kept, nil
}

// ParseKept reads what Kept.String prints.
func ParseKept(text string) (Kept, error) {
	name, value, hasValue := text, "", false
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		name, value, hasValue = text[:i], text[i+1:], true
	}
	if !strings.Contains(name, "@") && name != "" {
		name += "@#0"
	}
	id, err := sim.ParseID(strings.ReplaceAll(name, "~/", lang.RootDir+"/"))
	if err != nil || !strings.Contains(id.Site, ".") {
		return Kept{}, fmt.Errorf("%q is not a choice: want site@object#n=value, as volsim shrink prints it", text)
	}
	k := Kept{ID: id, Drawn: !hasValue}
	if !hasValue {
		return k, nil
	}
	if k.Value, err = strconv.ParseInt(value, 10, 64); err == nil {
		return k, notNegative(text, k.Value)
	}
	if d, err := time.ParseDuration(value); err == nil {
		k.Value, k.Time = int64(d), true
		return k, notNegative(text, k.Value)
	}
	var names []string
	for _, f := range sim.Faults() {
		if flagOf(f) == value {
			k.Fault = f
			return k, nil
		}
		names = append(names, flagOf(f))
	}
	meant := ""
	if near := wording.Nearest(value, names); near != "" {
		meant = "; did you mean " + near + "?"
	}
	return Kept{}, fmt.Errorf("%q: %q is no fault, index or time%s", text, value, meant)
}

func notNegative(text string, value int64) error {
	if value < 0 {
		return fmt.Errorf("%q: a value is not negative", text)
	}
	return nil
}

// Command is the line that has a subcommand of volsim run the case.
func (c Case) Command(subcommand string) string {
	if c.Scenario != nil && len(c.Keep) == 0 {
		return "volsim run " + c.Scenario.Argument()
	}
	var b strings.Builder
	b.WriteString("volsim " + subcommand)
	switch {
	case c.Scenario != nil:
		b.WriteString(" " + c.Scenario.Argument())
	case !c.Still:
		fmt.Fprintf(&b, " --seed %d", c.Seed)
	}
	if len(c.Keep) > 0 {
		b.WriteString(" --keep '" + c.String() + "'")
	}
	if c.Times != 0 {
		fmt.Fprintf(&b, " --times %d", c.Times)
	}
	return b.String()
}
