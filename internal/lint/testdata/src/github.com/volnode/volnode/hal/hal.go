package hal

import (
	_ "context"
	_ "os"
	"time"

	_ "example.com/other" // want `arrows: hal must not import example.com/other: of other modules hal imports github.com/container-storage-interface/spec, k8s.io/api`
	_ "github.com/container-storage-interface/spec/lib/go/csi"
	_ "github.com/volnode/volnode/cmd/volnode/config" // want `arrows: hal must not import github.com/volnode/volnode/cmd/volnode/config: nothing outside cmd imports it`
	_ "github.com/volnode/volnode/hal/inner"          // want `arrows: hal must not import github.com/volnode/volnode/hal/inner: of this module hal imports nothing`
	_ "k8s.io/api/core/v1"
)

type Outcome uint8

const (
	Done Outcome = iota // want `outcome: the zero Outcome is Done: an outcome that nobody set must read as Unknown`
	NotDone
	Unknown
)

func (Outcome) String() string { return "" }

type Instant int64

func (t Instant) Add(d time.Duration) Instant { return t + Instant(d) }

type Key string

func Guard(func()) (panicked, stack string) { return "", "" }

type Mount struct {
	Path string
	Made time.Time // want `purity: no time.Time in what the engine sees: of time only Duration and its constants`
}

type Error struct{ Outcome Outcome }

func (*Error) Error() string { return "" }

func OutcomeOf(error) Outcome { return Unknown }

var Table = []string{"a"} // hal is not a pure package: its variables are free
