package lint

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// Purity reports what makes a run of the engine or of the simulator depend on anything but its inputs: goroutines,
// channels, locks, clocks, chance, the operating system, variables of a package, the order of a map.
var Purity = &analysis.Analyzer{
	Name: "purity",
	Doc: "report concurrency, clocks, chance, I/O, mutable package variables and map order in engine/** and " +
		"hal/sim/** (but scheduler.go); " +
		"wall time also in hal and its wrappers",
	Run: runPurity,
}

// pureOfNet is addresses as values: it asks nobody.
const pureOfNet = "net/netip"

// impure packages, by tree.
var impure = []string{
	"context", "crypto/rand", "hash/maphash", "math/rand", "net", "os", "runtime", "sync", "unsafe",
}

// facades are the packages that may name context.Context, as the type of a parameter that goes on to Runtime.Await.
var facades = []string{"engine", "hal/sim"}

// partly are packages of which some functions do what a pure package must not do.
var partly = map[string][]string{
	"fmt":                                  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"iter":                                 {"Pull", "Pull2"},
	"k8s.io/apimachinery/pkg/apis/meta/v1": {"Now", "NowMicro"},
	"path/filepath":                        {"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"},
}

// timeless are the packages that the engine sees and that need not be pure: what they show it has no wall time in it,
// so that no jump of the wall clock changes what is decided.
var timeless = []string{"hal", "hal/fault", "hal/manifest", "hal/trace", "hal/wrap"}

// pure reports whether the law holds for a package's file.
func pure(dir, file string) bool {
	return within(dir, "engine", "hal/sim") && !scheduler(dir, file)
}

// scheduler reports whether a file is the simulator's scheduler, the one place where tasks are made.
func scheduler(dir, file string) bool { return dir == "hal/sim" && file == "scheduler.go" }

// runsVerbs reports whether a file is the one place that recovers: the panic of a verb ends its operation, and no
// other.
func runsVerbs(dir, file string) bool { return dir == "engine" && file == "ops.go" }

func runPurity(pass *analysis.Pass) (any, error) {
	dir, ok := placeOf(pass)
	if !ok {
		return nil, nil
	}
	files, err := filesOf(pass)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.test {
			continue
		}
		if f.typed && !scheduler(dir, f.name) {
			checkVariables(pass, f.File)
		}
		if f.typed && slices.Contains(timeless, dir) {
			checkWallTime(pass, f.File)
		}
		if !pure(dir, f.name) {
			continue
		}
		checkImpureImports(pass, dir, f.File)
		checkConcurrency(pass, f.File)
		if f.typed {
			checkUses(pass, dir, f)
			checkMapOrder(pass, f.File)
		}
	}
	return nil, nil
}

func checkImpureImports(pass *analysis.Pass, dir string, f *ast.File) {
	for _, s := range f.Imports {
		path := importPath(s)
		facade := path == "context" && slices.Contains(facades, dir)
		if within(path, impure...) && path != pureOfNet && !facade {
			pass.Reportf(s.Pos(), "purity: %s must not import %s", dir, path)
		}
	}
}

// checkConcurrency needs no types, so that it also sees files that are not part of this build.
func checkConcurrency(pass *analysis.Pass, f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			pass.Reportf(n.Pos(), "purity: no go statement: a task is started by Runtime.Go")
		case *ast.SelectStmt:
			pass.Reportf(n.Pos(), "purity: no select")
		case *ast.ChanType:
			pass.Reportf(n.Pos(), "purity: no channel")
		case *ast.SendStmt:
			pass.Reportf(n.Arrow, "purity: no send to a channel")
		case *ast.UnaryExpr:
			if n.Op.String() == "<-" {
				pass.Reportf(n.Pos(), "purity: no receive from a channel")
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "recover" && builtin(pass, id) {
				pass.Reportf(n.Pos(), "purity: no recover: an impossible state ends the process")
			}
		}
		return true
	})
}

// builtin reports whether id is the predeclared function of its name, as far as types are known.
func builtin(pass *analysis.Pass, id *ast.Ident) bool {
	obj := pass.TypesInfo.Uses[id]
	if obj == nil {
		return true // a file that is not type-checked
	}
	_, ok := obj.(*types.Builtin)
	return ok
}

// checkUses reports what a file uses of packages that are only partly pure.
func checkUses(pass *analysis.Pass, dir string, f file) {
	params := parameterTypes(f.File)
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			checkContext(pass, dir, n, params)
		case *ast.Ident:
			obj := pass.TypesInfo.Uses[n]
			if obj == nil || obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
				return true // not of a package's scope: a field, a method, a local
			}
			if why := impureUse(obj); why != "" {
				pass.Reportf(n.Pos(), "purity: no %s.%s: %s", obj.Pkg().Name(), obj.Name(), why)
			}
			if obj.Name() == "Guard" && strings.HasSuffix(obj.Pkg().Path(), "/hal") && !runsVerbs(dir, f.name) {
				pass.Reportf(n.Pos(), "purity: no hal.Guard: only a verb's panic is recovered, in engine/ops.go")
			}
		}
		return true
	})
}

