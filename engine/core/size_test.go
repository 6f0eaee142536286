package core

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The allocator has a block of 480 bytes, and the next has 512.
func TestARungFitsItsBlock(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(rung{}), uintptr(480))
}

func TestSpecsDifferByEachField(t *testing.T) {
	var none Rung
	for i := range reflect.TypeFor[Rung]().NumField() {
		var other Rung
		fill(reflect.ValueOf(&other).Elem().Field(i))
		require.False(t, sameSpec(&none, &other), reflect.TypeFor[Rung]().Field(i).Name)
	}
}

// fill gives a field another value than none.
func fill(field reflect.Value) {
	switch field.Kind() {
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	case reflect.Struct:
		fill(field.Field(0))
	case reflect.String:
		field.SetString("another")
	case reflect.Bool:
		field.SetBool(true)
	default:
		field.Set(reflect.ValueOf(1).Convert(field.Type()))
	}
}
