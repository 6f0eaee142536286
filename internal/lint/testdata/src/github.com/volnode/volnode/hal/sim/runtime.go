package sim

import (
	"context"
	_ "sync" // want `purity: hal/sim must not import sync`
)

type Runtime struct{}

func (Runtime) Await(ctx context.Context, register func(done func())) error {
	go start() // want `purity: no go statement: .*`
	return ctx.Err()
}
