package linux

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

func mapPaths(all ...hal.MultipathPath) []hal.MultipathPath { return all }

func pathAt(minor uint32, active bool) hal.MultipathPath {
	return hal.MultipathPath{Device: hal.Device{Major: 8, Minor: minor}, Active: active}
}

// The words are those of Linux 6.12, and of its sources.
func TestPathsOfAMapAreRead(t *testing.T) {
	for words, want := range map[string][]hal.MultipathPath{
		"2 0 1 0 1 1 A 0 2 2 8:0 A 0 0 1 8:48 F 1 4096 1":       mapPaths(pathAt(0, true), pathAt(48, false)),
		"2 1 0 0 1 1 E 0 2 2 8:48 A 0 0 1 8:0 A 0 0 1":          mapPaths(pathAt(0, true), pathAt(48, true)),
		"2 0 0 0 2 1 A 0 1 2 8:16 A 0 0 1 E 0 1 2 8:32 F 3 0 1": mapPaths(pathAt(16, true), pathAt(32, false)),
		"2 0 0 1 alua 1 1 A 1 x 1 0 8:0 F 7":                    mapPaths(pathAt(0, false)),
		"2 0 0 0 0 0":                                           nil,
		"":                                                      nil,
		"2 0 1 0 1 1 A 0 2 2 8:0":                               mapPaths(pathAt(0, false)),
		"999999999999999999999 0 99999999 99999999 1 A 0 99999 8:0": nil,
		"-1 -1 -1 x y z": nil,
	} {
		require.Equal(t, want, pathsBy(words), words)
	}
}

func TestQueueingOfAMapIsRead(t *testing.T) {
	for words, want := range map[string]bool{
		"1 queue_if_no_path 1 alua 1 1 service-time 0 2 2 8:0 1 1 8:48 1 1":                true,
		"3 retain_attached_hw_handler queue_if_no_path x 0 1 1 service-time 0 1 2 8:0 1 1": true,
		"0 1 alua 1 1 service-time 0 2 2 8:0 1 1 8:48 1 1":                                 false,
		"1 retain_attached_hw_handler 1 queue_if_no_path 1 1 service-time 0 2 2 8:0 1 1":   false,
		"": false,
	} {
		require.Equal(t, want, queuesBy(words), words)
	}
}

func FuzzWordsOfAMap(f *testing.F) {
	f.Add("2 0 1 0 1 1 A 0 2 2 8:0 A 0 0 1 8:48 F 1 4096 1")
	f.Add("1 queue_if_no_path 1 alua 1 1 service-time 0 2 2 8:0 1 1 8:48 1 1")
	f.Fuzz(func(t *testing.T, words string) {
		queuesBy(words)
		require.LessOrEqual(t, len(pathsBy(words)), len(strings.Fields(words)))
	})
}

func TestMapsNameTheirDisksAsTheKernelDoes(t *testing.T) {
	const name = "6001405deadbeef00000000000000000"
	for uuid, want := range map[string]string{
		"mpath-3" + name: "naa." + name, "mpath-25001405deadbeef0": "eui.5001405deadbeef0",
		"mpath-1LIO-ORG_FILEIO": "t10.LIO-ORG FILEIO", "mpath-3" + name + "x": "t10.LIO-ORG FILEIO",
	} {
		require.Equal(t, want, wwidOfMap(uuid, []string{"t10.LIO-ORG FILEIO", "t10.LIO-ORG FILEIO"}), uuid)
	}
	require.Empty(t, wwidOfMap("mpath-1LIO", []string{"a", "b"}))
	require.Empty(t, wwidOfMap("mpath-1LIO", nil))
	for uuid, want := range map[string]bool{
		"mpath-3" + name: true, "part1-mpath-3" + name: true, "LVM-mpath-x": false, "": false, "part-mpath-3": false,
		"x-part1-mpath-3": false,
	} {
		require.Equal(t, want, isOfMap(uuid), uuid)
	}
}

func TestMapsAreOfOneDisk(t *testing.T) {
	h, _ := startHost(t)
	m := h.HAL().Multipath
	for _, disks := range [][]hal.SCSIDisk{
		nil,
		{{Name: "sda"}},
		{{Name: "sda", WWID: "naa.1"}, {Name: "sdb", WWID: "naa.2"}},
		{{Name: "-sda", WWID: "naa.1"}},
		{{Name: "sda/../sdb", WWID: "naa.1"}},
		{{Name: "dm-0", WWID: "naa.1"}},
	} {
		requireFailure(t, m.Assemble(hal.Call{}, disks), syscall.EINVAL)
	}
	requireFailure(t, m.Assemble(hal.Call{}, []hal.SCSIDisk{{Name: "sdzzzz", WWID: "naa.1"}}), syscall.ENODEV)
	gone := hal.MultipathMap{UUID: "mpath-volnode-none", Node: "dm-4000"}
	requireFailure(t, m.Resize(hal.Call{}, gone), syscall.ENODEV)
	require.NoError(t, m.Remove(hal.Call{}, gone, true))
	require.NoError(t, m.FailQueued(hal.Call{}, gone))
}
