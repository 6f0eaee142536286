package plugin

import (
	"context" // want `purity: engine/plugin must not import context`
	"fmt"
	"iter"
	"maps"
	"math/rand/v2" // want `purity: engine/plugin must not import math/rand/v2`
	"os/exec"      // want `purity: engine/plugin must not import os/exec`
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

func concurrent(n int) {
	c := make(chan int) // want `purity: no channel`
	go concurrent(n)    // want `purity: no go statement: .*`
	c <- 1              // want `purity: no send to a channel`
	<-c                 // want `purity: no receive from a channel`
	for range c {       // want `purity: no receive from a channel`
	}
	select {} // want `purity: no select`
}

func recovers() {
	defer func() { _ = recover() }() // want `purity: no recover: an impossible state ends the process`
}

func guards() {
	hal.Guard(recovers) // want `purity: no hal.Guard: only a verb's panic is recovered, in engine/ops.go`
}

func ownRecover() {
	recover := func() {}
	recover()
}

func clocks(ctx context.Context, d time.Duration) {
	_ = 2*time.Second + d.Round(time.Minute)
	_ = time.Now()  // want `purity: no time.Now: of time only Duration and its constants`
	var t time.Time // want `purity: no time.Time: .*`
	_ = t.IsZero()
	_ = rand.Int()
	_ = exec.ErrDot
}

func outside(err error) {
	var e syscall.Errno = syscall.EBUSY
	_ = e.Error()
	_ = syscall.Getpid()      // want `purity: no syscall.Getpid: .*`
	fmt.Println(fmt.Sprint()) // want `purity: no fmt.Println: it reaches past the HAL or the scheduler`
	_, _ = filepath.Glob("a") // want `purity: no filepath.Glob: it reaches past the HAL or the scheduler`
	_ = filepath.Join("a")
	iter.Pull(maps.Keys(set{})) // want `purity: no iter.Pull: .*` `purity: maps.Keys has no order: .*`
}

type set map[string]bool

func order(m set, s []string) {
	for range m { // want `purity: no range over a map: range slices.Sorted\(maps.Keys\(m\)\)`
	}
	for range s {
	}
	for range slices.Sorted(maps.Keys(m)) {
	}
	for range slices.SortedFunc(maps.Keys(m), strings.Compare) {
	}
	for range maps.Keys(m) { // want `purity: maps.Keys has no order: wrap it in slices.Sorted`
	}
	_ = slices.Collect(maps.Values(m)) // want `purity: maps.Values has no order: .*`
	iterate := maps.All[set]           // want `purity: maps.All has no order: .*`
	_ = iterate
	_ = maps.Clone(m)
}

func generic[M ~map[string]int](m M) {
	for range m { // want `purity: no range over a map: .*`
	}
}

type counter struct{ n int }

func (c *counter) add()    {}
func (c counter) get() int { return c.n }

var (
	ErrSentinel = fmt.Errorf("sentinel")
	Changed     []string
	table       = map[string]int{"a": 1}
	array       [4]int
	count       counter
	pointer     = &counter{}
	i           int
)

func variables() {
	_ = ErrSentinel
	_ = table["a"] + count.get() + array[1]
	table["a"] = 2     // want `purity: the package variable table of engine/plugin is assigned: state belongs to a value`
	delete(table, "a") // want `purity: the package variable table of engine/plugin is assigned: .*`
	_ = array[:]       // want `purity: the package variable array of engine/plugin has its address taken: .*`
	array[0]++         // want `purity: the package variable array of engine/plugin is assigned: .*`
	count.n = 1        // want `purity: the package variable count of engine/plugin is assigned: .*`
	count.add()        // want `purity: the package variable count of engine/plugin has its address taken: .*`
	_ = &count         // want `purity: the package variable count of engine/plugin has its address taken: .*`
	for i = range 3 {  // want `purity: the package variable i of engine/plugin is assigned: .*`
	}
	i, j := 1, 2
	_, _ = i, j
	pointer.add()
}
