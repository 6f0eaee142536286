package linux

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Whatever somebody does to a watched directory, or to one that leads to it, is told; what happens in it, or beside it,
// is not.
func TestPathTells(t *testing.T) {
	for name, vandal := range map[string]func(root string) error{
		"removed":             func(root string) error { return os.Remove(root + "/pods/u/volumes/v") },
		"moved":               func(root string) error { return os.Rename(root+"/pods/u/volumes/v", root+"/v") },
		"an ancestor moved":   func(root string) error { return os.Rename(root+"/pods/u", root+"/pods/w") },
		"an ancestor removed": func(root string) error { return os.RemoveAll(root + "/pods/u") },
		"all removed":         func(root string) error { return os.RemoveAll(root + "/pods") },
		"replaced": func(root string) error {
			if err := os.Mkdir(root+"/w", 0o755); err != nil {
				return err
			}
			return unix.Rename(root+"/w", root+"/pods/u/volumes/v")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, root := startHost(t)
			at := root + "/pods/u/volumes/v"
			require.NoError(t, os.MkdirAll(at, 0o755))
			told := make(chan struct{}, 100)
			end := h.HAL().Watches.Path(at, func() { told <- struct{}{} })
			require.NoError(t, os.MkdirAll(root+"/pods/u/volumes/other", 0o755))
			require.NoError(t, os.Remove(root+"/pods/u/volumes/other"))
			require.NoError(t, os.MkdirAll(root+"/pods/other", 0o755))
			require.NoError(t, os.WriteFile(root+"/pods/file", nil, 0o600))
			if name != "removed" && name != "replaced" {
				require.NoError(t, os.WriteFile(at+"/file", nil, 0o600))
			}
			require.NoError(t, vandal(root))
			receive(t, told, "notice")
			end()
			end()
			require.Empty(t, h.watches.places.dirs)
			require.Empty(t, h.watches.places.byWatch)
		})
	}
}

// A directory that took the place of another one is watched once somebody asks again.
func TestPathFollowsWhatIsMadeAgain(t *testing.T) {
	h, root := startHost(t)
	at := root + "/pods/u/v"
	for i := range 20 {
		require.NoError(t, os.MkdirAll(at, 0o755))
		told := make(chan struct{}, 100)
		end := h.HAL().Watches.Path(at, func() { told <- struct{}{} })
		other := h.HAL().Watches.Path(root+fmt.Sprintf("/pods/%d", i), func() {})
		if i%2 == 0 {
			require.NoError(t, os.Rename(root+"/pods/u", root+fmt.Sprintf("/pods/old%d", i)))
		} else {
			require.NoError(t, os.RemoveAll(root+"/pods/u"))
		}
		receive(t, told, "notice")
		end()
		other()
	}
}

// Where nothing can be watched, all is looked at again and again.
func TestPathIsLookedAtWithoutAWatch(t *testing.T) {
	h, root := startHost(t)
	w := &watches{host: h, rescanEvery: time.Millisecond, places: &places{host: h}}
	w.places.unwatched = true
	require.NoError(t, os.Mkdir(root+"/v", 0o755))
	told := make(chan struct{}, 100)
	w.Path(root+"/v", func() { told <- struct{}{} })
	for end := time.Now().Add(patience); len(told) == 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // it may not have looked yet
		require.NoError(t, os.Remove(root+"/v"))
		require.NoError(t, os.Mkdir(root+"/v", 0o755))
	}
	receive(t, told, "notice")
}
