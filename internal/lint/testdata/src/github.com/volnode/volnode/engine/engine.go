package engine

import (
	"context"
	_ "sync/atomic" // want `purity: engine must not import sync/atomic`

	_ "github.com/volnode/volnode/hal/trace" // want `arrows: engine must not import github.com/volnode/volnode/hal/trace: of this module engine imports engine, .*`

	_ "github.com/volnode/volnode/engine/plugin"
	_ "github.com/volnode/volnode/engine/plugin/csi" // want `arrows: engine must not import github.com/volnode/volnode/engine/plugin/csi: .*`
	_ "github.com/volnode/volnode/engine/plugin/kinds"
)

type runtime interface {
	Await(ctx context.Context, register func(done func())) error
}

type held struct {
	ctx context.Context // want `purity: no context.Context here: only context.Context, as the type of a parameter for Runtime.Await`
}

func wait(ctx context.Context, r runtime) error {
	if ctx.Err() != nil { // want `purity: a context is handed to Runtime.Await and not looked into`
		return context.Cause(ctx) // want `purity: no context.Cause here: .*`
	}
	return r.Await(ctx, func(done func()) { done() })
}
