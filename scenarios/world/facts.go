package world

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// News is one version of an object, as the present life of the agent was told of it.
type News struct {
	Object any
	From   hal.Instant // when it was told of it
	Until  hal.Instant // when it was told of the next one, or of its end; 0 is not yet
	IsGone bool        // of its end
}

// Traits are what decides, of all that a driver can do, what it is asked.
type Traits struct{ Staging, MultiWriter, MountGroup bool }

// InlineHandle is the handle of an inline volume.
func InlineHandle(uid, volume string) string { return "csi-" + Sha256Of(uid+volume) }

// Sha256Of is the sum of a text in hexadecimal digits.
func Sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// PublishedAt is where a pod finds a volume.
func PublishedAt(uid, name string) string {
	return lang.RootDir + "/pods/" + uid + "/volumes/kubernetes.io~csi/" + name + "/mount"
}

// HandOver is one volume on its way to the other node and back.
type HandOver struct {
	Driver, Handle string
	Unused         hal.Instant // since when no pod here wants it; 0 while one does
	Life           uint32      // the life of the agent that has been asked, 0 for none
	Lasts          time.Duration
	IsThere        bool // the other node has it
	IsFenced       bool // by force: what is left of it here reaches the volume no more
	IsForced       bool // somebody says that this node is out of service: it goes at once
}

// Attachment is a volume of a driver that attaches, as it is attached to this node now: its VolumeAttachment, and since
// when; and how often it was.
type Attachment struct {
	Object  *storagev1.VolumeAttachment // nil while it is not
	Times   int
	Changes []hal.Instant // when it began or ended
}

// Flaw is what kind of entry is bad.
type Flaw uint8

// BadEntry is one of them.
type BadEntry struct {
	How      Flaw
	Place    string // of a stray
	What     int    // the stray is
	Restarts bool   // the agent, while it is there
}

// Writer is the containers of a pod that write.
type Writer struct {
	Starts int // of its containers, each another life
	Views  []View
	Object *corev1.Pod // as it was when they started
}

// View is what a container sees of a volume that it uses.
type View struct {
	*sim.View
	Use *Use
}

// LosesBlocks forgets what was written where it may be lost by now: to the emptyDirs of a pod, or of all.
func (r *Run) LosesBlocks(p *Pod) {
	for id := range r.Blocks {
		if !strings.Contains(id, "^") && (p == nil || strings.HasPrefix(id, string(p.Uid)+"/")) {
			delete(r.Blocks, id)
		}
	}
}

// Place is one path at which a driver may hold a volume, for one rung: the truth of it.
type Place struct {
	lapse
	Key            hal.Key
	Path           string
	Driver, Volume string
	Thing          string // driver^volume
	IsPublish      bool
	IsHeld         bool // staged, or published
	MayBeUsed      bool // it was believed to be up since the containers of its pod were started
	IsSaid         bool // who waits for its pod has been told that it is ready since
	IsFormer       bool // no container has it: its pod came back without it, or the life that believed it up told nobody
	// Its containers have ended: after how many more writes of its journal the agent that heard so has surely written it.
	Unwritten  uint8
	IsUnheard  bool // that agent died before: the next life may not know that they have ended
	IsTouched  bool // somebody else has changed what is there: see foreign.go
	IsMixedUp  bool // somebody else has mounted here what the agent can't tell from its own
	TouchedAt  hal.Instant
	SetUpUntil hal.Instant // until when a setup that was sent may act, as far as the agent knows
	DownUntil  hal.Instant // the same of a teardown
	Calls      []OpenCall
	Untold     []uint64 // calls that act though they were answered with an error that ends them, as far as is known
	IsBetrayed bool     // one of them has acted
	IsFramed   bool     // somebody else has done there what one of them could have done
	Checked    Seen
	IsStruck   bool                 // its filesystem failed while it was believed to be up
	IsHurt     bool                 // its filesystem was seen failed: of a stage now, of a publish when it was made
	Tie        types.UID            // of the attachment of the volume with which a driver came to hold it
	Began      hal.Instant          // of the setup that was sent last
	Renewals   int                  // publishes sent because its driver wants them repeated
	sent       map[string]*requests // by method
	Series     map[string]*Series   // by method
	Earlier    *Place               // of another rung at this path
}

