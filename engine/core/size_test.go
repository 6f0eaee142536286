package core

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A rung fits the block of 768 bytes that the allocator has, of which it takes 8 for itself; one byte more takes 896.
func TestARungFitsItsBlock(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(rung{}), uintptr(760))
}
