package lint

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Outcome reports code that tells errors apart by their text, and an Outcome whose zero value is anything but Unknown.
var Outcome = &analysis.Analyzer{
	Name: "outcome",
	Doc:  "report matching on the text of an error, and an Outcome whose zero value is not Unknown",
	Run:  runOutcome,
}

func runOutcome(pass *analysis.Pass) (any, error) {
	dir, ok := placeOf(pass)
	if !ok {
		return nil, nil
	}
	if dir == "hal" {
		checkZeroOutcome(pass)
	}
	for _, f := range pass.Files {
		if newFile(f, pass.Fset.File(f.FileStart).Name(), true).test {
			continue
		}
		texts{pass, errorTexts(pass, f)}.check(f)
	}
	return nil, nil
}

// checkZeroOutcome reports the constants of type Outcome that are 0 and not named Unknown.
func checkZeroOutcome(pass *analysis.Pass) {
	scope := pass.Pkg.Scope()
	for _, name := range scope.Names() {
		c, ok := scope.Lookup(name).(*types.Const)
		if !ok || typeName(c.Type()) != "Outcome" || name == "Unknown" {
			continue
		}
		if v, exact := constant.Int64Val(c.Val()); exact && v == 0 {
			pass.Reportf(c.Pos(), "outcome: the zero Outcome is %s: an outcome that nobody set must read as Unknown",
				name)
		}
	}
}

const matched = "outcome: an error is told apart by its text: use errors.Is, errors.As or hal.OutcomeOf"

// texts knows the local variables that hold an error's text.
type texts struct {
	pass *analysis.Pass
	vars map[types.Object]bool
}

// errorTexts returns the variables of a file that are assigned the text of an error.
func errorTexts(pass *analysis.Pass, f *ast.File) map[types.Object]bool {
	t := texts{pass, map[types.Object]bool{}}
	ast.Inspect(f, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != len(a.Rhs) {
			return true
		}
		for i, rhs := range a.Rhs {
			if id, ok := a.Lhs[i].(*ast.Ident); ok && t.is(rhs) {
				t.vars[pass.TypesInfo.ObjectOf(id)] = true
			}
		}
		return true
	})
	return t.vars
}

func (t texts) check(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			compares := slices.Contains([]token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ},
				n.Op)
			if compares && (t.is(n.X) || t.is(n.Y)) {
				t.pass.Reportf(n.Pos(), matched)
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && t.is(n.Tag) {
				t.pass.Reportf(n.Pos(), matched)
			}
		case *ast.CallExpr:
			if matcher(t.callee(n)) && slices.ContainsFunc(n.Args, t.is) {
				t.pass.Reportf(n.Pos(), matched)
			}
		}
		return true
	})
}

// matcher reports whether a function looks for something in a text.
func matcher(f *types.Func) bool {
	if f == nil || f.Pkg() == nil {
		return false
	}
	var prefixes []string
	switch f.Pkg().Path() {
	case "strings", "bytes":
		prefixes = []string{
			"Compare", "Contains", "Count", "Cut", "Equal", "HasPrefix", "HasSuffix", "Index",
			"LastIndex",
		}
	case "regexp":
		prefixes = []string{"Find", "Match"}
	case "path", "path/filepath":
		prefixes = []string{"Match"}
	case "slices":
		prefixes = []string{"Contains", "Index"}
	}
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.Name(), p) })
}

// editors are the functions of strings and bytes whose result is still the text they were given.
var editors = []string{
	"Clone", "Replace", "ReplaceAll", "ToLower", "ToUpper", "Trim", "TrimLeft", "TrimPrefix", "TrimRight", "TrimSpace",
	"TrimSuffix",
}

// is reports whether x is the text of an error: err.Error(), status.Message(), an edited or converted form of it, or a
// variable that holds it.
func (t texts) is(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return t.vars[t.pass.TypesInfo.Uses[x]]
	case *ast.CallExpr:
		if tv := t.pass.TypesInfo.Types[x.Fun]; tv.IsType() {
			return len(x.Args) == 1 && t.is(x.Args[0])
		}
		f := t.callee(x)
		if f == nil {
			return false
		}
		if f.Pkg() != nil && (f.Pkg().Path() == "strings" || f.Pkg().Path() == "bytes") {
			return slices.Contains(editors, f.Name()) && slices.ContainsFunc(x.Args, t.is)
		}
		return textMethod(f)
	}
	return false
}

// textMethod reports whether a method gives the text of an error or of a gRPC status.
func textMethod(f *types.Func) bool {
	recv := f.Signature().Recv()
	if recv == nil || f.Signature().Params().Len() != 0 {
		return false
	}
	if f.Name() == "Message" {
		return f.Pkg() != nil && strings.HasPrefix(f.Pkg().Path(), "google.golang.org/grpc/")
	}
	errorType := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return f.Name() == "Error" && types.Implements(recv.Type(), errorType)
}

// callee returns the function or method that a call calls, nil if it is not known.
func (t texts) callee(call *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return nil
	}
	f, _ := t.pass.TypesInfo.Uses[id].(*types.Func)
	return f
}
