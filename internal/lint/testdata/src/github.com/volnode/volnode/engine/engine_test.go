package engine_test

import (
	_ "os"
	_ "sync"

	_ "github.com/volnode/volnode/engine"
	_ "github.com/volnode/volnode/engine/plugin/csi"
	_ "github.com/volnode/volnode/hal/linux" // want `arrows: engine must not import github.com/volnode/volnode/hal/linux: .*`
	_ "github.com/volnode/volnode/hal/sim"
)

func started() { go started() }
