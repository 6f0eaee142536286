package volnode

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The walk of ARCHITECTURE.md through one mount names functions that there are, in files that there are.
func TestHops(t *testing.T) {
	const hops = 20
	_, walk, found := strings.Cut(string(read(t, "ARCHITECTURE.md")), "\n## 4. A mount in 20 hops\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no walk through one mount")
	}
	walk, _, _ = strings.Cut(walk, "\n## ")
	begins := regexp.MustCompile("(?m)^([0-9]+)\\. `[a-z0-9/_]+\\.go: ")
	all := begins.FindAllStringSubmatch(walk, -1)
	for i, hop := range all {
		if hop[1] != strconv.Itoa(i+1) {
			t.Errorf("hop %d has the number %s", i+1, hop[1])
		}
	}
	if len(all) != hops {
		t.Errorf("the walk has %d hops that begin with a function, not %d", len(all), hops)
	}
	paths := regexp.MustCompile("`([a-z0-9/_]+\\.go)[:`]")
	for _, named := range paths.FindAllStringSubmatch(string(read(t, "ARCHITECTURE.md")), -1) {
		if _, err := os.Stat(named[1]); err != nil {
			t.Errorf("ARCHITECTURE.md names %s by no path from the root", named[1])
		}
	}
	for _, named := range regexp.MustCompile("`([a-z0-9/_]+\\.go): ([A-Za-z.]+)`").FindAllStringSubmatch(walk, -1) {
		if !hasFunction(t, named[1], named[2]) {
			t.Errorf("ARCHITECTURE.md: %s has no function %s", named[1], named[2])
		}
	}
}

// hasFunction reports whether a file declares a function, which may be a method like Core.Step.
func hasFunction(t *testing.T, file, name string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, read(t, file), parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	typeName, method, isMethod := strings.Cut(name, ".")
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if !isMethod && fn.Recv == nil && fn.Name.Name == name {
			return true
		}
		if isMethod && fn.Recv != nil && fn.Name.Name == method {
			of := fn.Recv.List[0].Type
			if star, is := of.(*ast.StarExpr); is {
				of = star.X
			}
			if id, is := of.(*ast.Ident); is && id.Name == typeName {
				return true
			}
		}
	}
	return false
}
