package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/backends"
	"github.com/volnode/volnode/hal/linux"
)

func TestMain(m *testing.M) {
	if linux.IsHelper() {
		linux.HelperMain()
	}
	haltest.BlockCalls()
	os.Exit(haltest.InPrivateMounts(m.Run))
}

func TestCases(t *testing.T) {
	require.GreaterOrEqual(t, len(haltest.Cases()), 64)
	for backend, newWorld := range backends.All {
		t.Run(backend, func(t *testing.T) {
			if backend == "linux" {
				haltest.NeedPrivateMounts(t)
			}
			for _, d := range haltest.CheckCases(newWorld) {
				t.Error(d)
			}
		})
	}
}

func TestSequences(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	for seed := range uint64(100) {
		if d, same := haltest.CheckSequence(seed, backends.Linux, backends.Sim); !same {
			t.Error(d)
		}
	}
}

// The cases of iSCSI, of maps and of Fibre Channel run in machines of e2e/vm alone. What was recorded is of the cases
// that are there.
func TestCasesOfISCSIAreRecorded(t *testing.T) {
	require.GreaterOrEqual(t, len(haltest.SANCases()), 40)
	areRecorded(t, haltest.SANCases(), haltest.SANGolden)
}

func TestCasesOfMapsAreRecorded(t *testing.T) {
	require.GreaterOrEqual(t, len(haltest.MultipathCases()), 20)
	areRecorded(t, haltest.MultipathCases(), haltest.MultipathGolden)
}

func TestCasesOfFibreChannelAreRecorded(t *testing.T) {
	require.GreaterOrEqual(t, len(haltest.FCCases()), 20)
	areRecorded(t, haltest.FCCases(), haltest.FCGolden)
}

func areRecorded(t *testing.T, cases []haltest.Case, golden string) {
	t.Helper()
	var want []string
	for _, c := range cases {
		want = append(want, "== "+c.Name)
		for _, line := range c.Script {
			want = append(want, "> "+line)
		}
	}
	var have []string
	for line := range strings.Lines(golden) {
		if strings.HasPrefix(line, "== ") || strings.HasPrefix(line, "> ") {
			have = append(have, strings.TrimSuffix(line, "\n"))
		}
	}
	require.Equal(t, want, have)
}

// The contract holds where the kernel has no mount events, or neither them nor statmount(2): where a filter of system
// calls refuses them.
func TestContractHoldsWithoutNewCalls(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	for _, calls := range []string{"events", "events statmount"} {
		t.Run(calls, func(t *testing.T) {
			t.Parallel()
			haltest.RunBlocked(t, calls, "^TestCases$/^linux$|^TestSequences$")
		})
	}
}

// Random scripts are of use only if their operations meet: enough succeed, and enough different errors come up.
func TestSequencesMeet(t *testing.T) {
	results := map[string]int{}
	for seed := range uint64(200) {
		w := backends.Sim()
		for _, line := range haltest.Run(w, haltest.Sequence(seed), false) {
			if result, ok := strings.CutPrefix(line, "  "); ok && !strings.HasPrefix(result, "  ") {
				results[result]++
			}
		}
		w.Close()
	}
	require.Greater(t, results["ok"], 1200, results)
	for errno := range strings.FieldsSeq("EBUSY EEXIST EINVAL EISDIR ELOOP ENOENT ENOTDIR ENOTEMPTY EXDEV") {
		require.Positive(t, results[errno+" (not done)"], "%s in %v", errno, results)
	}
}

// forgetfulWorld is a backend with a bug: it forgets the flags of a bind.
type forgetfulWorld struct{ haltest.World }

type forgetfulMounts struct{ hal.Mounts }

func (m forgetfulMounts) Bind(c hal.Call, b hal.BindSpec) error {
	b.Flags = nil
	return m.Mounts.Bind(c, b)
}

func (w forgetfulWorld) Host() hal.Host {
	h := w.World.Host()
	h.Mounts = forgetfulMounts{h.Mounts}
	return h
}

func TestABugIsFound(t *testing.T) {
	newWorld := func() haltest.World { return forgetfulWorld{backends.Sim()} }
	differences := haltest.CheckCases(newWorld)
	require.NotEmpty(t, differences)
	require.Contains(t, differences[0].String(), "bind a b ro")
	found := 0
	for seed := range uint64(50) {
		if _, same := haltest.CheckSequence(seed, backends.Sim, newWorld); !same {
			found++
		}
	}
	require.Positive(t, found)
}
