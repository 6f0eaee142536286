package sim

import (
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file models FlexVolume drivers: programs on the node that mount filesystems in memory. They remember what they
// have mounted, until the node boots, as they may hold more than a mount: a device, a place at a server.

// FlexManner is how a driver behaves in all of its calls.
type FlexManner struct {
	Attaches  bool // it wants its volumes attached to the node first
	Gives     bool // it leaves it to the agent to give files to a group
	NoUnmount bool // it answers "Not supported" to unmount
	NoMount   bool // and to mount
	Unsafe    bool // others than root can write to its program
	// Always is what goes wrong with each of its mounts and unmounts: FailNone, FailFull, DriverLies or DriverGarbles.
	Always Fault
}

// FlexManners are how drivers behave, by words for it.
var FlexManners = map[string]FlexManner{
	"polite": {}, "attaches": {Attaches: true}, "gives": {Gives: true}, "no-unmount": {NoUnmount: true},
	"no-mount": {NoMount: true}, "unsafe": {Unsafe: true}, "fails": {Always: FailNone}, "fails-late": {Always: FailFull},
	"lies": {Always: DriverLies}, "garbles": {Always: DriverGarbles},
}

// InstallFlex is PutFlexDriver of a driver that behaves as a word says.
func (w *World) InstallFlex(name, manner string) { w.PutFlexDriver(name, FlexManners[manner]) }

// flexDriver is one driver.
type flexDriver struct {
	name  string
	is    FlexManner
	isOff bool // its program is not there
	holds []flexHold
}

// flexHold is what a driver has for a directory.
type flexHold struct {
	dir       string
	elsewhere string // where it has mounted it in place of dir, "" if it has not
}

// FlexHeld is what a driver holds for a directory.
type FlexHeld struct{ Driver, Dir string }

// PutFlexDriver has somebody install a FlexVolume driver, in place of one of the same name. What that one held the new
// one holds.
func (w *World) PutFlexDriver(name string, is FlexManner) {
	if d := w.flexNamed(name); d != nil {
		d.is, d.isOff = is, false
		return
	}
	w.flex = append(w.flex, &flexDriver{name: name, is: is})
}

// RemoveFlexDriver has somebody remove a driver, with what it knows of its volumes. It reports whether there was one.
func (w *World) RemoveFlexDriver(name string) bool {
	d := w.flexDriver(name)
	if d != nil {
		d.isOff, d.holds = true, nil // what it held nobody can call back
	}
	return d != nil
}

// FlexHolds is what drivers hold.
func (w *World) FlexHolds() (all []FlexHeld) {
	for _, d := range w.flex {
		for _, h := range d.holds {
			all = append(all, FlexHeld{d.name, h.dir})
		}
	}
	return all
}

func (w *World) flexNamed(name string) *flexDriver {
	i := slices.IndexFunc(w.flex, func(d *flexDriver) bool { return d.name == name })
	if i < 0 {
		return nil
	}
	return w.flex[i]
}

// flexDriver is the driver that a call finds, nil if none.
func (w *World) flexDriver(name string) *flexDriver {
	if d := w.flexNamed(name); d != nil && !d.isOff {
		return d
	}
	return nil
}

// bootsFlex is a boot: mounts are gone, and so is what belongs to them.
func (w *World) bootsFlex() {
	for _, d := range w.flex {
		d.holds = nil
	}
}

type hostFlex struct{ *host }

var (
	callFlexInit    = newFlexSite("init", false)
	callFlexMount   = newFlexSite("mount", true)
	callFlexUnmount = newFlexSite("unmount", true)

	siteFlexMounts   = newSite("flex.mounts")
	siteFlexUnmounts = newSite("flex.unmounts")
)

func newFlexSite(name string, writes bool) *callSite {
	s := newCallSite("flex."+name, hal.ClassHelper, writes)
	s.op = "flex " + name
	return s
}

// flexCall is one call of a driver.
type flexCall struct {
	driver, dir string
	options     []hal.Option
	goes        Fault // what is wrong with it: of a call, or with how its driver behaves
}

func (h hostFlex) Init(c hal.Call, driver string) (hal.FlexCapabilities, error) {
	w := h.w
	k := h.enter(callFlexInit, driver, c, &w.menus.helper)
	is := hal.DefaultFlexCapabilities()
	err := k.drives(flexCall{driver: driver}, nil, func(_ actor, d *flexDriver, _ flexCall) syscall.Errno {
		is.Attach, is.FSGroup, is.SELinuxRelabel = d.is.Attaches, d.is.Gives, false
		return 0
	})
	if err != nil {
		is = hal.FlexCapabilities{}
	}
	return is, err
}

func (h hostFlex) Mount(c hal.Call, driver, dir string, options []hal.Option) error {
	k := h.enter(callFlexMount, driver+" "+dir, c, &h.w.menus.helper)
	k.dies = func(by actor) { // it has mounted the volume, and would have made it read-only next
		d := h.w.flexDriver(driver)
		if d == nil || len(h.w.mounts.stack(dir)) > 0 {
			return
		}
		d.hold(dir, "")
		_ = h.w.mounts.mountNew(by, hal.NewMount{FSType: "tmpfs", Source: "flex", Target: dir}) // or not even that
	}
	return k.drives(flexCall{driver: driver, dir: dir, options: options}, siteFlexMounts, h.w.flexMount)
}

func (h hostFlex) Unmount(c hal.Call, driver, dir string) error {
	k := h.enter(callFlexUnmount, driver+" "+dir, c, &h.w.menus.helper)
	return k.drives(flexCall{driver: driver, dir: dir}, siteFlexUnmounts, h.w.flexUnmount)
}

// drives runs a driver. manners is where it is drawn how it behaves, nil for nowhere.
func (k *call) drives(f flexCall, manners *site, act func(actor, *flexDriver, flexCall) syscall.Errno) error {
	w := k.w
	d := w.flexDriver(f.driver)
	switch {
	case k.expired:
		return k.done(syscall.ETIMEDOUT)
	case hal.FlexDirectory(f.driver) == "":
		return k.done(syscall.EINVAL)
	case d == nil:
		return k.done(syscall.ENOENT)
	case d.is.Unsafe:
		return k.done(syscall.EPERM)
	case f.dir != "":
		if errno := w.flexTarget(f.dir); errno != 0 {
			return k.done(errno)
		}
	}
	f.goes = k.fault
	if manners != nil {
		menu := &w.menus.flexUnmount
		if manners == siteFlexMounts {
			menu = &w.menus.flexMount
		}
		s := w.subject(manners, k.subject.name)
		s.key = k.c.Key
		if drawn := w.pick(manners, &s, menu); drawn != NoFault {
			f.goes = drawn
		}
	}
	if d.is.Always != NoFault && manners != nil {
		f.goes = d.is.Always
	}
	errno := k.inKernel(k.site.op+" "+k.subject.name, func(by actor) syscall.Errno { return act(by, d, f) })
	isLost := f.goes == FailNone || f.goes == FailPart || f.goes == FailFull
	switch {
	case k.timedOut:
		return k.done(errno)
	case errno == 0 && f.goes == DriverGarbles:
		errno = syscall.EBADMSG
	case errno == 0 && isLost:
		errno = syscall.EIO
	}
	switch errno {
	case 0:
		return k.leave(0, hal.Done)
	case syscall.EIO, syscall.EBADMSG:
		return flexSaid(k.leave(errno, hal.Unknown), "the volume is not as it should be")
	case syscall.EOPNOTSUPP:
		return flexSaid(k.leave(errno, hal.NotDone), "")
	}
	return k.done(errno)
}

// flexSaid is an error that a driver has answered with.
func flexSaid(err error, words string) error {
	if e, is := err.(*hal.Error); is { //nolint:errorlint // it was made here
		e.Reply, e.Detail = hal.ReplyStatus, words
	}
	return err
}

// flexTarget is the check of a directory that a driver is to mount at.
func (w *World) flexTarget(dir string) syscall.Errno {
	if len(w.mounts.stack(dir)) > 0 {
		return 0
	}
	at, _, errno := w.walk(dir, walkNoLinks)
	switch {
	case errno == syscall.ENOENT, errno == 0 && !at.n.isDir():
		return syscall.ENOTDIR
	}
	return errno
}

// hold notes what a driver has for a directory. What a program holds that was removed while it ran nobody can call
// back.
func (d *flexDriver) hold(dir, elsewhere string) {
	if d.isOff {
		return
	}
	d.holds = append(d.free(dir), flexHold{dir, elsewhere})
}

// free is what a driver holds but for a directory.
func (d *flexDriver) free(dir string) []flexHold {
	return slices.DeleteFunc(slices.Clone(d.holds), func(h flexHold) bool { return h.dir == dir })
}

func (d *flexDriver) has(dir string) (flexHold, bool) {
	i := slices.IndexFunc(d.holds, func(h flexHold) bool { return h.dir == dir })
	if i < 0 {
		return flexHold{}, false
	}
	return d.holds[i], true
}

// flexMount is mount. What is mounted already is left as it is.
func (w *World) flexMount(by actor, d *flexDriver, f flexCall) syscall.Errno {
	w.tell(by, Effect{Kind: EffectDriven, Driver: f.driver, Method: "mount", Target: f.dir, Message: f.options})
	switch {
	case d.is.NoMount:
		return syscall.EOPNOTSUPP
	case f.goes == FailNone || f.goes == DriverLies:
		return 0
	case len(w.mounts.stack(f.dir)) > 0:
		return 0
	case f.goes == FailPart:
		d.hold(f.dir, "")
		return 0
	}
	at, elsewhere := f.dir, ""
	if f.goes == MountsElsewhere {
		elsewhere = "/mnt/" + strings.ReplaceAll(f.dir[1:], "/", "-")
		at = elsewhere
		w.makeDirs(at)
	}
	m := hal.NewMount{FSType: "tmpfs", Source: "flex", Target: at}
	for _, o := range f.options {
		if o.Key == "kubernetes.io/readwrite" && o.Value == "ro" {
			m.Flags = []string{"ro"}
		}
	}
	if errno := w.mounts.mountNew(by, m); errno != 0 {
		return syscall.EIO
	}
	d.hold(f.dir, elsewhere)
	return 0
}

// flexUnmount is unmount: of what is on top, whoever has mounted it, as umount(8) does.
func (w *World) flexUnmount(by actor, d *flexDriver, f flexCall) syscall.Errno {
	w.tell(by, Effect{Kind: EffectDriven, Driver: f.driver, Method: "unmount", Target: f.dir})
	switch {
	case d.is.NoUnmount:
		d.holds = d.free(f.dir) // it has no more than a mount, which the agent takes away
		return syscall.EOPNOTSUPP
	case f.goes == DriverLies:
		d.holds = d.free(f.dir) // it believes so itself
		return 0
	case f.goes == FailNone:
		return 0
	}
	at := f.dir
	if h, is := d.has(f.dir); is && h.elsewhere != "" {
		at = h.elsewhere
	}
	if len(w.mounts.stack(at)) > 0 {
		if w.mounts.isHung(at) {
			return hangs
		}
		if errno := w.mounts.unmount(by, at, 0); errno != 0 {
			return syscall.EIO
		}
	}
	if f.goes != FailPart {
		d.holds = d.free(f.dir)
	}
	return 0
}
