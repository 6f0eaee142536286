package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// twins are two helpers of an earlier run that live on one rung.
type twins struct{ gone []func() }

func (t *twins) Living(hal.Call) ([]hal.Child, error) {
	key := hal.Key("emptydir/uid-web/scratch")
	return []hal.Child{{PID: 7, Key: key, What: "mount", State: "D"}, {PID: 8, Key: key, What: "umount", State: "D"}},
		nil
}

func (t *twins) Gone(_ hal.Child, f func()) { t.gone = append(t.gone, f) }

// A rung is excluded from everything until the last helper that may act on it is dead.
func TestTwoHelpersOfOneRung(t *testing.T) {
	b := newBench(t, sim.Polite())
	children := &twins{}
	b.w.SetAgent(func(h hal.Host) {
		h.Children = children
		b.m = engine.New(h, b.cfg)
		b.m.Start()
	})
	b.w.Cluster.Apply(pod("web", "a"))
	b.w.KillAgent()
	b.run(time.Minute)
	scratch := func() engine.VolumeStatus { return b.status().Pods[0].Volumes[1] }
	require.Equal(t, engine.Stuck, scratch().State)
	b.w.Do(children.gone[0])
	b.run(time.Minute)
	require.Equal(t, engine.Stuck, scratch().State)
	b.w.Do(children.gone[1])
	b.run(5 * time.Minute)
	require.Equal(t, engine.Ready, scratch().State)
}

// ordered notes in which order the helpers are listed and the mount table is read.
type ordered struct {
	hal.Children
	hal.Mounts
	calls []string
}

func (o *ordered) Living(c hal.Call) ([]hal.Child, error) {
	o.calls = append(o.calls, "helpers")
	return o.Children.Living(c)
}

func (o *ordered) Table(c hal.Call) ([]hal.Mount, error) {
	o.calls = append(o.calls, "table")
	return o.Mounts.Table(c)
}

// A helper that ends while a start reads the node is listed, or what it has done is seen: the list comes first.
func TestHelpersAreListedBeforeTheNodeIsLookedAt(t *testing.T) {
	b := newBench(t, sim.Polite())
	var o *ordered
	b.w.SetAgent(func(h hal.Host) {
		o = &ordered{Children: h.Children, Mounts: h.Mounts}
		h.Children, h.Mounts = o, o
		b.m = engine.New(h, b.cfg)
		b.m.Start()
	})
	b.w.KillAgent()
	b.run(10 * time.Minute)
	require.Equal(t, []string{"helpers", "table"}, o.calls[:2])
}
