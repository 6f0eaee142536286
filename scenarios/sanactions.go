package scenarios

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/volnode/volnode/scenarios/workload"
)

// sanActions are the statements about the storage network.
func sanActions() []workload.Action {
	return append(sanExpectations(), []workload.Action{
		on("put target TARGET at PORTAL", func(t *scene, a []string) string {
			t.W.AddTarget(a[0], portalOf(a[1]))
			return ""
		}),
		on("put target TARGET at PORTAL and PORTAL", func(t *scene, a []string) string {
			t.W.AddTarget(a[0], portalOf(a[1]), portalOf(a[2]))
			return ""
		}),
		on("put array disk WWID with CONTENT", func(t *scene, a []string) string {
			t.W.AddSANDisk(a[0], diskContents[a[1]], otherUUID)
			return ""
		}),
		on("give lun NUMBER of TARGET to WWID", func(t *scene, a []string) string { return mapLUN(t, a[0], a[1], a[2]) }),
		on("take lun NUMBER of TARGET away", func(t *scene, a []string) string { return mapLUN(t, a[0], a[1], "") }),
		on("target TARGET asks for USER and PASSWORD", func(t *scene, a []string) string {
			t.W.SetCHAP(a[0], map[string]string{
				"node.session.auth.username": a[1], "node.session.auth.password": a[2],
			})
			return ""
		}),
		on("multipathd takes all disks", func(t *scene, _ []string) string {
			t.W.SetMultipathd("greedy")
			return ""
		}),
		on("lose portal PORTAL", func(t *scene, a []string) string {
			t.W.LosePortal(portalOf(a[0]), 0)
			return ""
		}),
		on("restore portal PORTAL", func(t *scene, a []string) string {
			t.W.RestorePortal(portalOf(a[0]))
			return ""
		}),
		on("a person logs in to TARGET at PORTAL", func(t *scene, a []string) string {
			if errno := t.W.LogInByHand(a[0], portalOf(a[1])); errno != 0 {
				return "the target " + a[0] + " refuses: " + errno.Error()
			}
			return ""
		}),
		on("a person logs out of TARGET", func(t *scene, a []string) string {
			if !t.W.LogOutByHand(a[0]) {
				return "there is no session with " + a[0]
			}
			return ""
		}),
		on("a person logs out of TARGET at PORTAL", func(t *scene, a []string) string {
			if !t.W.LogOutAtByHand(a[0], portalOf(a[1])) {
				return "there is no session with " + a[0] + " at " + a[1]
			}
			return ""
		}),
		on("a person removes the records of sessions", func(t *scene, _ []string) string {
			t.W.RemoveISCSIRecords()
			return ""
		}),
		on("a person lets go of disk DISK", func(t *scene, a []string) string {
			if !t.W.ReleaseByHand(a[0]) {
				return "the agent holds no disk " + a[0]
			}
			return ""
		}),
	}...)
}

// sanExpectations are what is expected of the storage network.
func sanExpectations() []workload.Action {
	return []workload.Action{
		on("expect NUMBER paths to WWID", func(t *scene, a []string) string {
			n := 0
			for _, m := range t.W.MultipathMaps() {
				for _, p := range m.Paths {
					if m.WWID == a[1] && p.Active {
						n++
					}
				}
			}
			if strconv.Itoa(n) != a[0] {
				return "there are " + strconv.Itoa(n) + " paths to " + a[1]
			}
			return ""
		}),
		on("expect array disk WWID holds CONTENT", func(t *scene, a []string) string {
			if holds, _ := t.W.SANDiskHolds(a[0]); holds != diskContents[a[1]] {
				return "the disk " + a[0] + " holds " + cmp.Or(holds, "nothing")
			}
			return ""
		}),
		on("expect NUMBER sessions with TARGET", func(t *scene, a []string) string {
			n := 0
			for _, s := range t.W.ISCSISessions() {
				if s.Target == a[1] {
					n++
				}
			}
			if strconv.Itoa(n) != a[0] {
				return "there are " + strconv.Itoa(n) + " sessions with " + a[1]
			}
			return ""
		}),
	}
}

// portalOf is the address of a portal with its port.
func portalOf(text string) string {
	if strings.Contains(text, ":") {
		return text
	}
	return text + ":3260"
}

func mapLUN(t *scene, number, target, wwid string) string {
	n, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		return number + " is no LUN"
	}
	t.W.MapLUN(target, n, wwid)
	if t.W.LUNOf(target, n) != wwid {
		return "there is no target " + target + ", or no disk " + wwid
	}
	return ""
}
