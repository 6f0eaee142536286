package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/scenarios/mutants"
)

func mutantsCommand() *cobra.Command {
	lab := mutants.Lab{}
	var only []string
	asJSON := false
	cmd := &cobra.Command{
		Use: "mutants", Short: "Build engines with a known defect each and hunt them: none may survive", Args: cobra.NoArgs,
		Long: `Builds each mutant of scenarios/mutants from the source tree around the working directory (go build -overlay) and hunts it. Needs Go.
Fails if one survives its budget of CPU time.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return huntMutants(cmd, lab, only, asJSON) },
	}
	cmd.Flags().DurationVar(&lab.CPU, "budget", time.Minute, "CPU time for each mutant")
	cmd.Flags().Uint64Var(&lab.Seed, "seed", 1, "the first seed")
	cmd.Flags().IntVar(&lab.Workers, "workers", runtime.GOMAXPROCS(0), "how many worlds run side by side")
	cmd.Flags().BoolVar(&lab.Shrink, "shrink", false, "also shrink what each mutant was killed by")
	cmd.Flags().StringSliceVar(&only, "only", nil, "only mutants whose names contain one of these")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each mutant")
	return cmd
}

func huntMutants(cmd *cobra.Command, lab mutants.Lab, only []string, asJSON bool) error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/volnode/volnode").Output()
	if err != nil {
		return fmt.Errorf("the source tree is not found from here (go list -m): %w", err)
	}
	lab.Root = strings.TrimSpace(string(root))
	if lab.Dir, err = os.MkdirTemp("", "volsim-mutants-"); err != nil {
		return err
	}
	defer os.RemoveAll(lab.Dir) //nolint:errcheck // what is left is in the temporary directory
	survived, hunted := 0, 0
	for i, m := range mutants.Table {
		if len(only) > 0 && !slices.ContainsFunc(only, func(word string) bool { return strings.Contains(m.Name, word) }) {
			continue
		}
		o, err := lab.Hunt(m, i)
		if err != nil {
			return err
		}
		hunted++
		if !o.Killed {
			survived++
		}
		if asJSON {
			err = tellJSON(cmd, o)
		} else {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), o.Row())
		}
		if err != nil {
			return err
		}
	}
	if hunted == 0 {
		return fmt.Errorf("--only %s: no mutant's name contains that; scenarios/mutants/table.go has them", strings.Join(only, ","))
	}
	if !asJSON {
		fmt.Fprintf(cmd.OutOrStdout(), "%d mutants, %d killed, %d survived (%s)\n", hunted, hunted-survived, survived, filepath.Base(lab.Root))
	}
	if survived > 0 {
		return errViolation
	}
	return nil
}
