package sim

// Fault is one kind of thing that goes wrong.
type Fault uint8

// The faults. Which of them a call can meet follows from its class; see the menus of a [World].
const (
	NoFault Fault = iota
	// Slow: a call takes up to a thousand times as long as usual.
	Slow
	// Pause: the owner runs late, as after SIGSTOP.
	Pause
	// CrashBefore: the agent dies before the effect of a call.
	CrashBefore
	// CrashAfter: the agent dies after the effect and before the reply; RemoveTree stops part of the way.
	CrashAfter
	// CrashReplied: the agent dies just after it has the reply.
	CrashReplied
	// Reboot: the node shuts down cleanly at a call, before its effect.
	Reboot
	// PowerCut: the node loses power at a call, before or after its effect.
	PowerCut
	// FailNone: a system call or helper fails without effect.
	FailNone
	// FailPart: a helper fails with a part of its effect.
	FailPart
	// FailFull: a helper, or a mount of a network filesystem, fails with its whole effect.
	FailFull
	// Hang: a system call or helper sits in the kernel for seconds to minutes, and then acts.
	Hang
	// NoSpace: ENOSPC.
	NoSpace
	// SyncFails: fsync answers EIO, and what was not synced is gone.
	SyncFails
	// Refused: an RPC is answered UNAVAILABLE, or its connection fails, before any effect.
	Refused
	// ErrorNone: an RPC is answered with an error status without effect.
	ErrorNone
	// ErrorPart: an RPC is answered with an error status, a part of its effect done.
	ErrorPart
	// ErrorFull: an RPC is answered with an error status, its whole effect done.
	ErrorFull
	// Lost: the reply of an RPC is lost, its effect done in time.
	Lost
	// Dropped: an RPC never acts and never answers.
	Dropped
	// Late: an RPC acts after its deadline.
	Late
	// Stalled: an RPC occupies the driver until after its deadline, then acts or does not.
	Stalled
	// Doubled: an RPC acts a second time, later.
	Doubled
	// Intercepted: an RPC is answered by something between agent and driver, with a status that tells nothing of it,
	// and acts later.
	Intercepted
	// DriverCrash: the driver dies when an RPC comes, before or after its effect.
	DriverCrash
	// LateDropped: the answer of an RPC that comes after the deadline is not delivered.
	LateDropped
	// OrphanActs: a call that was in flight when its driver died acts nevertheless (a child of the driver goes on).
	OrphanActs
	// GoneUnseen: nobody tells that a driver's process is dead.
	GoneUnseen
	// StaleSocket: the socket file of a dead driver stays.
	StaleSocket
	// RegistersLate: a driver's registration socket appears up to minutes after the driver.
	RegistersLate
	// RegistersTwice: it appears again, later.
	RegistersTwice
	// ChildLives: a helper in flight when the agent dies lives on and acts later.
	ChildLives
	// NoticeDoubled: a watch tells of a change twice.
	NoticeDoubled
	// NoticeLate: a watch tells of a change seconds late.
	NoticeLate
	// ObjectLate: an object of the cluster arrives seconds to minutes late.
	ObjectLate
	// ObjectRepeated: an object of the cluster arrives twice.
	ObjectRepeated
	// ObjectStale: an object of the cluster arrives in its last-but-one version first.
	ObjectStale
	// SyncedLate: a source says Synced up to minutes after its last object.
	SyncedLate
	// ObjectMerged: an object that changes again before the last change has arrived comes in its newest version only.
	ObjectMerged
	// ObjectCrossed: an object arrives before the notice that another one of its name, or of its uid, is gone.
	ObjectCrossed
	// WatchBreaks: nothing of the cluster arrives for up to minutes; then all of it is listed again.
	WatchBreaks
	// KindFails: objects of one kind can't be read for up to minutes, which the source says.
	KindFails
	// ListEmpty: a start is told of no object for up to minutes, then of all, and then that this is all.
	ListEmpty
	// ManifestTorn: a manifest is half written for up to minutes.
	ManifestTorn
	// DriverUpgraded: a driver that is restarted is upgraded: another version of it runs beside the old one for a
	// while.
	DriverUpgraded
	// DriverReplaced: a driver that is restarted is another process at once, and its registration socket stays.
	DriverReplaced
	// SocketLost: the registration socket of a driver that lives is removed, and made again up to minutes later.
	SocketLost
	// DriverQueues: a driver does one thing at a time, and keeps what waits.
	DriverQueues
	// DriverCrashes: a driver dies of the same call in each of its lives.
	DriverCrashes
	// DriverActsBehind: a driver may act after it has answered with an error.
	DriverActsBehind
	// DriverDaemon: a driver serves the filesystems of its volumes itself, and they end with it.
	DriverDaemon
	// DriverQuotes: a driver's errors quote secrets that it was given, whole or in part, in many encodings, also in
	// calls that carry none.
	DriverQuotes
	// DriverNasty: a driver's personality is not the polite one.
	DriverNasty
	// LostWrite: what was not synced before a power cut is lost.
	LostWrite
	// ForeignUnmount: somebody on the node unmounts what a driver has mounted.
	ForeignUnmount
	// ForeignMount: somebody mounts over it; at a boot, over a path of the boot before.
	ForeignMount
	// HeldOpen: a process on the node keeps a mount busy for some time.
	HeldOpen
	// ServerSilent: the server of a network filesystem does not answer for up to minutes; what touches a mount of it
	// waits in the kernel.
	ServerSilent
	// ServerStale: it exports the filesystem again: the mounts that there are answer ESTALE.
	ServerStale
	// DriverHides: for a life of a driver, what it mounts stays in its own mount namespace.
	DriverHides
	// Stall: no thread of the agent runs for up to minutes; then all that was due comes at once.
	Stall
	// RegistrarLives: a driver dies and its registrar lives on.
	RegistrarLives
	// Misregisters: for a life of a driver's registrar, it says what can't be taken.
	Misregisters
	// RegistrarLost: a registrar that has ended, as it was refused, is not started again.
	RegistrarLost
	// DriverRival: a driver that is restarted lives on, and another process registers its name for a while.
	DriverRival
	// SocketShared: the next version of a driver has its registration socket at the same path.
	SocketShared
	// DriverActsUntold: a driver may act after it has answered with an error, and nobody has said so.
	DriverActsUntold
	// DiskFails: the filesystem of a volume turns read-only, or loses its device.
	DiskFails
	// NoticeVague: a watch of the mount table, or of a directory, tells that it has changed, and not where.
	NoticeVague
	// DriverLies: a FlexVolume driver says Success and has done nothing.
	DriverLies
	// MountsElsewhere: it says Success and has mounted the volume somewhere else.
	MountsElsewhere
	// DriverGarbles: it does what it is asked for, and says what nobody understands.
	DriverGarbles
	// DiskDamaged: the filesystem of a disk gets errors, as the power fails or by itself.
	DiskDamaged
	// PortalDown: a portal of the storage network answers nobody for up to minutes.
	PortalDown
	// DiskLate: a disk of an array appears late.
	DiskLate
	// MapLate: a map of paths that multipathd was asked for is made late.
	MapLate
	// MapRemade: a map that was removed is made again while its paths are there.
	MapRemade
	// MultipathdDown: multipathd does not run for up to a minute.
	MultipathdDown

	numFaults
)

