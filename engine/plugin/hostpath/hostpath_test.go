package hostpath

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

func TestTypes(t *testing.T) {
	types := []hal.FileType{hal.TypeOther, hal.TypeFile, hal.TypeDirectory, hal.TypeSocket, hal.TypeBlockDevice, hal.TypeCharDevice}
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
				n.Host["/data"] = there
			}
			r := climb(n.HAL(), opOf(kind))
			good := there == c.is || there == hal.TypeOther && c.made
			require.Equal(t, good, r.Outcome == hal.Done, "%s, %s is there: %s", kind, there, r.Reason)
			if !good {
				require.Equal(t, hal.NotDone, r.Outcome)
				require.Empty(t, n.Calls)
				continue
			}
			require.Equal(t, []core.Fact{{Name: "path", Value: "/data"}}, r.Facts)
			require.Equal(t, c.is, n.Host["/data"])
			require.NotEqual(t, r.Fingerprint, look(n.HAL(), opOf(kind)).Fingerprint, "a start checks the type again")
			require.Equal(t, core.Result{Outcome: hal.Done}, descend(n.HAL(), opOf(kind)))
			require.Equal(t, c.is, n.Host["/data"], "what is the host's stays")
		}
	}
	require.Equal(t, hal.Done, climb(plugintest.New().HAL(), opOf("")).Outcome, "no type asks for nothing")
	require.Equal(t, hal.NotDone, climb(plugintest.New().HAL(), opOf("Pipe")).Outcome)
}

func TestAPathThatCannotBeMade(t *testing.T) {
	n := plugintest.New()
	n.Fail["make /data"] = plugintest.Errno("mkdir", "/data", syscall.EROFS)
	r := climb(n.HAL(), opOf("DirectoryOrCreate"))
	require.Equal(t, hal.NotDone, r.Outcome)
	require.Contains(t, r.Reason, "read-only")
}

func opOf(kind string) core.Op {
	params := []core.Param{{Name: paramPath, Value: "/data"}, {Name: paramType, Value: kind}}
	return core.Op{ID: 1, Verb: core.Climb, Kind: Kind, Key: Key("u", "v"), Params: params}
}
