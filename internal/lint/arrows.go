package lint

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Arrows reports direct imports that the architecture does not draw, and what engine/core uses of hal beyond its
// values.
var Arrows = &analysis.Analyzer{
	Name: "arrows",
	Doc:  "report imports against the direction of the architecture: what may import what, by directory",
	Run:  runArrows,
}

// arrow is what one tree of the module may import directly. The innermost tree that holds a package decides.
type arrow struct {
	tree string
	// ours lists the places of this module; an entry that ends in "/..." is a whole tree. nil means any but cmd and
	// e2e.
	ours []string
	// standard lists packages of the standard library; nil means all.
	standard []string
	// others lists trees of other modules; nil means all.
	others []string
	// tests lists what test files may import of this module in addition. Of the standard library and of other modules a
	// test may import all.
	tests []string
}

// simulated is what the engine's tests run on: the simulator is the fake, and memory what costs nothing.
var simulated = []string{
	"internal/wording", "hal/fault/...", "hal/manifest/...", "hal/memory", "hal/sim/...",
	"hal/trace/...", "hal/wrap",
}

// wrappers are hal and what works over any Host.
var wrappers = []string{"hal", "hal/fault/...", "hal/manifest/...", "hal/trace/...", "hal/wrap/..."}

// simulator is what scenarios run in, and what they run.
var simulator = slices.Concat(wrappers, []string{"engine/...", "hal/sim/...", "internal/wording"})

// runners are the packages below the one that runs worlds.
var runners = []string{
	"scenarios/calm", "scenarios/cases", "scenarios/coverage", "scenarios/dealings", "scenarios/judges",
	"scenarios/lang", "scenarios/rooms",
	"scenarios/secrets", "scenarios/states", "scenarios/verdict", "scenarios/workload", "scenarios/world",
}

// facts are the packages that a run is noted by, below all that judge it.
var facts = []string{
	"scenarios/cases", "scenarios/coverage", "scenarios/lang", "scenarios/secrets",
	"scenarios/verdict",
}

var arrows = []arrow{
	{
		tree: "engine/core",
		ours: []string{"engine/core/...", "hal"},
		standard: []string{
			"bytes", "cmp", "container/heap", "encoding/binary", "errors", "fmt", "hash/fnv", "iter", "maps",
			"math/bits", "slices", "sort", "strconv", "strings",
			"time",
		},
		others: []string{},
	},
	{
		tree: "engine/plugin/plugintest", // a node for tests
		ours: []string{"hal", "hal/sim/...", "hal/wrap"},
	},
	{
		tree: "engine", // it knows the volume sources only by their table
		ours: []string{
			"engine", "engine/core/...", "engine/deletions", "engine/identity", "engine/journal", "engine/op", "engine/plugin",
			"engine/plugin/kinds", "engine/populator", "hal", "hal/intree", "hal/scrub",
		},
		tests: slices.Concat(simulated, []string{"engine/plugin/..."}),
	},
	{
		tree:  "engine/plugin", // a source knows no other
		ours:  []string{"engine/core/...", "engine/op", "engine/plugin", "hal", "hal/intree"},
		tests: slices.Concat(simulated, []string{"engine/plugin/plugintest"}),
	},
	{
		tree: "engine/plugin/kinds", ours: []string{"engine/core/...", "engine/plugin/...", "hal"},
		tests: []string{"engine/op"},
	},
	{
		tree:   "hal",
		ours:   []string{},
		others: []string{"github.com/container-storage-interface/spec", "k8s.io/api"},
		tests:  []string{"hal/..."},
	},
	{
		tree: "hal/intree", ours: []string{},
		others: []string{"k8s.io/api", "k8s.io/csi-translation-lib", "k8s.io/klog/v2"},
	},
	{tree: "hal/fault", ours: wrappers, tests: []string{"hal/sim/..."}},
	{tree: "hal/haltest", ours: []string{"hal/..."}},
	{tree: "hal/linux", ours: slices.Concat(wrappers, []string{"hal/linux/..."}), tests: []string{"hal/haltest/..."}},
	{tree: "hal/memory", ours: []string{"hal"}, tests: []string{"hal/haltest/..."}},
	{
		tree: "hal/manifest", ours: slices.Concat(wrappers, []string{"hal/intree", "internal/wording"}),
		tests: []string{"hal/sim/..."},
	},
	{tree: "hal/scrub", ours: []string{"hal"}},
	{tree: "hal/sim", ours: slices.Concat(wrappers, []string{"hal/sim/..."}), tests: []string{"hal/haltest/..."}},
	{tree: "hal/trace", ours: wrappers, tests: []string{"hal/sim/..."}},
	{tree: "hal/wrap", ours: []string{"hal"}, tests: []string{"hal/sim/..."}},
	{tree: "scenarios/verdict", ours: []string{"hal"}},
	{tree: "scenarios/secrets", ours: []string{}},
	{tree: "scenarios/lang", ours: simulator},
	{tree: "scenarios/coverage", ours: slices.Concat(simulator, []string{"scenarios/verdict"})},
	{tree: "scenarios/cases", ours: slices.Concat(simulator, []string{"scenarios/lang"})},
	{tree: "scenarios/states", ours: slices.Concat(simulator, []string{"scenarios/secrets"})},
	{tree: "scenarios/world", ours: slices.Concat(simulator, facts)},
	{tree: "scenarios/dealings", ours: slices.Concat(simulator, facts, []string{"scenarios/world"})},
	{tree: "scenarios/judges", ours: slices.Concat(simulator, facts, []string{
		"scenarios/world",
		"scenarios/dealings",
	})},
	{
		tree: "scenarios/workload",
		ours: slices.Concat(simulator, facts, []string{"scenarios/world", "scenarios/dealings", "scenarios/judges"}),
	},
	{
		tree: "scenarios/calm",
		ours: slices.Concat(simulator, facts, []string{
			"scenarios/world", "scenarios/dealings", "scenarios/judges", "scenarios/workload",
		}),
	},
	{
		tree: "scenarios/rooms",
		ours: slices.Concat(simulator, facts, []string{
			"scenarios/world", "scenarios/dealings", "scenarios/judges", "scenarios/workload", "scenarios/rooms/...",
		}),
		tests: []string{"hal/haltest/...", "hal/linux"},
	},
	{tree: "scenarios", ours: slices.Concat(simulator, runners), tests: []string{"scenarios/..."}},
	{tree: "scenarios/minimise", ours: slices.Concat(simulator, runners, []string{"scenarios"})},
	{tree: "scenarios/fleet", ours: slices.Concat(simulator, runners, []string{"scenarios"})},
	{tree: "scenarios/explore", ours: slices.Concat(simulator, runners, []string{"scenarios"})},
	{
		tree: "scenarios/regressions",
		ours: slices.Concat(simulator, runners, []string{"scenarios", "scenarios/minimise"}),
	},
	{tree: "scenarios/report", ours: slices.Concat(simulator, []string{"scenarios/..."})},
	{tree: "scenarios/mutants", ours: slices.Concat(simulator, []string{"scenarios/..."})},
	{tree: "."},
}

