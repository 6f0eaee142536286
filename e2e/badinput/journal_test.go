package badinput

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/fault"
)

// second is a manifest of a second pod with a volume of its own.
func second() string {
	return host.ClaimAndVolume("more", "vol-2", "") + "---\n" + host.Pod("second", "second", "data", host.Claim("more"))
}

// fill takes all space that is left on the root directory's disk, and returns what gives it back.
func (n *node) fill() (free func()) { return n.fillWith(filepath.Join(n.Root, "fill")) }

func (n *node) fillWith(path string) (free func()) {
	n.T.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(n.T, err)
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			require.ErrorIs(n.T, err, syscall.ENOSPC)
			size /= 2
		}
	}
	require.NoError(n.T, f.Close())
	return func() { require.NoError(n.T, os.Remove(path)) }
}

// journalWhy waits until the journal says that it can't do something, and returns what.
func (n *node) journalWhy() string {
	n.T.Helper()
	return n.agent.AwaitStatus("the journal's trouble",
		func(s engine.Status) bool { return s.Journal.Why != "" }).Journal.Why
}

// The disk fills up under a running pod. It keeps what it has, over restarts too; a new pod is told why it has to wait;
// and a pod goes.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.SmallRoot("1m")
	h.StartDriver("--volume=vol-1=dir", "--volume=vol-2=dir")
	n := settled(h)
	free := n.fill()
	n.restarted()
	n.Apply("zweite.yaml", second())
	why := n.volume("second", "data", engine.Waiting)
	t.Log(why)
	require.Contains(t, why, "no space left on device")
	require.Contains(t, n.trouble("volnode/manifests"), "cannot write the ledger of manifests")
	n.unharmed()
	free()
	n.Wait("pod/default/second", "ready")
	n.unharmed()
	n.Remove("zweite.yaml")
	n.Wait("pod/default/second", "gone")
	n.fill()
	n.ends() // a teardown needs no space
}