// OpenCall is an RPC that may still act.
type OpenCall struct {
	Id       uint64
	Method   string
	Run      uint32
	IsUndone bool // what undoes it was sent since
}

// The methods of a CSI driver that set up and tear down.
const (
	Stage     = "NodeStageVolume"
	Unstage   = "NodeUnstageVolume"
	Publish   = "NodePublishVolume"
	Unpublish = "NodeUnpublishVolume"
)

// Contrary is the call that undoes one, or that one undoes.
var Contrary = map[string]string{Stage: Unstage, Unstage: Stage, Publish: Unpublish, Unpublish: Publish}

// Crowd is how many come.
type Crowd struct {
	Pods, Mounts int
	IsPlain      bool // no pod of it has a volume of a driver
}

// A wound is how a file is damaged in place.
type Wound uint8

// Spoilt is damage to a generation of the journal that a reader can see. Records are lost, so the agent must report it.
type Spoilt struct {
	File   string
	At     int
	Was    []byte
	Since  hal.Instant
	How    Wound
	Boot   hal.BootID // of the life that had written the file
	IsRead bool       // by the present life
	IsGone bool       // the whole journal is
}

// Announcements are the entries of the log, as they were made durable. What is not asked for any more when data is made
// again at a path counts no more.
type Announcements struct {
	Lines   map[string]bool        // that were seen
	Paths   map[string]bool        // of which data may be deleted
	Taken   map[string]hal.Instant // by path: when somebody took the entry away
	Unnamed bool                   // the file has its name, and a power cut may take that away
	Synced  []byte                 // what the file said when it was synced last under its name
	Older   []byte                 // what the log said when the present life of the agent began
}

// Foreign is a mount that somebody else has made.
type Foreign struct {
	Since   hal.Instant
	IsOther bool // the agent can tell that it is not its own
}

// Move is what a pod does: it comes, or it goes.
type Move struct {
	Verb   string
	IsFree func(*Pod) bool // nothing that has gone wrong delays it
	IsDone func(*Pod) bool
}

// Words is how often a registrar was told that its driver was taken, and when last.
type Words struct {
	Count int
	Last  hal.Instant
}

// Series is the calls of one method for one rung since something changed.
type Series struct {
	Began  hal.Instant
	Count  int
	Recent [2]hal.Instant // the last two
	Hung   uint64         // the call before it that was given up and is still under way, 0 if none was
}

// Ailment is what a driver does in calm for a while.
type Ailment struct {
	Driver string
	How    sim.Breakage
	Lasts  time.Duration
}

// Seen is the belief that was compared last.
type Seen struct {
	Known       bool
	State       core.State
	Fingerprint string
	IsGone      bool
}

// Registrars is what is known of drivers and their registrars.
type Registrars struct {
	Registered map[string]bool              // by driver, as the present life of the agent has it
	Connected  map[string]bool              // the same
	Storage    map[string][]hal.HealthEntry // what it has told last of the storage of a driver
	Serving    map[string]string            // the endpoint to which the last call of a driver went, while it serves
	// the endpoint that served in the life before and need not be the choice of this one
	Former map[string]string
	// it was taken while a fault kept the agent from another one, which the next start may ask first
	IsStopgap   map[string]bool
	Unreachable map[string]hal.Instant // until when a fault excuses that a driver is not reached
	Since       map[string]hal.Instant // since when an endpoint is served, or a registration socket stands
	// by driver: when an endpoint of it ended last, for which another one may have waited
	Left     map[string]hal.Instant
	Begun    hal.Instant            // since when the present life of the agent works
	Calm     hal.Instant            // since when nothing goes wrong
	Asked    map[string]*Series     // by registration socket or endpoint: how often the agent has asked who is there
	Changed  map[string]hal.Instant // by driver: when that may be asked again: something changed, or was heard
	Answered map[string]hal.Instant // by driver: when a registrar said that it is its
	Meets    map[string]hal.Instant // by endpoint: when the last attempt to connect to it began
	Notices  map[string]int         // by registration socket: the notices of it that the agent has not asked on
	Told     map[string]*Words      // by registration socket: since its notice, or a meeting
}