// leaves are the trees that only their own packages import.
var leaves = []string{"cmd", "e2e"}

// coreValues are the types and functions of hal that engine/core may name. The constants and methods of a type come
// with it.
var coreValues = []string{"BootID", "HasFailed", "Instant", "Key", "OpID", "Outcome"}

func runArrows(pass *analysis.Pass) (any, error) {
	dir, ok := placeOf(pass)
	if !ok {
		return nil, nil
	}
	files, err := filesOf(pass)
	if err != nil {
		return nil, err
	}
	a := arrowOf(dir)
	for _, f := range files {
		for _, s := range f.Imports {
			if why := a.refuse(dir, importPath(s), f.test); why != "" {
				pass.Reportf(s.Pos(), "arrows: %s must not import %s: %s", dir, importPath(s), why)
			}
		}
		if within(dir, "engine/core") && f.typed && !f.test {
			checkCoreValues(pass, f.File)
		}
	}
	return nil, nil
}

// arrowOf returns the rule of the innermost tree that holds dir. The rule of the root has no conditions but the leaves.
func arrowOf(dir string) arrow {
	best := arrow{tree: "."}
	for _, a := range arrows {
		if within(dir, a.tree) && len(a.tree) >= len(best.tree) {
			best = a
		}
	}
	return best
}

// refuse says why a package at dir may not import path, "" if it may.
func (a arrow) refuse(dir, path string, test bool) string {
	to, ours := place(path)
	switch {
	case ours:
		return a.refuseOurs(dir, to, test)
	case path == "C":
		return "cgo is not used here"
	case test:
		return ""
	case standard(path) && a.standard != nil && !slices.Contains(a.standard, path):
		return "of the standard library " + a.tree + " imports only " + list(a.standard)
	case !standard(path) && a.others != nil && !within(path, a.others...):
		return "of other modules " + a.tree + " imports " + list(a.others)
	}
	return ""
}

func (a arrow) refuseOurs(dir, to string, test bool) string {
	for _, leaf := range leaves {
		if within(to, leaf) && !within(dir, leaf) {
			return "nothing outside " + leaf + " imports it"
		}
	}
	if a.ours == nil || listed(a.ours, to) || test && listed(a.tests, to) {
		return ""
	}
	return "of this module " + a.tree + " imports " + list(a.ours)
}

// listed reports whether dir is among places, some of which end in "/..." and name a tree.
func listed(places []string, dir string) bool {
	return slices.ContainsFunc(places, func(p string) bool {
		if tree, ok := strings.CutSuffix(p, "/..."); ok {
			return within(dir, tree)
		}
		return p == dir
	})
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// checkCoreValues reports uses of hal in a file of engine/core that are not values.
func checkCoreValues(pass *analysis.Pass, f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		obj := pass.TypesInfo.Uses[id]
		if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != module+"/hal" || isCoreValue(obj) {
			return true
		}
		pass.Reportf(id.Pos(), "arrows: engine/core must not use hal.%s: of hal it knows only %s", obj.Name(),
			list(coreValues))
		return true
	})
}

// isCoreValue reports whether obj, of hal, is one of coreValues, or a constant or a method of one of its types.
func isCoreValue(obj types.Object) bool {
	switch obj := obj.(type) {
	case *types.TypeName:
		return slices.Contains(coreValues, obj.Name())
	case *types.Const:
		return slices.Contains(coreValues, typeName(obj.Type()))
	case *types.Func:
		if recv := obj.Signature().Recv(); recv != nil {
			return slices.Contains(coreValues, typeName(recv.Type()))
		}
		return slices.Contains(coreValues, obj.Name())
	case *types.Var:
		return !obj.IsField() && obj.Parent() != obj.Pkg().Scope() // a parameter of a signature
	}
	return false
}

// typeName returns the name of a defined type, "" for any other.
func typeName(t types.Type) string {
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}
