package mutants

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// This file makes one program of all mutants: each function that one of them changes has, in front of its own body, the
// changed one, for the process whose environment asks for it. So there is one build, and not one for each.

// variable is the environment variable that says which mutant a process is; without it, it is the engine itself.
const variable = "VOLSIM_MUTANT"

// chooser is the file that each package with mutants gets.
const chooser = `package %s

import (
	"os"
	"strconv"
)

var theMutant, _ = strconv.Atoi(os.Getenv(%q))
`

// splice is a text to put in at an offset.
type splice struct {
	at   int
	text string
}

// merge returns the source of one file with all its mutants in it, and the name of its package. The keys are the
// mutants' numbers, from 1 on.
func merge(path string, source []byte, mutants map[int]Mutant) (merged []byte, name string, err error) {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", err
	}
	offset := func(p token.Pos) int { return positions.Position(p).Offset }
	var splices []splice
	for n, m := range mutants {
		at, err := m.find(source)
		if err != nil {
			return nil, "", err
		}
		i := slices.IndexFunc(file.Decls, func(d ast.Decl) bool {
			f, ok := d.(*ast.FuncDecl)
			return ok && offset(f.Pos()) <= at && at+len(m.Old) <= offset(f.End())
		})
		if i < 0 {
			return nil, "", fmt.Errorf("mutant %q: its old text is not within one function of %s", m.Name, m.File)
		}
		f, _ := file.Decls[i].(*ast.FuncDecl)
		begin := offset(f.Pos())
		changed := string(source[begin:at]) + m.New + string(source[at+len(m.Old):offset(f.End())])
		body, err := bodyOf(changed)
		if err != nil {
			return nil, "", fmt.Errorf("mutant %q: %w", m.Name, err)
		}
		if f.Type.Results == nil {
			body += "return\n"
		}
		splices = append(splices, splice{offset(f.Body.Lbrace) + 1, fmt.Sprintf("if theMutant == %d {%s}\n", n, body)})
	}
	slices.SortFunc(splices, func(a, b splice) int {
		if a.at != b.at {
			return b.at - a.at
		}
		return strings.Compare(a.text, b.text)
	})
	text := string(source)
	for _, s := range splices {
		text = text[:s.at] + s.text + text[s.at:]
	}
	return []byte(text), file.Name.Name, nil
}

// bodyOf returns what stands between the braces of a function.
func bodyOf(function string) (string, error) {
	const head = "package p\n"
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, "", head+function, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	f, ok := file.Decls[0].(*ast.FuncDecl)
	if !ok || len(file.Decls) != 1 {
		return "", fmt.Errorf("it is not one function any more")
	}
	offset := func(p token.Pos) int { return positions.Position(p).Offset - len(head) }
	return function[offset(f.Body.Lbrace)+1 : offset(f.Body.Rbrace)], nil
}

// sources returns the files of a program with all mutants in it, by their paths from the module's root. The number of a
// mutant is its place in the table, from 1 on.
func sourcesOf(root string, table []Mutant) (map[string][]byte, error) {
	byFile := map[string]map[int]Mutant{}
	for i, m := range table {
		if byFile[m.File] == nil {
			byFile[m.File] = map[int]Mutant{}
		}
		byFile[m.File][i+1] = m
	}
	sources := map[string][]byte{}
	for path, mutants := range byFile {
		source, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		merged, name, err := merge(path, source, mutants)
		if err != nil {
			return nil, err
		}
		sources[path] = merged
		sources[filepath.Join(filepath.Dir(path), "zz_mutant.go")] = fmt.Appendf(nil, chooser, name, variable)
	}
	return sources, nil
}

// Build makes the program that is every mutant of a table in dir, and returns the CPU time that it took. The sources
// are not changed: go build reads others in their place.
func (l *Lab) Build(table []Mutant, dir string) (time.Duration, error) {
	sources, err := sourcesOf(l.Root, table)
	if err != nil {
		return 0, err
	}
	replace := map[string]string{}
	for path, text := range sources {
		other := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(other, text, 0o600); err != nil {
			return 0, err
		}
		replace[filepath.Join(l.Root, path)] = other
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		return 0, err
	}
	l.program = filepath.Join(dir, "volsim")
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", l.program, "./cmd/volsim")
	cmd.Dir = l.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("the mutants do not build: %w\n%s", err, out)
	}
	return used(cmd), nil
}
