package main

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// firstHeap is how large the memory may grow in a start before garbage is collected. Each collection marks all that
	// lives, and a start makes most of what will live: at Go's default, one of 10,000 volumes had seven.
	firstHeap = 128 << 20
	// startTime is how long a start may take.
	startTime = 10 * time.Second
)

// collectLater has the first collections of garbage wait until the memory is as large as a start of thousands of
// volumes makes it, or until the start is over, which is within that time. Who has set GOGC or GOMEMLIMIT knows better.
func collectLater(within time.Duration) {
	if os.Getenv("GOGC")+os.Getenv("GOMEMLIMIT") != "" || isTight(os.DirFS("/")) {
		return
	}
	percent := debug.SetGCPercent(-1)
	debug.SetMemoryLimit(firstHeap)
	asEver := sync.OnceFunc(func() {
		debug.SetMemoryLimit(math.MaxInt64)
		debug.SetGCPercent(percent)
	})
	isOver := make(chan struct{})
	time.AfterFunc(within, func() { asEver(); close(isOver) })
	collected(asEver, isOver)
}

// collected ends the delay with the first collection that leaves half of that memory in use: what lives decides from
// then on when the next one is due.
func collected(asEver func(), isOver <-chan struct{}) {
	runtime.AddCleanup(new([64]byte), func(func()) {
		select {
		case <-isOver:
			return
		default:
		}
		if live := liveHeap(); live > firstHeap/2 {
			asEver()
		} else {
			collected(asEver, isOver)
		}
	}, asEver)
}

// isTight reports whether the memory of this process, in its control group or one above (cgroups(7), version 2), may
// not grow to twice what the first collections wait for.
func isTight(root fs.FS) bool {
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	_, group, isKnown := strings.Cut(string(data), "0::")
	if err != nil || !isKnown {
		return false
	}
	for at := path.Clean("/" + strings.TrimSpace(group)); ; at = path.Dir(at) {
		limit, err := fs.ReadFile(root, path.Join("sys/fs/cgroup", at, "memory.max"))
		most, problem := strconv.ParseInt(strings.TrimSpace(string(limit)), 10, 64) // "max" is none
		if err == nil && problem == nil && most < 2*firstHeap {
			return true
		}
		if at == "/" {
			return false
		}
	}
}

// liveHeap is what the last collection has left.
func liveHeap() uint64 {
	is := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(is)
	return is[0].Value.Uint64()
}
