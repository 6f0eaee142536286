// Package op imports what is above it.
package op

import "example.com/small/engine/plugin/hostpath"

// Name says csi.
const Name = "csi" + hostpath.Name
