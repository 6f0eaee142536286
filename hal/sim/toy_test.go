package sim_test

import (
	"fmt"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// toy is an agent of the least kind: it registers drivers, and mounts and unmounts its volumes for ever, trying again
// after each error.
type toy struct {
	h       hal.Host
	volumes int
	rounds  int
	staging map[string]bool // by driver
	nextOp  hal.OpID
}

func startToy(volumes int) func(hal.Host) {
	return func(h hal.Host) {
		a := &toy{h: h, volumes: volumes, staging: map[string]bool{}}
		h.Watches.MountTable(func([]string) {})
		h.Watches.PluginSockets(root+"/plugins_registry", func(e hal.SocketEvent) {
			if e.Present {
				h.Runtime.Go(func() { a.register(e.Path) })
			}
		})
		h.Cluster.Watch(func(e hal.ClusterEvent) {
			if _, ok := e.(hal.Synced); ok {
				for v := range volumes {
					h.Runtime.Go(func() { a.volume(v) })
				}
			}
		})
	}
}

func (a *toy) call() hal.Call {
	a.nextOp++
	return hal.Call{
		Op: a.nextOp, Key: "k", Deadline: a.h.Runtime.Now().Add(30 * time.Second),
		Late: func(hal.OpID, error) {},
	}
}

func (a *toy) sleep(d time.Duration) {
	wake := func(done func()) { a.h.Runtime.At(a.h.Runtime.Now().Add(d), done) }
	_ = a.h.Runtime.Await(nil, wake) //nolint:staticcheck // a nil context is never over
}

func (a *toy) register(socket string) {
	info, err := a.h.Registration.Info(a.call(), socket)
	if err != nil {
		return
	}
	if info.Versions[0] != "1.0.0" {
		_ = a.h.Registration.Notify(a.call(), socket, info.Socket, false, "another version")
		return
	}
	if _, err = a.h.Drivers.Connect(a.call(), info.Name, info.Endpoint, hal.PeerEvents{Gone: func() {}}); err != nil {
		return
	}
	caps, err := a.h.CSINode.Capabilities(a.call(), info.Name, &csi.NodeGetCapabilitiesRequest{})
	if err != nil {
		return
	}
	for _, c := range caps.GetCapabilities() {
		if c.GetRpc().GetType() == csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME {
			a.staging[info.Name] = true
		}
	}
	_ = a.h.Registration.Notify(a.call(), socket, "", true, "")
}

// until repeats f until it succeeds.
func (a *toy) until(f func() error) {
	for wait := time.Second; f() != nil; wait = min(2*wait, time.Minute) {
		a.sleep(wait)
	}
}

// benignMkdir takes what is there for done.
func (a *toy) mkdir(path string) error {
	if _, err := a.h.Tree.Stat(a.call(), path); err == nil {
		return nil
	}
	return a.h.Tree.Mkdir(a.call(), path, 0o755)
}

func (a *toy) volume(n int) {
	name := fmt.Sprintf("v%d", n)
	dir := root + "/" + name
	staging, target := dir+"/stage", dir+"/target"
	journal := dir + "/journal"
	a.until(func() error { return a.mkdir(dir) })
	a.until(func() error { return a.mkdir(staging) })
	a.until(func() error { return a.h.Files.Allocate(a.call(), journal, 8192, 0o600) })
	for {
		a.until(func() error { return a.log(journal, "up") })
		a.until(func() error {
			_, err := a.h.CSINode.Stage(a.call(), "d",
				&csi.NodeStageVolumeRequest{VolumeId: name, StagingTargetPath: staging})
			return err
		})
		a.until(func() error {
			_, err := a.h.CSINode.Publish(a.call(), "d", &csi.NodePublishVolumeRequest{
				VolumeId: name, StagingTargetPath: staging, TargetPath: target,
			})
			if hal.OutcomeOf(err) == hal.Unknown {
				_, _ = a.h.CSINode.Stage(a.call(), "d",
					&csi.NodeStageVolumeRequest{VolumeId: name, StagingTargetPath: staging})
			}
			return err
		})
		_, _ = a.h.Mounts.At(a.call(), target)
		a.sleep(5 * time.Second)
		a.until(func() error { return a.log(journal, "down") })
		a.until(func() error {
			_, err := a.h.CSINode.Unpublish(a.call(), "d",
				&csi.NodeUnpublishVolumeRequest{VolumeId: name, TargetPath: target})
			return err
		})
		a.until(func() error {
			_, err := a.h.CSINode.Unstage(a.call(), "d",
				&csi.NodeUnstageVolumeRequest{VolumeId: name, StagingTargetPath: staging})
			return err
		})
		a.rounds++
	}
}

func (a *toy) log(path, text string) error {
	if err := a.h.Files.WriteAt(a.call(), path, 0, []byte(text)); err != nil {
		return err
	}
	return a.h.Files.Sync(a.call(), path)
}

// toyWorld is a world with a toy agent and one driver.
func toyWorld(c sim.Config, volumes int) *sim.World {
	w := sim.New(c)
	kind := sim.Polite()
	if c.Tie%8 == 7 {
		kind = sim.Personality{Staging: true, Checks: true, Network: true}
	}
	w.AddDriver(sim.DriverSpec{Name: "d", Personality: w.DrawPersonality("d", kind)})
	for v := range volumes {
		w.AddVolume("d", fmt.Sprintf("v%d", v))
	}
	w.SetAgent(startToy(volumes))
	w.StartAgent()
	return w
}

func swarmConfig(seed uint64) sim.Config {
	return sim.Config{Chooser: sim.Seeded(seed), Profile: sim.Swarm(seed), Tie: seed | 1}
}
