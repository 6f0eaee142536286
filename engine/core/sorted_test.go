package core_test

import (
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
)

func sortedKeys[V any](m map[hal.Key]V) []hal.Key { return slices.Sorted(maps.Keys(m)) }
