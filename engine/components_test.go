package engine

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/scrub"
)

// A component has its port, and what it was made with: none can reach the manager.
func TestNoComponentHasTheManager(t *testing.T) {
	manager := reflect.TypeFor[VolumeManager]()
	seen := map[reflect.Type]bool{}
	var look func(at string, of reflect.Type)
	look = func(at string, of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		require.NotEqual(t, manager, of, at)
		if of.Kind() != reflect.Struct || of.PkgPath() != manager.PkgPath() || seen[of] {
			return
		}
		seen[of] = true
		for f := range of.Fields() {
			look(at+"."+f.Name, f.Type)
		}
	}
	for f := range manager.Fields() {
		look(f.Name, f.Type)
	}
}

// hurried is a runtime on which all happens when the test says so, timers as well.
type hurried struct{ byHand }

func (r *hurried) At(_ hal.Instant, f func()) { r.queue = append(r.queue, f) }

// mute is a plugin that does not answer.
type mute struct {
	hal.Registration
	asked int
}

func (m *mute) Info(hal.Call, string) (hal.PluginInfo, error) {
	m.asked++
	return hal.PluginInfo{}, errors.New("no answer")
}

// The registry needs no manager, and no core before a plugin has answered.
func TestTheRegistryAsksAPluginUntilItAnswers(t *testing.T) {
	run, plugin := &hurried{}, &mute{}
	var told []Event
	r := newRegistry(&port{
		h:      hal.Host{Runtime: run, Registration: plugin},
		stream: stream{looks: func(e Event) { told = append(told, e) }},
	}, ears{said: scrub.New()})
	r.socketEvent(hal.SocketEvent{Path: "/s", Present: true})
	for range 3*3 - 1 { // the question, its answer, the wait before the next
		run.next()
	}
	require.Equal(t, 3, plugin.asked)
	require.Len(t, told, 3)
	require.Equal(t, "no answer", r.status()[0].Why)
	require.Equal(t, 8*time.Second, backoff(3, registerRetryMax))
	r.socketEvent(hal.SocketEvent{Path: "/s"})
	for len(run.queue) > 0 {
		run.next()
	}
	require.Equal(t, 3, plugin.asked, "its socket is gone")
	require.Empty(t, r.status())
}
