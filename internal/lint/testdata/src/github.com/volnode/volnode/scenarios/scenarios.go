package scenarios

import (
	_ "github.com/volnode/volnode/engine"
	_ "github.com/volnode/volnode/engine/core"
	_ "github.com/volnode/volnode/hal/fault"
	_ "github.com/volnode/volnode/hal/linux" // want `arrows: scenarios must not import github.com/volnode/volnode/hal/linux: .*`
	_ "github.com/volnode/volnode/hal/manifest"
	_ "github.com/volnode/volnode/hal/sim"
	_ "github.com/volnode/volnode/hal/trace"

	"github.com/volnode/volnode/engine/plugin"
)

func init() {
	plugin.Changed = nil // want `purity: the package variable Changed of engine/plugin is assigned: state belongs to a value`
}
