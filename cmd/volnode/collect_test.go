package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

// The first collections wait, and no longer than until half of the memory that they wait for is in use.
func TestCollectionsWaitNoLongerThanTheyShould(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	is := func() int {
		p := debug.SetGCPercent(-1)
		debug.SetGCPercent(p)
		return p
	}
	collectLater(time.Hour)
	require.Equal(t, -1, is())
	require.EqualValues(t, firstHeap, debug.SetMemoryLimit(-1))
	runtime.GC()
	time.Sleep(50 * time.Millisecond) //nolint:forbidigo // what follows a collection has run
	require.Equal(t, -1, is(), "little lives")
	live := make([]byte, firstHeap/2+1)
	require.Eventually(t, func() bool { //nolint:forbidigo // the collector tells nobody
		runtime.GC()
		return is() == 100
	}, 5*time.Second, 20*time.Millisecond)
	require.EqualValues(t, math.MaxInt64, debug.SetMemoryLimit(-1))
	runtime.KeepAlive(live)
	collectLater(time.Millisecond)
	isOver := func() bool { return is() == 100 }
	require.Eventually(t, isOver, 5*time.Second, time.Millisecond, "its time is over") //nolint:forbidigo // nobody tells
}

// Who has set GOGC knows better.
func TestCollectionsAreAsTheyWereSet(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := debug.SetGCPercent(50)
	defer debug.SetGCPercent(before)
	collectLater(time.Hour)
	require.Equal(t, 50, debug.SetGCPercent(50))
}

// Where the control group, or one above it, gives little memory, no collection waits.
func TestLittleMemoryIsKnown(t *testing.T) {
	at := func(group string, limits map[string]string) bool {
		root := fstest.MapFS{"proc/self/cgroup": {Data: []byte("12:cpu:/x\n0::" + group + "\n")}}
		for file, limit := range limits {
			root["sys/fs/cgroup"+file+"/memory.max"] = &fstest.MapFile{Data: []byte(limit + "\n")}
		}
		return isTight(root)
	}
	require.False(t, isTight(fstest.MapFS{}), "nobody tells")
	require.False(t, at("/", nil))
	require.False(t, at("/a/b", map[string]string{"/a": "max", "/a/b": "268435456"}))
	require.True(t, at("/a/b", map[string]string{"/a": "max", "/a/b": "268435455"}))
	require.True(t, at("/a/b", map[string]string{"/a": "67108864", "/a/b": "max"}))
	require.True(t, at("/", map[string]string{"": "67108864"}), "in a namespace of control groups")
}
