package figures

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// sources are the volume sources by their folders in engine/plugin, with what names them in code.
var sources = []struct {
	name  string
	names *regexp.Regexp
}{
	{name: "csi", names: regexp.MustCompile(`(^|[^A-Za-z])csi([^a-z]|$)|CSI|Csi`)},
	{name: "emptydir", names: regexp.MustCompile(`(?i)empty[-_ ]?dir`)},
	{name: "hostpath", names: regexp.MustCompile(`(?i)host[-_ ]?path`)},
}

// sourceFigures counts, for each source, the files outside its own package whose code names it: by an identifier, an
// import or a string. Comments and tests don't count.
func sourceFigures(t *tree) []Figure {
	var all []Figure
	for _, s := range sources {
		total, parts := 0, []string{}
		for _, area := range []string{"engine", "hal", "scenarios", "cmd"} {
			n := 0
			for _, f := range t.product(area) {
				if f.dir() != "engine/plugin/"+s.name && namesIn(f, s.names) {
					n++
				}
			}
			total += n
			if n > 0 {
				parts = append(parts, fmt.Sprintf("%s %d", area, n))
			}
		}
		value := fmt.Sprint(total)
		if len(parts) > 0 {
			value += ": " + strings.Join(parts, ", ")
		}
		all = append(all, Figure{Name: "files outside its package that name " + s.name, Value: value})
	}
	return all
}

func namesIn(f goFile, names *regexp.Regexp) (found bool) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Comment, *ast.CommentGroup:
			return false
		case *ast.Ident:
			found = found || names.MatchString(n.Name)
		case *ast.BasicLit:
			found = found || names.MatchString(n.Value)
		}
		return !found
	})
	return found
}
