// Package figures measures a source tree of this project: how much of it there is, what one volume takes, how its parts
// hang together, and how well it reads. The figures show where a change goes; no figure is a law. They can be taken of
// another checkout too, so all that they need to know of the tree is here, and not in the tree.
package figures

import (
	"fmt"
	"io"
	"strings"
)

// Figure is one measure of a tree.
type Figure struct {
	// Name says what was measured.
	Name string
	// Value has the number first. A figure that can't be taken says why.
	Value string
}

// Of measures the tree at dir. It builds and runs volsim there only if isRunning is set.
func Of(dir string, isRunning bool) ([]Figure, error) {
	t, err := readTree(dir)
	if err != nil {
		return nil, err
	}
	var all []Figure
	if isRunning {
		all = append(all, lifeFigures(t)...)
	}
	all = append(all, sourceFigures(t)...)
	all = append(all, arrowFigures(t)...)
	all = append(all, shapeFigures(t)...)
	all = append(all, textFigures(t)...)
	return all, nil
}

// Print writes one line for each figure.
func Print(w io.Writer, all []Figure) error {
	width := 0
	for _, f := range all {
		width = max(width, len(f.Name))
	}
	for _, f := range all {
		if _, err := fmt.Fprintf(w, "%-*s  %s\n", width, f.Name, f.Value); err != nil {
			return err
		}
	}
	return nil
}

// number is a figure with what it counted, at most a few of them.
func number(name string, n int, examples ...string) Figure {
	const most = 3
	text := ""
	switch {
	case len(examples) > most:
		text = ": " + strings.Join(examples[:most], ", ") + ", ..."
	case len(examples) > 0:
		text = ": " + strings.Join(examples, ", ")
	}
	return Figure{Name: name, Value: fmt.Sprint(n) + text}
}

// failed is a figure that could not be taken.
func failed(name string, err error) Figure {
	return Figure{Name: name, Value: "not measured: " + strings.Join(strings.Fields(err.Error()), " ")}
}
