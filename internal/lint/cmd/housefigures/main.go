// Command housefigures prints the figures of a source tree of this project: see the package internal/lint/figures.
//
//	go run ./internal/lint/cmd/housefigures              # of the working tree
//	go run ./internal/lint/cmd/housefigures -dir ../old  # of another checkout
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/volnode/volnode/internal/lint/figures"
)

func main() {
	dir := flag.String("dir", ".", "the root of the tree")
	isRunning := flag.Bool("run", true, "build volsim from the tree, and run one volume's life in it")
	flag.Parse()
	all, err := figures.Of(*dir, *isRunning)
	if err == nil {
		err = figures.Print(os.Stdout, all)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "housefigures: %v\n", err)
		os.Exit(1)
	}
}
