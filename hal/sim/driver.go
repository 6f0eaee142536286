package sim

import (
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// StageStyle is what a driver mounts when it stages a volume.
type StageStyle uint8

// The styles.
const (
	StageMounts StageStyle = iota // at the staging target path
	StageBelow                    // at a directory that it makes below it
	StageNothing
)

// Personality is how a CSI driver behaves. The zero value is a polite driver without staging.
type Personality struct {
	Staging     bool // STAGE_UNSTAGE_VOLUME
	Style       StageStyle
	BlockDevice bool // a volume is a device with a filesystem of its own, else a directory of the root filesystem
	MultiWriter bool // SINGLE_NODE_MULTI_WRITER
	MountGroup  bool // VOLUME_MOUNT_GROUP
	FixedGroup  bool // all its versions are alike in that
	Stats       bool // GET_VOLUME_STATS
	Health      bool // GET_VOLUME_HEALTH

	StorageHealth bool // GET_STORAGE_HEALTH
	Attach        bool // PUBLISH_UNPUBLISH_VOLUME of the controller service

	Serial     bool // ABORTED while another operation on the volume runs
	Forgetful  bool // what it staged is not known to it after a restart
	Slow       bool // operations take up to minutes
	NotFound   bool // an unpublish or unstage of what is not there is answered NOT_FOUND
	Watchful   bool // an unstage of what is published is answered FAILED_PRECONDITION
	Nameless   bool // the platform can't tell its process (Peer.Instance is "")
	Checks     bool // at publish it looks whether the staging mount is there; without, it binds what it finds
	KeepsNodes bool // unpublish leaves the target's directory or file
	Credulous  bool // a mount at its path is taken for the volume's as asked, whatever it shows

	PublishesNothing bool // a publish mounts nothing
	PlacesNodes      bool // the publish of a raw block makes a device node at its target, and mounts nothing
	// what it has mounted stays mounted when it lets go of it; only with StageMounts, and not of raw blocks
	Leaves  bool
	Lasting bool // what it has staged is staged still after a boot, without its mount: its back-end remembers

	// it does one thing at a time, and what waits in any order, whether or not somebody still waits for it
	Queues    bool
	CrashesOn uint8 // in each of its lives it dies of that call with effects, from 1; 0 is never
	// its process serves the filesystems of its volumes itself (FUSE); only with BlockDevice and StageMounts or
	// StageNothing
	Daemon     bool
	Network    bool // a server elsewhere serves its volumes (NFS); not with BlockDevice, Daemon or StageBelow
	Quotes     bool // its errors quote the secrets that it was given, for this volume or another one
	ActsBehind bool // what it answers with an error may act after the answer: the agent has to be configured for that
	ActsUntold bool // the same, and nobody has said so
}

// Polite is a driver of common kind that makes no trouble.
func Polite() Personality { return Personality{Staging: true, BlockDevice: true, Checks: true} }

var (
	sitePersonality = newSite("driver.personality")
	siteDriverStart = newSite("driver.start")
	siteSocketStays = newSite("driver.socket-stays")
	siteOrphan      = newSite("driver.orphan")
	siteLoss        = newSite("driver.loss-unseen")
	siteUnseen      = newSite("driver.gone-unseen")
	siteCrashesOn   = newSite("driver.crashes-on")
)

const crashesOnMost = 12

// DrawPersonality draws the traits of a driver that are not a matter of its kind.
func (w *World) DrawPersonality(name string, p Personality) Personality {
	nasty := func(trait string) bool { return w.happens(DriverNasty, sitePersonality, name+" "+trait) }
	p.Serial = p.Serial || nasty("serial")
	p.Forgetful = p.Forgetful || nasty("forgetful")
	p.Slow = p.Slow || nasty("slow")
	p.NotFound = p.NotFound || nasty("not found")
	p.Watchful = p.Watchful || nasty("watchful")
	p.Nameless = p.Nameless || nasty("nameless")
	if p.Style == StageMounts && !p.Network && nasty("below") {
		p.Style = StageBelow
	}
	if p.Style == StageMounts && nasty("nothing") {
		p.Style = StageNothing
	}
	p.Credulous = p.Credulous || nasty("credulous")
	if nasty("unchecked") {
		p.Checks = false
	}
	p.Leaves = p.Leaves || p.Style == StageMounts && p.Checks && !p.Credulous && !p.Network && nasty("leaves") &&
		nasty("always leaves")
	p.Lasting = p.Lasting || nasty("lasting")
	p.Queues = p.Queues || w.happens(DriverQueues, sitePersonality, name+" queues")
	p.Quotes = p.Quotes || w.happens(DriverQuotes, sitePersonality, name+" quotes")
	p.ActsBehind = p.ActsBehind || w.happens(DriverActsBehind, sitePersonality, name+" acts behind")
	p.ActsUntold = p.ActsUntold || !p.ActsBehind && w.happens(DriverActsUntold, sitePersonality, name+" acts untold")
	p.Daemon = p.Daemon || p.BlockDevice && p.Style != StageBelow && !p.Leaves &&
		w.happens(DriverDaemon, sitePersonality, name+" daemon")
	if p.CrashesOn == 0 && w.happens(DriverCrashes, sitePersonality, name+" crashes") {
		p.CrashesOn = uint8(w.time(siteCrashesOn, name, 2, crashesOnMost))
	}
	return p
}

// DriverSpec is what a driver is made from.
type DriverSpec struct {
	Name        string
	Personality Personality
	NodeID      string // default "node-of-" and the name
	// Endpoint and Socket default to plugins/<name>/csi.sock and plugins_registry/<name>-reg.sock below the agent's
	// root directory.
	Endpoint string
	Socket   string
}

// backend is what all versions of a driver have in common.
type backend struct {
	name      string
	volumes   []*volume
	deleted   []*volume // by its driver: inline ones once they are unpublished, and by DeleteVolume
	processes uint32    // lives of all versions so far
	versions  int
	given     []string          // secrets that it was given, the last one last, if it quotes them
	health    []hal.HealthEntry // what is wrong with its storage
}

// driver is one version of a CSI driver with its processes: plugin and registrar.
type driver struct {
	*backend
	w        *World
	is       Personality
	nodeID   string
	endpoint string
	socket   string
	up       bool
	broken   Breakage
	process  uint32 // number of the present or last life
	// registrar counts the lives of the process that makes the registration socket.
	registrar    uint32
	hasRegistrar bool // it lives
	misregisters bool // this life of it says what can't be taken
	isUnattended bool // nobody starts it again
	pid          int
	served       uint8  // calls with effects in this life, as far as they are counted
	queue        []*rpc // that wait for another one's end
	accepted     bool
	replaced     bool          // another version is taking its place
	retired      bool          // and has taken it
	conns        []*connection // of the filesystems that this life of it serves
	isHidden     bool          // what this life of it mounts does not reach the host
	hidden       []hiddenMount
}

// Breakage is a permanent fault of a driver, for the calm in which others must work.
type Breakage uint8

// The breakages.
const (
	Works   Breakage = iota
	Hangs            // calls are taken and never answered
	Refuses          // calls are answered UNAVAILABLE
	Fails            // calls are answered INTERNAL
	Hides            // calls work, and what it mounts does not reach the host; only with Checks
	Denies           // each publish is answered FAILED_PRECONDITION, whatever was staged
	Busy             // calls with effects are answered with plain errors, and nothing is done
	Partly           // the same, and a part of it is done
	Wholly           // the same, and all of it is done
	Spoils           // with each publish the filesystem of the volume turns read-only, until it is staged again
	Loses            // what it has published is unmounted again a moment later
)

// AddDriver installs a driver and starts it.
func (w *World) AddDriver(spec DriverSpec) {
	if spec.NodeID == "" {
		spec.NodeID = NodeID(spec.Name)
	}
	if spec.Endpoint == "" {
		spec.Endpoint = w.base + "/plugins/" + spec.Name + "/csi.sock"
	}
	if spec.Socket == "" {
		spec.Socket = w.base + "/plugins_registry/" + spec.Name + "-reg.sock"
	}
	b := &backend{name: spec.Name, versions: 1}
	w.backends = append(w.backends, b)
	d := &driver{
		backend: b, w: w, is: spec.Personality, nodeID: spec.NodeID, endpoint: spec.Endpoint, socket: spec.Socket,
	}
	w.drivers = append(w.drivers, d)
	d.startIn(w.time(siteDriverStart, d.name, fastest, time.Minute))
}

// driver returns the newest version of a driver.
func (w *World) driver(name string) *driver {
	for _, d := range slices.Backward(w.drivers) {
		if d.name == name {
			return d
		}
	}
	return nil
}

// mustDriver is for the world's own calls, where a wrong name is a mistake of the scenario.
func (w *World) mustDriver(name string) *driver {
	d := w.driver(name)
	if d == nil {
		panic("sim: there is no driver " + strconv.Quote(name))
	}
	return d
}

// BreakDriver breaks a driver, in all its versions, for good, or (Works) mends it. With one that hangs, the servers of
// its volumes hang.
func (w *World) BreakDriver(name string, b Breakage) {
	newest := w.mustDriver(name)
	for _, d := range w.drivers {
		if d.name != name {
			continue
		}
		was := d.broken
		d.broken = b
		if d.up && (was == Hides) != (b == Hides) {
			d.crash()
			d.start()
		}
	}
	if b == Hangs || b == Works {
		newest.silenceAll(b == Hangs)
	}
}

// StopDriver kills a driver's processes. It comes back after StartDriver.
func (w *World) StopDriver(name string) { w.mustDriver(name).crash() }

// StartDriver starts a driver that is down.
func (w *World) StartDriver(name string) { w.mustDriver(name).start() }

func (d *driver) startIn(wait time.Duration) {
	boot := d.w.boot
	d.w.sched.at(d.w.sched.now.Add(wait), siteDriverStart.hash^hashString(d.name), nil, func() {
		if d.w.boot == boot && !d.w.off && !d.retired {
			d.start()
		}
	})
}

// start begins a life of the driver: its endpoint is at once. Its registrar starts, too, unless it has lived on.
func (d *driver) start() {
	w := d.w
	if d.up || w.off {
		return
	}
	d.live()
	w.event("driver.up", d.name)
	w.tell(actor{}, Effect{
		Kind: EffectDriverUp, Actor: d.name, Driver: d.name, Endpoint: d.endpoint,
		Outcome: hal.Done,
	})
	d.listen(d.endpoint)
	d.startRegistrar()
}

// live begins a life of the plugin's process.
func (d *driver) live() {
	d.up, d.served = true, 0
	d.processes++
	d.process = d.processes
	d.w.pids++
	d.pid = d.w.pids
	d.drawNamespace()
}

// listen makes a socket at path, in place of what is there.
func (d *driver) listen(path string) {
	w := d.w
	dir := w.makeDirs(path[:lastSlash(path)])
	name := path[lastSlash(path)+1:]
	by := actor{}
	if dir.n.child(name) != nil {
		_ = w.unlink(by, dir, name) // it is no mount point and no directory
	}
	k := dir.n.sb.newNode(hal.TypeSocket, 0o600)
	k.server, k.life = d, d.process
	w.link(by, dir, name, k)
}

func lastSlash(path string) int {
	i := len(path) - 1
	for path[i] != '/' {
		i--
	}
	return i
}

// close ends the listening at path. The file may stay.
func (d *driver) close(path string) {
	w := d.w
	at, _, errno := w.walk(path, walkNoLastLink)
	if errno != 0 || at.n.server != d {
		return
	}
	at.n.server = nil
	if !w.happens(StaleSocket, siteSocketStays, path) {
		_ = w.removeOne(actor{}, path) // it was there a moment ago
	}
}

// crash kills the driver and its registrar. Its mounts stay; calls in flight are dropped, or go on in a child of it.
func (d *driver) crash() {
	d.fall()
	d.endRegistrar()
}

// dies is the death of a driver by itself: its registrar, a process of its own, may live on.
func (d *driver) dies() {
	isUp := d.up
	d.fall()
	if isUp && !d.w.happens(RegistrarLives, siteRegistrar, d.name) {
		d.endRegistrar()
	}
}

// fall ends the driver's process. The registrar lives on.
func (d *driver) fall() {
	w := d.w
	if !d.up {
		return
	}
	d.up, d.given = false, nil // it knew its secrets in memory alone
	w.event("driver.down", d.name)
	w.tell(actor{}, Effect{
		Kind: EffectDriverDown, Actor: d.name, Driver: d.name, Endpoint: d.endpoint,
		Outcome: hal.Done,
	})
	d.close(d.endpoint)
	d.disconnect()
	d.hangUp()
	if d.is.Forgetful {
		d.forget()
	}
	for _, r := range slices.Clone(w.rpcs) {
		if r.d != d || r.process != d.process || r.isRegistrar {
			continue
		}
		r.broken()
		switch {
		case r.state == rpcEnded:
		case r.state >= rpcStarted && w.happens(OrphanActs, siteOrphan, r.subject.name):
			r.orphan = true
			w.sched.at(w.sched.now.Add(w.time(siteOrphan, r.subject.name, fastest, r.left())), r.subject.hash, nil,
				r.orphanActs)
		default:
			r.end()
		}
	}
	d.seenGone()
}

// hangUp tells those connected that their connection has broken: the kernel closes it at the end of the process.
func (d *driver) hangUp() {
	w := d.w
	inc := w.watching()
	if inc == nil {
		return
	}
	for _, c := range inc.conns {
		if c.d == d && c.process == d.process && c.lost != nil {
			h, lost := &host{w, inc}, c.lost
			c.lost = nil
			if w.happens(GoneUnseen, siteLoss, d.name) {
				continue // a child of it holds the connection open
			}
			w.sched.at(w.sched.now.Add(fastest), siteUnseen.hash^hashString(d.name), inc, func() { h.post(lost) })
		}
	}
}

// seenGone tells those connected, once no process of a life of the driver is left, that it is dead. Each life is a
// container of its own.
func (d *driver) seenGone() {
	w := d.w
	inc := w.watching()
	if inc == nil {
		return
	}
	for _, c := range inc.conns {
		if c.d != d || c.gone == nil || c.process == d.process && d.up || d.hasOrphans(c.process) {
			continue
		}
		gone := c.gone
		c.gone = nil
		if !d.is.Nameless && !w.happens(GoneUnseen, siteUnseen, d.name) {
			w.notify(inc, siteUnseen, d.name, gone)
		}
	}
}

// hasOrphans says whether a call of a life that has ended may still act.
func (d *driver) hasOrphans(process uint32) bool {
	return slices.ContainsFunc(d.w.rpcs, func(r *rpc) bool { return r.orphan && r.d == d && r.process == process })
}

// powerOff ends the driver with the node.
func (d *driver) powerOff() {
	d.hasRegistrar, d.isUnattended = false, false
	if d.up {
		d.up = false
		d.w.tell(actor{}, Effect{
			Kind: EffectDriverDown, Actor: d.name, Driver: d.name, Endpoint: d.endpoint,
			Outcome: hal.Done,
		})
	}
	d.disconnect()
	for _, path := range []string{d.endpoint, d.socket} {
		if at, _, errno := d.w.walk(path, walkNoLastLink); errno == 0 && at.n.server == d {
			at.n.server = nil // the file stays on the disk
		}
	}
	for _, v := range d.volumes {
		v.published = nil
		if !d.is.Lasting {
			v.staged = nil
		}
	}
	if d.is.Forgetful {
		d.forget()
	}
}

// forget clears the memory of what is staged and published. The truth stays.
func (d *driver) forget() {
	for _, v := range d.volumes {
		for _, list := range [...][]hold{v.staged, v.published} {
			for i := range list {
				if list[i].mind == d {
					list[i].mind = nil
				}
			}
		}
	}
}

// listener returns the driver that listens at a socket, and whether it is its registrar.
func (w *World) listener(path string) (d *driver, isRegistrar bool, errno syscall.Errno) {
	at, _, errno := w.walk(path, walkNoLastLink)
	switch {
	case errno != 0:
		return nil, false, errno
	case at.n.kind != hal.TypeSocket || at.n.server == nil || !at.n.server.lives(at.n.isRegistrar, at.n.life):
		return nil, false, syscall.ECONNREFUSED
	}
	return at.n.server, at.n.isRegistrar, 0
}

// lives says whether a life of the driver's process, or of its registrar, has not ended.
func (d *driver) lives(isRegistrar bool, life uint32) bool {
	if isRegistrar {
		return d.hasRegistrar && d.registrar == life
	}
	return d.up && d.process == life
}
