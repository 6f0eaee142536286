package coverage

import (
	"fmt"
	"slices"
)

// Probe is one rare thing that some run must come to: a hunt that never does is not as good as it looks.
type Probe uint8

// The probes.
const (
	// LateSetUp: a stage or publish acted after its deadline, or after the death of the agent that sent it.
	LateSetUp Probe = iota
	// LateTearDown: the same of an unstage or unpublish.
	LateTearDown
	// SetUpUndone: the contrary of a setup was sent while that setup could still act.
	SetUpUndone
	// TearDownRepeated: a teardown was sent again while an earlier one could still act.
	TearDownRepeated
	// EndByAnswer: a late answer ended the wait for a call.
	EndByAnswer
	// EndByDeath: the death of a driver ended the wait for a call.
	EndByDeath
	// EndByAborted: a repeat that was aborted, and a still later answer, ended the wait for a call.
	EndByAborted
	// DriverDenies: a driver denied what a rung stands on.
	DriverDenies
	// StartAdopts: a start took what stands for up, by its record.
	StartAdopts
	// StartDoubts: a start knew of a rung that was neither up nor down for sure.
	StartDoubts
	// StartFindsOrphan: a start found a trace of a rung of which no record told.
	StartFindsOrphan
	// StartFails: a start could not read the node, and was tried again.
	StartFails
	// JournalDamaged: a start found the journal damaged.
	JournalDamaged
	// JournalRefuses: a batch could not be written, and its operations were not started.
	JournalRefuses
	// JournalFull: the journal had no room for another ladder.
	JournalFull
	// ForeignChange: what is at a place was changed behind the agent's back.
	ForeignChange
	// ClaimPassed: a volume of a ReadWriteOncePod claim was published for another pod than before.
	ClaimPassed
	// SecondUser: a volume was published for a pod while another pod had it.
	SecondUser
	// VolumeBlocked: a volume was blocked, for its objects or its driver.
	VolumeBlocked
	// RegistrationFails: a driver that registers was not taken in.
	RegistrationFails

	numProbes
)

var probeNames = [numProbes]string{
	"a setup acts late", "a teardown acts late", "a setup that may act is undone",
	"a teardown that may act is repeated",
	"a late answer ends a wait",
	"the death of a driver ends a wait", "an aborted repeat ends a wait", "a driver denies what a rung stands on",
	"a start adopts",
	"a start is in doubt", "a start finds a stray", "a start fails", "the journal is damaged",
	"the journal can't be written", "the journal is full",
	"a foreign change is noticed", "a claim is passed on", "a volume has a second user", "a volume is blocked",
	"a registration fails",
}

// Probes returns all probes.
func Probes() []Probe {
	all := make([]Probe, numProbes)
	for i := range all {
		all[i] = Probe(i)
	}
	return all
}

func (p Probe) String() string { return probeNames[p] }

// MarshalText prints it; UnmarshalText reads it.
func (p Probe) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText prints.
func (p *Probe) UnmarshalText(text []byte) error {
	i := slices.Index(probeNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is no probe", text)
	}
	*p = Probe(i)
	return nil
}
