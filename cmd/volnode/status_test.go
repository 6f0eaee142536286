package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
)

func TestStatusOfADaemonThatStarts(t *testing.T) {
	require.Equal(t, "n1  starting: volnode has not read the node yet; the state of its volumes is not known",
		headline(engine.Status{Node: "n1", Starting: true}))
}
