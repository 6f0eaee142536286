package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Names on disk are hashes of handles, as a kubelet makes them, however long a handle is.
func TestNamesOfHandles(t *testing.T) {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	for _, handle := range []string{"", "h", strings.Repeat("h", 1000)} {
		require.Equal(t, hash(handle), HandleHash(handle))
		require.Equal(t, "csi-"+hash(handle+"dn"), AttachmentName(handle, "d", "n"))
		at := "/r/plugins/kubernetes.io/csi/d"
		require.Equal(t, Place{
			Path: at + "/" + hash(handle) + "/globalmount",
			Data: at + "/" + hash(handle) + "/vol_data.json", Stop: at,
		}, StagePlace("/r", "d", handle))
	}
	at := "/r/pods/u/volumes/kubernetes.io~csi/mount"
	require.Equal(t, Place{Path: at + "/mount", Data: at + "/vol_data.json", Stop: "/r/pods"},
		PublishPlace("/r", "u", "mount"))
}
