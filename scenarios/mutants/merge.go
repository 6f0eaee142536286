package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
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

// function is one that a mutant may change.
type function struct {
	path       string // of its file, from the module's root
	begin, end int    // in its file
	body       int    // where its body begins
	hasResults bool
}

// folder is the sources of a package, without its tests.
type folder struct {
	name      string              // of the package
	files     map[string][]byte   // by their paths from the module's root
	functions map[string]function // by their names, "Core.New" for a method
}

// folderAt reads the package in a directory, which is given from the module's root.
func folderAt(root, dir string) (folder, error) {
	f := folder{files: map[string][]byte{}, functions: map[string]function{}}
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return f, err
	}
	for _, path := range paths {
		isBuilt, err := build.Default.MatchFile(filepath.Split(path))
		if err != nil {
			return f, err
		}
		if !isBuilt || strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return f, err
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, path, source, parser.SkipObjectResolution)
		if err != nil {
			return f, err
		}
		path = filepath.Join(dir, filepath.Base(path))
		f.name, f.files[path] = file.Name.Name, source
		offset := func(p token.Pos) int { return positions.Position(p).Offset }
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				f.functions[nameOf(d)] = function{
					path, offset(d.Pos()), offset(d.End()), offset(d.Body.Lbrace) + 1, d.Type.Results != nil,
				}
			}
		}
	}
	return f, nil
}

// nameOf is a function's name, behind that of its receiver's type.
func nameOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	receiver := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && receiver == "" {
			receiver = name.Name // its type parameters come behind it
		}
		return receiver == ""
	})
	return receiver + "." + d.Name.Name
}

// place is the directory of the mutant's package, from the module's root, and the name of its function.
func (m Mutant) place() (dir, name string) {
	slash := strings.LastIndex(m.In, "/") + 1
	last, name, _ := strings.Cut(m.In[slash:], ".")
	return m.In[:slash] + last, name
}

// merge puts a mutant, by its number, into its function: the path of the file, and what to put in there.
func (f folder) merge(m Mutant, number int) (path string, s splice, err error) {
	_, name := m.place()
	fn, ok := f.functions[name]
	if !ok {
		return "", s, fmt.Errorf("mutant %q: there is no function %s; bring scenarios/mutants up to date", m.Name, m.In)
	}
	text := f.files[fn.path][fn.begin:fn.end]
	from, to, err := m.find(text)
	if err != nil {
		return "", s, err
	}
	body, err := bodyOf(string(text[:from]) + m.New + string(text[to:]))
	if err != nil {
		return "", s, fmt.Errorf("mutant %q: %w", m.Name, err)
	}
	if !fn.hasResults {
		body += "return\n"
	}
	return fn.path, splice{fn.body, fmt.Sprintf("if theMutant == %d {%s}\n", number, body)}, nil
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

// sourcesOf returns the files of a program with all mutants in it, by their paths from the module's root. The number of
// a mutant is its place in the table, from 1 on.
func sourcesOf(root string, table []Mutant) (map[string][]byte, error) {
	folders := map[string]folder{}
	splices := map[string][]splice{}
	sources := map[string][]byte{}
	var misfits []error
	for i, m := range table {
		dir, _ := m.place()
		f, isRead := folders[dir]
		if !isRead {
			var err error
			if f, err = folderAt(root, dir); err != nil {
				return nil, err
			}
			folders[dir] = f
		}
		path, s, err := f.merge(m, i+1)
		if err != nil {
			misfits = append(misfits, err)
			continue
		}
		splices[path] = append(splices[path], s)
		sources[path] = f.files[path]
		sources[filepath.Join(dir, "zz_mutant.go")] = fmt.Appendf(nil, chooser, f.name, variable)
	}
	if misfits != nil {
		return nil, errors.Join(misfits...)
	}
	for path, all := range splices {
		slices.SortStableFunc(all, func(a, b splice) int { return b.at - a.at })
		for _, s := range all {
			sources[path] = slices.Insert(slices.Clone(sources[path]), s.at, []byte(s.text)...)
		}
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