// rootWorld is the truth of the root directory.
type rootWorld struct {
	IsAnothers bool            // it was another agent's before this one came
	IsCopied   bool            // it was made by another machine
	Others     []byte          // the file of a journal that was made elsewhere
	IsBarred   bool            // the present life may change nothing, as no person has said that it may
	MayRefuse  bool            // there is a reason for a start to ask a person
	IsTold     bool            // in a scenario that says itself which word a person gives to a start
	Kept       []string        // files that nobody has said to be gone: the agent deletes none of them
	Strays     []string        // names that somebody has left in directories that a start lists
	LostAt     hal.Instant     // when somebody removed own files of the agent last
	Left       map[string]bool // what the present life has told that it leaves alone
	Unpruned   map[string]bool // names without a volume that the present life could not remove
	Forgotten  bool            // the journal was lost: nothing says whose data is that it knew of
	// Outdated are the paths of volumes that an old copy of the journal calls never up. CSI's have [Place.IsOutdated].
	Outdated  map[string]bool
	Unsaved   bool // what is known of manifests could not be written, and no ledger tells of it since
	Behind    int  // how many writes of copies of manifests have failed, of late in the present life
	IsSwept   bool // a start has come since all pods were deleted
	Spoilt    Spoilt
	Boot      hal.BootID      // of the present life
	WoundedAt hal.Instant     // when somebody changed own files in place last
	Unseen    map[string]bool // emptyDirs that containers have, and that no life has seen since the journal was lost
}

// lapse is what nobody can know of a place once the journal is lost.
type lapse struct {
	IsCopied   bool      // the last copy of the journal says that it is held
	Copied     hal.Mount // what showed there then
	IsOutdated bool      // it was up, and the record that an old copy of the journal has of it says that it never was
	// it is up, and the record that an old copy of the journal has of it is of another boot; no start has looked at it
	// since
	IsEarlier bool
	IsTrace   bool        // names on the node alone tell of it: no record says in which boot it was up
	IsUnseen  bool        // nothing tells the present life of it: neither the journal nor names on the node
	Forgotten []uint64    // calls that may act and that a lost journal alone knew of
	Answered  []uint64    // calls that were answered, may act yet, and that a lost journal alone knew of
	Leftover  hal.MountID // what its driver has left mounted, of which a lost journal alone knew that it is not up
	IsUndone  bool        // one of them has taken the volume away, and it was not brought since
	// the life in which one of them has acted, if that knew nothing of the place, and has not since
	Littered   uint32
	IsStranded bool // one of them has brought the volume, and no life has heard of it since
	IsSpirited bool // an answered call has acted, and somebody else has changed what is there since
	IsShown    bool // an answered call has acted, and a mount came of it
	IsMimicked bool // a life has begun with others' mounts at it and at its stage
	IsUnheard  bool // nothing shows that it did, and the driver was not asked since
	IsTold     bool // since the journal was lost a life has known of it, or names on the node have told one of it
	// the life in which one that was answered has mounted the volume, if no life has known of the place since
	Unclaimed uint32
}

// Swapping is what somebody does to the directory of manifests.
type Swapping uint8

// IsAside: nobody can edit manifests at their place.
func (r *Run) IsAside() bool { return r.IsCovered || r.IsLinked }

// Untold is what a run knows of such drivers.
type Untold struct {
	Framed  map[string]bool // somebody has done what a call could have done after its answer, for all that can be seen
	Durable map[string]bool // the agent has called a driver of which it knows that, so its journal names it
}

// IsBroken reports whether a rung is of the driver that is broken for good.
func (r *Run) IsBroken(key string) bool {
	return r.Broken != "" && strings.Contains(key, "/"+r.Broken+"^")
}

// Cluster is what the objects of a world follow from.
type Cluster struct {
	Volumes int
	IsTold  bool // both drivers are told of the pod, and so of inline volumes

	DiskAttaches, FileAttaches bool
	Persists                   bool // sources besides CSI have PersistentVolumes
	InTree                     bool // the driver of awsElasticBlockStore serves this node

	Renews bool // file.example wants its publishes repeated
	Tokens int  // file.example wants tokens: 1 in the volume context, 2 among the secrets
	// HasGroups: pods may want their files to be of a group. What the drivers mount is not given to it.
	HasGroups bool
}
