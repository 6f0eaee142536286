// Command conform runs the contract of package hal on both backends: all cases against the golden file recorded from
// Linux, and random sequences of operations against each other. Its last line is the sum: "79 cases, 2000 sequences, 0
// differences". It needs root, for mounts in a namespace of its own.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/backends"
	"github.com/volnode/volnode/hal/linux"
)

func main() {
	if linux.IsHelper() {
		linux.HelperMain()
	}
	os.Exit(haltest.InPrivateMounts(run))
}

// shownDifferences bounds what is printed; all are counted.
const shownDifferences = 10

func run() int {
	rewrite := flag.Bool("rewrite", false, "record the golden file again, from Linux")
	golden := flag.String("golden", "hal/haltest/testdata/cases.golden", "the golden file to record")
	sequences := flag.Uint64("sequences", 2000, "how many random sequences to run")
	seed := flag.Uint64("seed", 1, "seed of the first sequence")
	quotas := flag.String("quotas", "", "run the cases of project quotas alone, on a filesystem of this type: ext4, xfs")
	san := flag.Bool("san", false, "run the cases of iSCSI targets alone, on a machine of e2e/vm")
	multipath := flag.Bool("multipath", false, "run the cases of multipath maps alone, on a machine of e2e/vm")
	fc := flag.Bool("fc", false, "run the cases of Fibre Channel alone, on a machine of e2e/vm")
	flag.Parse()
	if !haltest.PrivateMounts() {
		fmt.Fprintln(os.Stderr, "conform: needs root: it mounts, in a mount namespace of its own")
		return 77
	}
	cases, newWorld := haltest.Cases(), backends.Linux
	if *quotas != "" {
		cases = haltest.QuotaCases()
		newWorld = func() haltest.World { return backends.LinuxOn(*quotas) }
	}
	if *san {
		cases, newWorld = haltest.SANCases(), backends.LinuxWithSAN
	}
	if *multipath {
		cases, newWorld = haltest.MultipathCases(), backends.LinuxWithMultipath
	}
	if *fc {
		cases, newWorld = haltest.FCCases(), backends.LinuxWithFC
	}
	if *rewrite {
		if err := os.WriteFile(*golden, []byte(haltest.Record(cases, newWorld)), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "conform:", err)
			return 1
		}
		return 0
	}
	switch {
	case *quotas != "":
		return told(*quotas, len(cases), haltest.CheckQuotaCases(newWorld))
	case *multipath:
		return told("multipath", len(cases), haltest.CheckMultipathCases(newWorld))
	case *fc:
		return told("fc", len(cases), haltest.CheckFCCases(newWorld))
	case *san:
		return told("san", len(cases), haltest.CheckSANCases(newWorld))
	}
	differences := 0
	for backend, newWorld := range backends.All {
		for _, d := range haltest.CheckCases(newWorld) {
			differences++
			show(differences, backend+": "+d.String())
		}
	}
	for _, d := range haltest.CheckQuotaCases(backends.SimWithQuotas) {
		differences++
		show(differences, "sim: "+d.String())
	}
	for s := *seed; s < *seed+*sequences; s++ {
		if d, same := haltest.CheckSequence(s, backends.Linux, backends.Sim); !same {
			differences++
			show(differences, d.String()+fmt.Sprintf("  replay: go run ./hal/haltest/conform -sequences 1 -seed %d\n",
				s))
		}
	}
	fmt.Printf("%d cases, %d sequences, %d differences\n", len(haltest.Cases()), *sequences, differences)
	if differences > 0 {
		return 1
	}
	return 0
}

// told shows the differences of the cases of one kind, and is the exit status.
func told(kind string, cases int, all []haltest.Difference) int {
	for i, d := range all {
		show(i+1, kind+": "+d.String())
	}
	fmt.Printf("%d cases, %d differences\n", cases, len(all))
	return min(len(all), 1)
}

func show(n int, text string) {
	if n <= shownDifferences {
		fmt.Println(text)
	}
}
