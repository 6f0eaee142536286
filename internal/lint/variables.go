package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// checkVariables reports changes of package variables of pure packages, wherever they are made. Sentinels and tables
// are declared and never changed; a variable whose address is taken is taken for changed.
func checkVariables(pass *analysis.Pass, f *ast.File) {
	c := variables{pass}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				c.report("is assigned", n.Lhs...)
			}
		case *ast.IncDecStmt:
			c.report("is assigned", n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				c.report("is assigned", n.Key, n.Value)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				c.report("has its address taken", n.X)
			}
		case *ast.SliceExpr:
			if _, array := pass.TypesInfo.TypeOf(n.X).Underlying().(*types.Array); array {
				c.report("has its address taken", n.X)
			}
		case *ast.CallExpr:
			c.call(n)
		}
		return true
	})
}

type variables struct{ pass *analysis.Pass }

// call reports package variables that a call changes: those given to a builtin that writes, and receivers whose address
// the call takes.
func (c variables) call(n *ast.CallExpr) {
	switch fun := ast.Unparen(n.Fun).(type) {
	case *ast.Ident:
		if _, ok := c.pass.TypesInfo.Uses[fun].(*types.Builtin); ok &&
			slices.Contains([]string{"clear", "copy", "delete"}, fun.Name) {
			c.report("is assigned", n.Args[0])
		}
	case *ast.SelectorExpr:
		sel := c.pass.TypesInfo.Selections[fun]
		if sel == nil || sel.Kind() != types.MethodVal || !pointerMethod(sel) {
			return
		}
		if _, pointer := sel.Recv().Underlying().(*types.Pointer); !pointer {
			c.report("has its address taken", fun.X)
		}
	}
}

// pointerMethod reports whether the selected method has a pointer receiver that is reached without going through a
// pointer.
func pointerMethod(sel *types.Selection) bool {
	recv := sel.Obj().(*types.Func).Signature().Recv()
	_, pointer := types.Unalias(recv.Type()).(*types.Pointer)
	return pointer && !sel.Indirect()
}

func (c variables) report(what string, exprs ...ast.Expr) {
	for _, x := range exprs {
		v := c.root(x)
		if v == nil || v.Pkg() == nil || v.IsField() || v.Parent() != v.Pkg().Scope() {
			continue
		}
		dir, ours := place(v.Pkg().Path())
		if ours && pure(dir, filepath.Base(c.pass.Fset.Position(v.Pos()).Filename)) {
			c.pass.Reportf(x.Pos(), "purity: the package variable %s of %s %s: state belongs to a value",
				v.Name(), dir, what)
		}
	}
}

// root returns the variable of which x is a part, or that x is; nil if x is reached through a pointer or is no
// variable.
func (c variables) root(x ast.Expr) *types.Var {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		v, _ := c.pass.TypesInfo.Uses[x].(*types.Var)
		return v
	case *ast.IndexExpr:
		return c.root(x.X) // an element of a map or slice too: a table is constant
	case *ast.SliceExpr:
		return c.root(x.X)
	case *ast.StarExpr:
		return c.root(x.X)
	case *ast.SelectorExpr:
		if isQualified(c.pass, x) {
			v, _ := c.pass.TypesInfo.Uses[x.Sel].(*types.Var)
			return v
		}
		return c.root(x.X)
	}
	return nil
}
