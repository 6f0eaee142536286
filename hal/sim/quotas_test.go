package sim_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// limited is a world with a directory that has a limit of two sectors.
func limited(t *testing.T, c sim.Config) *sim.World {
	t.Helper()
	w := benign(t, c)
	w.SetQuotas(true)
	w.MakeDir(root + "/d")
	w.Do(func() {
		_, err := w.Host().Quotas.Limit(hal.Call{}, root+"/d", 1000, 0)
		require.NoError(t, err)
	})
	return w
}

func TestWhatIsOfAProjectIsHeldToItsLimit(t *testing.T) {
	for disk, errno := range map[sim.Disk]syscall.Errno{
		sim.DiskOrdered: syscall.EDQUOT, sim.DiskEager: syscall.ENOSPC,
	} {
		w := limited(t, sim.Config{Disk: disk})
		v, is := w.OpenView(root + "/d")
		require.Zero(t, is)
		require.Zero(t, v.Write("a", 0, make([]byte, 600)))
		require.Equal(t, errno, v.Write("b", 0, []byte("one more")))
		require.Equal(t, errno, w.Fill(root+"/d", 1))
		require.Equal(t, errno, w.WriteInside(root+"/d/b", []byte("one more")))
		require.Zero(t, v.Write("a", 600, make([]byte, 400)), "what it has can be filled")
		require.EqualValues(t, 1024, w.Occupied(root+"/d").Bytes.Used)
		w.SetQuotas(false)
		require.Zero(t, v.Write("b", 0, []byte("one more")))
	}
}

func TestALimitOutlastsThePower(t *testing.T) {
	for _, disk := range []sim.Disk{sim.DiskOrdered, sim.DiskEager, sim.DiskMinimal, sim.DiskVolatile} {
		w := benign(t, sim.Config{Disk: disk, Profile: sim.Only(1<<16, sim.LostWrite), Chooser: sim.Seeded(1)})
		w.SetQuotas(true)
		w.MakeDir(root + "/d")
		w.Do(func() {
			_, err := w.Host().Quotas.Limit(hal.Call{}, root+"/d", 1000, 0)
			require.NoError(t, err)
		})
		w.CutPower()
		all := w.Projects()
		require.Len(t, all, 1, disk)
		want := sim.Project{Number: hal.FirstProject, Limit: 1000, IsOurs: true, Tops: []string{root + "/d"}}
		require.Equal(t, want, all[0])
	}
}

func TestProjectsOfOthersAreSeen(t *testing.T) {
	w := limited(t, sim.Config{})
	w.TakeProject(hal.FirstProject+1, sim.ProjectDirectory, "/srv/a")
	w.TakeProject(hal.FirstProject+2, sim.ProjectName, "")
	w.TakeProject(hal.FirstProject+3, sim.ProjectLimit, "")
	w.MakeDir(root + "/e")
	w.Do(func() {
		project, err := w.Host().Quotas.Limit(hal.Call{}, root+"/e", 1000, 0)
		require.NoError(t, err)
		require.Equal(t, hal.FirstProject+4, project)
	})
	require.Len(t, w.Projects(), 5)
}
