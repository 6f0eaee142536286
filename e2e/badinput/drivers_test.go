package badinput

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
)

// odd is a driver that does not do as it should, beside the good one.
const odd = "odd.example.com"

// oddClaim is a claim for a volume of the odd driver.
func oddClaim(name, handle string) string {
	object := strings.ReplaceAll(host.DriverObject, csidriver.DefaultName, odd)
	return object + "---\n" + strings.ReplaceAll(host.ClaimAndVolume(name, handle, ""), csidriver.DefaultName, odd)
}

// driver waits until the status of the socket whose path has where in it is as ok wants it, and returns it.
func (n *node) driver(where string, ok func(engine.DriverStatus) bool) engine.DriverStatus {
	n.T.Helper()
	var found engine.DriverStatus
	n.agent.AwaitStatus("the driver at "+where, func(s engine.Status) bool {
		at := slices.IndexFunc(s.Drivers,
			func(d engine.DriverStatus) bool { return strings.Contains(d.Socket, where) && ok(d) })
		if at >= 0 {
			found = s.Drivers[at]
		}
		return at >= 0
	})
	return found
}

// failed waits for a driver's trouble that has why in its sentence. Before it, the connection may be refused: a socket
// is there before its listener.
func (n *node) failed(where, why string) engine.DriverStatus {
	n.T.Helper()
	d := n.driver(where, func(d engine.DriverStatus) bool { return strings.Contains(d.Why, why) })
	n.T.Logf("%s: %s", where, d.Why)
	require.False(n.T, d.Registered)
	return d
}

func TestUnknownDriver(t *testing.T) {
	n := running(t)
	n.Apply("odd.yaml", oddClaim("odd", "v")+"---\n"+host.Pod("waits", "waits", "data", host.Claim("odd")))
	why := n.volume("waits", "data", engine.Blocked)
	t.Log(why)
	require.Contains(t, why, "PersistentVolume odd spec.csi.driver: driver odd.example.com is not registered")
	require.Contains(t, why, csidriver.DefaultName, "those that are registered are named")
	n.restarted()
	require.Contains(t, n.volume("waits", "data", engine.Blocked), "is not registered")
	// It comes, and so does the volume.
	n.OtherDriver(odd, "--volume=v=dir").Start()
	n.Wait("pod/default/waits", "ready")
	n.unharmed()
	n.Remove("odd.yaml")
	n.ends()
}

// A socket at which somebody listens who never answers.
func TestDriverThatNeverRegisters(t *testing.T) {
	n := running(t)
	l, err := net.Listen("unix", filepath.Join(n.RegistryDir(), "mute.sock"))
	require.NoError(t, err)
	defer l.Close()
	began := time.Now()
	n.failed("mute.sock", "GetInfo "+filepath.Join(n.RegistryDir(),
		"mute.sock")+": not sent: the process there accepts connections and does not answer")
	require.Less(t, time.Since(began), 30*time.Second)
	n.restarted()
	n.ends()
}

// Sockets that somebody else than root could have put there.
func TestForeignSockets(t *testing.T) {
	n := running(t)
	for _, bad := range []struct {
		name, why string
		do        func(path string) error
	}{
		{
			"theirs.sock", "belongs to user 1000; it must belong to root",
			func(path string) error { return os.Chown(path, 1000, 1000) },
		},
		{
			"open.sock", "has mode 0666; others than its owner must not be able to write to it",
			func(path string) error { return os.Chmod(path, 0o666) },
		},
	} {
		// Made elsewhere, so that nobody ever sees it as root's.
		at, aside := filepath.Join(n.RegistryDir(), bad.name), filepath.Join(n.Root, bad.name)
		l, err := net.Listen("unix", aside)
		require.NoError(t, err)
		defer l.Close()
		require.NoError(t, bad.do(aside))
		require.NoError(t, os.Rename(aside, at))
		n.failed(bad.name, bad.why)
		n.unharmed()
	}
	n.restarted()
	n.ends()
}

