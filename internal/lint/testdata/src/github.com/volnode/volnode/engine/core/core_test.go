package core_test

import (
	_ "os"
	_ "testing"

	_ "example.com/other"
	_ "github.com/volnode/volnode/engine/core"
	_ "github.com/volnode/volnode/hal/sim" // want `arrows: engine/core must not import github.com/volnode/volnode/hal/sim: .*`
)
