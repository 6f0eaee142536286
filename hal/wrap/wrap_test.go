package wrap

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

func TestAllThatActsIsWrapped(t *testing.T) {
	around := reflect.ValueOf(Host(hal.Host{}, nil))
	for i := range around.NumField() {
		name := around.Type().Field(i).Name
		isPlain := around.Field(i).IsNil() // a cluster that is there is wrapped, too
		require.Equal(t, slices.Contains([]string{"Runtime", "Machine", "Watches", "Cluster", "Tokens"}, name), isPlain, name)
	}
}
