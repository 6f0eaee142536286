package cases

import (
	"strings"
	"time"

	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/hal/sim"
)

// This file is what a seed gives of a hunt's world before it begins: its size, its manner, and which faults it has.

// Setup is all of a hunt's world that is not one of its choices.
type Setup struct {
	NoRuntime bool // containers end when their pod is deleted
	Files     bool // the agent reads a directory of manifests
	Nervous   bool // all happens in the first third of each slot
	NoRestart bool // in calm the agent is not started again
	Pods      int  // how many pods come and go; at most maxPods
	// how many volumes there are, at most maxVolumes; from huntVolumes on, pods have the rare kinds
	Volumes  int
	InFlight int           // how many operations of one actor run at a time; 0 is as many as a start takes by itself
	Grows    bool          // the journal begins as small as it may be, and grows
	Idle     uint32        // the weight of doing nothing
	Tie      uint64        // of the order of what happens at one instant
	Depth    int           // of the order that threads of control keep (PCT); 0 is none
	Chaos    time.Duration // then comes calm
	Profile  sim.Profile
}

// SetupOf is what a seed gives.
func SetupOf(seed uint64) Setup {
	s := Setup{
		NoRuntime: seed&1 == 0, Files: seed%64 == 6, Nervous: IsNervous(seed), NoRestart: seed/5%3 > 0, Pods: huntPods,
		Volumes: RawVolume,
		Idle:    [...]uint32{10, 60, 150}[seed/2%3], Tie: seed | 1, Chaos: chaosOf(seed), Profile: profileOf(seed),
	}
	if seed/20%8 == 3 {
		s.Depth = 1 + int(seed/160%4)
	}
	if seed/3%8 == 5 {
		s.InFlight = 1 + int(seed/24%3)
	}
	s.Grows = seed/3%8 == 6
	if seed%9 < 2 || s.Files {
		s.Volumes = HuntVolumes
	}
	return s
}

// JournalMost is the size of a journal that has room for all pods, as they are and as they were before an edit: a
// quarter of a file is not for records.
func (s Setup) JournalMost() int64 { return int64(max(s.Pods, huntPods)) * 2 * PodRoom * 4 / 3 }

// JournalBytes is mostly enough; it grows for many volumes.
func (s Setup) JournalBytes() int64 {
	if s.Grows {
		return journal.MinSize
	}
	return int64(max(s.Pods, huntPods)) * 8 << 10
}

// chaosOf is how long pods come and go in a world of a hunt: not for all slots in three of four, so that more worlds
// are seen in the same time.
func chaosOf(seed uint64) time.Duration {
	return time.Duration([...]int{3, 2, 1, 1}[seed/54%4]) * Chaos / Slots
}

// Large is the setup of a large world, with the faults that the seed gives: 24 pods on 20 volumes, for the longest
// time.
func Large(seed uint64) Setup {
	s := SetupOf(seed)
	s.Files, s.NoRestart, s.Pods, s.Volumes, s.Chaos = false, false, 24, 20, Chaos
	return s
}

// profileOf draws which faults a schedule has: mostly a swarm, now and then all of them, or a storm of one.
func profileOf(seed uint64) sim.Profile {
	p := sim.Swarm(seed)
	switch seed % 20 {
	case 0, 1, 2:
		p = sim.Uniform()
	case 3, 4:
		p = sim.Storm(seed)
	}
	if IsNervous(seed) {
		return nervousProfile(seed)
	}
	// A life of the agent lasts long enough to get somewhere: a start alone is dozens of calls.
	for _, f := range []sim.Fault{sim.CrashBefore, sim.CrashAfter, sim.CrashReplied, sim.Reboot, sim.PowerCut} {
		p.Weight[f] = (p.Weight[f] + rarely - 1) / rarely
	}
	return p
}

// nervousProfile is of schedules in which calls have no reply and act late: with polite drivers, with others, or with
// such as die.
func nervousProfile(seed uint64) sim.Profile {
	p := sim.Only(8000, sim.Late, sim.Lost, sim.Stalled)
	for _, f := range []sim.Fault{sim.CrashAfter, sim.CrashReplied, sim.ChildLives, sim.LateDropped, sim.GoneUnseen} {
		p.Weight[f] = sim.Uniform().Weight[f]
	}
	switch seed / 20 % 3 {
	case 1: // drivers that answer ABORTED, or are at odds with what they have done
		p.Weight[sim.DriverNasty] = sim.Uniform().Weight[sim.DriverNasty]
	case 2: // drivers that die, and others that answer in their place
		for _, f := range []sim.Fault{
			sim.DriverCrash, sim.OrphanActs, sim.DriverReplaced, sim.Refused,
			sim.Intercepted,
		} {
			p.Weight[f] = sim.Uniform().Weight[f]
		}
	default:
	}
	return p
}

// IsNervous: a schedule in which calls have no reply and act late, the agent dies often, and pods come and go fast: it
// aims at the fences.
func IsNervous(seed uint64) bool { return seed%20 == 5 }

// rarely is how much rarer deaths of the agent are than the simulator's profiles have them.
const rarely = 16

const (
	Chaos = 20 * time.Minute // in which pods come and go and faults happen
	Slots = 3                // of the chaos, in each of which each pod may do one thing
	Grace = 30 * time.Second // the longest time that containers take to end
)

const (
	huntPods    = 8
	HuntVolumes = 6   // persistent volumes of a default hunt
	maxPods     = 256 // shape.index
	MaxVolumes  = 32  // shape.volumes
	// The last two are for few pods: a raw block volume, and one whose claim is ReadWriteOncePod.
	RawVolume, OneVolume = 4, 5
	// This one may go to another node, and so may the one that is ReadWriteOncePod.
	MovingVolume = 1
)

// What the records of a pod of a hunt take at most, in bytes, as long as it keeps no former volumes beside the present
// ones: of any pod, and of one volume of a driver.
const PodRoom, LadderRoom = 17 << 10, 4 << 10

// IsLatency: the times of this site are those that each call takes.
func IsLatency(site string) bool {
	_, part, _ := strings.Cut(site, "/")
	switch part {
	case "request", "reply", "arrive", "execute":
		return true
	}
	return false
}

// MaxSeed is above all seeds of a hunt.
const MaxSeed = 1 << 62
