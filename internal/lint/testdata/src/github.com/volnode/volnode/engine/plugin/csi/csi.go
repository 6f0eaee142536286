package csi

import (
	_ "github.com/volnode/volnode/engine/plugin"
	_ "github.com/volnode/volnode/engine/plugin/kinds" // want `arrows: engine/plugin/csi must not import github.com/volnode/volnode/engine/plugin/kinds: of this module engine/plugin imports .*`
)
