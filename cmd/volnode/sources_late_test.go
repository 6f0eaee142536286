package main

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/manifest"
)

// tardy is an owner who comes to a question when the asker has gone.
type tardy struct {
	hal.Runtime
	late *sync.WaitGroup
}

func (t tardy) Await(_ context.Context, register func(done func())) error {
	t.late.Go(func() { register(func() {}) })
	return errors.New("the engine did not answer")
}

// Whom the owner does not answer in time is told of all troubles. A build that looks for races sees whether anybody
// reads the late answer.
func TestALateAnswerIsReadByNobody(t *testing.T) {
	var late sync.WaitGroup
	d := &daemon{runtime: tardy{late: &late}, manifests: manifest.New(hal.Host{}, manifest.Options{Dir: "/m"})}
	s := engine.Status{Sources: []engine.SourceTrouble{{Source: manifest.Source, Where: "/m/a.yaml"}}}
	for range 200 {
		require.Equal(t, s.Sources, d.concerning(t.Context(), "default/web", s))
	}
	late.Wait()
}
