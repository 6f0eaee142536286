package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// byHand runs tasks and posts when it is told to.
type byHand struct {
	hal.Runtime
	queue []func()
}

func (r *byHand) Go(f func())      { r.queue = append(r.queue, f) }
func (r *byHand) Post(f func())    { r.queue = append(r.queue, f) }
func (r *byHand) Now() hal.Instant { return 1 }

func (r *byHand) next() {
	f := r.queue[0]
	r.queue = r.queue[1:]
	f()
}

// tables counts the readings of a mount table.
type tables struct {
	hal.Mounts
	read int
}

func (t *tables) Table(hal.Call) ([]hal.Mount, error) {
	t.read++
	return []hal.Mount{{ID: 1, Path: "/", FSType: "ext4"}}, nil
}

// A notice that comes between a reading of the mount table and the owner, who takes it in, is of what that reading has
// not seen: the table is read again.
func TestANoticeWhileTheTableIsReadIsNotLost(t *testing.T) {
	run, mounts := &byHand{}, &tables{}
	d := &drift{base: 1, port: &port{
		h: hal.Host{Runtime: run, Mounts: mounts}, core: core.New(core.Start{}),
		cfg: Config{RootDir: "/var/lib/volnode"},
	}}
	d.tableChanged(nil)
	run.next() // the task
	d.tableChanged(nil)
	require.Equal(t, 1, mounts.read)
	for len(run.queue) > 0 {
		run.next()
	}
	require.Equal(t, 2, mounts.read)
	require.False(t, d.reading)
}
