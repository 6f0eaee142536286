package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// TestLegalEvidence: who makes more of it legal has more to decide on.
func TestLegalEvidence(t *testing.T) {
	require.Len(t, legalEvidence(), 210)
	require.True(t, evidence{}.isLegal(), "nothing is known")
}

// TestIllegalEvidence: a defect of core costs an inspection, and no volume.
func TestIllegalEvidence(t *testing.T) {
	for name, e := range map[string]evidence{
		"gone, and in use":                 {state: Absent, trust: clean, inspected: true, mayBeUsed: true},
		"up, and nothing is left":          {state: Present, trust: clean, inspected: true},
		"up, and let go of":                {state: Present, trust: letGo, inspected: true},
		"up, and to go before it comes up": {state: Present, trust: undo, inspected: true},
		"up, where nobody could look":      {state: Present, veiled: true},
		"of no such trust":                 {trust: numTrusts},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Start{Now: instant, Boot: "b"})
			spec := Rung{Key: "publish", Kind: "publish", Pod: "p", Intent: true}
			c.Step(instant, AllSynced{})
			c.Step(instant, Wanted{Pod: "p", Rungs: []Rung{spec}, Complete: true})
			c.Step(instant, Completed{Op: 1, Result: Result{Outcome: hal.Done}})
			c.Step(instant, Completed{Op: 2, Result: Result{Outcome: hal.Done, Fingerprint: "mount"}})
			r := c.rungs["publish"]
			require.Equal(t, evidence{state: Present, inspected: true, mayBeUsed: true}, r.evidence)
			require.Empty(t, c.Illegal())

			r.believe(e)
			c.mark(r)
			b := c.Step(instant, Wake{})
			require.Equal(t, []Illegal{{Key: "publish", Evidence: e.String()}}, c.Illegal())
			require.Equal(t, evidence{mayBeUsed: true}, r.evidence, "unknown is in use")
			require.Len(t, b.Start, 1)
			require.Equal(t, Inspect, b.Start[0].Verb)
			c.Step(instant, Completed{Op: 3, Result: Result{Outcome: hal.Done, Fingerprint: "mount"}})
			require.Empty(t, c.Illegal())
		})
	}
}

// TestOnlyBelieveSetsEvidence: a field of it is set in a value named e, which comes whole to a rung.
func TestOnlyBelieveSetsEvidence(t *testing.T) {
	fields := map[string]bool{"evidence": true}
	for i := range reflect.TypeFor[evidence]().NumField() {
		fields[reflect.TypeFor[evidence]().Field(i).Name] = true
	}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if in, ok := n.(*ast.FuncDecl); ok && in.Name.Name == "believe" {
				return false
			}
			set, ok := n.(*ast.AssignStmt)
			for i := 0; ok && i < len(set.Lhs); i++ {
				if to, is := set.Lhs[i].(*ast.SelectorExpr); is && fields[to.Sel.Name] {
					of, isPlain := to.X.(*ast.Ident)
					require.False(t, isPlain && of.Name != "e", "%s: %s.%s is set", f.Name(), of, to.Sel.Name)
				}
			}
			return true
		})
	}
}
