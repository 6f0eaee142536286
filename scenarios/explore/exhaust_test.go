package explore

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/lang"
)

// TestCatalogueWithEveryFault is a part of what make exhaust does in full.
func TestCatalogueWithEveryFault(t *testing.T) {
	all, err := scenarios.Catalogue()
	require.NoError(t, err)
	if testing.Short() {
		all = all[:4]
	}
	done := Exhaust{Scenarios: all, Depth: 1, Workers: 2, All: true}.Run()
	last := done[len(done)-1]
	require.False(t, last.Failed(), "%v %v\n%s", last.Violation, last.Stale, last.Case.Command("replay"))
	require.Len(t, done, len(all))
	sum := Total(done)
	require.Equal(t, sum.Generated, sum.Run)
	require.Greater(t, sum.Run, uint64(200*len(all)))
}

// TestSameOutcomeWithAnyNumberOfWorkers compares what is found, not when.
func TestSameOutcomeWithAnyNumberOfWorkers(t *testing.T) {
	all, err := scenarios.Catalogue()
	require.NoError(t, err)
	e := Exhaust{Scenarios: all[:3], Depth: 1, Workers: 1}
	want := e.Run()
	e.Workers = 3
	require.Equal(t, want, e.Run())
}

// TestSameOutcomeWhateverIsCollected: objects that a run has decoded, and that are collected, are not taken for those
// of the next.
func TestSameOutcomeWhateverIsCollected(t *testing.T) {
	s, err := scenarios.Find("agent_dies_as_a_kept_pod_is_back_in_its_manifest")
	require.NoError(t, err)
	e := Exhaust{Scenarios: []*lang.Scenario{s}, Depth: 1, Exact: true, Workers: 1}
	want := e.Run()
	require.NotZero(t, want[0].Cut)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	require.Equal(t, want, e.Run())
	close(stop)
	<-ended
}

// TestFurtherFaultsAreToldOnceInLikeCircumstances: a scenario that is told after one like it has no pair left; one
// whose volumes are different has its own. The outcome is the same with any number of workers.
func TestFurtherFaultsAreToldOnceInLikeCircumstances(t *testing.T) {
	const story = `# a volume comes up
driver disk.example staging device
volume vol-a of disk.example
pod default/web uses vol-a%s
at 0s apply all
within 1m expect pod default/web ready
`
	var all []*lang.Scenario
	for i, how := range []string{"", "", ":ro"} {
		s, err := scenarios.Parse(fmt.Sprintf("%d.txt", i), fmt.Sprintf(story, how))
		require.NoError(t, err)
		all = append(all, s)
	}
	e := Exhaust{Scenarios: all, Depth: 2, Workers: 3}
	done := e.Run()
	require.Len(t, done, 3)
	for _, x := range done {
		require.Nil(t, x.Violation, x.Case.String())
		require.Equal(t, x.Generated, x.Pruned+x.Run)
		require.Zero(t, x.Cut+x.Left)
	}
	first := Exhaust{Scenarios: all[:1], Depth: 1, All: true}.Run()[0]
	require.Equal(t, first.Run, done[1].Run, "with one fault more nothing is told")
	require.Greater(t, done[0].Run, 2*first.Run)
	require.Greater(t, done[2].Run, 2*first.Run)
	require.Greater(t, done[0].Generated, 10*done[0].Run)
	if !testing.Short() {
		e.Workers = 1
		require.Equal(t, done, e.Run())
	}
}

// smallStory has few points: nothing is mounted in it.
const smallStory = `# a pod asks for what is not served
at 0s apply all
at 1m expect pod default/web blocked "volnode does not serve this source"
after 0s delete pod default/web
within 1m expect nothing left
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: app, image: example.com/app, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, flocker: {datasetName: a}}]
`

// TestBudgetChangesTheOrderAlone has time for all: the same combinations come up, in another order.
func TestBudgetChangesTheOrderAlone(t *testing.T) {
	s, err := scenarios.Parse("small.txt", smallStory)
	require.NoError(t, err)
	e := Exhaust{Scenarios: []*lang.Scenario{s}, Depth: 2, All: true}
	want := e.Run()
	require.Greater(t, want[0].Run, uint64(500))
	e.Budget = time.Hour
	require.Equal(t, want, e.Run())
}
