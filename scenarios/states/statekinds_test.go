package states

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A field that is renamed or moved would be a part of the state again, without a word.
func TestFieldsThatAreNotAsTheyAreExist(t *testing.T) {
	fields := map[string]bool{}
	for _, top := range []string{"engine", "hal", "scenarios"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", top), func(at string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(at, ".go") || strings.HasSuffix(at, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), at, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, isType := n.(*ast.TypeSpec)
				if !isType {
					return true
				}
				if of, isStruct := spec.Type.(*ast.StructType); isStruct {
					for _, f := range of.Fields.List {
						for _, name := range f.Names {
							fields[file.Name.Name+"."+spec.Name.Name+"."+name.Name] = true
						}
						if len(f.Names) == 0 {
							fields[file.Name.Name+"."+spec.Name.Name+"."+embedded(f.Type)] = true
						}
					}
				}
				return true
			})
			return nil
		}))
	}
	for _, name := range slices.Sorted(maps.Keys(notAsItIs)) {
		assert.True(t, fields[name], "%s is no field", name)
	}
}

// embedded is the name of an embedded field: that of its type.
func embedded(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return embedded(of.X)
	case *ast.SelectorExpr:
		return of.Sel.Name
	case *ast.Ident:
		return of.Name
	}
	return ""
}