// A pod fills the disk before anything was ever deleted. It can be deleted, and the log of deletions tells of it.
func TestWhoFillsTheDiskIsDeleted(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.SmallRoot("2m")
	h.StartDriver("--volume=vol-1=dir", "--volume=vol-2=dir")
	n := settled(h)
	n.fillWith(filepath.Join(n.scratchPath(), "fill"))
	n.restarted()
	n.Remove("web.yaml")
	n.Wait(web, "gone")
	log, err := os.ReadFile(filepath.Join(n.Root, "volnode/deletions.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), webUID)
	n.agent.Kill()
	n.agent = n.Start()
	n.Await("room for the log again", func() bool {
		_, err := os.Stat(filepath.Join(n.Root, "volnode/deletions.log.spare"))
		return err == nil
	}, filepath.Join(n.Root, "volnode"))
}

// There is no room for a journal at the first start: nothing is begun, the status says why, and it begins once there is
// room.
func TestNoRoomForAJournal(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.SmallRoot("1m")
	require.NoError(t, os.Mkdir(h.RegistryDir(), 0o750))
	h.StartDriver("--volume=vol-1=dir")
	h.Await("the driver's socket", func() bool {
		_, err := os.Stat(filepath.Join(h.RegistryDir(), "csi.volnode.dev-reg.sock"))
		return err == nil
	}, h.RegistryDir())
	n := &node{Host: h}
	free := n.fill()
	h.Apply("driver.yaml", host.DriverObject)
	h.Apply("data.yaml", host.ClaimAndVolume("data", "vol-1", ""))
	h.Apply("web.yaml", webPod())
	n.agent = h.Start()
	require.Contains(t, n.journalWhy(), "start: write "+filepath.Join(h.Root,
		"volnode/.identity.new")+": no space left on device")
	// Room for the identity file, and none for the journal.
	require.NoError(t, os.Truncate(filepath.Join(h.Root, "fill"), 1<<20-64<<10))
	n.agent.AwaitStatus("what the journal lacks", func(s engine.Status) bool {
		return strings.Contains(s.Journal.Why, "not writable; volnode starts no operation: allocate "+
			filepath.Join(h.Root, "volnode/journal/journal.spare")+": no space left on device")
	})
	require.Contains(t, n.volume("web", "data", engine.Waiting), "journal")
	require.Empty(t, h.Mounts())
	free()
	h.Wait(web, "ready")
	require.Empty(t, h.Status().Journal.Why)
	n.ends()
}

// Every fsync of the journal fails: nothing that it does not know for sure to be durable is acted on.
func TestFailingFsync(t *testing.T) {
	n := running(t, "vol-2")
	n.agent.Kill()
	n.agent = n.Launch(fault.Rule{Site: "fsync", Object: "volnode/journal", When: fault.After, Errno: syscall.EIO})
	require.True(t, n.agent.Serves())
	why := n.journalWhy()
	t.Log(why)
	require.Contains(t, why, "not writable; volnode starts no operation: fsync "+filepath.Join(n.Root,
		"volnode/journal"))
	require.Contains(t, why, "input/output error")
	n.Wait(web, "ready") // what runs needs nothing written
	n.Apply("zweite.yaml", second())
	why = n.volume("second", "data", engine.Waiting)
	t.Log(why)
	require.Contains(t, why, "input/output error")
	require.NotContains(t, n.DriverCalls(n.calls), "NodeStageVolume")
	n.unharmed()
	n.restarted()
	n.Wait("pod/default/second", "ready")
	n.unharmed()
	n.Remove("zweite.yaml")
	n.ends()
}

// One fsync fails, whichever it is: all is written again to another file before anything starts, and what starts stays
// known.
func TestOneFailingFsync(t *testing.T) {
	n := running(t, "vol-2")
	for nth := 1; nth <= 6; nth++ {
		n.agent.Kill()
		n.agent = n.Launch(fault.Rule{
			Site: "fsync", Nth: nth, Object: "volnode/journal/", When: fault.After,
			Errno: syscall.EIO,
		})
		require.True(t, n.agent.Serves())
		n.Apply("zweite.yaml", second())
		n.Wait("pod/default/second", "ready")
		n.restarted()
		n.Wait("pod/default/second", "ready")
		n.Remove("zweite.yaml")
		n.Wait("pod/default/second", "gone")
		n.unharmed()
	}
	n.ends()
}

// journalFile is the journal's file of the present generation.
func (n *node) journalFile() string {
	n.T.Helper()
	all, err := filepath.Glob(filepath.Join(n.Root, "volnode/journal/journal.[0-9]*"))
	require.NoError(n.T, err)
	require.NotEmpty(n.T, all)
	return slices.MaxFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
}

// edit changes the journal behind the agent's back.
func (n *node) edit(change func([]byte) []byte) {
	n.T.Helper()
	n.agent.Kill()
	file := n.journalFile()
	text, err := os.ReadFile(file)
	require.NoError(n.T, err)
	require.NoError(n.T, os.WriteFile(file, change(text), 0o600))
}

// keeps checks that the pod has the same mounts with the same content. Of a volume that is in doubt the driver may be
// asked again.
func (n *node) keeps() {
	n.T.Helper()
	n.calls = len(n.DriverCalls(0))
	n.unharmed()
}

// A journal that is not readable is told of, and makes nobody forget a mount: what is left of the records, and what
// stands on the node, is used.
func TestDamagedJournal(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func([]byte) []byte
	}{
		{"record", func(b []byte) []byte {
			b[bytes.Index(b, []byte("csi.publish"))] ^= 0xff
			return b
		}},
		{"header", func(b []byte) []byte { return append(make([]byte, 64), b[64:]...) }},
		{"zeros", func(b []byte) []byte { return make([]byte, len(b)) }},
		{"short", func(b []byte) []byte { return b[:100] }},
		{"empty", func([]byte) []byte { return nil }},
		{"noise", func(b []byte) []byte { return bytes.Repeat([]byte("journal?"), len(b)/8) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := running(t)
			n.edit(c.damage)
			n.agent = n.Start()
			s := n.agent.AwaitStatus("the damage", func(s engine.Status) bool { return len(s.Journal.Damage) > 0 })
			t.Log(s.Journal.Damage)
			require.Contains(t, s.Journal.Damage[0], n.Root+"/volnode/journal/journal.")
			n.Wait(web, "ready")
			n.keeps()
			require.FileExists(t, filepath.Join(n.Root, "volnode/journal/journal.damaged"))
			n.ends()
		})
	}
}

// The journal is gone altogether, with a pod up. Where the identity file is gone too, the directory is taken over only
// on a person's word.
func TestMissingJournal(t *testing.T) {
	for lost, args := range map[string][]string{"volnode/journal": nil, "volnode": {"--adopt"}} {
		t.Run(lost, func(t *testing.T) {
			n := running(t)
			n.agent.Kill()
			require.NoError(t, os.RemoveAll(filepath.Join(n.Root, lost)))
			if len(args) > 0 {
				refused := n.Start()
				require.Equal(t, 78, refused.Exit())
				log, err := os.ReadFile(refused.Log)
				require.NoError(t, err)
				require.Contains(t, string(log), "start volnode run once with --adopt")
			}
			n.Settings.Run = args
			n.agent = n.Start()
			n.Wait(web, "ready")
			n.keeps()
			n.ends()
		})
	}
}

// A journal of a newer volnode is not touched, and without it nothing is.
func TestNewerJournal(t *testing.T) {
	n := running(t)
	var before, newer []byte
	n.edit(func(b []byte) []byte {
		before = slices.Clone(b)
		binary.LittleEndian.PutUint32(b[8:], 99)
		binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], crc32.MakeTable(crc32.Castagnoli)))
		newer = b
		return b
	})
	file := n.journalFile()
	n.agent = n.Start()
	why := n.journalWhy()
	t.Log(why)
	require.Contains(t, why, "journal "+file+": format version 99, but this volnode reads up to version 1; volnode "+
		"left it unchanged; run the volnode that wrote it, or a newer one")
	n.unharmed()
	left, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.Equal(newer, left))
	n.agent.Kill()
	require.NoError(t, os.WriteFile(file, before, 0o600))
	n.agent = n.Start()
	n.Wait(web, "ready")
	n.unharmed()
	n.ends()
}
