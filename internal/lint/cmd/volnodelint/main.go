// Command volnodelint checks the laws of the project: see the package internal/lint. It takes package patterns, like go
// vet.
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/volnode/volnode/internal/lint"
)

func main() { multichecker.Main(lint.Analyzers()...) }
