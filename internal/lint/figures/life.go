package figures

import (
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/cover"
)

// life is a scenario in which one CSI volume comes and goes, idle one in which its node has nothing to do. The runner
// ends each with a calm that restarts the agent.
const (
	idle = `# Nothing comes.
driver disk.example staging device
at 0s apply all
`
	life = `# One volume of a CSI driver comes and goes.
driver disk.example staging device
volume vol-a of disk.example
pod default/web uses vol-a
at 0s apply all
within 1m expect pod default/web ready
at 5m delete pod default/web
within 5m expect pod default/web gone
`
	rungsOfLife = 2 // stage and publish
)

// passes are the functions of engine/core whose calls are passes over what is to be decided.
var passes = []string{"reconcile", "decide"}

// lifeFigures runs volsim, built for coverage, and counts what one volume's life takes.
func lifeFigures(t *tree) []Figure {
	const name = "one CSI volume's life"
	work, err := os.MkdirTemp("", "housefigures")
	if err != nil {
		return []Figure{failed(name, err)}
	}
	defer func() { _ = os.RemoveAll(work) }() // it is in the directory of what is temporary
	program := filepath.Join(work, "volsim")
	err = run(t.dir, nil, "go", "build", "-cover", "-covermode=count", "-coverpkg=./engine/...,./hal/...,./cmd/volsim",
		"-o", program, "./cmd/volsim")
	if err != nil {
		return []Figure{failed(name, err)}
	}
	in, err := executed(t, work, program, "life", life)
	if err != nil {
		return []Figure{failed(name, err)}
	}
	without, err := executed(t, work, program, "idle", idle)
	if err != nil {
		return []Figure{failed(name, err)}
	}
	all := []Figure{
		{Name: name + ": files run", Value: in.count(t, nil, countFiles)},
		{Name: name + ": lines of code run", Value: in.count(t, nil, countLines)},
		{Name: name + ": lines of code that a node without pods does not run", Value: in.count(t, without, countLines)},
	}
	for _, fn := range passes {
		all = append(all, passFigure(t, in, without, fn))
	}
	return all
}

// run runs a program and returns its output as part of an error.
func run(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out)
	}
	return nil
}

// coverage is what a run has executed: blocks of code by the paths of their files.
type coverage map[string][]cover.ProfileBlock

// executed runs a scenario.
func executed(t *tree, work, program, name, scenario string) (coverage, error) {
	story, data, profile := filepath.Join(work, name+".txt"), filepath.Join(work, name),
		filepath.Join(work, name+".cov")
	if err := os.WriteFile(story, []byte(scenario), 0o600); err != nil {
		return nil, err
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	if err := run(t.dir, []string{"GOCOVERDIR=" + data}, program, "run", story); err != nil {
		return nil, err
	}
	if err := run(t.dir, nil, "go", "tool", "covdata", "textfmt", "-i="+data, "-o="+profile); err != nil {
		return nil, err
	}
	profiles, err := cover.ParseProfiles(profile)
	if err != nil {
		return nil, err
	}
	c := coverage{}
	for _, p := range profiles {
		c[strings.TrimPrefix(p.FileName, t.module+"/")] = p.Blocks
	}
	return c, nil
}

// lines returns the lines of a file that hold code and were run.
func (c coverage) lines(f goFile) map[int]bool {
	all := map[int]bool{}
	for _, b := range c[f.path] {
		for n := b.StartLine; b.Count > 0 && n <= b.EndLine; n++ {
			if f.code[n] {
				all[n] = true
			}
		}
	}
	return all
}

func countFiles(lines int) int { return min(lines, 1) }
func countLines(lines int) int { return lines }

// count adds up, over the files, the number of lines that were run, and not run in without. The simulated host is no
// part of the sum.
func (c coverage) count(t *tree, without coverage, of func(lines int) int) string {
	engine, hal, simulated := 0, 0, 0
	for _, f := range t.product("engine", "hal") {
		lines := c.lines(f)
		for n := range without.lines(f) {
			delete(lines, n)
		}
		switch n := of(len(lines)); {
		case f.area() == "engine":
			engine += n
		case f.dir() == "hal/sim" || strings.HasPrefix(f.dir(), "hal/sim/"):
			simulated += n
		default:
			hal += n
		}
	}
	return fmt.Sprintf("%d: engine %d, hal %d (and hal/sim %d)", engine+hal, engine, hal, simulated)
}

// passFigure tells how often a function of engine/core was called for each rung, more than on a node without pods.
func passFigure(t *tree, in, without coverage, fn string) Figure {
	name := "one CSI volume's life: calls of core's " + fn + " for each rung"
	for _, f := range t.product("engine/core") {
		i := slices.IndexFunc(f.Decls, func(d ast.Decl) bool {
			decl, ok := d.(*ast.FuncDecl)
			return ok && decl.Name.Name == fn && decl.Body != nil
		})
		if i < 0 {
			continue
		}
		at := t.fset.Position(f.Decls[i].(*ast.FuncDecl).Body.Lbrace)
		n := in.calls(f.path, at.Line, at.Column) - without.calls(f.path, at.Line, at.Column)
		return Figure{Name: name, Value: fmt.Sprintf("%.1f", float64(n)/rungsOfLife)}
	}
	return failed(name, fmt.Errorf("engine/core has no function %s", fn))
}

// calls returns how often the block that begins at or first after a place was run.
func (c coverage) calls(path string, line, column int) int {
	for _, b := range c[path] {
		if b.StartLine > line || b.StartLine == line && b.StartCol >= column {
			return b.Count
		}
	}
	return 0
}
