package figures

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// areas are the parts of the project whose sizes are told apart.
var areas = []string{"engine", "hal", "scenarios", "cmd", "internal", "e2e", "bench"}

// stateful are the packages whose structs hold what the engine knows.
var stateful = []string{"engine", "engine/core"}

// shapeFigures measures the declarations: sizes, methods, flags, comments.
func shapeFigures(t *tree) []Figure {
	methods, public, bools := 0, 0, 0
	var exported, fields []string
	for _, f := range t.product(areas...) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.dir() == "engine" && receiver(fn) == "VolumeManager" {
				methods++
				if fn.Name.IsExported() {
					public++
				}
			}
		}
		if f.Name.Name != "main" {
			exported = append(exported, bare(t, f)...)
		}
		if slices.Contains(stateful, f.dir()) {
			fields = append(fields, bareFields(t, f)...)
		}
		if f.dir() == "engine/core" {
			bools += boolsOf(f, "rung")
		}
	}
	all := []Figure{
		{Name: "methods of engine.VolumeManager", Value: fmt.Sprintf("%d, %d of them exported", methods, public)},
		number("bools on the rung of engine/core", bools),
		number("exported names without a comment", len(exported), exported...),
		number("fields of state in engine and engine/core without a comment", len(fields), fields...),
	}
	return append(all, sizes(t)...)
}

// receiver is the name of the type that a method is of, "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	e := fn.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if index, ok := e.(*ast.IndexExpr); ok {
		e = index.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// wellKnown are the methods of the interfaces of fmt, errors and encoding.
var wellKnown = []string{
	"String", "GoString", "Error", "Unwrap", "Is", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText",
}

// bare returns the exported names at the top of a file, and exported methods of exported types, without a comment. The
// comment of a group of constants or variables is of each. What a method of a well-known interface does, its name says.
func bare(t *tree, f goFile) (names []string) {
	say := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, fmt.Sprintf("%s:%d %s", f.path, t.fset.Position(id.Pos()).Line, id.Name))
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && (d.Recv == nil || ast.IsExported(receiver(d)) && !slices.Contains(wellKnown, d.Name.Name)) {
				say(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Doc == nil && s.Comment == nil && (d.Doc == nil || d.Lparen.IsValid()) {
						say(s.Name)
					}
				case *ast.ValueSpec:
					if s.Doc == nil && s.Comment == nil && d.Doc == nil {
						for _, id := range s.Names {
							say(id)
						}
					}
				}
			}
		}
	}
	return names
}

// structs calls do with each struct type at the top of a file.
func structs(f goFile, do func(name string, s *ast.StructType)) {
	for _, d := range f.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			if named, ok := spec.(*ast.TypeSpec); ok {
				if s, ok := named.Type.(*ast.StructType); ok {
					do(named.Name.Name, s)
				}
			}
		}
	}
}

// bareFields returns the fields of a file's structs that have no comment of their own. An exported struct with exported
// fields alone is a message, not state, and one of a line is a value: its own comment says what it is.
func bareFields(t *tree, f goFile) (names []string) {
	structs(f, func(name string, s *ast.StructType) {
		isState := !ast.IsExported(name) || slices.ContainsFunc(s.Fields.List, func(field *ast.Field) bool {
			return slices.ContainsFunc(field.Names, func(id *ast.Ident) bool { return !id.IsExported() })
		})
		if !isState || t.fset.Position(s.Pos()).Line == t.fset.Position(s.End()).Line {
			return
		}
		for _, field := range s.Fields.List {
			if field.Doc != nil || field.Comment != nil {
				continue
			}
			for _, id := range field.Names {
				names = append(names, fmt.Sprintf("%s:%d %s.%s", f.path, t.fset.Position(id.Pos()).Line, name, id.Name))
			}
		}
	})
	return names
}

func boolsOf(f goFile, of string) (n int) {
	structs(f, func(name string, s *ast.StructType) {
		for _, field := range s.Fields.List {
			if id, ok := field.Type.(*ast.Ident); ok && name == of && id.Name == "bool" {
				n += len(field.Names)
			}
		}
	})
	return n
}

// sizes measures functions and lines of code. Tests are counted apart.
func sizes(t *tree) []Figure {
	type length struct {
		lines int
		name  string
	}
	var lengths []length
	code, tests := map[string]int{}, 0
	for _, f := range t.files {
		if f.test {
			tests += len(f.code)
			continue
		}
		code[f.area()] += len(f.code)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				n := t.fset.Position(fn.Body.Rbrace).Line - t.fset.Position(fn.Body.Lbrace).Line - 1
				lengths = append(lengths, length{lines: max(n, 1), name: f.path + ": " + fn.Name.Name})
			}
		}
	}
	total, parts := 0, []string{}
	for _, area := range areas {
		total += code[area]
		if code[area] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", area, code[area]))
		}
	}
	all := []Figure{
		{Name: "lines of code without comments", Value: fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))},
		number("lines of code without comments, tests", tests),
	}
	if len(lengths) == 0 {
		return all
	}
	slices.SortFunc(lengths, func(a, b length) int { return a.lines - b.lines })
	longest := lengths[len(lengths)-1]
	return append(all, number("lines of a function, 90th percentile", lengths[len(lengths)*9/10].lines),
		number("lines of a function, maximum", longest.lines, longest.name))
}
