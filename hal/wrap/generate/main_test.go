package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrappersAreGenerated(t *testing.T) {
	want, err := wrappers(filepath.Join("..", ".."), sites)
	require.NoError(t, err)
	is, err := os.ReadFile(filepath.Join("..", output))
	require.NoError(t, err)
	require.Equal(t, string(want), string(is), "run go generate ./hal/wrap")
}

func TestCallsWithoutASiteAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"type Tree interface{ Mkdir(c Call, path string) error; Chmod(c Call, path string) error }": "Tree.Chmod",
		"type Tree interface{ Mkdir(path string) error }":                                           "Tree.Mkdir",
		"type Tree interface{}": "hal has no such",
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "hal.go"), []byte("package hal\n"+text+"\n"), 0o600))
		_, err := wrappers(dir, map[string]map[string]site{"Tree": {"Mkdir": sites["Tree"]["Mkdir"]}})
		require.ErrorContains(t, err, want)
	}
}
