package sim

import (
	"strconv"
	"time"

	"github.com/volnode/volnode/hal"
)

const (
	pauseMost   = 20 * time.Second
	stallMost   = 3 * time.Minute // longer than an RPC is waited for
	restartMost = 8 * time.Minute // longer than the six minutes after which a controller detaches by force
	bootMost    = 5 * time.Minute
)

var (
	siteRestart = newSite("agent.restart")
	siteBoot    = newSite("node.boot")
)

// SetAgent says how the agent is made: start builds it over the host and returns; it then runs by the host's Runtime
// only. It is called on the owner of each new incarnation. Of the agent before nothing is kept but what is in the
// world.
func (w *World) SetAgent(start func(hal.Host)) { w.start = start }

// StartAgent begins a new life of the agent, unless one lives or the node is down.
func (w *World) StartAgent() {
	if w.off || w.AgentLives() || w.start == nil {
		return
	}
	inc := w.newLife()
	start := w.start
	w.sched.post(inc, 0, func() { start(w.hostOf(inc)) })
}

func (w *World) newLife() *incarnation {
	w.lives++
	w.inc = &incarnation{number: w.lives, boot: w.boot}
	w.event("agent.started", strconv.FormatUint(uint64(w.lives), 10))
	w.tell(actor{}, Effect{Kind: EffectAgentStarted, Actor: "agent", Run: w.lives, Outcome: hal.Done})
	return w.inc
}

// living returns the present incarnation, a bare one if there is none.
func (w *World) living() *incarnation {
	if !w.AgentLives() {
		return w.newLife()
	}
	return w.inc
}

// AgentLives says whether an incarnation lives.
func (w *World) AgentLives() bool { return w.inc != nil && !w.inc.dead }

// Life is the number of the agent's present or last life, from 1; 0 before the first.
func (w *World) Life() uint32 { return w.lives }

// Restarts says whether a dead agent, or node, is started again after a drawn time (the default), or stays down until
// StartAgent.
func (w *World) Restarts(on bool) { w.restarts = on }

// StallAgent keeps the agent's threads from running for some time, while its clock goes on: a process that is stopped
// (SIGSTOP), a cgroup that is frozen, a node that is starved. Drivers and the cluster go on. Then all that was due
// comes at once: timers, answers, notices.
func (w *World) StallAgent(d time.Duration) {
	if w.AgentLives() {
		w.inc.stalled = max(w.inc.stalled, w.sched.now.Add(d))
		w.event("agent.stalled", d.String())
	}
}

// StalledUntil is the end of the last stall of the present life, 0 if it had none.
func (w *World) StalledUntil() hal.Instant {
	if !w.AgentLives() {
		return 0
	}
	return w.inc.stalled
}

// IsStalled says whether the agent's threads are kept from running.
func (w *World) IsStalled() bool { return w.AgentLives() && w.inc.stalled > w.sched.now }

// KillAgent kills the agent (SIGKILL). From a task or the owner of the agent, it dies as soon as that parks or ends.
func (w *World) KillAgent() { w.bringDown(CrashBefore) }

// Reboot shuts the node down cleanly and boots it again: everything is synced; mounts, processes and tmpfs are gone.
func (w *World) Reboot() { w.bringDown(Reboot) }

// CutPower ends the boot at once: of what was not synced, a legal part is lost.
func (w *World) CutPower() { w.bringDown(PowerCut) }

func (w *World) bringDown(how Fault) {
	if w.off {
		return
	}
	w.down = how
	if w.sched.current != nil || w.sched.onOwner != nil {
		w.sched.dying = w.inc
		if w.sched.current != nil {
			w.sched.park()
		}
		return
	}
	w.agentDies(w.inc)
}

// agentDies carries out w.down. inc may be dead already, or nil.
func (w *World) agentDies(inc *incarnation) {
	how := w.down
	w.down = NoFault
	if inc != nil && !inc.dead {
		w.sched.kill(inc)
		w.takeBack()
		w.orphan()
		w.event("agent.died", strconv.FormatUint(uint64(inc.number), 10))
		w.tell(actor{}, Effect{Kind: EffectAgentDied, Actor: "agent", Run: inc.number, Outcome: hal.Done})
		if how != Reboot && how != PowerCut && w.restarts {
			w.startAgentIn(w.time(siteRestart, "", time.Second, restartMost))
		}
	}
	if how == Reboot || how == PowerCut {
		w.nodeDies(how)
	}
}

func (w *World) startAgentIn(d time.Duration) {
	boot := w.boot
	w.sched.at(w.sched.now.Add(d), siteRestart.hash, nil, func() {
		if w.boot == boot {
			w.StartAgent()
		}
	})
}

// nodeDies ends the boot and begins the next a drawn time later.
func (w *World) nodeDies(how Fault) {
	w.off = true
	w.bootsHolds()
	held := w.heldPaths()
	w.event("node.died", how.String())
	w.children = nil
	for _, d := range w.drivers {
		d.powerOff()
	}
	w.dropOld()
	for len(w.rpcs) > 0 {
		w.rpcs[0].end()
	}
	if how == PowerCut {
		w.cut(w.fs.root.pages)
		w.cutsDisks()
	} else {
		w.fs.root.pages.syncAll()
	}
	w.mounts.reset()
	w.heldBefore = held
	w.tell(actor{}, Effect{Kind: EffectNodeDown, Outcome: hal.Done})
	if w.restarts {
		w.sched.at(w.sched.now.Add(w.time(siteBoot, "", 10*time.Second, bootMost)), siteBoot.hash, nil, w.PowerOn)
	}
}

// PowerOn boots a node that is down, and starts its drivers and the agent.
func (w *World) PowerOn() {
	if !w.off {
		return
	}
	w.bootNode()
	w.tell(actor{}, Effect{Kind: EffectNodeUp, Outcome: hal.Done})
	w.coverAtBoot(w.heldBefore)
	for _, d := range w.drivers {
		d.startIn(w.time(siteDriverStart, d.name, time.Second, restartMost))
	}
	w.startAgentIn(w.time(siteRestart, "boot", time.Second, time.Minute))
}

// Off says whether the node is down, between two boots.
func (w *World) Off() bool { return w.off }

// BootID names the present boot.
func (w *World) BootID() hal.BootID { return w.boot.id }
