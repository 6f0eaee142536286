package linux_test

import (
	_ "github.com/volnode/volnode/hal/haltest"
	_ "github.com/volnode/volnode/hal/linux"
	_ "github.com/volnode/volnode/hal/manifest"
	_ "github.com/volnode/volnode/hal/sim" // want `arrows: hal/linux must not import github.com/volnode/volnode/hal/sim: .*`
)
