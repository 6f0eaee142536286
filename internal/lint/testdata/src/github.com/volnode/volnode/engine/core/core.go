package core

import (
	"fmt"
	_ "log" // want `arrows: engine/core must not import log: of the standard library engine/core imports only bytes, .*`
	"time"

	_ "example.com/other"                        // want `arrows: engine/core must not import example.com/other: of other modules engine/core imports nothing`
	_ "github.com/volnode/volnode/engine/plugin" // want `arrows: engine/core must not import github.com/volnode/volnode/engine/plugin: of this module engine/core imports engine/core/..., hal`
	"github.com/volnode/volnode/hal"
)

func values(at hal.Instant, key hal.Key, err error) string {
	if at.Add(time.Second) > 0 && hal.Unknown == hal.Done {
		return fmt.Sprint(hal.Unknown.String(), key)
	}
	_ = hal.OutcomeOf(err) // want `arrows: engine/core must not use hal.OutcomeOf: of hal it knows only BootID, HasFailed, Instant, Key, OpID, Outcome`
	var m hal.Mount        // want `arrows: engine/core must not use hal.Mount: .*`
	return m.Path          // want `arrows: engine/core must not use hal.Path: .*`
}
