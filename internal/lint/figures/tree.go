package figures

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/modfile"
)

// tree is a source tree that was read.
type tree struct {
	dir, module string
	fset        *token.FileSet
	files       []goFile
	// texts has all files that people write, the Go files included, by their paths.
	texts map[string]string
	paths []string // of texts, sorted
}

// goFile is one Go file outside testdata.
type goFile struct {
	path string // slash-separated, below the root
	test bool
	*ast.File
	// code has the lines that hold more than comments and space.
	code map[int]bool
}

// dir is the place of the file's package.
func (f goFile) dir() string { return path.Dir(f.path) }

// area is the part of the project that the file belongs to: the first element of its path.
func (f goFile) area() string {
	first, _, found := strings.Cut(f.path, "/")
	if !found {
		return "."
	}
	return first
}

func readTree(dir string) (*tree, error) {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	t := &tree{dir: dir, module: modfile.ModulePath(mod), fset: token.NewFileSet(), texts: map[string]string{}}
	if t.module == "" {
		return nil, fmt.Errorf("%s names no module", filepath.Join(dir, "go.mod"))
	}
	err = fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || p == "bin"):
			return fs.SkipDir
		case d.Type().IsRegular() && p != ".git": // as it is in a linked worktree
			return t.add(p)
		}
		return nil
	})
	return t, err
}

func (t *tree) add(p string) error {
	content, err := os.ReadFile(filepath.Join(t.dir, filepath.FromSlash(p)))
	if err != nil {
		return err
	}
	if !utf8.Valid(content) || bytes.ContainsRune(content, 0) {
		return nil
	}
	t.texts[p] = string(content)
	t.paths = append(t.paths, p)
	if path.Ext(p) != ".go" || strings.Contains("/"+p, "/testdata/") {
		return nil
	}
	file, err := parser.ParseFile(t.fset, filepath.Join(t.dir, p), content,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.files = append(t.files, goFile{
		path: p, test: strings.HasSuffix(p, "_test.go"), File: file, code: codeLines(content),
	})
	return nil
}

// codeLines returns the lines of a Go file on which there is a token. A string of several lines is on all of them.
func codeLines(content []byte) map[int]bool {
	lines := map[int]bool{}
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(content))
	var s scanner.Scanner
	s.Init(file, content, nil, 0)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		first := file.Line(pos)
		for n := range strings.Count(text, "\n") + 1 {
			lines[first+n] = true
		}
	}
}

// product returns the files that are no tests, of these places and all below them.
func (t *tree) product(places ...string) []goFile {
	var all []goFile
	for _, f := range t.files {
		if f.test {
			continue
		}
		for _, p := range places {
			if f.dir() == p || strings.HasPrefix(f.dir(), p+"/") {
				all = append(all, f)
				break
			}
		}
	}
	return all
}
