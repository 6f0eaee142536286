package identity

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	id := Identity{Node: "node-1", MachineID: "4f1d", Created: "2030-01-01T00:00:00Z"}
	got, err := Parse(id.Marshal())
	require.NoError(t, err)
	require.Equal(t, "node-1", got.Node)
	require.Equal(t, "4f1d", got.MachineID)
	require.Equal(t, id.Marshal(), got.Marshal())
}

// No file that was cut short, changed in one byte, or added to is believed.
func TestADamagedFileIsRefused(t *testing.T) {
	data := Identity{Node: "node-1", MachineID: "4f1d", Created: "2030-01-01T00:00:00Z"}.Marshal()
	for n := range len(data) - 2 {
		_, err := Parse(data[:n])
		require.Error(t, err, n)
	}
	for n := range data[:len(data)-1] {
		bad := []byte(string(data))
		bad[n] ^= 1
		if got, err := Parse(bad); err == nil {
			require.Equal(t, data, got.Marshal(), "byte %d: only what means the same is read", n)
		}
	}
	_, err := Parse(append(data, "{}"...))
	require.ErrorContains(t, err, "after top-level value")
	_, err = Parse([]byte(strings.Replace(string(data), `"version": 1`, `"version": 2`, 1)))
	require.ErrorContains(t, err, "reads up to version 1")
	_, err = Parse([]byte(strings.Replace(string(data), `"node"`, `"nodes": "x", "node"`, 1)))
	require.ErrorContains(t, err, "nodes")
}
