// Package report tells what hunts, scenarios and mutants came to: a progress line for people, a page (HTML) that needs
// nothing but itself, JSONL to add up what many machines did, JUnit XML for what reads tests, and the trace format of
// Perfetto for a single run.
package report

import (
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/minimise"
	"github.com/volnode/volnode/scenarios/verdict"
)

// Failure is one schedule that broke a property.
type Failure struct {
	Seed      uint64             `json:"seed"`
	Scenario  string             `json:"scenario,omitempty"` // in place of a seed
	Violation *verdict.Violation `json:"violation"`
	Finding   *minimise.Finding  `json:"finding,omitempty"` // nil if it was not shrunk
	// Case is what failed, if it is not all of Seed: of Scenario, of a stored case of that name, or a schedule that a
	// hunt has varied.
	Case *cases.Case `json:"-"`
}

// Replay is the command that runs again what failed.
func (f Failure) Replay() string {
	switch {
	case f.Finding != nil:
		return f.Finding.Command
	case f.Case != nil:
		return f.Case.Command("replay")
	}
	return cases.Case{Seed: f.Seed}.Command("replay")
}

// Signature is what failures of one defect have in common.
func (f Failure) Signature() string { return f.Violation.Signature() }

// Head says which schedules a hunt was asked for.
type Head struct {
	Commit string `json:"commit"` // of the source that volsim was built of; "" if that is not known
	Seed   uint64 `json:"seed"`
	Runs   uint64 `json:"runs"`
	Shard  string `json:"shard"` // "0/1" is all
}
