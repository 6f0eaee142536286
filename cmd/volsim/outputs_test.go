package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// TestCommandLineIsWhatWasTyped, so that it can be typed again.
func TestCommandLineIsWhatWasTyped(t *testing.T) {
	for _, args := range [][]string{
		{"--full", "--only", "'unstage while published'"},
		{"--only", "'no backoff,lost means absent'", "--report", "x.html"},
		{"--prune=false", "demo"},
	} {
		said := ""
		cmd := &cobra.Command{Use: "try", Run: func(cmd *cobra.Command, _ []string) { said = commandLine(cmd) }}
		cmd.Flags().StringSlice("only", nil, "")
		cmd.Flags().Bool("full", false, "")
		cmd.Flags().Bool("prune", true, "")
		cmd.Flags().String("report", "", "")
		cmd.SetArgs(strings.Split(strings.ReplaceAll(strings.Join(args, "\n"), "'", ""), "\n"))
		require.NoError(t, cmd.Execute())
		require.Equal(t, "try "+strings.Join(args, " "), said)
	}
}
