package haltest_test

import (
	_ "github.com/volnode/volnode/hal/linux"
	_ "github.com/volnode/volnode/hal/sim"
)
