package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// What hides the root directory is told by where it is mounted; that the root directory's own mount is gone is no mount
// that somebody could unmount.
func TestWhatHidesTheRootDirectory(t *testing.T) {
	const root = "/var/lib/volnode"
	slash := hal.Mount{ID: 1, Parent: 0, Path: "/", FSType: "ext4"}
	own := hal.Mount{ID: 2, Parent: 1, Path: root, FSType: "ext4"}
	over := hal.Mount{ID: 3, Parent: 2, Path: root, FSType: "tmpfs"}
	above := hal.Mount{ID: 4, Parent: 1, Path: "/var/lib", FSType: "tmpfs"}
	other := hal.Mount{ID: 5, Parent: 1, Path: root, FSType: "tmpfs"}
	for name, c := range map[string]struct {
		table  []hal.Mount
		want   []string
		isLost bool
	}{
		"nothing": {table: []hal.Mount{slash, own}},
		"a mount over it": {
			[]hal.Mount{slash, own, over},
			[]string{"mount 3", "mounted on " + root + ", hides", "until you unmount it"},
			false,
		},
		"a mount over what leads to it": {
			[]hal.Mount{slash, own, above},
			[]string{"mount 4", "mounted on /var/lib, hides", "until you unmount it"},
			false,
		},
		"its mount is gone": {
			[]hal.Mount{slash},
			[]string{"its mount", "mount 2", "leads to mount 1", "mount the root directory again", "restart volnode"},
			true,
		},
		"another is mounted in its place": {
			[]hal.Mount{slash, other},
			[]string{"its mount", "mount 2", "leads to mount 5", "restart volnode"},
			true,
		},
	} {
		covers := rootCovers(c.table, root, own.ID)
		if c.want == nil {
			require.Empty(t, covers, name)
			continue
		}
		require.Len(t, covers, 1, name)
		require.Equal(t, root, covers[0].Path, name)
		require.Equal(t, c.isLost, covers[0].IsLost, name)
		for _, want := range c.want {
			require.Contains(t, covers[0].Why, want, name)
		}
	}
}
