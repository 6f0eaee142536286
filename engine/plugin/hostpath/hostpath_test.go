package hostpath

import (
	"path"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

func TestTypes(t *testing.T) {
	types := []hal.FileType{
		hal.TypeOther, hal.TypeFile, hal.TypeDirectory, hal.TypeSocket, hal.TypeBlockDevice,
		hal.TypeCharDevice,
	}
	for kind, c := range map[string]struct {
		is   hal.FileType
		made bool // when nothing is there
	}{
		"Directory":         {is: hal.TypeDirectory},
		"DirectoryOrCreate": {is: hal.TypeDirectory, made: true},
		"File":              {is: hal.TypeFile},
		"FileOrCreate":      {is: hal.TypeFile, made: true},
		"Socket":            {is: hal.TypeSocket},
		"CharDevice":        {is: hal.TypeCharDevice},
		"BlockDevice":       {is: hal.TypeBlockDevice},
	} {
		for _, there := range types {
			n := plugintest.New()
			if there != hal.TypeOther {
				n.Put("/data", there)
			}
			r := setUp(n.HAL(), opOf(kind))
			good := there == c.is || there == hal.TypeOther && c.made
			require.Equal(t, good, r.Outcome == hal.Done, "%s, %s is there: %s", kind, there, r.Reason)
			if !good {
				require.Equal(t, hal.NotDone, r.Outcome)
				require.Empty(t, n.Calls)
				continue
			}
			require.Equal(t, []core.Fact{{Name: "path", Value: "/data"}}, r.Facts)
			require.Equal(t, c.is, typeOf(n))
			made := opOf(kind)
			made.Fingerprint = r.Fingerprint
			require.Equal(t, r.Fingerprint, inspect(n.HAL(), made).Fingerprint)
			n.Put("/data", hal.TypeOther)
			require.Empty(t, inspect(n.HAL(), made).Fingerprint, "a start checks the type again")
			n.Put("/data", c.is)
			n.Fail["host cached /data"] = plugintest.Errno("cached", "/data", syscall.EAGAIN)
			require.Equal(t, core.Result{Outcome: hal.Done}, inspect(n.HAL(), made),
				"what the cache can't tell is looked at by a setup")
			require.Equal(t, core.Result{Outcome: hal.Done}, tearDown(n.HAL(), opOf(kind)))
			require.Equal(t, c.is, typeOf(n), "what is the host's stays")
		}
	}
	n := plugintest.New("/data")
	r := setUp(n.HAL(), opOf(""))
	require.Equal(t, hal.Done, r.Outcome, "no type asks for nothing")
	made := opOf("")
	made.Fingerprint = r.Fingerprint
	require.Equal(t, r.Fingerprint, inspect(n.HAL(), made).Fingerprint)
	n.World.MakeDir("/r/pods/u/volumes")
	require.Zero(t, n.World.RemoveFile("/data"))
	require.NoError(t, n.World.Symlink("/r/pods/u/volumes", "/data"))
	require.Empty(t, inspect(n.HAL(), made).Fingerprint, "a start looks again where the path leads")
	require.Equal(t, hal.NotDone, setUp(plugintest.New().HAL(), opOf("Pipe")).Outcome)
}

func TestAPathThatCannotBeMade(t *testing.T) {
	n := plugintest.New()
	n.Fail["host make /data"] = plugintest.Errno("mkdir", "/data", syscall.EROFS)
	r := setUp(n.HAL(), opOf("DirectoryOrCreate"))
	require.Equal(t, hal.NotDone, r.Outcome)
	require.Contains(t, r.Reason, "read-only")
}

func opOf(kind string) core.Op { return opAt("/data", kind) }

func opAt(at, kind string) core.Op {
	params := []core.Param{{Name: plugin.ParamPath, Value: at}, {Name: paramType, Value: kind}}
	return core.Op{ID: 1, Verb: core.SetUp, Kind: Kind, Key: Key("u", "v"), Params: params}
}

// typeOf is what is at /data.
func typeOf(n *plugintest.Node) hal.FileType {
	t, _ := n.World.Exists("/data")
	return t
}

func TestPlacesOfTheAgentAreNoHostPaths(t *testing.T) {
	for below, isServed := range map[string]bool{
		".": true, "pods": true, "plugins": true, "plugins/disk.example": true, "plugins/disk.example/csi.sock": true,
		"plugins_registry":                       true,
		"plugins_registry/disk.example-reg.sock": true, "plugins/kubernetes.io": true,
		"plugins/kubernetes.io/csi":              true,
		"plugins/kubernetes.io/csi/disk.example": true, "plugins/kubernetes.io/csi/volumeDevices": true,
		"volnode-of-mine": true,
		"pods/u":          false, "pods/u/volumes/kubernetes.io~empty-dir/v": false,
		"pods/u/volumes/kubernetes.io~csi/v/mount/deep":      false,
		"plugins/kubernetes.io/csi/disk.example/0123":        false,
		"plugins/kubernetes.io/csi/volumeDevices/publish/pv": false,
		"plugins/kubernetes.io/local-volume":                 true, "plugins/kubernetes.io/local-volume/mounts": false,
		"plugins/kubernetes.io/local-volume/mounts/pv": false, "plugins/kubernetes.io/image/sha256-0": false,
		"plugins/kubernetes.io/source-to-come/volume": false,
		"volnode": false, "volnode/journal": false,
	} {
		for _, kind := range []string{"", "Directory", "DirectoryOrCreate", "FileOrCreate"} {
			n := plugintest.New()
			require.NoError(t, n.World.Symlink("/r", "/link"))
			at, is := path.Join("/link", below), path.Join("/r", below)
			if n.World.MakeDir(path.Dir(is)); kind == "Directory" {
				n.World.MakeDir(is)
			}
			if kind == "FileOrCreate" && below == "." {
				continue // it is a directory
			}
			r := setUp(n.HAL(), opAt(at, kind))
			require.Equal(t, isServed, r.Outcome == hal.Done, "%s as %q: %s", below, kind, r.Reason)
			if !isServed {
				require.True(t, r.Blocked)
				require.Contains(t, r.Reason, "hostPath "+at+" leads to "+below+" in volnode's root directory")
				require.Empty(t, n.Calls, "nothing is made there")
			}
		}
	}
}
