package disk

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Maps is the part of a [plugin.Scan] that finds raw block volumes.
type Maps struct {
	Map, Hold core.Kind
	Directory string // of the source, below a pod
	all       []foundMap
	held      []hal.HeldDevice
}

// foundMap is pods/<pod>/volumeDevices/<Directory>/<name>.
type foundMap struct {
	pod, name string
	is        string // the device that is there; "" if that can't be told
}

// Device looks at one.
func (m *Maps) Device(s *plugin.Scanner, uid string, e hal.Entry) {
	at := plugin.PodDevicePlace(s.Root, uid, m.Directory, e.Name).Path
	if e.Type != hal.TypeFile && e.Type != hal.TypeBlockDevice {
		s.Found.Left = append(s.Found.Left, plugin.Unrecognised{
			Path: at, Why: "not the place of a raw device, but a " + e.Type.String(),
		})
		return
	}
	is, err := s.Host.Blocks.Identify(s.Call, at)
	found := foundMap{pod: uid, name: e.Name}
	if err == nil {
		found.is = is.Is()
	}
	m.all = append(m.all, found)
}

// Node finds what is held.
func (m *Maps) Node(s *plugin.Scanner) (err error) {
	m.held, err = s.Held()
	return err
}

// Discover makes rungs. The device of a pod stands on the hold that keeps it, or, if nobody can tell which that is, on
// all of the source: while containers may have it, none of them goes. deviceOf: see [Found].
func (m *Maps) Discover(d *plugin.Discovery, deviceOf func(is string) hal.Key) {
	holds := Found(m.Hold, m.held, deviceOf)
	d.Lower = append(d.Lower, holds...)
	for _, f := range m.all {
		r := MapRung(m.Map, d.Root, f.pod, m.Directory, f.name)
		at := plugin.PathOf(r.Want)
		if !d.IsPod(at, f.pod) {
			continue
		}
		if plugin.BadObjectName(f.name) != "" {
			d.Unrecognised(at, "the name is not the name of a volume")
			continue
		}
		r.Below = m.below(f.is, holds)
		d.Upper = append(d.Upper, r)
	}
}

// below are the holds that a device stands on.
func (m *Maps) below(is string, holds []core.Rung) (below []hal.Key) {
	for _, h := range m.held {
		for i := range holds {
			if key := hal.Key(h.Name); key == holds[i].Key && (is == "" || is == h.Device || is == h.By) {
				below = append(below, key)
			}
		}
	}
	return below
}
