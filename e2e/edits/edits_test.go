package edits

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/volnode/volnode/e2e/host"
)

var (
	first    = flag.Uint64("seed", 1, "of the first session; the others follow")
	sessions = flag.Int("sessions", 0, "how many; 0: 4, and 2 with -short")
	number   = flag.Int("edits", 0, "how many edits a session has; 0: 200, and 40 with -short")
	atATime  = flag.Int("at-a-time", 10, "how many sessions run side by side")
	isAgain  = flag.Bool("again", false, "it is a session that failed: no shorter one is looked for")
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
			h := host.New(t)
			h.Settings.JournalBytes = "1Mi" // there is room for all that people want
			s := newSession(h, seed)
			defer func() {
				if t.Failed() && !*isAgain {
					shortest(t, s)
				}
			}()
			s.run(edits)
			t.Logf("%d edits of %d kinds, %d comparisons, %s; the slowest rest took %s; %d times an object was kept "+
				"for a bad file", len(s.done),
				len(s.kinds), s.rests, time.Since(start).Round(time.Second), s.slowest.Round(time.Millisecond), s.held)
		})
	}
}

// shortest looks for the fewest edits of a failed session that fail, and prints how to make them again.
func shortest(t *testing.T, s *session) {
	const again = "go test ./e2e/edits -run TestSessions -again -sessions=1 -seed=%d -edits=%d"
	for n := s.rested + 1; n < len(s.done); n++ {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestSessions$", "-again", "-sessions=1",
			fmt.Sprintf("-seed=%d", s.seed), fmt.Sprintf("-edits=%d", n))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("fewer edits fail, too: "+again+"\n%s", s.seed, n, out)
			return
		}
	}
	t.Logf("no fewer edits fail. The same edits: "+again, s.seed, len(s.done))
}
