// Command volsim runs the engine for as many pods as its scenario names.
package main

import (
	"os"
	"strings"

	"example.com/small/engine"
)

func main() {
	content, err := os.ReadFile(os.Args[2])
	if err != nil {
		os.Exit(1)
	}
	var m engine.VolumeManager
	m.Run(2 * strings.Count(string(content), "\npod "))
}
