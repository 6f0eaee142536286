package scenarios

import (
	"strconv"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/workload"
)

// fcActions are the statements about Fibre Channel.
func fcActions() []workload.Action {
	return []workload.Action{
		on("put fabric port PORT", func(t *scene, a []string) string {
			port, isOne := fcPortOf(a[0])
			if t.W.AddFCTarget(port); len(t.W.FCPorts()) == 0 {
				t.W.AddFCHost(nodeFCPort)
			}
			return isOne
		}),
		on("the node has another fabric port", func(t *scene, _ []string) string {
			t.W.AddFCHost(nodeFCPort + 1)
			return ""
		}),
		on("lose fabric port PORT", func(t *scene, a []string) string {
			port, isOne := fcPortOf(a[0])
			t.W.LoseFCTarget(port, 0)
			return isOne
		}),
		on("restore fabric port PORT", func(t *scene, a []string) string {
			port, isOne := fcPortOf(a[0])
			t.W.RestoreFCTarget(port)
			return isOne
		}),
		on("a person scans for lun NUMBER of PORT", func(t *scene, a []string) string {
			port, isOne := fcPortOf(a[1])
			lun, err := strconv.ParseUint(a[0], 10, 8)
			if err == nil && isOne == "" && !t.W.ScanByHand(port, lun) {
				return "the kernel finds no disk with LUN " + a[0] + " of " + a[1]
			}
			return isOne
		}),
		on("expect NUMBER disks WWID in the kernel", func(t *scene, a []string) string {
			if n := strconv.Itoa(len(t.W.DisksNamed(a[1]))); n != a[0] {
				return "the kernel knows " + n + " disks as " + a[1]
			}
			return ""
		}),
	}
}

// nodeFCPort is the Fibre Channel port of the node.
const nodeFCPort hal.WWPN = 0x2100002400000001

// fcPortOf reads the name of a Fibre Channel port, or says that it is none.
func fcPortOf(text string) (hal.WWPN, string) {
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil || len(text) != 16 {
		return 0, text + " is no name of a port: it has 16 hexadecimal digits"
	}
	return hal.WWPN(n), ""
}