// checkWallTime reports what of package time is not a Duration.
func checkWallTime(pass *analysis.Pass, f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if obj := pass.TypesInfo.Uses[id]; obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == "time" &&
			obj.Parent() == obj.Pkg().Scope() {
			if why := impureUse(obj); why != "" {
				pass.Reportf(id.Pos(), "purity: no time.%s in what the engine sees: %s", obj.Name(), why)
			}
		}
		return true
	})
}

// impureUse says what is wrong with an object of a package's scope, "" if nothing.
func impureUse(obj types.Object) string {
	switch path := obj.Pkg().Path(); path {
	case "time":
		if typeName(obj.Type()) != "Duration" {
			return "of time only Duration and its constants"
		}
	case "syscall":
		if _, isConst := obj.(*types.Const); !isConst && obj.Name() != "Errno" {
			return "of syscall only Errno and constants; a system call is the HAL's"
		}
	default:
		if slices.Contains(partly[path], obj.Name()) {
			return "it reaches past the HAL or the scheduler"
		}
	}
	return ""
}

// parameterTypes returns the expressions that stand as the type of a parameter of a function or method.
func parameterTypes(f *ast.File) map[ast.Expr]bool {
	params := map[ast.Expr]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if t, ok := n.(*ast.FuncType); ok {
			for _, p := range t.Params.List {
				params[p.Type] = true
			}
		}
		return true
	})
	return params
}

// checkContext reports uses of context other than context.Context as the type of a parameter, and in the engine's
// facade any look into one.
func checkContext(pass *analysis.Pass, dir string, s *ast.SelectorExpr, params map[ast.Expr]bool) {
	if obj := pass.TypesInfo.Uses[s.Sel]; obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == "context" &&
		isQualified(pass, s) {
		if obj.Name() != "Context" || !params[s] {
			pass.Reportf(s.Pos(), "purity: no context.%s here: only context.Context, as the type of a parameter for "+
				"Runtime.Await", obj.Name())
		}
		return
	}
	if dir == "engine" && types.TypeString(pass.TypesInfo.TypeOf(s.X), nil) == "context.Context" {
		pass.Reportf(s.Pos(), "purity: a context is handed to Runtime.Await and not looked into")
	}
}

// isQualified reports whether s is a package's name and a name of that package.
func isQualified(pass *analysis.Pass, s *ast.SelectorExpr) bool {
	id, ok := s.X.(*ast.Ident)
	if !ok {
		return false
	}
	_, ok = pass.TypesInfo.Uses[id].(*types.PkgName)
	return ok
}

// checkMapOrder reports loops over maps and channels, and iterators over a map that are not sorted at once.
func checkMapOrder(pass *analysis.Pass, f *ast.File) {
	in := inspector.New([]*ast.File{f})
	for c := range in.Root().Preorder((*ast.RangeStmt)(nil), (*ast.SelectorExpr)(nil)) {
		switch n := c.Node().(type) {
		case *ast.RangeStmt:
			switch under(pass.TypesInfo.TypeOf(n.X)).(type) {
			case *types.Map:
				pass.Reportf(n.Pos(), "purity: no range over a map: range slices.Sorted(maps.Keys(m))")
			case *types.Chan:
				pass.Reportf(n.Pos(), "purity: no receive from a channel")
			}
		case *ast.SelectorExpr:
			if name := mapIterator(pass, n); name != "" && !sorted(pass, c, name) {
				pass.Reportf(n.Pos(), "purity: maps.%s has no order: wrap it in slices.Sorted", name)
			}
		}
	}
}

// under returns the underlying type of t; of a type parameter that of its first term.
func under(t types.Type) types.Type {
	p, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return t.Underlying()
	}
	constraint, ok := p.Constraint().Underlying().(*types.Interface)
	if !ok {
		return t.Underlying()
	}
	for e := range constraint.EmbeddedTypes() {
		if u, ok := e.(*types.Union); ok && u.Len() > 0 {
			return u.Term(0).Type().Underlying()
		}
		return e.Underlying()
	}
	return t.Underlying()
}

// mapIterator returns the name of the iterator of package maps that s is, "" if it is none.
func mapIterator(pass *analysis.Pass, s *ast.SelectorExpr) string {
	obj := pass.TypesInfo.Uses[s.Sel]
	if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != "maps" {
		return ""
	}
	if slices.Contains([]string{"All", "Keys", "Values"}, obj.Name()) {
		return obj.Name()
	}
	return ""
}

// sorted reports whether the iterator at c is called as the argument of a function of slices that sorts it. Values may
// be equal and yet differ, so only their full order will do.
func sorted(pass *analysis.Pass, c inspector.Cursor, name string) bool {
	call, ok := c.Parent().Node().(*ast.CallExpr)
	if !ok || call.Fun != c.Node() {
		return false
	}
	outer, ok := c.Parent().Parent().Node().(*ast.CallExpr)
	if !ok || len(outer.Args) == 0 || outer.Args[0] != call {
		return false
	}
	sel, ok := outer.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	obj := pass.TypesInfo.Uses[sel.Sel]
	if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != "slices" {
		return false
	}
	return obj.Name() == "Sorted" || name == "Keys" && strings.HasPrefix(obj.Name(), "Sorted")
}
