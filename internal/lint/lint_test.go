package lint_test

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/volnode/volnode/internal/lint"
)

// everything runs all analyzers as one, so that a want comment may name a finding of any of them and none goes unnamed.
var everything = &analysis.Analyzer{
	// the name for which analysistest also reads want comments in files that build constraints leave out
	Name: "buildtag",
	Doc:  "run all analyzers",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, a := range lint.Analyzers() {
			if _, err := a.Run(pass); err != nil {
				return nil, err
			}
		}
		return nil, nil
	},
}

func TestAnalyzers(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), everything, "github.com/volnode/volnode/...")
}

func TestAnalyzersAreValid(t *testing.T) {
	if err := analysis.Validate(lint.Analyzers()); err != nil {
		t.Fatal(err)
	}
}
