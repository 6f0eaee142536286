// Package lint holds the project's own static checks: the laws that ARCHITECTURE.md states and that no ready-made
// linter knows.
//
//   - [Arrows] checks who may import whom.
//   - [Purity] checks that the engine and the simulator take time, chance and concurrency from the HAL alone.
//   - [Outcome] checks that errors are told apart by their values, never by their text, and that an unset outcome is
//     Unknown.
//
// The package internal/lint/cmd/volnodelint runs them: go run ./internal/lint/cmd/volnodelint ./...
package lint

import (
	"go/ast"
	"go/parser"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const module = "github.com/volnode/volnode"

// Analyzers returns all checks.
func Analyzers() []*analysis.Analyzer { return []*analysis.Analyzer{Arrows, Outcome, Purity} }

// place is a package's path below the module: "engine/core", and "." for the root package. ok is false for a package
// that is not ours.
func place(importPath string) (dir string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// placeOf is the place of the package under analysis. An external test package has the place of the package that it
// tests. The main package that go test generates is nobody's.
func placeOf(pass *analysis.Pass) (dir string, ok bool) {
	if strings.HasSuffix(pass.Pkg.Path(), ".test") {
		return "", false
	}
	return place(strings.TrimSuffix(pass.Pkg.Path(), "_test"))
}

// within reports whether dir is one of the trees or lies below one.
func within(dir string, trees ...string) bool {
	for _, t := range trees {
		if dir == t || strings.HasPrefix(dir, t+"/") {
			return true
		}
	}
	return false
}

// standard reports whether importPath is of the standard library: its first element has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// file is one Go file of the package under analysis. Types are known only if it is part of this build.
type file struct {
	*ast.File
	name  string // base name
	test  bool
	typed bool
}

// filesOf returns the package's files, with those that build constraints leave out: a build tag is no way around a law.
func filesOf(pass *analysis.Pass) ([]file, error) {
	var files []file
	for _, f := range pass.Files {
		files = append(files, newFile(f, pass.Fset.File(f.FileStart).Name(), true))
	}
	for _, name := range pass.IgnoredFiles {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		content, err := pass.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(pass.Fset, name, content, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, newFile(f, name, false))
	}
	return files, nil
}

func newFile(f *ast.File, name string, typed bool) file {
	return file{File: f, name: filepath.Base(name), test: strings.HasSuffix(name, "_test.go"), typed: typed}
}

// importPath returns the path that an import names, "" if it is malformed.
func importPath(s *ast.ImportSpec) string {
	path, err := strconv.Unquote(s.Path.Value)
	if err != nil {
		return ""
	}
	return path
}