var faultNames = [numFaults]string{
	"", "slow", "pause", "crash before", "crash after", "crash replied", "reboot", "power cut", "fail, no effect",
	"fail, part", "fail, full effect", "hang", "no space", "sync fails", "refused", "error, no effect", "error, part",
	"error, full effect", "reply lost", "dropped", "late", "stalled", "doubled", "intercepted", "driver crash",
	"late reply dropped", "orphan acts",
	"gone unseen", "stale socket", "registers late", "registers twice", "child lives", "notice doubled", "notice late",
	"object late", "object repeated", "object stale", "synced late", "object merged", "object crossed", "watch breaks",
	"kind fails", "list empty",
	"manifest torn", "driver upgraded", "driver replaced", "socket lost", "driver queues",
	"driver crashes", "driver acts behind", "driver daemon", "driver quotes", "driver nasty", "lost write",
	"foreign unmount", "foreign mount", "held open", "server silent", "server stale", "driver hides", "stall",
	"registrar lives", "misregisters", "registrar lost", "driver rival", "socket shared", "driver acts untold",
	"disk fails", "notice vague", "driver lies", "mounts elsewhere", "driver garbles", "disk damaged",
	"portal down", "disk late", "map late", "map remade", "multipathd down",
}

func (f Fault) String() string { return faultNames[f] }

