package core

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The allocator has blocks of 768 and of 896 bytes, and takes 8 of each for itself. A rung fits the smaller one.
func TestARungFitsItsBlock(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(rung{}), uintptr(760))
}
