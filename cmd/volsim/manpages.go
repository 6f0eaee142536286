//go:build volnode_manpages

package main

import "github.com/volnode/volnode/internal/cli/manpages"

// With this tag the program writes its manual pages into the directory that its command line names, and ends.
func init() {
	manpages.Main(rootCommand(), "1")
}
