package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

const fcPort hal.WWPN = 0x200002fc00000102

// onFabric is a node with a Fibre Channel port, which sees one of an array that has a disk.
func onFabric(t *testing.T) *sim.World {
	t.Helper()
	w := benign(t, sim.Config{})
	w.AddFCHost(1)
	w.AddFCTarget(fcPort)
	w.AddSANDisk("naa.1", "", "")
	w.MapLUN(fcPort.String(), 3, "naa.1")
	return w
}

func disksOf(t *testing.T, w *sim.World) (all []hal.SCSIDisk) {
	t.Helper()
	w.Do(func() {
		var err error
		all, err = w.Host().SCSI.Named(hal.Call{}, "naa.1")
		require.NoError(t, err)
	})
	return all
}

func TestAPortThatIsLostTakesItsDisksAlong(t *testing.T) {
	w := onFabric(t)
	at := hal.SCSIAddress{Host: 2, LUN: 3}
	require.Equal(t, at, w.FCPorts()[0].At(3))
	require.Empty(t, disksOf(t, w))
	w.Do(func() { require.NoError(t, w.Host().SCSI.Scan(hal.Call{}, at)) })
	first := disksOf(t, w)
	require.Len(t, first, 1)
	w.LoseFCTarget(fcPort, 0)
	require.True(t, w.IsFCAway(fcPort))
	for _, is := range []struct {
		after time.Duration
		port  string
		disk  string
	}{{4 * time.Second, "Blocked", "blocked"}, {2 * time.Second, "Blocked", "transport-offline"}} {
		require.NoError(t, w.RunFor(is.after))
		require.Equal(t, is.port, w.FCPorts()[0].State)
		require.Equal(t, is.disk, disksOf(t, w)[0].State)
	}
	require.NoError(t, w.RunFor(time.Minute))
	require.Equal(t, "Not Present", w.FCPorts()[0].State)
	require.Empty(t, disksOf(t, w))
	w.RestoreFCTarget(fcPort)
	require.NoError(t, w.RunFor(time.Minute))
	require.False(t, w.IsFCAway(fcPort))
	again := disksOf(t, w) // unasked
	require.Len(t, again, 1)
	require.Equal(t, at, again[0].Address)
	require.NotEqual(t, first[0].Is(), again[0].Is())
}

func TestAPortThatIsBackSoonKeepsItsDisks(t *testing.T) {
	w := onFabric(t)
	w.Do(func() { require.NoError(t, w.Host().SCSI.Scan(hal.Call{}, hal.SCSIAddress{Host: 2, LUN: 3})) })
	first := disksOf(t, w)
	w.LoseFCTarget(fcPort, 20*time.Second)
	require.NoError(t, w.RunFor(2*time.Minute))
	require.Equal(t, first, disksOf(t, w))
}

func TestABootFindsWhatPortsHave(t *testing.T) {
	w := onFabric(t)
	require.Empty(t, disksOf(t, w))
	w.Reboot()
	require.NoError(t, w.RunFor(time.Minute))
	require.Len(t, disksOf(t, w), 1)
	w.LoseFCTarget(fcPort, 0)
	w.Reboot()
	require.NoError(t, w.RunFor(time.Minute))
	require.Empty(t, disksOf(t, w))
	require.Empty(t, w.FCPorts())
	w.RestoreFCTarget(fcPort)
	require.NoError(t, w.RunFor(time.Minute))
	require.Len(t, disksOf(t, w), 1)
}