// Faults returns all faults.
func Faults() []Fault {
	all := make([]Fault, 0, numFaults-1)
	for f := NoFault + 1; f < numFaults; f++ {
		all = append(all, f)
	}
	return all
}

// Profile says how often each fault is met where it is possible, of 65,536. The zero Profile has no faults.
type Profile struct{ Weight [numFaults]uint32 }

// certain is the weight of what always happens.
const certain = 1 << 16

// uniform is how often each fault is met in a [Uniform] world.
var uniform = [numFaults]uint32{
	Slow: 1500, Pause: 400, CrashBefore: 100, CrashAfter: 160, CrashReplied: 100, Reboot: 12, PowerCut: 24,
	FailNone: 800, FailPart: 800, FailFull: 800, Hang: 500, NoSpace: 200, SyncFails: 300,
	Refused: 1600, ErrorNone: 2000, ErrorPart: 1200, ErrorFull: 1600, Lost: 1600, Dropped: 1200, Late: 1600,
	Stalled: 800, Doubled: 400,
	Intercepted: 400,
	DriverCrash: 600, LateDropped: 24000, OrphanActs: 24000, GoneUnseen: 24000, StaleSocket: 20000,
	RegistersLate:  16000,
	RegistersTwice: 12000, ChildLives: 30000, NoticeDoubled: 2000, NoticeLate: 2000,
	ObjectLate: 3000, ObjectRepeated: 3000, ObjectStale: 1500, SyncedLate: 12000, ObjectMerged: 20000,
	ObjectCrossed: 20000, WatchBreaks: 400, KindFails: 300, ListEmpty: 6000, ManifestTorn: 6000, DriverUpgraded: 16000,
	DriverReplaced: 10000,
	SocketLost:     6000, DriverQueues: 4000, DriverCrashes: 3000, DriverActsBehind: 6000, DriverDaemon: 10000,
	DriverQuotes: 6000, DriverNasty: 32000,
	LostWrite: 30000, ForeignUnmount: 800, ForeignMount: 1000, HeldOpen: 1600, ServerSilent: 8000, ServerStale: 8000,
	DriverHides: 2500, Stall: 8000,
	RegistrarLives: 30000, Misregisters: 1500, RegistrarLost: 20000, DriverRival: 8000, SocketShared: 20000,
	DriverActsUntold: 3000,
	DiskFails:        1500, NoticeVague: 8000, DriverLies: 2000, MountsElsewhere: 1500, DriverGarbles: 1500,
	DiskDamaged: 5000, PortalDown: 8000, DiskLate: 8000, MapLate: 12000, MapRemade: 8000,
	MultipathdDown: 4000,
}

// Uniform has every fault at its usual rate.
func Uniform() Profile { return Profile{uniform} }

// Swarm draws a profile from seed: each fault is off in half of the seeds, and else at a quarter of its usual rate, at
// it, or at four times it. Rare combinations are found where most faults are away.
func Swarm(seed uint64) Profile {
	p := Profile{}
	for f := NoFault + 1; f < numFaults; f++ {
		h := mix(mix(seed^0x5bf0_3635) + uint64(f))
		if h&1 == 0 {
			continue
		}
		switch h >> 1 & 3 {
		case 0:
			p.Weight[f] = max(1, uniform[f]/4)
		case 1, 2:
			p.Weight[f] = uniform[f]
		case 3:
			p.Weight[f] = min(uniform[f]*4, certain*3/4)
		}
	}
	return p
}

