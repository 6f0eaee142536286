package figures

import (
	"errors"
	"fmt"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// layers are the places of engine and scenarios, from the one that knows most to the one that knows least. An import
// goes from a layer to a later one. A place that is not listed, nor by a *, is in the layer of the place above it.
var layers = [][]string{
	{"scenarios/report"},
	{"scenarios/explore", "scenarios/fleet", "scenarios/regressions"},
	{"scenarios/minimise"},
	{"scenarios"},
	{"scenarios/calm", "scenarios/rooms"},
	{"scenarios/rooms/*"},
	{"scenarios/workload"},
	{"scenarios/judges"},
	{"scenarios/dealings"},
	{"scenarios/world"},
	{"scenarios/cases", "scenarios/states"},
	{"scenarios/coverage", "scenarios/lang"},
	{"scenarios/mutants", "scenarios/secrets", "scenarios/verdict"},
	{"engine"},
	{"engine/populator"},
	{"engine/plugin/kinds"},
	{"engine/plugin/*"},
	{"engine/plugin/disk"},
	{"engine/identity", "engine/journal", "engine/deletions", "engine/plugin"},
	{"engine/op"},
	{"engine/core"},
	{"hal"},
}

// layerOf returns the layer of a place, and false for one that has none.
func layerOf(place string) (int, bool) {
	for ; place != "."; place = path.Dir(place) {
		for _, name := range []string{place, path.Dir(place) + "/*"} {
			at := slices.IndexFunc(layers, func(layer []string) bool { return slices.Contains(layer, name) })
			if at >= 0 {
				return at, true
			}
		}
	}
	return 0, false
}

// arrowFigures counts what runs back: imports against the layers, and files of one package that call each other in a
// circle.
func arrowFigures(t *tree) []Figure {
	var back []string
	for _, f := range t.product("engine", "scenarios") {
		from, ok := layerOf(f.dir())
		for _, s := range f.Imports {
			imported, _ := strconv.Unquote(s.Path.Value) // the parser has read it
			place, ours := strings.CutPrefix(imported, t.module+"/")
			to, known := layerOf(place)
			if ok && ours && known && to <= from && place != f.dir() && !strings.HasPrefix(f.dir(), place+"/") {
				back = append(back, f.path+" to "+place)
			}
		}
	}
	all := []Figure{number("imports that run back, in engine and scenarios", len(back), back...)}
	return append(all, circleFigures(t)...)
}

// circleFigures measures the files of each package that reach each other by calls.
func circleFigures(t *tree) []Figure {
	const name = "files that call each other in a circle"
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: t.dir}, "./engine/...",
		"./scenarios/...")
	if err == nil {
		err = errorOf(loaded)
	}
	if err != nil {
		return []Figure{failed(name, err)}
	}
	var all []Figure
	for _, area := range []string{"engine", "scenarios"} {
		total, parts := 0, []string{}
		for _, p := range loaded {
			place := strings.TrimPrefix(p.PkgPath, t.module+"/")
			if place != area && !strings.HasPrefix(place, area+"/") {
				continue
			}
			for _, circle := range circles(calls(p)) {
				total += len(circle)
				parts = append(parts, fmt.Sprintf("%d of %d in %s", len(circle), len(p.GoFiles), place))
			}
		}
		all = append(all, Figure{
			Name:  name + ", " + area,
			Value: strings.Join(append([]string{fmt.Sprint(total)}, parts...), ", "),
		})
	}
	return all
}

func errorOf(loaded []*packages.Package) error {
	var errs []error
	for _, p := range loaded {
		for _, e := range p.Errors {
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}

// calls returns the files of a package, each with the other files of it whose functions and methods it names.
func calls(p *packages.Package) map[string][]string {
	fileOf := func(o types.Object) string { return filepath.Base(p.Fset.Position(o.Pos()).Filename) }
	sets := map[string]map[string]bool{}
	for id, o := range p.TypesInfo.Uses {
		if fn, ok := o.(*types.Func); !ok || fn.Pkg() != p.Types {
			continue
		}
		from := filepath.Base(p.Fset.Position(id.Pos()).Filename)
		if sets[from] == nil {
			sets[from] = map[string]bool{}
		}
		if to := fileOf(o); to != from {
			sets[from][to] = true
		}
	}
	arrows := map[string][]string{}
	for from, to := range sets {
		arrows[from] = slices.Sorted(maps.Keys(to))
	}
	return arrows
}

// circles returns the strongly connected components of more than one node, each sorted, the largest first (Tarjan).
func circles(arrows map[string][]string) [][]string {
	var (
		found       [][]string
		stack       []string
		visit       func(string)
		index, low  = map[string]int{}, map[string]int{}
		isOnStack   = map[string]bool{}
		sortedNodes = slices.Sorted(maps.Keys(arrows))
	)
	visit = func(n string) {
		index[n] = len(index) + 1
		low[n] = index[n]
		stack = append(stack, n)
		isOnStack[n] = true
		for _, to := range arrows[n] {
			if index[to] == 0 {
				visit(to)
				low[n] = min(low[n], low[to])
			} else if isOnStack[to] {
				low[n] = min(low[n], index[to])
			}
		}
		if low[n] != index[n] {
			return
		}
		first := slices.Index(stack, n)
		component := slices.Sorted(slices.Values(stack[first:]))
		stack = stack[:first]
		for _, c := range component {
			isOnStack[c] = false
		}
		if len(component) > 1 {
			found = append(found, component)
		}
	}
	for _, n := range sortedNodes {
		if index[n] == 0 {
			visit(n)
		}
	}
	slices.SortStableFunc(found, func(a, b []string) int { return len(b) - len(a) })
	return found
}
