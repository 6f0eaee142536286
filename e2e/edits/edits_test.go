package edits

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/volnode/volnode/e2e/host"
)

var (
	first    = flag.Uint64("seed", 1, "of the first session; the others follow")
	sessions = flag.Int("sessions", 0, "how many; 0: 4, and 2 with -short")
	number   = flag.Int("edits", 0, "how many edits a session has; 0: 200, and 40 with -short")
	atATime  = flag.Int("at-a-time", 10, "how many sessions run side by side")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(*atATime)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	host.Main(m)
}

// People edit manifests at random, and after each few edits all is as the model says, and nothing is lost.
func TestSessions(t *testing.T) {
	howMany, edits := 4, 200
	if testing.Short() {
		howMany, edits = 2, 40
	}
	if *sessions > 0 {
		howMany = *sessions
	}
	if *number > 0 {
		edits = *number
	}
	for i := range howMany {
		seed := *first + uint64(i)
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			s := newSession(host.New(t), seed)
			s.run(edits)
			t.Logf("%d edits, %d comparisons, %s; the slowest rest took %s; %d times a pod was kept for a bad file", len(s.done), s.rests,
				time.Since(start).Round(time.Second), s.slowest.Round(time.Millisecond), s.held)
		})
	}
}
