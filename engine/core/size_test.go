package core

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The allocator has a block of 480 bytes, and the next has 512.
func TestARungFitsItsBlock(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(rung{}), uintptr(480))
}
