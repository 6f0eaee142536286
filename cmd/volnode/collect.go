package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"
)

const (
	// firstHeap is how large the memory may grow in a start before garbage is collected. Each collection marks all that lives, and a start makes
	// most of what will live: at Go's default, one of 10,000 volumes had seven.
	firstHeap = 128 << 20
	// startTime is how long a start may take.
	startTime = 10 * time.Second
)

// collectLater has the first collections of garbage wait until the memory is as large as a start of thousands of volumes makes it, or until the start is
// over. Who has set GOGC or GOMEMLIMIT knows better.
func collectLater() {
	if os.Getenv("GOGC")+os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	percent := debug.SetGCPercent(-1)
	debug.SetMemoryLimit(firstHeap)
	asEver := sync.OnceFunc(func() {
		debug.SetMemoryLimit(math.MaxInt64)
		debug.SetGCPercent(percent)
	})
	time.AfterFunc(startTime, asEver)
	collected(asEver)
}

// collected ends the delay with the first collection that leaves half of that memory in use: what lives decides from then on when the next one is due.
func collected(asEver func()) {
	runtime.AddCleanup(new([64]byte), func(func()) {
		if live := liveHeap(); live > firstHeap/2 {
			asEver()
		} else {
			collected(asEver)
		}
	}, asEver)
}

// liveHeap is what the last collection has left.
func liveHeap() uint64 {
	is := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(is)
	return is[0].Value.Uint64()
}
