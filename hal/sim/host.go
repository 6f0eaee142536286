package sim

import (
	"context"

	"github.com/volnode/volnode/hal"
)

// host is the door of one incarnation to the world.
type host struct {
	w   *World
	inc *incarnation
}

// Host returns the host of the agent's present incarnation, for scenarios that call it themselves. Without an agent it
// begins a bare incarnation.
func (w *World) Host() hal.Host { return w.hostOf(w.living()) }

func (w *World) hostOf(inc *incarnation) hal.Host {
	h := &host{w, inc}
	return hal.Host{
		Runtime: hostRuntime{h}, Machine: hostMachine{h}, Mounts: hostMounts{h}, Tree: hostTree{h}, Files: hostFiles{h},
		HostPaths: hostPaths{h}, Images: hostImages{h}, Flex: hostFlex{h}, Repositories: hostRepositories{h},
		Quotas:    hostQuotas{h},
		Blocks:    hostBlocks{h},
		ISCSI:     hostISCSI{h},
		SCSI:      hostSCSI{h},
		FC:        hostFC{h},
		Multipath: hostMultipath{h},
		Children:  hostChildren{h}, Registration: hostRegistration{h}, Drivers: hostDrivers{h},
		CSIIdentity: hostIdentity{h},
		CSINode:     hostNode{h}, CSIController: hostController{h}, Cluster: hostCluster{h}, Tokens: hostTokens{h},
		Watches: hostWatches{h},
	}
}

// now is the monotonic clock of the incarnation's boot.
func (h *host) now() hal.Instant { return h.w.sched.now - h.inc.boot.began + bootClock }

// instant converts an instant of the incarnation's boot to the world's clock.
func (h *host) instant(t hal.Instant) hal.Instant { return t + h.inc.boot.began - bootClock }

type hostRuntime struct{ *host }

var (
	sitePause = newSite("runtime.pause")
	siteStall = newSite("runtime.stall")
	siteTimer = newSite("runtime.timer")
)

func (h hostRuntime) Now() hal.Instant   { return h.now() }
func (h hostRuntime) BootID() hal.BootID { return h.inc.boot.id }

func (h hostRuntime) Post(f func()) { h.post(f) }

func (h *host) post(f func()) {
	wait := int64(0)
	if !h.inc.drains && h.w.menus.single[Pause].live && h.w.happens(Pause, sitePause, "") {
		wait = int64(h.w.time(siteTimer, "pause", 0, pauseMost))
		if h.w.happens(Stall, siteStall, "") {
			h.w.StallAgent(h.w.time(siteStall, "", pauseMost, stallMost))
		}
	}
	h.w.sched.post(h.inc, wait, f)
}

func (h hostRuntime) At(t hal.Instant, f func()) {
	if h.inc.dead {
		return
	}
	h.w.sched.timer(h.instant(t), h.inc, f)
}

func (h hostRuntime) Go(task func()) {
	if !h.inc.dead {
		h.w.sched.spawn(h.inc, task)
	}
}

func (h hostRuntime) Await(ctx context.Context, register func(done func())) error {
	return h.w.sched.await(ctx, h.inc, h.post, register)
}