// What a driver says at its registration makes no sense.
func TestNonsenseAtRegistration(t *testing.T) {
	n := running(t)
	d := n.OtherDriver(odd, "--volume=v=dir")
	n.Apply("odd.yaml", oddClaim("odd", "v")+"---\n"+host.Pod("waits", "waits", "data", host.Claim("odd")))
	for _, bad := range []struct {
		method string
		reply  csidriver.Nonsense
		why    string
	}{
		{"GetInfo", csidriver.NonsenseEmpty, `plugin type "" is not CSIPlugin`},
		{"GetInfo", csidriver.NonsenseGarbage, "GetInfo "},
		{"GetPluginInfo", csidriver.NonsenseEmpty, `registers as "odd.example.com", but its CSI endpoint says ""`},
		{
			"GetPluginInfo", csidriver.NonsenseHuge,
			"GetPluginInfo odd.example.com: no reply: grpc: received message larger than max",
		},
		{"NodeGetInfo", csidriver.NonsenseEmpty, "NodeGetInfo of odd.example.com: the node id is empty"},
		{
			"NodeGetCapabilities", csidriver.NonsenseGarbage,
			"NodeGetCapabilities odd.example.com: no reply: grpc: failed to unmarshal",
		},
	} {
		d.Faults(csidriver.Rule{Method: bad.method, Reply: bad.reply})
		d.Start()
		n.failed(odd, bad.why)
		n.unharmed()
		d.Stop()
		n.agent.AwaitStatus("the end of the socket", func(s engine.Status) bool { return len(s.Drivers) == 1 })
	}
	// A capability of a later version of CSI is none of our business.
	d.Faults(csidriver.Rule{Method: "NodeGetCapabilities", Reply: csidriver.NonsenseUnknownEnum})
	d.Start()
	n.Wait("pod/default/waits", "ready")
	n.unharmed()
	n.Remove("odd.yaml")
	n.ends()
}

// A driver does what it was asked for, and answers nonsense. The volume comes up all the same, and goes.
func TestNonsenseInCalls(t *testing.T) {
	n := running(t)
	d := n.OtherDriver(odd, "--volume=v=dir")
	d.Start()
	n.Apply("odd.yaml", oddClaim("odd", "v"))
	for _, reply := range []csidriver.Nonsense{
		csidriver.NonsenseEmpty, csidriver.NonsenseWrongType, csidriver.NonsenseGarbage, csidriver.NonsenseHuge,
	} {
		var rules []csidriver.Rule
		for _, method := range []string{
			"NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume",
			"NodeUnstageVolume",
		} {
			rules = append(rules, csidriver.Rule{Method: method, Reply: reply, Times: 1})
		}
		d.Faults(rules...)
		n.Apply("odd-pod.yaml", host.Pod("odd", "odd-"+string(reply), "data", host.Claim("odd")))
		n.Wait("pod/default/odd", "ready")
		n.unharmed()
		n.Remove("odd-pod.yaml")
		n.Wait("pod/default/odd", "gone")
		n.unharmed()
	}
	n.ends()
}

// Two PersistentVolumes name one volume and want it mounted differently: the first to use it keeps it.
func TestTwoVolumesOneHandle(t *testing.T) {
	n := running(t)
	n.Apply("twin.yaml", host.ClaimAndVolume("twin", "vol-1", "    fsType: xfs")+"---\n"+
		host.Pod("twin", "twin", "data", host.Claim("twin")))
	why := n.volume("twin", "data", engine.Blocked)
	t.Log(why)
	require.Contains(t, why, "PersistentVolume twin names the volume csi.volnode.dev^vol-1, and so does "+
		"PersistentVolume data, "+
		"which another pod on this node uses, with another fsType")
	require.Contains(t, why, "give both the same options, or stop the pod that uses the other")
	n.unharmed()
	n.restarted()
	require.Equal(t, why, n.volume("twin", "data", engine.Blocked))
	n.Remove("twin.yaml")
	n.Wait("pod/default/twin", "gone")
	n.unharmed()
	n.ends()
}
