package registration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
)

func TestMain(m *testing.M) { host.Main(m) }

// node is a host with a driver that leaves its registration to a registrar.
type node struct {
	*host.Host
	driver    *host.Driver
	registrar *host.Registrar
	agent     *host.Agent
}

func running(t *testing.T) *node {
	n := &node{Host: host.New(t)}
	require.NoError(t, os.MkdirAll(n.RegistryDir(), 0o750))
	n.driver = n.MainDriver("--volume=vol-1=dir", "--volume=vol-2=dir").Apart()
	n.driver.Start()
	n.registrar = n.driver.Register()
	n.Apply("driver.yaml", host.DriverObject)
	n.Apply("one.yaml", host.ClaimAndVolume("one", "vol-1", ""))
	n.Apply("two.yaml", host.ClaimAndVolume("two", "vol-2", ""))
	n.agent = n.Start()
	n.pod("web", "one", 0)
	n.Wait("pod/default/web", "ready")
	return n
}

func (n *node) pod(name, claim string, generation int) {
	n.Apply(name+".yaml", host.Pod(name, fmt.Sprintf("uid-%s-%d", name, generation), "data", host.Claim(claim)))
}

// shown waits until the status of the driver at the socket whose path ends so is as ok wants it.
func (n *node) shown(suffix, what string, ok func(engine.DriverStatus) bool) {
	n.T.Helper()
	n.agent.AwaitStatus(what, func(s engine.Status) bool {
		for _, d := range s.Drivers {
			if strings.HasSuffix(d.Socket, suffix) && ok(d) {
				return true
			}
		}
		return false
	})
}

func isServing(d engine.DriverStatus) bool { return d.Registered && d.Connected && !d.Waiting }

func isAway(d engine.DriverStatus) bool { return d.Registered && !d.Connected && d.Why != "" }

func isWaiting(d engine.DriverStatus) bool { return d.Waiting && !d.Registered && !d.Connected }

// lives fails the test if the registrar has ended.
func (n *node) lives() {
	n.T.Helper()
	select {
	case <-n.registrar.Done():
		require.FailNow(n.T, "the registrar has ended")
	default:
	}
}

func (n *node) ends() {
	n.T.Helper()
	for _, pod := range []string{"web", "other"} {
		if n.Applied(pod + ".yaml") {
			n.Remove(pod + ".yaml")
		}
	}
	n.Wait("all", "gone")
	require.Empty(n.T, n.Leftovers())
}

// The driver is killed for up to half a minute, 50 times, while pods come and go. Its registrar lives on and hears
// nothing of it, and nobody lends a hand. The short form is of six times, for up to three seconds.
func TestDriverIsKilledBehindItsRegistrar(t *testing.T) {
	n := running(t)
	times, most := 50, 30*time.Second
	if testing.Short() {
		times, most = 6, 3*time.Second
	}
	longest := time.Duration(0)
	for i := range times {
		n.driver.Kill()
		n.shown("-reg.sock", "a driver that is away", isAway)
		away := time.Duration(rand.Int64N(int64(most)))
		started := time.Now()
		switch i % 3 {
		case 0:
			n.Remove("web.yaml")
			n.pod("other", "two", i)
		case 1:
			n.Remove("other.yaml")
			n.pod("web", "one", i)
			n.pod("other", "two", i)
		case 2:
			n.pod("web", "one", i)
			n.Remove("other.yaml")
			n.pod("web", "one", i)
		}
		time.Sleep(max(0, away-time.Since(started))) //nolint:forbidigo // the driver is away that long
		n.driver.Start()
		back := time.Now()
		n.shown("-reg.sock", "a driver that is back", isServing)
		longest = max(longest, time.Since(back))
		for _, pod := range []string{"web", "other"} {
			if n.Applied(pod + ".yaml") {
				n.Wait("pod/default/"+pod, "ready")
			} else {
				n.Wait("pod/default/"+pod, "gone")
			}
		}
		n.lives()
	}
	t.Logf("after at most %s the driver was connected again", longest.Round(time.Millisecond))
	require.Less(t, longest, 15*time.Second)
	n.ends()
}

// The registrar comes before its driver can answer, and is not told that it was not taken.
func TestRegistrarComesWhileItsDriverIsSlow(t *testing.T) {
	n := running(t)
	n.registrar.Terminate()
	n.agent.AwaitStatus("no socket", func(s engine.Status) bool {
		return len(s.Drivers) == 1 && s.Drivers[0].Socket == "" &&
			strings.Contains(s.Drivers[0].Why, "one of its volumes may be up")
	})
	n.driver.Faults(csidriver.Rule{Method: "NodeGetInfo", FailBefore: csidriver.Code(codes.Unavailable)})
	n.registrar = n.driver.Register()
	n.shown("-reg.sock", "why it is not registered", func(d engine.DriverStatus) bool {
		return !d.Registered && strings.Contains(d.Why, "NodeGetInfo")
	})
	n.lives()
	n.driver.Faults()
	n.shown("-reg.sock", "a driver that is registered", isServing)
	n.lives()
	n.ends()
}

// A registrar that says what volnode does not take is told so, once, and ends. The next one is taken.
func TestRegistrarIsRefusedForAReason(t *testing.T) {
	n := running(t)
	n.registrar.Terminate()
	bad := n.driver.Register("--csi-version", "0.3.0")
	require.Equal(t, 1, bad.Exit())
	n.registrar = n.driver.Register()
	n.shown("-reg.sock", "a driver that is registered", isServing)
	n.lives()
	n.ends()
}

// Another process registers the driver's name, in a directory below the registry. It is shown and gets no call, also
// after a restart of the agent, until the driver is gone; and a driver that comes back waits in turn.
func TestSecondEndpointWaits(t *testing.T) {
	n := running(t)
	n.registrar.Terminate()
	n.driver.Kill()
	first := filepath.Join(n.RegistryDir(), "first")
	require.NoError(t, os.Mkdir(first, 0o755))
	n.driver.RegisterIn(first).Start()
	n.shown("first/"+csidriver.DefaultName+"-reg.sock", "a driver that is registered", isServing)

	log := filepath.Join(n.Output, "rival.jsonl")
	rival := n.RivalDriver("--volume=vol-1=dir", "--volume=vol-2=dir", "--call-log", log)
	second := filepath.Join(n.RegistryDir(), "second")
	require.NoError(t, os.Mkdir(second, 0o755))
	rival.RegisterIn(second).Start()
	n.shown("second/"+csidriver.DefaultName+"-reg.sock", "a second endpoint that waits", isWaiting)
	n.pod("other", "two", 1)
	n.Wait("pod/default/other", "ready")
	n.agent.Kill()
	n.agent = n.Start()
	n.shown("second/"+csidriver.DefaultName+"-reg.sock", "a second endpoint that waits", isWaiting)
	n.Remove("other.yaml")
	n.Wait("pod/default/other", "gone")
	calls, err := csidriver.ReadCalls(log)
	require.NoError(t, err)
	for _, c := range calls {
		require.NotRegexp(t, "Volume$", c.Method)
	}

	n.ends()
	n.driver.Kill()
	n.shown("second/"+csidriver.DefaultName+"-reg.sock", "a second endpoint that serves", isServing)
	n.driver.Start()
	n.shown("first/"+csidriver.DefaultName+"-reg.sock", "a driver that waits in turn", isWaiting)
	n.driver.Stop()
	rival.Stop()
}
