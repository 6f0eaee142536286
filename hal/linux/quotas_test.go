package linux

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// The cases of quotas themselves are in hal/haltest/testdata/quotas.txt; they run in the machine of e2e/vm.

func TestNamedProjectsAreKnown(t *testing.T) {
	dir := t.TempDir()
	projects, projid := filepath.Join(dir, "projects"), filepath.Join(dir, "projid")
	all, err := namedIn([]string{projects, projid})
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, os.WriteFile(projects, []byte("# projects\n1987051519:/srv/a\n7: /srv/b\n"), 0o600))
	require.NoError(t, os.WriteFile(projid, []byte("logs:1986985984\nbad\n\n99999999999:x\n"), 0o600))
	all, err = namedIn([]string{projects, projid})
	require.NoError(t, err)
	require.Equal(t, []uint32{7, hal.FirstProject, hal.LastProject}, all)
	_, err = namedIn([]string{dir})
	require.ErrorIs(t, err, syscall.EISDIR, "what can't be read may name any project")
}

func TestLimitSaysWhatItsFilesystemLacks(t *testing.T) {
	h, err := New(Options{RootDir: filepath.Join(t.TempDir(), "root")})
	require.NoError(t, err)
	t.Cleanup(h.Close)
	dir := filepath.Join(h.options.RootDir, "d")
	require.NoError(t, os.Mkdir(dir, 0o750))
	_, err = h.HAL().Quotas.Limit(hal.Call{}, dir, 1<<20, 0)
	if err == nil {
		t.Skip("this host has project quotas")
	}
	require.ErrorIs(t, err, syscall.EOPNOTSUPP)
	require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
	require.ErrorContains(t, err, "prjquota")
}
