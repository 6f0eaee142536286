package workload

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/world"
)

// Stock is the objects of worlds, made when they are needed.
type Stock struct {
	cluster map[world.Cluster][]any
	Pods    map[world.Shape]Built
	volumes map[versionOf]*corev1.PersistentVolume
	claims  map[[2]uint8]*corev1.PersistentVolumeClaim
	names   []string // of pods
}

// versionOf is a version of the object of a volume.
type versionOf struct {
	volume int
	world.Version
}

// Built is a pod that a hunt has made.
type Built struct {
	object *corev1.Pod
	uses   []world.Use
}

// NewStock is a stock with nothing in it.
func NewStock() *Stock {
	return &Stock{
		cluster: map[world.Cluster][]any{}, Pods: map[world.Shape]Built{},
		volumes: map[versionOf]*corev1.PersistentVolume{},
		claims:  map[[2]uint8]*corev1.PersistentVolumeClaim{},
	}
}

// MostShapes is after how many pods a hunter forgets those that it has made. More would be found again more often, but
// what lives decides how large the heap grows until it is collected, and memory that was used long ago is in no cache.
const MostShapes = 512

// Forgets lets go of the objects of earlier worlds, once they are many.
func (h *Stock) Forgets() {
	if len(h.Pods) > MostShapes {
		clear(h.Pods)
	}
}

// PodNames are the names of so many pods.
func (h *Stock) PodNames(pods int) []string {
	for i := len(h.names); i < pods; i++ {
		h.names = append(h.names, "pod-"+strconv.Itoa(i))
	}
	return h.names[:pods]
}

func (h *Stock) pod(s world.Shape) Built {
	b, ok := h.Pods[s]
	if !ok {
		b.object, b.uses = world.PodOfHunts(s)
		h.Pods[s] = b
	}
	return b
}

// Objects returns the objects of a cluster, made at the first call and shared by all schedules.
func (h *Stock) Objects(of world.Cluster) []any {
	if h.cluster[of] == nil {
		h.cluster[of] = world.ClusterOfHunts(of)
	}
	return h.cluster[of]
}

func (h *Stock) volume(i int, is world.Version) *corev1.PersistentVolume {
	key := versionOf{i, is}
	if h.volumes[key] == nil {
		h.volumes[key] = world.PersistentVolume(i, is)
	}
	return h.volumes[key]
}

func (h *Stock) claim(i int, uid uint8) *corev1.PersistentVolumeClaim {
	key := [2]uint8{uint8(i), uid}
	if h.claims[key] == nil {
		h.claims[key] = world.ClaimOf(i, uid)
	}
	return h.claims[key]
}

// Workload makes pods come and go.
type Workload struct {
	Stock  *Stock
	R      *world.Run
	Choose sim.Chooser
	Setup  *cases.Setup
	Names  []string // of pods
	Pods   []world.Shape
	Edits  []world.Version // of volumes
	Plain  []int           // the volumes that any pod may use
	IsTold bool            // both drivers are told of pods, and so of inline volumes

	IsPersistent bool // sources besides CSI have PersistentVolumes
	IsInTree     bool // the driver of awsElasticBlockStore serves this node
	HasGroups    bool // pods may want their files to be of a group
}

// Pick draws from weights; the first is what happens if nothing does.
func (g *Workload) Pick(site, object string, nth int, weights ...uint32) int {
	return g.Choose.Pick(sim.NewID(site, object, uint32(nth)), weights)
}

// Renews draws whether the driver file.example wants its publishes repeated. It does not in worlds with a crowd, whose
// costs are counted, nor if it is slow: then a publish would always be under way.
func (g *Workload) Renews(file *sim.Personality) bool {
	return g.R.Crowd.Pods == 0 && !file.Slow && g.Pick("workload.renews", "file.example", 0, 5, 1) == 1
}

// Tokens draws whether the driver file.example wants tokens of service accounts, and where: see [world.Cluster].
func (g *Workload) Tokens() int { return int(g.Pick("workload.tokens", "file.example", 0, 6, 1, 1)) }

// Measures draws whether the agent asks how full volumes are: not in worlds with a crowd, whose costs are counted.
func (g *Workload) Measures() {
	if g.R.Crowd.Pods == 0 && g.Pick("workload.measures", "", 0, 5, 1) == 1 {
		g.R.Cfg.MeasureEvery = dealings.MeasureEvery
	}
}

// Time draws a time between 0 and most.
func (g *Workload) Time(site, object string, nth int, most time.Duration) time.Duration {
	return time.Duration(g.Choose.Between(sim.NewID(site, object, uint32(nth)), 0, int64(most)))
}

// At plans f, unless calm comes before.
func (g *Workload) At(d time.Duration, key string, f func()) {
	g.R.W.After(d, "workload "+key, func() {
		if !g.R.Stop {
			f()
		}
	})
}

// Current is pod i in its present version; nil if it has not come.
func (g *Workload) Current(i int) *world.Pod {
	return g.R.ByUID[core.PodUID(g.Stock.pod(g.Pods[i]).object.UID)]
}

// Apply has pod i come, or changes it.
func (g *Workload) Apply(i int) {
	b := g.Stock.pod(g.Pods[i])
	dealings.Apply(g.R, b.object, b.uses)
	g.manners(i)
}

// manners draws what the containers of pod i do.
func (g *Workload) manners(i int) {
	p := g.Current(i)
	p.IsPinned = i&1 == 1
	p.Takes = p.Takes || g.HasGroups && g.Pick("workload.takes", p.Name, 0, 3, 1) == 1
	if p.Writer == nil && g.Pick("workload.writes", p.Name, 0, 4, 1) == 1 {
		p.Writer = &world.Writer{}
	}
}
