package linux

import (
	_ "sync"

	_ "example.com/other"
	_ "github.com/volnode/volnode/engine" // want `arrows: hal/linux must not import github.com/volnode/volnode/engine: of this module hal/linux imports .*`
	_ "github.com/volnode/volnode/hal/fault"
	_ "github.com/volnode/volnode/hal/sim" // want `arrows: hal/linux must not import github.com/volnode/volnode/hal/sim: .*`
)