// Storm has one fault, drawn from seed, half of the times that it is possible, and crashes at their usual rate.
func Storm(seed uint64) Profile {
	p := Profile{}
	for _, f := range []Fault{CrashBefore, CrashAfter, CrashReplied, LostWrite, ChildLives} {
		p.Weight[f] = uniform[f]
	}
	// Faults that came later are no storms, so that each seed keeps its own.
	p.Weight[1+Fault(mix(seed^0x57012)%uint64(DiskFails))] = certain / 2
	for _, f := range []Fault{CrashBefore, CrashAfter, CrashReplied, Reboot, PowerCut} {
		p.Weight[f] = min(p.Weight[f], certain/64) // an agent that dies at every second call gets nowhere
	}
	return p
}

// Everything makes every fault possible, for explorers that pick them one by one.
func Everything() Profile {
	p := Profile{}
	for f := NoFault + 1; f < numFaults; f++ {
		p.Weight[f] = 1
	}
	return p
}

// Only is a profile of single faults at the rate weight, of 65,536.
func Only(weight uint32, faults ...Fault) Profile {
	p := Profile{}
	for _, f := range faults {
		p.Weight[f] = weight
	}
	return p
}

// menu is the faults possible at one kind of choice. Index 0 is none.
type menu struct {
	faults  []Fault
	weights []uint32
	live    bool // some fault of it can happen
}

// menuOf makes a menu; scale multiplies the weights.
func (p *Profile) menuOf(scale uint32, faults ...Fault) menu {
	m := menu{faults: append([]Fault{NoFault}, faults...), weights: make([]uint32, len(faults)+1)}
	sum := uint32(0)
	for i, f := range faults {
		m.weights[i+1] = p.Weight[f] * scale
		sum += m.weights[i+1]
	}
	m.live = sum > 0
	if sum < certain {
		m.weights[0] = certain - sum
	} else {
		m.weights[0] = sum / 64
	}
	return m
}

// menus are the menus of a world, one for each kind of choice. They are the class table: what is not on a menu is not
// injected.
type menus struct {
	crash, crashIdle menu // at calls that change something; at those that only read
	read             menu // class syscall or file, nothing changed
	file             menu // file operations but fsync
	fsync            menu
	log              menu
	mount            menu // mount, bind, unmount of what cannot fail half
	netMount         menu // mount of a network filesystem
	helper           menu
	rpc              menu // CSI calls with effects
	ask              menu // RPC without effects
	flexMount        menu // how a FlexVolume driver behaves that is to mount
	flexUnmount      menu // and to unmount
	single           [numFaults]menu
}

func (p *Profile) menus() *menus {
	m := &menus{
		crash:     p.menuOf(8, CrashBefore, CrashAfter, CrashReplied, Reboot, PowerCut),
		crashIdle: p.menuOf(1, CrashBefore, CrashReplied, Reboot, PowerCut),
		read:      p.menuOf(1, Slow, FailNone),
		file:      p.menuOf(1, Slow, FailNone, NoSpace),
		fsync:     p.menuOf(1, Slow, SyncFails),
		log:       p.menuOf(1, Slow, FailNone, NoSpace, Hang),
		mount:     p.menuOf(1, Slow, FailNone, Hang),
		netMount:  p.menuOf(1, Slow, FailNone, FailFull, Hang),
		helper:    p.menuOf(1, Slow, FailNone, FailPart, FailFull, Hang),
		rpc: p.menuOf(1, Slow, Refused, ErrorNone, ErrorPart, ErrorFull, Lost, Dropped, Late, Stalled, Doubled,
			DriverCrash, Intercepted),
		ask:         p.menuOf(1, Slow, Refused, ErrorNone, Lost, DriverCrash),
		flexMount:   p.menuOf(1, DriverLies, MountsElsewhere, DriverGarbles),
		flexUnmount: p.menuOf(1, DriverLies, DriverGarbles),
	}
	for f := NoFault + 1; f < numFaults; f++ {
		m.single[f] = p.menuOf(1, f)
	}
	return m
}
