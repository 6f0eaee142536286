package report

import (
	"encoding/json"
	"io"

	"github.com/volnode/volnode/scenarios/fleet"
	"github.com/volnode/volnode/scenarios/minimise"
)

// Schema is the version of the lines of JSONL. A field that changes its meaning, or goes, makes a new one.
const Schema = 1

// Kinds of lines: a hunt writes one head, a batch for each block of seeds, the failures of a batch behind it, and at
// last its end. Each kind can be understood alone, so the lines of many hunts may be mixed.
const (
	kindHead    = "hunt"
	kindBatch   = "batch"
	kindFailure = "failure"
	kindEnd     = "end"
)

// kind is what each line begins with.
type kind struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
}

type headLine struct {
	kind
	Head
}

type batchLine struct {
	kind
	fleet.Batch
}

type failureLine struct {
	kind
	Failure
}

// NewHead describes a hunt.
func NewHead(f fleet.Fleet) Head {
	return Head{Commit: minimise.Commit(), Seed: f.Seed, Runs: f.Runs, Shard: f.Shard.String()}
}

// End is how a hunt ended.
type End struct {
	Shard string `json:"shard"`
	fleet.Tally
	Violations  int  `json:"violations"`
	Interrupted bool `json:"interrupted"` // by a signal
}

type endLine struct {
	kind
	End
}

// Lines writes JSONL. Its methods return nothing: the first error is kept for End.
type Lines struct {
	out *json.Encoder
	err error
}

// NewLines returns a writer of lines to out.
func NewLines(out io.Writer) *Lines { return &Lines{out: json.NewEncoder(out)} }

func (l *Lines) write(v any) {
	if l.err == nil {
		l.err = l.out.Encode(v)
	}
}

// Head is the first line.
func (l *Lines) Head(h Head) { l.write(headLine{kind{Schema, kindHead}, h}) }

// Batch tells of a batch that is complete.
func (l *Lines) Batch(b fleet.Batch) { l.write(batchLine{kind{Schema, kindBatch}, b}) }

// Failure tells of a schedule that broke a property.
func (l *Lines) Failure(f Failure) { l.write(failureLine{kind{Schema, kindFailure}, f}) }

// End is the last line. It returns the first error of all lines.
func (l *Lines) End(e End) error {
	l.write(endLine{kind{Schema, kindEnd}, e})
	return l.err
}
